// Reason codes: points of deficit against the reference population, correlated features merged
// under one code, the four largest of at least five points (scoring 3).
import { word } from "./config.ts";
import {
  REASON_CONCENTRATED_REPORTERS,
  REASON_FAILURE_HISTORY,
  REASON_FRAUD_FLAG,
  REASON_HALLUCINATION_SIGNAL,
  REASON_KEY_REVOKED,
  REASON_LOW_CREDIBILITY_EVIDENCE,
  REASON_NEGATIVE_TREND,
  REASON_RECENT_FAILURE,
  REASON_RING_PATTERN,
  REASON_STAKE_ABOVE_PROVEN,
  REASON_THIN_FILE,
  REASON_UNVERIFIED_SOURCES,
  REASON_VIEWER_CAUTIOUS,
} from "./codes.ts";
import {
  FEATURE_AGE,
  FEATURE_BETA,
  FEATURE_BROKEN_RECORD,
  FEATURE_EVIDENCE,
  FEATURE_HALLUCINATION,
  FEATURE_LATEST_FAILURES,
  FEATURE_MOMENTUM,
  FEATURE_PRAISE_STRENGTH,
  FEATURE_RECENT_FAILURE,
  FEATURE_RECIPROCAL_FAILURE,
  FEATURE_RECIPROCAL_SUCCESS,
  FEATURE_STAKES_NOVELTY,
  FEATURE_STAKES_UNTESTED,
  FEATURE_UNVERIFIED,
  FEATURE_VIEWER_LATEST,
  FEATURE_VIEWER_RECORD,
  FEATURE_VIEWER_SHORT,
  FLAG_DISCOUNTED,
  FLAG_FRAUD,
  FLAG_KEY_REVOKED,
  LEG_DEFICITS,
  LEG_EVIDENCE,
  LEG_FAILURES,
  LEG_FEATURES,
  LEG_FLAGS,
  LEG_MEAN,
  LEG_OUTCOMES,
  LEG_REASONS,
  LEG_REASON_COUNT,
  LEG_SD,
  LEG_SUBJECT_VARIANCE,
  LEG_THIN,
  LEG_VIEWER,
  MODEL_MEAN,
  MODEL_MEAN_REFERENCE,
  MODEL_REFERENCES,
  MODEL_SD_REFERENCE,
  MODEL_VIEWER,
  MODEL_WEIGHTS,
  WORD_CAUTION,
  WORD_FACTOR,
  WORD_MODEL_HANDSHAKE,
  WORD_REASON_POINTS,
  WORD_SUBJECT_VARIANCE,
} from "./layout.ts";
import { breadthMissing, isCircle, isNarrow } from "./reporter-concentration.ts";

const REASONS_MAX: u32 = 4;

function get(out: u32, index: u32): f64 {
  return load<f64>(out + (index << 3));
}

function put(out: u32, index: u32, value: f64): void {
  store<f64>(out + (index << 3), value);
}

/** Puts a reason by weight among the four kept. */
function offer(out: u32, reason: u32, points: f64): void {
  let count = <u32>get(out, LEG_REASON_COUNT);
  let at = count;
  if (count < REASONS_MAX) put(out, LEG_REASON_COUNT, <f64>(count + 1));
  else at = REASONS_MAX;
  while (at > 0 && get(out, LEG_DEFICITS + at - 1) < points) {
    if (at < REASONS_MAX) {
      put(out, LEG_DEFICITS + at, get(out, LEG_DEFICITS + at - 1));
      put(out, LEG_REASONS + at, get(out, LEG_REASONS + at - 1));
    }
    at -= 1;
  }
  if (at < REASONS_MAX) {
    put(out, LEG_DEFICITS + at, points);
    put(out, LEG_REASONS + at, <f64>reason);
  }
}

/** Points a feature costs against its reference; negative when it helps. */
function cost(config: u32, model: u32, out: u32, feature: u32): f64 {
  const weight = word(config, model + MODEL_WEIGHTS + feature);
  if (weight == 0.0) return 0.0;
  const value = get(out, LEG_FEATURES + feature);
  const reference = word(config, model + MODEL_REFERENCES + feature);
  return word(config, WORD_FACTOR) * weight * (value - reference);
}

/** A failure within about four weeks, as recent_failure reads at the shipped time constant. */
const RECENTLY: f64 = 0.135;

/** Points of a feature that was observed against the agent; 0 where there is nothing to observe. */
function observed(config: u32, model: u32, out: u32, feature: u32): f64 {
  return get(out, LEG_FEATURES + feature) > 0.0 ? cost(config, model, out, feature) : 0.0;
}

/**
 * Writes LEG_REASON_COUNT and up to four reason codes by weight. Fewer than `least` points are no
 * reason; that is asked before the call, which for most of them would cost more than their points.
 *
 * INVARIANT (true reasons): a code is offered only where its fact is on record. A default, such as
 * the prior of a party without history, draws none, whatever it costs against the reference.
 */
