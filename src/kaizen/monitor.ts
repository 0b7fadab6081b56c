// Monitor of promotions: the weights that the newest change of a scorecard replaced keep scoring in the
// shadow, and the promotion is rolled back when the new ones are worse beyond chance, however often
// the comparison is made (kaizen 6.4, 6.5: normal mixture boundary, Howard et al. 2021).
import { DAY_MS } from "../contract/units.ts";
import type { ScoringConfig } from "../engine/config.ts";
import { formatRounded } from "./gates/register.ts";
import { forecastRows, predictDenials, findFirstRowAtOrAfter } from "./model/holdout.ts";
import type { FitRows } from "./model/holdout.ts";
import {
  computeClopperPearsonLower,
  createStabilityIndex,
  computeTwoWayVariance,
} from "./model/statistics.ts";
import { SCORECARD_SIDES } from "./model/scorecard.ts";
import type { ScorecardSide } from "./model/scorecard.ts";

/** Days during which the sequential boundary monitors a promotion. */
export const WATCH_DAYS = 28;
/** Runs that only test and never promote after a rollback. */
export const COOL_DOWN_RUNS = 2;
const ALPHA = 0.05;
/** Number of failures at the first comparison, for which the boundary is shaped. */
const FIRST_LOOK_FAILURES = 30;
const FALSE_POSITIVE_MAX = 0.001;
const OBSERVED_LOW = 0.75;
const OBSERVED_HIGH = 1.33;
const OBSERVED_Z = 3;
/** Stability index above which scores have drifted, when it holds on so many days in a row. */
const DRIFT_MAX = 0.25;
const DRIFT_DAYS = 2;
/** Days before the promotion whose scores each later day is compared with. */
const REFERENCE_DAYS = 60;

/** Settled outcomes since a promotion, in order, under the new weights and the old ones. */
export interface MonitoredOutcomes {
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
  /** Successes that the old weights would have refused; 0 by default. */
  refusedBefore?: number;
  /** The first so many outcomes settled within the days of the sequential boundary. */
  early?: number;
  /** Scores under the new weights, for the drift of their distribution. */
  drift?: DriftInput;
  /** True: a start-up calibration, which must go on earning its place. */
  isCalibration?: boolean;
}

/** Scores since a promotion in order of time, and scores of the days before it. */
export interface DriftInput {
  scores: readonly number[];
  timesMs: Float64Array;
  sinceMs: number;
  reference: readonly number[];
}

export interface WatchResult {
  isRollbackDue: boolean;
  numbers: Record<string, number>;
  sentence: string;
}

/** Newest change of one scorecard: its run, its time, the config it replaced, and its kind. */
export interface WatchedChange {
  runId: string;
  sinceMs: number;
  parent: ScoringConfig;
  isCalibration: boolean;
}

/** What is monitored: each scorecard has a newest change of its own, or none. */
export type WatchedChanges = Partial<Record<ScorecardSide, WatchedChange>>;

/** Findings for one scorecard. */
export interface SideWatch extends WatchResult {
  side: ScorecardSide;
}

/** Sum of the first `count` of `values` and the clustered variance of that sum. */
function sumWithClusteredVariance(values: Float64Array, watched: MonitoredOutcomes, count: number) {
  const ones = new Float64Array(count).fill(1);
  const { mean, variance } = computeTwoWayVariance(
    values.subarray(0, count),
    ones,
    watched.subjects.subarray(0, count),
    watched.reporters.subarray(0, count),
  );
  return { sum: mean * count, variance: variance * count * count };
}

/** One-sided always-valid boundary for a sum of variance V, shaped by `rho`. */
export function computeMixtureBoundary(variance: number, rho: number, alpha = ALPHA): number {
  const total = variance + rho;
  return Math.sqrt(2 * total * Math.log(1 + Math.sqrt(total / rho) / (2 * alpha)));
}

function countOutcomesToFirstLook(failures: Uint8Array): number {
  let bads = 0;
  return failures.findIndex((y) => (bads += y) >= FIRST_LOOK_FAILURES) + 1;
}

