// Calibration of a forecast: slope, calibration in the large and the calibration error that chance
// alone leaves, each with a standard error clustered by subject and reporter.
import { fitLogistic } from "./fit.ts";
import { computeTwoWayVariance } from "./statistics.ts";

/** Estimates with their clustered standard errors; 0 and 1 are perfect. */
export interface Recalibration {
  /** Log-odds by which all forecasts are too low, slope held at 1 (calibration in the large). */
  intercept: number;
  interceptError: number;
  slope: number;
  slopeError: number;
}

const STEPS = 50;

/** Sum of squares behind a sum of `values`, two-way clustered. */
function computeClusteredSumVariance(
  values: Float64Array,
  subjects: ArrayLike<number>,
  reporters: ArrayLike<number>,
): number {
  const ones = new Float64Array(values.length).fill(1);
  return computeTwoWayVariance(values, ones, subjects, reporters).variance * values.length ** 2;
}

/** Newton on sum(y - sigmoid(a + x)) = 0. */
function estimateCalibrationInTheLarge(
  logits: ArrayLike<number>,
  failures: Uint8Array,
  subjects: ArrayLike<number>,
  reporters: ArrayLike<number>,
) {
  let intercept = 0;
  let information = 0;
  const residuals = new Float64Array(failures.length);
  for (let step = 0; step < STEPS; step++) {
    information = 0;
    let gradient = 0;
    for (let i = 0; i < failures.length; i++) {
      const p = 1 / (1 + Math.exp(-(logits[i]! + intercept)));
      residuals[i] = failures[i]! - p;
      gradient += residuals[i]!;
      information += p * (1 - p);
    }
    const move = Math.max(-2, Math.min(2, gradient / information));
    if (!Number.isFinite(move)) return null;
    intercept += move;
    if (Math.abs(move) < 1e-9) break;
  }
  const error =
    Math.sqrt(computeClusteredSumVariance(residuals, subjects, reporters)) / information;
  return { intercept, error };
}

/**
 * Estimates the recalibration; null when the holdout holds one class only or the forecast is
 * constant.
 */
export function estimateRecalibration(
  logits: ArrayLike<number>,
  failures: Uint8Array,
  subjects: ArrayLike<number>,
  reporters: ArrayLike<number>,
): Recalibration | null {
  const n = failures.length;
  const values = new Float64Array(n * 2);
  for (let i = 0; i < n; i++) values.set([1, logits[i]!], i * 2);
  const prior = Float64Array.from([0, 1]);
  const fit = fitLogistic({ columns: 2, values, failures }, { lambda: 0, prior, signs: [0, 0] });
  const large = estimateCalibrationInTheLarge(logits, failures, subjects, reporters);
  if (fit === null || large === null) return null;
  const [a, b] = fit.coefficients as unknown as [number, number];
  // Influence of a row on the slope: its score through the slope's row of the inverse Hessian.
  const [byOne, byLogit] = [fit.covariance[2]!, fit.covariance[3]!];
  const influence = Float64Array.from(failures, (y, i) => {
    const residual = y - 1 / (1 + Math.exp(-(a + b * logits[i]!)));
    return (byOne + byLogit * logits[i]!) * residual;
  });
  const slopeError = Math.sqrt(computeClusteredSumVariance(influence, subjects, reporters));
  return { intercept: large.intercept, interceptError: large.error, slope: b, slopeError };
}

/** 95 % quantile of a sum of ten half-normals over its mean: 1 + 1.645 * 0.239. */
const QUANTILE_95 = 1.39;

/**
 * The calibration error (ten bins of equal mass) below which a perfectly calibrated forecast stays
 * 95 % of the time on these rows; residuals clustered as they are.
 */
export function computeCalibrationNoise(
  probabilities: ArrayLike<number>,
  failures: Uint8Array,
  subjects: ArrayLike<number>,
  reporters: ArrayLike<number>,
): number {
  const n = failures.length;
  const p = Float64Array.from(probabilities).toSorted();
  const residuals = Float64Array.from(failures, (y, i) => y - probabilities[i]!);
  const independent = residuals.reduce((sum, r) => sum + r * r, 0);
  const clustered = computeClusteredSumVariance(residuals, subjects, reporters);
  const inflation = independent > 0 ? Math.max(1, clustered / independent) : 1;
  let total = 0;
  for (let bin = 0; bin < 10; bin++) {
    const part = p.subarray(Math.floor((bin * n) / 10), Math.floor(((bin + 1) * n) / 10));
    const variance = part.reduce((sum, x) => sum + x * (1 - x), 0);
    total += Math.sqrt((2 / Math.PI) * variance * inflation);
  }
  return (QUANTILE_95 * total) / n;
}
