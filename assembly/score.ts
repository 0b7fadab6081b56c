// Read path: one leg's score, probabilities, tier, regime, standing and reasons from a copied row
// (scoring 3 and 4). Writes one leg result; allocates nothing.
import { baseRate } from "./base-rate.ts";
import { word } from "./config.ts";
import { denyBorder } from "./decision.ts";
import { readFeatures, readOutcomes } from "./features.ts";
import {
  REGIME_DRIFTING,
  REGIME_NONE,
  REGIME_SHOCK,
  REGIME_STABLE,
  TIER_A,
  TIER_B,
  TIER_C,
  TIER_D,
  TIER_REVIEW,
} from "./codes.ts";
import {
  FEATURE_COUNT,
  FEATURE_HALLUCINATION,
  FEATURE_MOMENTUM,
  FEATURE_RECIPROCAL_FAILURE,
  FEATURE_RECIPROCAL_SUCCESS,
  FEATURE_STAKES_NOVELTY,
  FEATURE_STAKES_UNTESTED,
  FEATURE_UNVERIFIED,
  FEATURE_VIEWER_LATEST,
  FEATURE_VIEWER_RECORD,
  FEATURE_VIEWER_SHORT,
  FLAG_FRAUD,
  FLAG_KEY_REVOKED,
  LEG_BASE,
  LEG_CONFIG,
  LEG_DENIED,
  LEG_EFFECTIVE,
  LEG_ETA,
  LEG_EVIDENCE,
  LEG_FAILURES,
  LEG_FEATURES,
  LEG_FLAGS,
  LEG_HUMAN_CATCH,
  LEG_INTERNAL,
  LEG_JUDGED,
  LEG_KNOWN,
  LEG_MEAN,
  LEG_OPTIMISTIC,
  LEG_OUTCOMES,
  LEG_PESSIMISTIC,
  LEG_PROBABILITY,
  LEG_RECORD_DENIED,
  LEG_RECORD_MEAN,
  LEG_RECORD_OPTIMISTIC,
  LEG_RECORD_PROBABILITY,
  LEG_RECORD_REFUSED,
  LEG_RECORD_THIN,
  LEG_RECORD_VARIANCE,
  LEG_REFUSED,
  LEG_REGIME,
  LEG_SD,
  LEG_SHOCK_DAYS,
  LEG_SILENT_DAYS,
  LEG_STAKES_REACH,
  LEG_SUBJECT_VARIANCE,
  LEG_THIN,
  LEG_TIER,
  LEG_VERIFY_CATCH,
  LEG_VIEWER,
  LEG_VIEWER_VARIANCE,
  MODEL_BASE,
  MODEL_INTERCEPT,
  MODEL_MEAN,
  MODEL_VIEWER,
  MODEL_WEIGHTS,
  ROW_FAILURE_LONG,
  ROW_FLAGS,
  ROW_HEARD_AT,
  ROW_MEAN_A,
  ROW_MEAN_B,
  ROW_MEAN_R,
  ROW_OUTCOMES,
  ROW_REPORTER_TIME,
  ROW_SHOCK_AT,
  ROW_SUBJECT_TIME,
  ROW_VARIANCE_A,
  ROW_VARIANCE_B,
  ROW_VARIANCE_R,
  WORD_CAUTION,
  WORD_FACTOR,
  WORD_HUMAN_CATCH,
  WORD_MODEL_CHECK,
  WORD_MODEL_HANDSHAKE,
  WORD_OFFSET,
  WORD_REFUSE_CAUTION,
  WORD_REGIME_MOMENTUM,
  WORD_REPORTER_TAU,
  WORD_REPORTER_VARIANCE,
  WORD_SHOCK_DAYS,
  WORD_SUBJECT_TAU,
  WORD_SUBJECT_VARIANCE,
  WORD_THIN_BELOW,
  WORD_THIN_OUTCOMES,
  WORD_TIER_A,
  WORD_TIER_B,
  WORD_TIER_C,
  WORD_VERIFY_CATCH,
} from "./layout.ts";
import { daysBetween, reversion, revertVariance, sigmoid } from "./numeric.ts";
import { rankReasons } from "./reasons.ts";
import { stakesPart, writeStakes } from "./stakes.ts";