/**
 * The most days in a row whose scores have drifted beyond DRIFT_MAX and beyond the difference of
 * two samples of that size (99.9 %, chi-square with 9 degrees: Yurdakul and Naranjo 2020).
 */
export function countConsecutiveDriftDays({
  scores,
  timesMs,
  sinceMs,
  reference,
}: DriftInput): number {
  if (reference.length === 0) return 0;
  const days = new Map<number, number[]>();
  scores.forEach((score, i) => {
    const day = Math.floor((timesMs[i]! - sinceMs) / DAY_MS);
    const own = days.get(day);
    if (own === undefined) days.set(day, [score]);
    else own.push(score);
  });
  const computeIndex = createStabilityIndex(reference);
  let [longest, current, last] = [0, 0, -2];
  for (const [day, own] of days) {
    const noise = 27.877 * (1 / reference.length + 1 / own.length);
    const isDrifted = computeIndex(own) > Math.max(DRIFT_MAX, noise);
    const isNext = day === last + 1;
    current = isDrifted ? (isNext ? current : 0) + 1 : 0;
    longest = Math.max(longest, current);
    last = day;
  }
  return longest;
}

/** Sum of the loss that the new weights added within the watched days, and its boundary. */
function computeSequentialTest(watched: MonitoredOutcomes) {
  const n = watched.early ?? watched.failures.length;
  const worse = watched.newLosses.map((loss, i) => loss - watched.oldLosses[i]!);
  if (n === 0) return { n, sum: 0, boundary: Infinity };
  const { sum, variance } = sumWithClusteredVariance(worse, watched, n);
  const look = countOutcomesToFirstLook(watched.failures.subarray(0, n));
  const rho = look > 0 ? sumWithClusteredVariance(worse, watched, look).variance / 3 : 0;
  return { n, sum, boundary: rho > 0 ? computeMixtureBoundary(variance, rho) : Infinity };
}

/** Whether log-loss has risen since by more than one clustered standard error. */
function hasLossRisen(watched: MonitoredOutcomes): boolean {
  const worse = watched.newLosses.map((loss, i) => loss - watched.oldLosses[i]!);
  const { sum, variance } = sumWithClusteredVariance(worse, watched, worse.length);
  return sum > Math.sqrt(variance);
}

