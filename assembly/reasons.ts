// Reason codes: points of deficit against the reference population, correlated features merged
// under one code, the four largest of at least five points (scoring 3).
import { word } from "./config.ts";
import {
  DECISION_CONNECT,
  FEATURE_AGE,
  FEATURE_BETA,
  FEATURE_EVIDENCE,
  FEATURE_HALLUCINATION,
  FEATURE_MOMENTUM,
  FEATURE_RECENT_FAILURE,
  FEATURE_RECIPROCAL_FAILURE,
  FEATURE_RECIPROCAL_SUCCESS,
  FEATURE_STAKES_NOVELTY,
  FEATURE_UNVERIFIED,
  FEATURE_VIEWER_SHORT,
  FLAG_FRAUD,
  FLAG_KEY_REVOKED,
  LEG_DECISION,
  LEG_FEATURES,
  LEG_MEAN,
  LEG_REASONS,
  LEG_REASON_COUNT,
  LEG_SD,
  LEG_VIEWER,
  MODEL_MEAN,
  MODEL_MEAN_REFERENCE,
  MODEL_REFERENCES,
  MODEL_SD_REFERENCE,
  MODEL_VIEWER,
  MODEL_WEIGHTS,
  REASON_COUNT,
  REASON_FAILURE_HISTORY,
  REASON_FRAUD_FLAG,
  REASON_HALLUCINATION_SIGNAL,
  REASON_KEY_REVOKED,
  REASON_LOW_CREDIBILITY_EVIDENCE,
  REASON_NEGATIVE_TREND,
  REASON_RECENT_FAILURE,
  REASON_STAKE_ABOVE_PROVEN,
  REASON_THIN_FILE,
  REASON_UNVERIFIED_SOURCES,
  REASON_VIEWER_CAUTIOUS,
  ROW_BATCH,
  ROW_FAILURE_LONG,
  ROW_FLAGS,
  WORD_CAUTION,
  WORD_FACTOR,
  WORD_REASON_POINTS,
} from "./layout.ts";

/** Deficits are collected in the unused end of the leg result. */
const LEG_DEFICITS: u32 = 40;
const REASONS_MAX: u32 = 4;

function get(out: u32, index: u32): f64 {
  return load<f64>(out + (index << 3));
}

function put(out: u32, index: u32, value: f64): void {
  store<f64>(out + (index << 3), value);
}

function add(out: u32, reason: u32, points: f64): void {
  put(out, LEG_DEFICITS + reason, get(out, LEG_DEFICITS + reason) + points);
}

/** Points a feature costs against its reference; negative when it helps. */
function cost(config: u32, model: u32, out: u32, feature: u32): f64 {
  const weight = word(config, model + MODEL_WEIGHTS + feature);
  if (weight == 0.0) return 0.0;
  const value = get(out, LEG_FEATURES + feature);
  const reference = word(config, model + MODEL_REFERENCES + feature);
  return word(config, WORD_FACTOR) * weight * (value - reference);
}

/** Writes LEG_REASON_COUNT and up to four reason codes by weight. */
export function rankReasons(config: u32, model: u32, row: u32, g: f64, out: u32): void {
  for (let j: u32 = 0; j < <u32>REASON_COUNT; j++) put(out, LEG_DEFICITS + j, 0.0);
  const factor = word(config, WORD_FACTOR);
  const history =
    factor *
      word(config, model + MODEL_MEAN) *
      (get(out, LEG_MEAN) - word(config, model + MODEL_MEAN_REFERENCE)) +
    cost(config, model, out, FEATURE_BETA);
  const hasFailed = row != 0 && load<f32>(row, ROW_FAILURE_LONG) > 0.0;
  // Without a failure on file a worse mean is only missing evidence.
  add(out, hasFailed ? REASON_FAILURE_HISTORY : REASON_THIN_FILE, history);
  const wide = get(out, LEG_SD) - word(config, model + MODEL_SD_REFERENCE);
  add(out, REASON_THIN_FILE, factor * word(config, WORD_CAUTION) * wide);
  add(out, REASON_THIN_FILE, cost(config, model, out, FEATURE_EVIDENCE));
  add(out, REASON_THIN_FILE, cost(config, model, out, FEATURE_AGE));
  add(out, REASON_RECENT_FAILURE, cost(config, model, out, FEATURE_RECENT_FAILURE));
  add(out, REASON_NEGATIVE_TREND, cost(config, model, out, FEATURE_MOMENTUM));
  add(out, REASON_STAKE_ABOVE_PROVEN, cost(config, model, out, FEATURE_STAKES_NOVELTY));
  add(out, REASON_HALLUCINATION_SIGNAL, cost(config, model, out, FEATURE_HALLUCINATION));
  add(out, REASON_UNVERIFIED_SOURCES, cost(config, model, out, FEATURE_UNVERIFIED));
  const severity = factor * word(config, model + MODEL_VIEWER) * get(out, LEG_VIEWER);
  add(out, REASON_VIEWER_CAUTIOUS, severity);
  add(out, REASON_VIEWER_CAUTIOUS, cost(config, model, out, FEATURE_VIEWER_SHORT));
  add(out, REASON_VIEWER_CAUTIOUS, cost(config, model, out, FEATURE_RECIPROCAL_FAILURE));
  add(out, REASON_VIEWER_CAUTIOUS, cost(config, model, out, FEATURE_RECIPROCAL_SUCCESS));
  if (row != 0) {
    const batch = factor * <f64>load<f32>(row, ROW_BATCH);
    add(out, REASON_LOW_CREDIBILITY_EVIDENCE, batch);
    const flags = load<u32>(row, ROW_FLAGS);
    if ((flags & FLAG_FRAUD) != 0) add(out, REASON_FRAUD_FLAG, 1e6);
    if ((flags & FLAG_KEY_REVOKED) != 0) add(out, REASON_KEY_REVOKED, 1e6);
  }
  pickReasons(config, out);
}

function pickReasons(config: u32, out: u32): void {
  const least = word(config, WORD_REASON_POINTS);
  let count: u32 = 0;
  while (count < REASONS_MAX) {
    let best: u32 = 0;
    let points: f64 = 0.0;
    for (let j: u32 = 0; j < <u32>REASON_COUNT; j++) {
      const deficit = get(out, LEG_DEFICITS + j);
      if (deficit > points) {
        points = deficit;
        best = j;
      }
    }
    if (points < least) break;
    put(out, LEG_DEFICITS + best, 0.0);
    put(out, LEG_REASONS + count, <f64>best);
    count += 1;
  }
  // Nothing about the agent stands out: it is the stakes that are too high for what was proven.
  if (count == 0 && get(out, LEG_DECISION) != <f64>DECISION_CONNECT) {
    put(out, LEG_REASONS, <f64>REASON_STAKE_ABOVE_PROVEN);
    count = 1;
  }
  put(out, LEG_REASON_COUNT, <f64>count);
}