/** Weight of outcomes, as they count now, without which a record denies nothing. */
const DENY_EVIDENCE_MIN: f64 = 0.25;
const SCORE_MIN: f64 = 300.0;
const SCORE_MAX: f64 = 850.0;

function put(out: u32, index: u32, value: f64): void {
  store<f64>(out + (index << 3), value);
}

function get(out: u32, index: u32): f64 {
  return load<f64>(out + (index << 3));
}

/**
 * Scores one leg into `out`. `row` and `viewer` are addresses of copied rows, 0 when absent;
 * `reciprocal` is the pair entry of what the subject reported about the viewer, 0 when none.
 */
export function scoreLeg(
  config: u32,
  number: u32,
  model: u32,
  row: u32,
  viewer: u32,
  reciprocal: u32,
  stakes: f64,
  nowMs: f64,
  out: u32,
): void {
  const g = baseRate();
  const isHandshake = model == WORD_MODEL_HANDSHAKE;
  const hasHistory = row != 0 && load<u32>(row, ROW_OUTCOMES) != 0;
  put(out, LEG_KNOWN, hasHistory ? 1.0 : 0.0);
  put(out, LEG_CONFIG, <f64>number);
  put(out, LEG_BASE, g);
  readSubject(config, row, hasHistory, isHandshake, nowMs, out);
  put(out, LEG_VIEWER, 0.0);
  put(out, LEG_VIEWER_VARIANCE, 0.0);
  if (isHandshake) put(out, LEG_VIEWER_VARIANCE, readViewer(config, viewer, nowMs, out));
  readFeatures(config, model, row, hasHistory, viewer, reciprocal, stakes, g, nowMs, out);
  readStanding(row, hasHistory, nowMs, out);
  judgeLeg(config, model, stakes, out);
}

/**
 * Scores, standing, tier and reasons from the leg's inputs: the words LEG_KNOWN and LEG_INPUTS on.
 * Nothing else is read, so that a logged leg judged again gives the same bits.
 */
export function judgeLeg(config: u32, model: u32, stakes: f64, out: u32): void {
  const meanWeight = word(config, model + MODEL_MEAN);
  let sd2 = meanWeight * meanWeight * get(out, LEG_SUBJECT_VARIANCE);
  let eta = word(config, model + MODEL_INTERCEPT);
  eta += word(config, model + MODEL_BASE) * get(out, LEG_BASE);
  eta += meanWeight * get(out, LEG_MEAN);
  if (model == WORD_MODEL_HANDSHAKE) {
    const weight = word(config, model + MODEL_VIEWER);
    sd2 += weight * weight * get(out, LEG_VIEWER_VARIANCE);
    eta += weight * get(out, LEG_VIEWER);
  }
  // Apart from what stakes add, to the bit: a bound on the stakes holds when it is asked about itself.
  let unstaked = eta;
  for (let j: u32 = 0; j < <u32>FEATURE_COUNT; j++) {
    const part = word(config, model + MODEL_WEIGHTS + j) * get(out, LEG_FEATURES + j);
    eta += part;
    if (j != <u32>FEATURE_STAKES_NOVELTY && j != <u32>FEATURE_STAKES_UNTESTED) unstaked += part;
  }
  const sd = Math.sqrt(sd2);
  put(out, LEG_ETA, eta);
  put(out, LEG_SD, sd);
  const added = stakesPart(config, model, out);
  writeDoubt(config, out);
  writeScores(config, eta, sd, added, out);
  writeStanding(config, model, added, eta, out);
  writeStakes(config, model, stakes, unstaked, out);
  writeRecord(config, model, stakes, out);
  put(out, LEG_VERIFY_CATCH, word(config, WORD_VERIFY_CATCH));
  put(out, LEG_HUMAN_CATCH, word(config, WORD_HUMAN_CATCH));
  writeTier(config, eta - added - viewerPart(config, model, out), out);
  rankReasons(config, model, out);
}

