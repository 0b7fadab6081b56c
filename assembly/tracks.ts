// Ageing of the tracks: between two events the means fade to the average and the variances grow back
// to the prior. Apart from the fold, which takes it from there.
import { word } from "./config.ts";
import {
  ROW_MEAN_A,
  ROW_MEAN_B,
  ROW_MEAN_R,
  ROW_REPORTER_TIME,
  ROW_SUBJECT_TIME,
  ROW_VARIANCE_A,
  ROW_VARIANCE_B,
  ROW_VARIANCE_R,
  WORD_REPORTER_TAU,
  WORD_REPORTER_VARIANCE,
  WORD_SUBJECT_TAU,
  WORD_SUBJECT_VARIANCE,
} from "./layout.ts";
import { daysBetween, reversion, revertVariance } from "./numeric.ts";

/** Brings the reporter track to `timeMs`; a first event starts it at the prior. */
export function revertReporter(config: u32, row: u32, timeMs: f64): void {
  const last = load<f64>(row, ROW_REPORTER_TIME);
  const prior = word(config, WORD_REPORTER_VARIANCE);
  if (last == 0.0) {
    store<f64>(row, prior, ROW_VARIANCE_R);
    return;
  }
  const a = reversion(daysBetween(last, timeMs), word(config, WORD_REPORTER_TAU));
  store<f64>(row, load<f64>(row, ROW_MEAN_R) * a, ROW_MEAN_R);
  const variance = load<f64>(row, ROW_VARIANCE_R);
  store<f64>(row, revertVariance(variance, prior, a), ROW_VARIANCE_R);
}

/** Brings both subject tracks to `timeMs`; an outcome that arrives late moves nothing back. */
export function revertSubject(config: u32, row: u32, timeMs: f64): void {
  const last = load<f64>(row, ROW_SUBJECT_TIME);
  const prior = word(config, WORD_SUBJECT_VARIANCE);
  if (last == 0.0) {
    store<f64>(row, prior, ROW_VARIANCE_A);
    store<f64>(row, prior, ROW_VARIANCE_B);
    return;
  }
  const a = reversion(daysBetween(last, timeMs), word(config, WORD_SUBJECT_TAU));
  store<f64>(row, load<f64>(row, ROW_MEAN_A) * a, ROW_MEAN_A);
  store<f64>(row, load<f64>(row, ROW_MEAN_B) * a, ROW_MEAN_B);
  const vA = load<f64>(row, ROW_VARIANCE_A);
  const vB = load<f64>(row, ROW_VARIANCE_B);
  store<f64>(row, revertVariance(vA, prior, a), ROW_VARIANCE_A);
  store<f64>(row, revertVariance(vB, prior, a), ROW_VARIANCE_B);
}