/** Judges by all outcomes since the promotion whether it is to be rolled back. */
export function decideRollback(watched: MonitoredOutcomes): WatchResult {
  const { failures, probabilities, newLosses, oldLosses } = watched;
  const n = failures.length;
  if (n === 0) return { isRollbackDue: false, numbers: {}, sentence: "no outcome yet" };
  if (!newLosses.every(Number.isFinite)) {
    return { isRollbackDue: true, numbers: {}, sentence: "the new weights give no number" };
  }
  const falsePositives = computeClopperPearsonLower(watched.refused, watched.successes);
  const residuals = Float64Array.from(failures, (y, i) => y - probabilities[i]!);
  const residual = sumWithClusteredVariance(residuals, watched, n);
  const expected = probabilities.reduce((sum, p) => sum + p, 0);
  const observed = (residual.sum + expected) / expected;
  const observedZ = residual.variance > 0 ? residual.sum / Math.sqrt(residual.variance) : 0;
  const increase = newLosses.reduce((sum, loss, i) => sum + loss - oldLosses[i]!, 0);
  const early = computeSequentialTest(watched);
  const drifted = watched.drift === undefined ? 0 : countConsecutiveDriftDays(watched.drift);
  const numbers = {
    rows: n,
    loss_increase: increase / n,
    // No boundary before enough failures: JSON knows no infinity.
    ...(early.boundary < Infinity ? { boundary: early.boundary / early.n } : {}),
    false_positive_lower: falsePositives,
    refused: watched.refused,
    refused_before: watched.refusedBefore ?? 0,
    observed_over_expected: observed,
    observed_z: observedZ,
    drifted_days: drifted,
  };
  const due = (sentence: string) => ({ isRollbackDue: true, numbers, sentence });
  // The old weights face the same world: an error they would share is no reason to return to them.
  if (falsePositives > FALSE_POSITIVE_MAX && watched.refused > (watched.refusedBefore ?? 0)) {
    return due(`at least ${formatRounded(falsePositives * 100, 3)} % of successes are refused`);
  }
  const isOff = observed < OBSERVED_LOW || observed > OBSERVED_HIGH;
  if (isOff && Math.abs(observedZ) > OBSERVED_Z && increase > 0) {
    return due(
      `${formatRounded(observed, 2)} times the expected failures (z ${formatRounded(observedZ, 1)})`,
    );
  }
  if (drifted >= DRIFT_DAYS && increase > 0) {
    return due(`scores have drifted for ${drifted} days and log-loss rose`);
  }
  // Learnt from little: it need not be proved harmful to be let go.
  const bads = failures.reduce((sum, y) => sum + y, 0);
  if (watched.isCalibration === true && bads >= FIRST_LOOK_FAILURES && hasLossRisen(watched)) {
    return due(
      `the calibration has cost ${formatRounded(increase / n)} of log-loss an outcome since`,
    );
  }
  if (early.sum >= early.boundary) {
    return due(
      `log-loss rose by ${formatRounded(early.sum / early.n)} an outcome, beyond the boundary`,
    );
  }
  const change = `${increase > 0 ? "rose" : "fell"} by ${formatRounded(Math.abs(increase) / n)}`;
  return { isRollbackDue: false, numbers, sentence: `log-loss ${change} an outcome` };
}

/** Monitors each scorecard over the outcomes since its own newest change. */
export function monitorScorecards(
  evidence: Readonly<Record<ScorecardSide, FitRows>>,
  live: ScoringConfig,
  changes: WatchedChanges,
): SideWatch[] {
  return SCORECARD_SIDES.flatMap((side) => {
    const change = changes[side];
    if (change === undefined) return [];
    const rows = evidence[side];
    const watch = monitorScorecardRows(rows, side, live, { ...change, to: rows.rows.count });
    return [{ side, ...watch }];
  });
}

function countDeniedSuccesses(refusals: readonly boolean[], failures: Uint8Array): number {
  return refusals.filter((isRefused, i) => isRefused && failures[i] === 0).length;
}

/** Monitors one scorecard over rows from `sinceMs` up to row `to`. */
export function monitorScorecardRows(
  evidence: FitRows,
  side: ScorecardSide,
  own: ScoringConfig,
  { sinceMs, to, parent, isCalibration }: Omit<WatchedChange, "runId"> & { to: number },
): WatchResult {
  const from = Math.min(to, findFirstRowAtOrAfter(evidence, sinceMs));
  const live = forecastRows(evidence, [from, to], own[side], own);
  const shadow = forecastRows(evidence, [from, to], parent[side], parent);
  const failures = evidence.failures.subarray(from, to);
  const before = findFirstRowAtOrAfter(evidence, sinceMs - REFERENCE_DAYS * DAY_MS);
  return decideRollback({
    isCalibration,
    failures,
    subjects: evidence.subjects.subarray(from, to),
    reporters: evidence.reporters.subarray(from, to),
    newLosses: live.losses,
    oldLosses: shadow.losses,
    probabilities: live.probabilities,
    refused: countDeniedSuccesses(predictDenials(live, own), failures),
    refusedBefore: countDeniedSuccesses(predictDenials(shadow, parent), failures),
    successes: failures.filter((y) => y === 0).length,
    early: Math.min(to, findFirstRowAtOrAfter(evidence, sinceMs + WATCH_DAYS * DAY_MS)) - from,
    drift: {
      scores: live.scores,
      timesMs: evidence.timesMs.subarray(from, to),
      sinceMs,
      reference: forecastRows(evidence, [before, from], own[side], own).scores,
    },
  });
}
