// The watch over a promotion: the old champion keeps scoring in the shadow, and the promotion is
// taken back when the new weights are worse beyond chance, however often one looks (kaizen 6.4,
// 6.5: normal mixture boundary, Howard et al. 2021).
import type { ScoringConfig } from "../engine/config.ts";
import { show } from "./gate.ts";
import { forecast, refusalsOf } from "./holdout.ts";
import type { Evidence } from "./holdout.ts";
import { clopperPearsonLower, twoWayVariance } from "./statistics.ts";

/** Days that a promotion is watched by the sequential boundary. */
export const WATCH_DAYS = 28;
/** Runs that only test and never promote after a rollback. */
export const COOL_DOWN_RUNS = 2;
const ALPHA = 0.05;
/** The boundary is shaped at the first look with so many failures. */
const FIRST_LOOK_FAILURES = 30;
const FALSE_POSITIVE_MAX = 0.001;
const OBSERVED_LOW = 0.75;
const OBSERVED_HIGH = 1.33;
const OBSERVED_Z = 3;

/** Settled outcomes since a promotion, in order, under the new weights and the old ones. */
export interface Watched {
  failures: Uint8Array;
  subjects: Uint32Array;
  reporters: Uint32Array;
  newLosses: Float64Array;
  oldLosses: Float64Array;
  /** Failure probabilities of the new weights. */
  probabilities: Float64Array;
  /** Successes that the new weights refused, and all successes. */
  refused: number;
  successes: number;
}

export interface WatchResult {
  isRollbackDue: boolean;
  numbers: Record<string, number>;
  sentence: string;
}

/** Sum of the first `count` of `values` and the clustered variance of that sum. */
function sumOf(values: Float64Array, watched: Watched, count: number) {
  const ones = new Float64Array(count).fill(1);
  const { mean, variance } = twoWayVariance(
    values.subarray(0, count),
    ones,
    watched.subjects.subarray(0, count),
    watched.reporters.subarray(0, count),
  );
  return { sum: mean * count, variance: variance * count * count };
}

/** One-sided always-valid boundary for a sum of variance V, shaped by `rho`. */
export function mixtureBoundary(variance: number, rho: number, alpha = ALPHA): number {
  const total = variance + rho;
  return Math.sqrt(2 * total * Math.log(1 + Math.sqrt(total / rho) / (2 * alpha)));
}

function firstLook(failures: Uint8Array): number {
  let bads = 0;
  return failures.findIndex((y) => (bads += y) >= FIRST_LOOK_FAILURES) + 1;
}

/** Is the promotion to be taken back, judged by all outcomes since it? */
export function watchPromotion(watched: Watched): WatchResult {
  const { failures, probabilities, newLosses, oldLosses } = watched;
  const n = failures.length;
  if (n === 0) return { isRollbackDue: false, numbers: {}, sentence: "no outcome yet" };
  if (!newLosses.every(Number.isFinite)) {
    return { isRollbackDue: true, numbers: {}, sentence: "the new weights give no number" };
  }
  const falsePositives = clopperPearsonLower(watched.refused, watched.successes);
  const residuals = Float64Array.from(failures, (y, i) => y - probabilities[i]!);
  const residual = sumOf(residuals, watched, n);
  const expected = probabilities.reduce((sum, p) => sum + p, 0);
  const observed = (residual.sum + expected) / expected;
  const observedZ = residual.variance > 0 ? residual.sum / Math.sqrt(residual.variance) : 0;
  const look = firstLook(failures);
  const worse = newLosses.map((loss, i) => loss - oldLosses[i]!);
  const { sum, variance } = sumOf(worse, watched, n);
  const rho = look > 0 ? sumOf(worse, watched, look).variance / 3 : 0;
  const boundary = rho > 0 ? mixtureBoundary(variance, rho) : Infinity;
  const numbers = {
    rows: n,
    loss_increase: sum / n,
    boundary: boundary / n,
    false_positive_lower: falsePositives,
    observed_over_expected: observed,
    observed_z: observedZ,
  };
  if (falsePositives > FALSE_POSITIVE_MAX) {
    const sentence = `at least ${show(falsePositives * 100, 3)} % of successes are refused`;
    return { isRollbackDue: true, numbers, sentence };
  }
  const isOff = observed < OBSERVED_LOW || observed > OBSERVED_HIGH;
  if (isOff && Math.abs(observedZ) > OBSERVED_Z && sum > 0) {
    const sentence = `${show(observed, 2)} times the expected failures (z ${show(observedZ, 1)})`;
    return { isRollbackDue: true, numbers, sentence };
  }
  if (sum >= boundary) {
    const sentence = `log-loss rose by ${show(sum / n)} an outcome, beyond the boundary`;
    return { isRollbackDue: true, numbers, sentence };
  }
  const sentence = `log-loss ${sum > 0 ? "rose" : "fell"} by ${show(Math.abs(sum) / n)} an outcome`;
  return { isRollbackDue: false, numbers, sentence };
}

/** Watches one scorecard over all evidence settled since a promotion. */
export function watchSince(
  evidence: Evidence,
  sinceMs: number,
  side: "check" | "handshake",
  own: ScoringConfig,
  parent: ScoringConfig,
): WatchResult {
  const end = evidence.rows.count;
  const found = evidence.timesMs.subarray(0, end).findIndex((timeMs) => timeMs >= sinceMs);
  return watchRows(evidence, found < 0 ? end : found, end, side, own, parent);
}

/** Watches one scorecard over rows [from, to). */
export function watchRows(
  evidence: Evidence,
  from: number,
  to: number,
  side: "check" | "handshake",
  own: ScoringConfig,
  parent: ScoringConfig,
): WatchResult {
  const live = forecast(evidence, from, to, own[side], own);
  const failures = evidence.failures.subarray(from, to);
  return watchPromotion({
    failures,
    subjects: evidence.subjects.subarray(from, to),
    reporters: evidence.reporters.subarray(from, to),
    newLosses: live.losses,
    oldLosses: forecast(evidence, from, to, parent[side], parent).losses,
    probabilities: live.probabilities,
    refused: refusalsOf(live, own).filter((isRefused, i) => isRefused && failures[i] === 0).length,
    successes: failures.filter((y) => y === 0).length,
  });
}
