// Base rate g: log-odds of failure of the whole population, and the level every agent starts from.
// By default it moves once per period (an hour of event time) from the residuals of at most one
// outcome per reporter and one per subject, and by no more than a bounded step; reporters that first
// spoke lately have a small step of their own, together, however many they are. With a period of
// zero it is one more state of the filter (scoring 2.2, the golden vectors).
import { word } from "./config.ts";
import {
  HEADER_BASE,
  HEADER_BASE_DAY,
  HEADER_BASE_INFORMATION,
  HEADER_BASE_PROBABILITY,
  HEADER_BASE_RATE,
  HEADER_BASE_RESIDUAL,
  HEADER_BASE_TIME,
  HEADER_BASE_VARIANCE,
  HEADER_NEWCOMER_INFORMATION,
  HEADER_NEWCOMER_RESIDUAL,
  ROW_BASE_DAY,
  ROW_BASE_SUBJECT_DAY,
  ROW_SEEN_DAY,
  WORD_BASE_NEWCOMER_DAYS,
  WORD_BASE_NEWCOMER_STEP,
  WORD_BASE_PERIOD,
  WORD_BASE_RATE,
  WORD_BASE_STEP,
  WORD_BASE_TAU,
  WORD_BASE_VARIANCE,
} from "./layout.ts";
import { DAY_MS, daysBetween, reversion, revertVariance, sigmoid } from "./numeric.ts";

/** g as the filters and the score use it now. */
export function baseRate(): f64 {
  return reinterpret<f64>(atomic.load<u64>(HEADER_BASE, HEADER_BASE_RATE));
}

/** sigmoid(g), kept beside it so that a read need not take the exponential again. */
export function baseProbability(): f64 {
  return reinterpret<f64>(atomic.load<u64>(HEADER_BASE, HEADER_BASE_PROBABILITY));
}

function setBaseRate(g: f64): void {
  atomic.store<u64>(HEADER_BASE, reinterpret<u64>(g), HEADER_BASE_RATE);
  atomic.store<u64>(HEADER_BASE, reinterpret<u64>(sigmoid(g)), HEADER_BASE_PROBABILITY);
}

/** Writer, on installing a config: a rate that never moved, or may not move, takes its value. */
export function anchorBase(config: u32): void {
  const isFixed = word(config, WORD_BASE_VARIANCE) <= 0.0;
  if (isFixed || load<f64>(HEADER_BASE, HEADER_BASE_TIME) == 0.0) {
    setBaseRate(word(config, WORD_BASE_RATE));
  }
}

/**
 * Brings the rate to `timeMs`. Returns its variance when every outcome moves it, 0 when it is
 * fixed or moves by period.
 */
export function advanceBase(config: u32, timeMs: f64): f64 {
  const prior = word(config, WORD_BASE_VARIANCE);
  if (prior <= 0.0) return 0.0;
  const period = word(config, WORD_BASE_PERIOD);
  const last = load<f64>(HEADER_BASE, HEADER_BASE_TIME);
  if (period > 0.0) {
    const day = <u32>(timeMs / (period * DAY_MS));
    if (last == 0.0) {
      store<f64>(HEADER_BASE, prior, HEADER_BASE_VARIANCE);
      store<f64>(HEADER_BASE, timeMs, HEADER_BASE_TIME);
      store<u32>(HEADER_BASE, day, HEADER_BASE_DAY);
    } else if (day > load<u32>(HEADER_BASE, HEADER_BASE_DAY)) {
      closePeriod(config, prior, last, timeMs);
      store<u32>(HEADER_BASE, day, HEADER_BASE_DAY);
    }
    return 0.0;
  }
  if (last == 0.0) store<f64>(HEADER_BASE, prior, HEADER_BASE_VARIANCE);
  else revertBase(config, prior, last, timeMs);
  store<f64>(HEADER_BASE, max(last, timeMs), HEADER_BASE_TIME);
  return load<f64>(HEADER_BASE, HEADER_BASE_VARIANCE);
}

