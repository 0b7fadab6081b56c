// Scorecard features of one leg. Every sign on the log-odds of failure is a hard constraint of the
// fit (scoring 3); a weight of zero costs one compare here.
import { readAssessments } from "./assessments.ts";
import { baseProbability } from "./base-rate.ts";
import { word } from "./config.ts";
import {
  CLUSTER_RING_BIT,
  FEATURE_AGE,
  FEATURE_BETA,
  FEATURE_BROKEN_RECORD,
  FEATURE_COUNT,
  FEATURE_EVIDENCE,
  FEATURE_LATEST_FAILURES,
  FEATURE_MOMENTUM,
  FEATURE_PRAISE_STRENGTH,
  FEATURE_RECENT_FAILURE,
  FEATURE_RECIPROCAL_FAILURE,
  FEATURE_RECIPROCAL_SUCCESS,
  FEATURE_STAKES_NOVELTY,
  FEATURE_STAKES_UNTESTED,
  FEATURE_VIEWER_LATEST,
  FEATURE_VIEWER_RECORD,
  FEATURE_VIEWER_SHORT,
  LEG_EVIDENCE,
  LEG_FEATURES,
  LEG_MEAN,
  LEG_PROVEN,
  PAIR_FAILURE,
  PAIR_SUCCESS,
  ROW_BROKEN,
  ROW_CLUSTER,
  ROW_FAILED_AT,
  ROW_FAILURE_LONG,
  ROW_FAILURE_SHORT,
  ROW_FIRST_AT,
  ROW_LATEST,
  ROW_MEAN_A,
  ROW_OUTCOMES,
  ROW_PRAISE,
  ROW_REPORTED_FAILURE,
  ROW_REPORTED_LATEST,
  ROW_REPORTED_SUCCESS,
  ROW_REPORTER_TIME,
  ROW_STAKES_PROVEN,
  ROW_SUBJECT_TIME,
  ROW_SUCCESS_LONG,
  ROW_SUCCESS_SHORT,
  WORD_LONG_HALF_LIFE,
  WORD_PRIOR_WEIGHT,
  WORD_RECENT_TAU,
  WORD_SHORT_HALF_LIFE,
  WORD_STAKES_HALF_LIFE,
  WORD_SUBJECT_TAU,
  WORD_MODEL_HANDSHAKE,
} from "./layout.ts";
import { daysBetween, halving, reversion } from "./numeric.ts";
import { pairEcho } from "./pairs.ts";
import { stakesReach } from "./stakes.ts";

function put(out: u32, feature: u32, value: f64): void {
  store<f64>(out + ((LEG_FEATURES + feature) << 3), value);
}

function note(out: u32, index: u32, value: f64): void {
  store<f64>(out + (index << 3), value);
}

/**
 * Outcomes ever counted about a row; below zero where it is in a ring. As too few outcomes they make the
 * record thin, which asks for a second look and never denies.
 */
export function readOutcomes(row: u32): f64 {
  const outcomes = <f64>load<u32>(row, ROW_OUTCOMES);
  return (load<u32>(row, ROW_CLUSTER) & CLUSTER_RING_BIT) != 0 ? -outcomes : outcomes;
}

/** Fills all FEATURE_COUNT words of the leg, LEG_EVIDENCE and LEG_PROVEN. LEG_MEAN is there. */
export function readFeatures(
  config: u32,
  model: u32,
  row: u32,
  hasHistory: bool,
  viewer: u32,
  reciprocal: u32,
  stakes: f64,
  g: f64,
  nowMs: f64,
  out: u32,
): void {
  // Not memory.fill: that leaves the compiled code for a call.
  for (let j: u32 = 0; j < <u32>FEATURE_COUNT; j++) put(out, j, 0.0);
  note(out, LEG_EVIDENCE, 0.0);
  const k = word(config, WORD_PRIOR_WEIGHT);
  const p0 = baseProbability();
  let proven: f64 = 0.0;
  if (hasHistory) proven = readHistory(config, row, k * p0, k * (1.0 - p0), g, nowMs, out);
  note(out, LEG_PROVEN, proven);
  if (row != 0) readAssessments(config, row, nowMs, out);
  if (stakes > proven) {
    put(out, FEATURE_STAKES_NOVELTY, Math.log((1.0 + stakes) / (1.0 + proven)));
    // Far above what was proven the good mean is that of other dealings.
    const good = max(0.0, -load<f64>(out + (LEG_MEAN << 3)));
    if (stakes > stakesReach(config, proven)) put(out, FEATURE_STAKES_UNTESTED, good);
  }
  if (model == WORD_MODEL_HANDSHAKE) {
    if (viewer != 0) readViewerRate(config, viewer, k * p0, k * (1.0 - p0), g, nowMs, out);
    if (reciprocal != 0) {
      const seconds = <u32>(nowMs / 1000.0);
      const long = word(config, WORD_LONG_HALF_LIFE);
      const failed = pairEcho(reciprocal, PAIR_FAILURE, seconds, long);
      const succeeded = pairEcho(reciprocal, PAIR_SUCCESS, seconds, long);
      put(out, FEATURE_RECIPROCAL_FAILURE, min(1.0, failed));
      put(out, FEATURE_RECIPROCAL_SUCCESS, min(1.0, succeeded));
    }
  }
}

