// Short memory of a row beside its slow track: what the last few outcomes were, how many failures in
// a row break a good record, which share of the recent ones failed, and how good those are who praise
// (scoring 2.2). Strangers' words are no part of it.
import { word } from "./config.ts";
import {
  ROW_BROKEN,
  ROW_FAILING,
  ROW_LATEST,
  ROW_MEAN_A,
  ROW_REPORTED_LATEST,
  WORD_FAILING_GAIN,
  WORD_LATEST_GAIN,
  WORD_VIEWER_GAIN,
} from "./layout.ts";
import { FAILING_UNIT, failingShare, failingShareWeight, streakWeight } from "./weight.ts";

/** Bounds: of a run, of how unexpected one failure can be, and of how good a reporter's record. */
const BROKEN_MAX: f64 = 12.0;
const SURPRISE_MAX: f64 = 3.0;
const STRENGTH_MAX: f64 = 3.0;

/**
 * Takes the outcome weighed last into the latest ones of both rows and into the subject's run.
 * `expected` is the log-odds of failure before it: the surer the record, the more a failure breaks.
 */
export function countStreaks(
  config: u32,
  subject: u32,
  reporter: u32,
  y: f64,
  expected: f64,
): void {
  const said = streakWeight();
  const gain = min(1.0, said * word(config, WORD_LATEST_GAIN));
  approach(subject + ROW_LATEST, y, gain);
  approach(reporter + ROW_REPORTED_LATEST, y, min(1.0, said * word(config, WORD_VIEWER_GAIN)));
  const part = min(1.0, failingShareWeight() * word(config, WORD_FAILING_GAIN));
  const failing = failingShare(subject);
  store<u16>(subject, <u16>(0.5 + (failing + part * (y - failing)) * FAILING_UNIT), ROW_FAILING);
  const broken = <f64>load<f32>(subject, ROW_BROKEN);
  const surprise = min(SURPRISE_MAX, max(0.0, -expected));
  const next = y > 0.5 ? broken + said * surprise : broken * (1.0 - gain);
  store<f32>(subject, <f32>min(BROKEN_MAX, next), ROW_BROKEN);
}

function approach(share: u32, y: f64, gain: f64): void {
  const value = <f64>load<f32>(share);
  store<f32>(share, <f32>(value + gain * (y - value)));
}

/** Praise in the outcome weighed last, by how good the reporter's own record is; 0 for a failure. */
export function praiseOf(reporter: u32, y: f64, weight: f64): f64 {
  if (y > 0.5 || streakWeight() <= 0.0) return 0.0;
  return weight * min(STRENGTH_MAX, max(0.0, -load<f64>(reporter, ROW_MEAN_A)));
}
