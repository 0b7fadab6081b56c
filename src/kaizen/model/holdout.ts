// Rows of evidence and the holdout of a promotion test: outcomes under two models, with the
// reporter and subject of each.
import type { ScoringConfig, ScoringModel } from "../../engine/config.ts";
import { DENY_FLOOR_DEFAULT, STAKES_CAUTION_DEFAULT } from "../../contract/stakes-policy.ts";
import { computeLogLoss, computeCalibrationError, computeMeanLogLoss } from "./forecast-metrics.ts";
import { readCoefficients, isThinRow, computeRowDeviation, computeRowLogit } from "./scorecard.ts";
import type { ScorecardRows } from "./scorecard.ts";

/** Context of rows besides their agents. */
export interface RowContext {
  /** Stakes as known to a decision; 0 where unknown. */
  stakes: Float64Array;
  /** 1 where the stakes were known before the outcome. */
  stakesKnown: Uint8Array;
  /** 1 where the outcome names the decision it came of. */
  decided?: Uint8Array;
  /** Number of the subject's namespace, an index of `namespaceNames`. */
  namespaces: Uint32Array;
  namespaceNames: readonly string[];
  /** Agents by number. */
  agents?: readonly string[];
}

/** A stretch of settled outcomes, in order of time. Clusters are any numbering of the agents. */
export interface FitRows {
  rows: ScorecardRows;
  failures: Uint8Array;
  subjects: Uint32Array;
  reporters: Uint32Array;
  timesMs: Float64Array;
  /** Evidence weight of each row, 0 to 1. */
  weights: Float64Array;
  /** rho of each row's reporter at the time of the row; absent: every reporter counts alike. */
  credibility?: Float64Array;
  /** Stakes, namespaces and names, where they are known. */
  context?: RowContext;
}

/** One model's answers on the holdout. */
export interface Forecast {
  model: ScoringModel;
  logits: Float64Array;
  probabilities: Float64Array;
  /** Pessimistic probabilities: what decisions at stakes go by. */
  stakesRisks: Float64Array;
  losses: Float64Array;
  /** Internal scores, 300 to 850. */
  scores: number[];
  /** 1 where the record is thin: such a row is never denied. */
  thin: Uint8Array;
}

/** The holdout of one run. */
export interface Holdout {
  failures: Uint8Array;
  subjects: Uint32Array;
  reporters: Uint32Array;
  /** Test weights, by the reporters (row-weights.ts). */
  weights: Float64Array;
  champion: Forecast;
  challenger: Forecast;
  config: ScoringConfig;
}

/** First row at or after a time. */
export function findFirstRowAtOrAfter(evidence: FitRows, timeMs: number): number {
  let low = 0;
  let high = evidence.rows.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (evidence.timesMs[middle]! < timeMs) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Scores rows [from, to) under a model. */
export function forecastRows(
  evidence: FitRows,
  [from, to]: readonly [number, number],
  model: ScoringModel,
  config: ScoringConfig,
): Forecast {
  const n = to - from;
  const beta = readCoefficients(model);
  const logits = new Float64Array(n);
  const stakesRisks = new Float64Array(n);
  const thin = new Uint8Array(n);
  const { rows, failures } = evidence;
  const stakesCaution = config.stakes_caution ?? STAKES_CAUTION_DEFAULT;
  for (let i = 0; i < n; i++) {
    logits[i] = computeRowLogit(rows, from + i, beta);
    const cautious = logits[i]! + stakesCaution * computeRowDeviation(rows, from + i, model);
    stakesRisks[i] = 1 / (1 + Math.exp(-cautious));
    thin[i] = isThinRow(rows, from + i, config) ? 1 : 0;
  }
  const probabilities = logits.map((x) => 1 / (1 + Math.exp(-x)));
  const { score_offset: offset, score_factor: factor } = config;
  return {
    model,
    logits,
    probabilities,
    stakesRisks,
    losses: probabilities.map((p, i) => computeLogLoss(p, failures[from + i]!)),
    scores: Array.from(logits, (x) => Math.min(850, Math.max(300, offset - factor * x))),
    thin,
  };
}

/** The engine's border of denial (scoring 4): the floor, or the fitted border where that is higher. */
export function computeDenialThreshold(model: ScoringModel, config: ScoringConfig): number {
  return Math.max(config.deny_floor ?? DENY_FLOOR_DEFAULT, model.deny_at ?? Infinity);
}

/**
 * Which rows the engine would deny (QUARANTINE or BLOCK), by its own rule (scoring 4), but that records
 * nearly forgotten count too, which the engine spares: never fewer than it denies.
 */
export function predictDenials(made: Forecast, config: ScoringConfig): boolean[] {
  const border = computeDenialThreshold(made.model, config);
  return Array.from(made.probabilities, (p, i) => made.thin[i] === 0 && p >= border);
}

/** Newest settled outcomes on which live weights are measured. */
const RECENT_ROWS = 1000;

/** How good the weights of one scorecard are on the newest outcomes. */
export interface RecentMetrics {
  /** Outcomes that it was measured on, 1,000 at most. */
  rows: number;
  log_loss: number;
  calibration_error: number;
}

/** Undefined without any outcome. */
export function measureRecentRows(
  evidence: FitRows,
  model: ScoringModel,
  config: ScoringConfig,
): RecentMetrics | undefined {
  const to = evidence.rows.count;
  const from = Math.max(0, to - RECENT_ROWS);
  if (to === 0) return undefined;
  const { probabilities } = forecastRows(evidence, [from, to], model, config);
  const failures = evidence.failures.subarray(from, to);
  return {
    rows: to - from,
    log_loss: computeMeanLogLoss(probabilities, failures),
    calibration_error: computeCalibrationError(probabilities, failures),
  };
}