/**
 * Doubt apart from risk: how much of the prior variance the outcomes have resolved, and how many
 * there were: one weighty word is no record. It outlives the fading counters as the track does, and
 * is no matter of the weights.
 */
function writeDoubt(config: u32, out: u32): void {
  put(out, LEG_THIN, isDoubtful(config, get(out, LEG_SUBJECT_VARIANCE), out) ? 1.0 : 0.0);
}

function isDoubtful(config: u32, variance: f64, out: u32): bool {
  const resolved = 1.0 - variance / word(config, WORD_SUBJECT_VARIANCE);
  const isFew = get(out, LEG_OUTCOMES) < word(config, WORD_THIN_OUTCOMES);
  return isFew || resolved < word(config, WORD_THIN_BELOW);
}

/** Log-odds that come from the viewing party: a tier is the subject's, whoever looks. */
function viewerPart(config: u32, model: u32, out: u32): f64 {
  if (model != WORD_MODEL_HANDSHAKE) return 0.0;
  let part = word(config, model + MODEL_VIEWER) * get(out, LEG_VIEWER);
  part += weighed(config, model, FEATURE_VIEWER_SHORT, out);
  part += weighed(config, model, FEATURE_VIEWER_LATEST, out);
  part += weighed(config, model, FEATURE_VIEWER_RECORD, out);
  part += weighed(config, model, FEATURE_RECIPROCAL_FAILURE, out);
  return part + weighed(config, model, FEATURE_RECIPROCAL_SUCCESS, out);
}

function isViewerFeature(feature: u32): bool {
  return (
    feature == <u32>FEATURE_VIEWER_SHORT ||
    feature == <u32>FEATURE_VIEWER_LATEST ||
    feature == <u32>FEATURE_VIEWER_RECORD ||
    feature == <u32>FEATURE_RECIPROCAL_FAILURE ||
    feature == <u32>FEATURE_RECIPROCAL_SUCCESS
  );
}

/** Log-odds that come from assessments: they ask for a second look and never deny. */
function assessedPart(config: u32, model: u32, out: u32): f64 {
  const failed = weighed(config, model, FEATURE_HALLUCINATION, out);
  return failed + weighed(config, model, FEATURE_UNVERIFIED, out);
}

function weighed(config: u32, model: u32, feature: u32, out: u32): f64 {
  return word(config, model + MODEL_WEIGHTS + feature) * get(out, LEG_FEATURES + feature);
}

/** What the row says beside its track: flags and pattern, failing mass, shock, silence. */
function readStanding(row: u32, hasHistory: bool, nowMs: f64, out: u32): void {
  const heard = hasHistory ? <f64>load<u32>(row, ROW_HEARD_AT) * 1000.0 : 0.0;
  put(out, LEG_SILENT_DAYS, heard > 0.0 ? daysBetween(heard, nowMs) : -1.0);
  put(out, LEG_FLAGS, row != 0 ? <f64>load<u32>(row, ROW_FLAGS) : 0.0);
  put(out, LEG_FAILURES, row != 0 ? <f64>load<f32>(row, ROW_FAILURE_LONG) : 0.0);
  put(out, LEG_OUTCOMES, row != 0 ? readOutcomes(row) : 0.0);
  const shock = hasHistory ? <f64>load<u32>(row, ROW_SHOCK_AT) * 1000.0 : 0.0;
  put(out, LEG_SHOCK_DAYS, shock > 0.0 ? daysBetween(shock, nowMs) : -1.0);
}

/** Mean and variance of the subject track, reverted to now. */
function readSubject(
  config: u32,
  row: u32,
  hasHistory: bool,
  isHandshake: bool,
  nowMs: f64,
  out: u32,
): void {
  const prior = word(config, WORD_SUBJECT_VARIANCE);
  if (!hasHistory) {
    put(out, LEG_MEAN, 0.0);
    put(out, LEG_SUBJECT_VARIANCE, prior);
    put(out, LEG_RECORD_MEAN, 0.0);
    put(out, LEG_RECORD_VARIANCE, prior);
    return;
  }
  const days = daysBetween(load<f64>(row, ROW_SUBJECT_TIME), nowMs);
  const a = reversion(days, word(config, WORD_SUBJECT_TAU));
  const mean = load<f64>(row, ROW_MEAN_A) * a;
  const variance = revertVariance(load<f64>(row, ROW_VARIANCE_A), prior, a);
  put(out, LEG_RECORD_MEAN, mean);
  put(out, LEG_RECORD_VARIANCE, variance);
  put(out, LEG_MEAN, isHandshake ? load<f64>(row, ROW_MEAN_B) * a : mean);
  put(
    out,
    LEG_SUBJECT_VARIANCE,
    isHandshake ? revertVariance(load<f64>(row, ROW_VARIANCE_B), prior, a) : variance,
  );
}

