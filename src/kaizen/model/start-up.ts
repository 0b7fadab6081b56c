// Start-up calibration: intercept and slope of a scorecard on an operator's first outcomes, pulled
// towards the weights that ship. Two numbers can be learnt from a hundred rows, fifteen cannot.
import type { ScoringConfig, ScoringModel } from "../../engine/config.ts";
import { solveCholesky } from "./fit.ts";
import { computeDenialThreshold } from "./holdout.ts";
import type { FitRows } from "./holdout.ts";
import { readCoefficients, computeRowLogit, replaceCoefficients } from "./scorecard.ts";

/**
 * Standard deviations of the pull: how far a stream's failure rate (log-odds) and its slope may be
 * expected to lie from those of the shipped weights before its own outcomes say so.
 */
const SHIFT_SD = 0.5;
const SLOPE_SD = 0.25;
const STEPS_MAX = 50;
const STEP_TOLERANCE = 1e-9;
/** A slope below it would be no calibration any more: the ranking would be all but gone. */
const SLOPE_MIN = 0.2;

/** Log-odds after: `level` + `slope` * (log-odds before - `centre`). */
export interface StartUpCalibration {
  centre: number;
  level: number;
  slope: number;
}

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

/**
 * Fits rows [0, to) with the given weights; null when the rows give no finite answer. Rows are
 * centred, so that level and slope are learnt apart.
 */
export function fitStartUpCalibration(
  evidence: FitRows,
  to: number,
  model: ScoringModel,
  weights: ArrayLike<number>,
): StartUpCalibration | null {
  const beta = readCoefficients(model);
  const logits = Float64Array.from({ length: to }, (_, row) =>
    computeRowLogit(evidence.rows, row, beta),
  );
  const mass = logits.reduce((sum, _, row) => sum + weights[row]!, 0);
  const centre = logits.reduce((sum, x, row) => sum + weights[row]! * x, 0) / mass;
  if (!Number.isFinite(centre)) return null;
  let [level, slope] = [centre, 1];
  for (let step = 0; step < STEPS_MAX; step++) {
    const gradient = new Float64Array(2);
    const hessian = new Float64Array(4);
    logits.forEach((logit, row) => {
      const x = logit - centre;
      const p = sigmoid(level + slope * x);
      const residual = weights[row]! * (evidence.failures[row]! - p);
      const information = weights[row]! * p * (1 - p);
      gradient[0]! += residual;
      gradient[1]! += residual * x;
      hessian[0]! += information;
      hessian[1]! += information * x;
      hessian[3]! += information * x * x;
    });
    gradient[0]! -= (level - centre) / SHIFT_SD ** 2;
    gradient[1]! -= (slope - 1) / SLOPE_SD ** 2;
    hessian[0]! += SHIFT_SD ** -2;
    hessian[3]! += SLOPE_SD ** -2;
    hessian[2] = hessian[1]!;
    const move = solveCholesky(hessian, gradient);
    if (move === null || !move.every(Number.isFinite)) return null;
    // Newton overshoots far from the answer: no step of more than one unit.
    level += Math.max(-1, Math.min(1, move[0]!));
    slope += Math.max(-1, Math.min(1, move[1]!));
    if (Math.max(Math.abs(move[0]!), Math.abs(move[1]!)) < STEP_TOLERANCE) break;
  }
  return slope >= SLOPE_MIN ? { centre, level, slope } : null;
}

/**
 * The model with the calibration in its weights. The ranking stays, and so does who is denied: the
 * border moves with the probabilities, though never below that of the costs.
 */
export function applyStartUpCalibration(
  model: ScoringModel,
  { centre, level, slope }: StartUpCalibration,
  config: ScoringConfig,
): ScoringModel {
  const moved = (logit: number) => level + slope * (logit - centre);
  const beta = readCoefficients(model).map((weight, j) =>
    j === 0 ? moved(weight) : slope * weight,
  );
  const own = replaceCoefficients(model, beta);
  const border = computeDenialThreshold(model, config);
  if (!(border < 1)) return own;
  return { ...own, deny_at: sigmoid(moved(Math.log(border / (1 - border)))) };
}
