// Loss and calibration of weights on the newest settled outcomes: what an operator watches from week to week,
// whatever a run has tested.
import type { ScoringConfig, ScoringModel } from "../../engine/config.ts";
import { forecastRows } from "./holdout.ts";
import type { FitRows } from "./holdout.ts";
import { computeCalibrationError, computeMeanLogLoss } from "./metrics.ts";

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
  const { probabilities } = forecastRows(evidence, from, to, model, config);
  const failures = evidence.failures.subarray(from, to);
  return {
    rows: to - from,
    log_loss: computeMeanLogLoss(probabilities, failures),
    calibration_error: computeCalibrationError(probabilities, failures),
  };
}