/** Severity of the viewing party; returns its variance. */
function readViewer(config: u32, viewer: u32, nowMs: f64, out: u32): f64 {
  const prior = word(config, WORD_REPORTER_VARIANCE);
  if (viewer == 0) return prior;
  const last = load<f64>(viewer, ROW_REPORTER_TIME);
  if (last == 0.0) return prior;
  const a = reversion(daysBetween(last, nowMs), word(config, WORD_REPORTER_TAU));
  put(out, LEG_VIEWER, load<f64>(viewer, ROW_MEAN_R) * a);
  return revertVariance(load<f64>(viewer, ROW_VARIANCE_R), prior, a);
}

/** Scale: 380 + 57.7078 * log-odds of success; 620 is 64:1, +40 doubles the odds (scoring 3). */
function writeScores(config: u32, eta: f64, sd: f64, added: f64, out: u32): void {
  const factor = word(config, WORD_FACTOR);
  const offset = word(config, WORD_OFFSET);
  const cautious = eta + word(config, WORD_CAUTION) * sd;
  put(out, LEG_PROBABILITY, sigmoid(eta));
  put(out, LEG_PESSIMISTIC, sigmoid(cautious));
  // A refusal judges the agent, never the stakes: what the stakes add is taken out again.
  const own = eta - added;
  put(out, LEG_OPTIMISTIC, sigmoid(own - word(config, WORD_REFUSE_CAUTION) * sd));
  put(out, LEG_INTERNAL, min(SCORE_MAX, max(SCORE_MIN, offset - factor * eta)));
  put(out, LEG_EFFECTIVE, min(SCORE_MAX, max(SCORE_MIN, offset - factor * cautious)));
}

/**
 * Whether the record is refused or denied, whatever the stakes. Doubt alone never denies: a thin
 * record asks for a second look. So does what is nearly forgotten: without any word for a year or
 * more, nothing denies.
 */
function writeStanding(config: u32, model: u32, added: f64, eta: f64, out: u32): void {
  const border = denyBorder(config, model);
  const isJudged = get(out, LEG_THIN) == 0.0 && get(out, LEG_EVIDENCE) >= DENY_EVIDENCE_MIN;
  const found = assessedPart(config, model, out);
  const own = eta - added - found;
  // Few legs have failed texts: for all others the exponentials of the scores serve again.
  let optimistic = get(out, LEG_OPTIMISTIC);
  if (found > 0.0) {
    optimistic = sigmoid(own - word(config, WORD_REFUSE_CAUTION) * get(out, LEG_SD));
  }
  let isRefused = isJudged && optimistic >= border;
  if ((<u32>get(out, LEG_FLAGS) & (FLAG_FRAUD | FLAG_KEY_REVOKED)) != 0) isRefused = true;
  const isPlain = added == 0.0 && found == 0.0;
  const expected = isPlain ? get(out, LEG_PROBABILITY) : sigmoid(own);
  const isDenied = isRefused || (isJudged && expected >= border);
  put(out, LEG_JUDGED, isJudged ? 1.0 : 0.0);
  put(out, LEG_REFUSED, isRefused ? 1.0 : 0.0);
  put(out, LEG_DENIED, isDenied ? 1.0 : 0.0);
}

/**
 * The same by the check model, which verify goes by: whom verify holds back, no handshake connects.
 * Of a check they are the leg's own.
 */
