// Figures behind a report's plots, small enough to store with every run: reliability by bins of
// equal mass and score distributions by outcome, for champion and challenger.
import type { Forecast, Holdout } from "./holdout.ts";
import { computeAuc, computeCalibrationError, computeMeanLogLoss } from "./forecast-metrics.ts";
import { COLUMN_COUNT } from "./scorecard.ts";
import type { ScorecardRows } from "./scorecard.ts";

const RELIABILITY_BINS = 10;
/** Internal scores 300 to 850 in steps of 25. */
const SCORE_FROM = 300;
const SCORE_STEP = 25;
const SCORE_BINS = 22;

export interface ReliabilityBin {
  expected: number;
  observed: number;
  rows: number;
}

export interface ModelChartData {
  log_loss: number;
  auc: number;
  calibration_error: number;
  reliability: ReliabilityBin[];
  /** Shares of the successes and of the failures by score bin. */
  successes: number[];
  failures: number[];
}

export interface RunChartData {
  score_from: number;
  score_step: number;
  champion: ModelChartData;
  challenger: ModelChartData;
  /** Standard deviation of each scorecard column (scorecard.ts) over the holdout. */
  spreads: number[];
}

function computeReliabilityBins(forecast: Forecast, failures: Uint8Array): ReliabilityBin[] {
  const n = failures.length;
  const { probabilities } = forecast;
  const order = Uint32Array.from(failures, (_, i) => i);
  order.sort((a, b) => probabilities[a]! - probabilities[b]!);
  return Array.from({ length: RELIABILITY_BINS }, (_, bin) => {
    const rows = order.subarray(
      Math.floor((bin * n) / RELIABILITY_BINS),
      Math.floor(((bin + 1) * n) / RELIABILITY_BINS),
    );
    const mean = (pick: (row: number) => number) =>
      rows.reduce((sum, row) => sum + pick(row), 0) / Math.max(1, rows.length);
    return {
      expected: mean((row) => probabilities[row]!),
      observed: mean((row) => failures[row]!),
      rows: rows.length,
    };
  });
}

function computeScoreDistribution(
  forecast: Forecast,
  failures: Uint8Array,
  failure: 0 | 1,
): number[] {
  const counts = Array.from({ length: SCORE_BINS }, () => 0);
  let total = 0;
  forecast.scores.forEach((score, i) => {
    if (failures[i] !== failure) return;
    total++;
    counts[Math.min(SCORE_BINS - 1, Math.floor((score - SCORE_FROM) / SCORE_STEP))]! += 1;
  });
  return counts.map((count) => count / Math.max(1, total));
}

function collectModelChartData(forecast: Forecast, failures: Uint8Array): ModelChartData {
  const { probabilities } = forecast;
  return {
    log_loss: computeMeanLogLoss(probabilities, failures),
    auc: computeAuc(probabilities, failures),
    calibration_error: computeCalibrationError(probabilities, failures),
    reliability: computeReliabilityBins(forecast, failures),
    successes: computeScoreDistribution(forecast, failures, 0),
    failures: computeScoreDistribution(forecast, failures, 1),
  };
}

function measureColumnSpreads({ values }: ScorecardRows, from: number, to: number): number[] {
  return Array.from({ length: COLUMN_COUNT }, (_, column) => {
    let [sum, squares] = [0, 0];
    for (let row = from; row < to; row++) {
      const value = values[row * COLUMN_COUNT + column]!;
      sum += value;
      squares += value * value;
    }
    const mean = sum / (to - from);
    return Math.sqrt(Math.max(0, squares / (to - from) - mean * mean));
  });
}

/** Figures of a holdout that is rows [from, to) of `rows`. */
export function collectRunFigures(
  holdout: Holdout,
  rows: ScorecardRows,
  from: number,
  to: number,
): RunChartData {
  const { champion, challenger, failures } = holdout;
  return {
    score_from: SCORE_FROM,
    score_step: SCORE_STEP,
    champion: collectModelChartData(champion, failures),
    challenger: collectModelChartData(challenger, failures),
    spreads: measureColumnSpreads(rows, from, to),
  };
}