/** Features of an agent with outcomes; returns its proven stakes. */
function readHistory(
  config: u32,
  row: u32,
  priorFailure: f64,
  priorSuccess: f64,
  g: f64,
  nowMs: f64,
  out: u32,
): f64 {
  const days = daysBetween(load<f64>(row, ROW_SUBJECT_TIME), nowMs);
  const long = halving(days, word(config, WORD_LONG_HALF_LIFE));
  const short = halving(days, word(config, WORD_SHORT_HALF_LIFE));
  const f90 = <f64>load<f32>(row, ROW_FAILURE_LONG) * long;
  const s90 = <f64>load<f32>(row, ROW_SUCCESS_LONG) * long;
  const f14 = <f64>load<f32>(row, ROW_FAILURE_SHORT) * short;
  const s14 = <f64>load<f32>(row, ROW_SUCCESS_SHORT) * short;
  const longRatio = (f90 + priorFailure) / (s90 + priorSuccess);
  const shortRatio = (f14 + priorFailure) / (s14 + priorSuccess);
  put(out, FEATURE_MOMENTUM, Math.log(shortRatio / longRatio));
  put(out, FEATURE_BETA, Math.log(longRatio) - g);
  note(out, LEG_EVIDENCE, s90 + f90);
  put(out, FEATURE_EVIDENCE, Math.log(1.0 + s90 + f90));
  const failed = <f64>load<u32>(row, ROW_FAILED_AT) * 1000.0;
  if (failed > 0.0) {
    const since = daysBetween(failed, nowMs);
    put(out, FEATURE_RECENT_FAILURE, reversion(since, word(config, WORD_RECENT_TAU)));
  }
  put(out, FEATURE_LATEST_FAILURES, <f64>load<f32>(row, ROW_LATEST));
  put(out, FEATURE_BROKEN_RECORD, <f64>load<f32>(row, ROW_BROKEN));
  const praise = <f64>load<f32>(row, ROW_PRAISE) * long;
  put(out, FEATURE_PRAISE_STRENGTH, praise / (1.0 + praise));
  const first = <f64>load<u32>(row, ROW_FIRST_AT) * 1000.0;
  put(out, FEATURE_AGE, Math.log(1.0 + daysBetween(first, nowMs)));
  const proven = <f64>load<f32>(row, ROW_STAKES_PROVEN);
  return proven * halving(days, word(config, WORD_STAKES_HALF_LIFE));
}

function readViewerRate(
  config: u32,
  viewer: u32,
  priorFailure: f64,
  priorSuccess: f64,
  g: f64,
  nowMs: f64,
  out: u32,
): void {
  const known = load<f64>(viewer, ROW_SUBJECT_TIME);
  if (known != 0.0) {
    const a = reversion(daysBetween(known, nowMs), word(config, WORD_SUBJECT_TAU));
    put(out, FEATURE_VIEWER_RECORD, load<f64>(viewer, ROW_MEAN_A) * a);
  }
  const last = load<f64>(viewer, ROW_REPORTER_TIME);
  if (last == 0.0) return;
  put(out, FEATURE_VIEWER_LATEST, <f64>load<f32>(viewer, ROW_REPORTED_LATEST));
  const keep = halving(daysBetween(last, nowMs), word(config, WORD_SHORT_HALF_LIFE));
  const failed = <f64>load<f32>(viewer, ROW_REPORTED_FAILURE) * keep + priorFailure;
  const succeeded = <f64>load<f32>(viewer, ROW_REPORTED_SUCCESS) * keep + priorSuccess;
  put(out, FEATURE_VIEWER_SHORT, Math.log(failed / succeeded) - g);
}