function revertBase(config: u32, prior: f64, last: f64, timeMs: f64): void {
  const mean = word(config, WORD_BASE_RATE);
  const a = reversion(daysBetween(last, timeMs), word(config, WORD_BASE_TAU));
  setBaseRate(mean + (baseRate() - mean) * a);
  const variance = load<f64>(HEADER_BASE, HEADER_BASE_VARIANCE);
  store<f64>(HEADER_BASE, revertVariance(variance, prior, a), HEADER_BASE_VARIANCE);
}

/**
 * One Newton step from the residuals of the closed period, bounded, then reversion to now. Those of
 * newcomers are scaled down until they alone would move it by no more than their own step.
 */
function closePeriod(config: u32, prior: f64, last: f64, timeMs: f64): void {
  const variance = load<f64>(HEADER_BASE, HEADER_BASE_VARIANCE);
  let information = load<f64>(HEADER_BASE, HEADER_BASE_INFORMATION);
  let residual = load<f64>(HEADER_BASE, HEADER_BASE_RESIDUAL);
  const newResidual = load<f64>(HEADER_BASE, HEADER_NEWCOMER_RESIDUAL);
  const alone = (variance / (1.0 + variance * information)) * Math.abs(newResidual);
  const mostNew = word(config, WORD_BASE_NEWCOMER_STEP);
  const share = alone > mostNew ? mostNew / alone : 1.0;
  residual += share * newResidual;
  information += share * load<f64>(HEADER_BASE, HEADER_NEWCOMER_INFORMATION);
  const left = variance / (1.0 + variance * information);
  const most = word(config, WORD_BASE_STEP);
  setBaseRate(baseRate() + min(most, max(-most, left * residual)));
  store<f64>(HEADER_BASE, left, HEADER_BASE_VARIANCE);
  store<f64>(HEADER_BASE, 0.0, HEADER_BASE_RESIDUAL);
  store<f64>(HEADER_BASE, 0.0, HEADER_BASE_INFORMATION);
  store<f64>(HEADER_BASE, 0.0, HEADER_NEWCOMER_RESIDUAL);
  store<f64>(HEADER_BASE, 0.0, HEADER_NEWCOMER_INFORMATION);
  revertBase(config, prior, last, timeMs);
  store<f64>(HEADER_BASE, timeMs, HEADER_BASE_TIME);
}

/** Books the first residual of the period that this reporter gives and this subject draws. */
export function collectBase(config: u32, subject: u32, reporter: u32, r: f64, h: f64): void {
  if (word(config, WORD_BASE_VARIANCE) <= 0.0) return;
  const today = <u16>(load<f64>(HEADER_BASE, HEADER_BASE_TIME) / DAY_MS);
  const isNew = isNewcomer(config, reporter, today);
  const period = <u16>load<u32>(HEADER_BASE, HEADER_BASE_DAY);
  if (load<u16>(reporter, ROW_BASE_DAY) == period) return;
  if (load<u16>(subject, ROW_BASE_SUBJECT_DAY) == period) return;
  store<u16>(reporter, period, ROW_BASE_DAY);
  store<u16>(subject, period, ROW_BASE_SUBJECT_DAY);
  const sums: u32 = HEADER_BASE + (isNew ? HEADER_NEWCOMER_RESIDUAL : HEADER_BASE_RESIDUAL);
  store<f64>(sums, load<f64>(sums) + r);
  store<f64>(sums, load<f64>(sums, 8) + h, 8);
}

/**
 * Whether a reporter's first outcome came in less than `base_newcomer_days` ago, by the newest time
 * that the rate had come to: the time that an outcome claims for itself would make anybody old.
 */
function isNewcomer(config: u32, reporter: u32, today: u16): bool {
  const seen = load<u16>(reporter, ROW_SEEN_DAY);
  if (seen == 0) store<u16>(reporter, today, ROW_SEEN_DAY);
  return seen == 0 || <f64>(today - seen) < word(config, WORD_BASE_NEWCOMER_DAYS);
}

/** The per-outcome step of the filtered rate. */
export function stepBase(variance: f64, r: f64, h: f64, d: f64): void {
  setBaseRate(baseRate() + (variance * r) / d);
  const left = variance - (variance * variance * h) / d;
  store<f64>(HEADER_BASE, left, HEADER_BASE_VARIANCE);
}