function writeRecord(config: u32, model: u32, stakes: f64, out: u32): void {
  if (model != WORD_MODEL_HANDSHAKE) {
    put(out, LEG_RECORD_PROBABILITY, get(out, LEG_PROBABILITY));
    put(out, LEG_RECORD_OPTIMISTIC, get(out, LEG_OPTIMISTIC));
    put(out, LEG_RECORD_DENIED, get(out, LEG_DENIED));
    put(out, LEG_RECORD_REFUSED, get(out, LEG_REFUSED));
    put(out, LEG_RECORD_THIN, get(out, LEG_THIN));
    return;
  }
  const check: u32 = WORD_MODEL_CHECK;
  const weight = word(config, check + MODEL_MEAN);
  let eta = word(config, check + MODEL_INTERCEPT);
  eta += word(config, check + MODEL_BASE) * get(out, LEG_BASE);
  eta += weight * get(out, LEG_RECORD_MEAN);
  for (let j: u32 = 0; j < <u32>FEATURE_COUNT; j++) {
    // In a check nobody looks, and the good mean is that of the check's own track.
    if (j == <u32>FEATURE_STAKES_UNTESTED || isViewerFeature(j)) continue;
    eta += word(config, check + MODEL_WEIGHTS + j) * get(out, LEG_FEATURES + j);
  }
  const sd = weight * Math.sqrt(get(out, LEG_RECORD_VARIANCE));
  const novelty = weighed(config, check, FEATURE_STAKES_NOVELTY, out);
  const own = eta - novelty - assessedPart(config, check, out);
  const cautious = word(config, WORD_REFUSE_CAUTION) * sd;
  const border = denyBorder(config, check);
  const isThin = isDoubtful(config, get(out, LEG_RECORD_VARIANCE), out);
  const isJudged = !isThin && get(out, LEG_EVIDENCE) >= DENY_EVIDENCE_MIN;
  const isFlagged = (<u32>get(out, LEG_FLAGS) & (FLAG_FRAUD | FLAG_KEY_REVOKED)) != 0;
  const isRefused = isFlagged || (isJudged && sigmoid(own - cautious) >= border);
  let untested: f64 = 0.0;
  if (stakes > get(out, LEG_STAKES_REACH)) {
    const weightUntested = word(config, check + MODEL_WEIGHTS + FEATURE_STAKES_UNTESTED);
    untested = weightUntested * max(0.0, -get(out, LEG_RECORD_MEAN));
  }
  put(out, LEG_RECORD_PROBABILITY, sigmoid(eta + untested));
  put(out, LEG_RECORD_OPTIMISTIC, sigmoid(eta - novelty - cautious));
  put(out, LEG_RECORD_REFUSED, isRefused ? 1.0 : 0.0);
  put(out, LEG_RECORD_DENIED, isRefused || (isJudged && sigmoid(own) >= border) ? 1.0 : 0.0);
  put(out, LEG_RECORD_THIN, isThin ? 1.0 : 0.0);
}

/** Tier from the subject's own log-odds, REVIEW while its record is thin; regime from its history. */
function writeTier(config: u32, own: f64, out: u32): void {
  const score = word(config, WORD_OFFSET) - word(config, WORD_FACTOR) * own;
  let tier = TIER_D;
  if (score >= word(config, WORD_TIER_A)) tier = TIER_A;
  else if (score >= word(config, WORD_TIER_B)) tier = TIER_B;
  else if (score >= word(config, WORD_TIER_C)) tier = TIER_C;
  let regime = REGIME_NONE;
  if (get(out, LEG_KNOWN) != 0.0) {
    const momentum = Math.abs(get(out, LEG_FEATURES + FEATURE_MOMENTUM));
    regime = momentum < word(config, WORD_REGIME_MOMENTUM) ? REGIME_STABLE : REGIME_DRIFTING;
    const shockDays = get(out, LEG_SHOCK_DAYS);
    if (shockDays >= 0.0 && shockDays < word(config, WORD_SHOCK_DAYS)) regime = REGIME_SHOCK;
  }
  if (get(out, LEG_THIN) != 0.0) tier = TIER_REVIEW;
  put(out, LEG_TIER, <f64>tier);
  put(out, LEG_REGIME, <f64>regime);
}