export function rankReasons(config: u32, model: u32, out: u32): void {
  put(out, LEG_REASON_COUNT, 0.0);
  const least = word(config, WORD_REASON_POINTS);
  rankRecord(config, model, least, out);
  const recent = observed(config, model, out, FEATURE_RECENT_FAILURE);
  if (recent >= least) offer(out, REASON_RECENT_FAILURE, recent);
  if (get(out, LEG_FEATURES + FEATURE_RECENT_FAILURE) >= RECENTLY) {
    const trend = observed(config, model, out, FEATURE_MOMENTUM);
    if (trend >= least) offer(out, REASON_NEGATIVE_TREND, trend);
  }
  let novel = observed(config, model, out, FEATURE_STAKES_NOVELTY);
  novel += observed(config, model, out, FEATURE_STAKES_UNTESTED);
  if (novel >= least) offer(out, REASON_STAKE_ABOVE_PROVEN, novel);
  const hallucinated = observed(config, model, out, FEATURE_HALLUCINATION);
  if (hallucinated >= least) offer(out, REASON_HALLUCINATION_SIGNAL, hallucinated);
  const unverified = observed(config, model, out, FEATURE_UNVERIFIED);
  if (unverified >= least) offer(out, REASON_UNVERIFIED_SOURCES, unverified);
  if (model == WORD_MODEL_HANDSHAKE) {
    const viewer = viewerCost(config, model, out);
    if (viewer >= least) offer(out, REASON_VIEWER_CAUTIOUS, viewer);
  }
  const flags = <u32>get(out, LEG_FLAGS);
  if ((flags & FLAG_FRAUD) != 0) offer(out, REASON_FRAUD_FLAG, Infinity);
  if ((flags & FLAG_KEY_REVOKED) != 0) offer(out, REASON_KEY_REVOKED, Infinity);
}

/** What the record itself gives: failures, too few or too alike who report, too little of it. */
function rankRecord(config: u32, model: u32, least: f64, out: u32): void {
  const factor = word(config, WORD_FACTOR);
  const shift = get(out, LEG_MEAN) - word(config, model + MODEL_MEAN_REFERENCE);
  const meanCost = word(config, model + MODEL_MEAN) * factor;
  let history = meanCost * shift + cost(config, model, out, FEATURE_BETA);
  history += cost(config, model, out, FEATURE_LATEST_FAILURES);
  history += cost(config, model, out, FEATURE_BROKEN_RECORD);
  const wide = get(out, LEG_SD) - word(config, model + MODEL_SD_REFERENCE);
  let thin = factor * word(config, WORD_CAUTION) * wide;
  thin += cost(config, model, out, FEATURE_EVIDENCE) + cost(config, model, out, FEATURE_AGE);
  thin += cost(config, model, out, FEATURE_PRAISE_STRENGTH);
  // Without a failure on file a worse mean is only missing evidence.
  if (get(out, LEG_FAILURES) <= 0.0) thin += history;
  else if (history >= least) offer(out, REASON_FAILURE_HISTORY, history);
  const flags = <u32>get(out, LEG_FLAGS);
  const isInRing = get(out, LEG_OUTCOMES) < 0.0;
  if (isInRing) offer(out, REASON_RING_PATTERN, Infinity);
  else if (isNarrow(flags)) {
    const narrow = narrowCost(config, model, breadthMissing(flags), out);
    const code = isCircle(flags) ? REASON_RING_PATTERN : REASON_CONCENTRATED_REPORTERS;
    if (narrow >= least) offer(out, code, narrow);
    // A thin file that rests on few reporters is reported as that, and not twice.
    if (narrow >= least) thin -= narrow;
  }
  // The file is thin because those who filled it are not believed: that is what to say.
  if ((flags & FLAG_DISCOUNTED) != 0) {
    if (thin >= least) offer(out, REASON_LOW_CREDIBILITY_EVIDENCE, thin);
  } else if (get(out, LEG_THIN) != 0.0 && !isInRing) offer(out, REASON_THIN_FILE, max(thin, least));
}

/**
 * Points that the agent would gain had its record `missing` times the weight: a narrower
 * uncertainty, and more evidence. The shares of success and failure would stay as they are.
 */
function narrowCost(config: u32, model: u32, missing: f64, out: u32): f64 {
  const factor = word(config, WORD_FACTOR);
  const prior = 1.0 / word(config, WORD_SUBJECT_VARIANCE);
  const variance = get(out, LEG_SUBJECT_VARIANCE);
  const broad = 1.0 / (prior + max(0.0, 1.0 / variance - prior) * missing);
  const weight = word(config, model + MODEL_MEAN);
  const sd = get(out, LEG_SD);
  const broadSd = Math.sqrt(max(0.0, sd * sd - weight * weight * (variance - broad)));
  const evidence = get(out, LEG_EVIDENCE);
  const more = Math.log((1.0 + evidence * missing) / (1.0 + evidence));
  const gained = -word(config, model + MODEL_WEIGHTS + FEATURE_EVIDENCE) * more;
  return factor * (word(config, WORD_CAUTION) * (sd - broadSd) + gained);
}

/** Points that the viewing party itself costs: how severe it is, and what it was told before. */
function viewerCost(config: u32, model: u32, out: u32): f64 {
  const factor = word(config, WORD_FACTOR);
  const severity = max(0.0, get(out, LEG_VIEWER));
  const short = max(0.0, get(out, LEG_FEATURES + FEATURE_VIEWER_SHORT));
  let viewer = factor * word(config, model + MODEL_VIEWER) * severity;
  viewer += factor * word(config, model + MODEL_WEIGHTS + FEATURE_VIEWER_SHORT) * short;
  viewer += observed(config, model, out, FEATURE_VIEWER_LATEST);
  viewer += observed(config, model, out, FEATURE_VIEWER_RECORD);
  viewer += observed(config, model, out, FEATURE_RECIPROCAL_FAILURE);
  return viewer + observed(config, model, out, FEATURE_RECIPROCAL_SUCCESS);
}
