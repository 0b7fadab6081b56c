// Penalised, sign-constrained logistic regression by iteratively re-weighted least squares (kaizen
// 6.2): small (some twenty columns), deterministic, solved by Cholesky.
import assert from "node:assert/strict";

/** A design: rows of `columns` values each, row-major, failures 0/1 and optional row weights. */
export interface DesignMatrix {
  columns: number;
  values: Float64Array;
  failures: Uint8Array;
  weights?: Float64Array;
}

export interface FitOptions {
  /** Weight of the pull towards `prior`, on the scale of summed log-loss. */
  lambda: number;
  /** Where the penalty pulls to; zeros by default. */
  prior?: Float64Array;
  /** Per column: 1 or -1 forces the sign, 0 leaves it free (and unpenalised when first). */
  signs: readonly number[];
  /** Per column: true keeps it at `prior`, whatever the rows say. */
  held?: readonly boolean[];
}

export interface LogisticFit {
  coefficients: Float64Array;
  iterations: number;
  logLoss: number;
  /** Inverse Hessian, row-major. */
  covariance: Float64Array;
}

const ITERATIONS_MAX = 50;
const STEP_TOLERANCE = 1e-8;
const LOSS_ROUNDING = 1e-12;
/** Pull of a column that is held: no sum of losses moves it by more than rounding. */
const FIXED_PULL = 1e12;

/** Solves A x = b for symmetric positive definite A, in place of nothing. Null when A is not. */
export function solveCholesky(a: Float64Array, b: Float64Array): Float64Array | null {
  const d = b.length;
  const l = new Float64Array(d * d);
  for (let i = 0; i < d; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = a[i * d + j]!;
      for (let k = 0; k < j; k++) sum -= l[i * d + k]! * l[j * d + k]!;
      if (i === j) {
        if (!(sum > 0)) return null;
        l[i * d + i] = Math.sqrt(sum);
      } else l[i * d + j] = sum / l[j * d + j]!;
    }
  }
  const x = Float64Array.from(b);
  for (let i = 0; i < d; i++) {
    for (let k = 0; k < i; k++) x[i]! -= l[i * d + k]! * x[k]!;
    x[i]! /= l[i * d + i]!;
  }
  for (let i = d - 1; i >= 0; i--) {
    for (let k = i + 1; k < d; k++) x[i]! -= l[k * d + i]! * x[k]!;
    x[i]! /= l[i * d + i]!;
  }
  return x;
}

interface Moments {
  loss: number;
  gradient: Float64Array;
  hessian: Float64Array;
}

/** Loss, gradient and Hessian of the penalised log-loss at `beta` over the active columns. */
function computeMoments(
  design: DesignMatrix,
  beta: Float64Array,
  active: readonly number[],
  options: FitOptions,
): Moments {
  const { columns, values, failures, weights } = design;
  const d = active.length;
  const gradient = new Float64Array(d);
  const hessian = new Float64Array(d * d);
  let loss = 0;
  for (let row = 0; row < failures.length; row++) {
    const at = row * columns;
    let eta = 0;
    for (const j of active) eta += beta[j]! * values[at + j]!;
    const y = failures[row]!;
    const w = weights === undefined ? 1 : weights[row]!;
    const p = 1 / (1 + Math.exp(-eta));
    loss += w * (Math.log1p(Math.exp(-Math.abs(eta))) + Math.max(eta, 0) - y * eta);
    const r = w * (y - p);
    const h = w * p * (1 - p);
    for (let i = 0; i < d; i++) {
      const x = values[at + active[i]!]!;
      gradient[i]! += r * x;
      const hx = h * x;
      for (let k = 0; k <= i; k++) hessian[i * d + k]! += hx * values[at + active[k]!]!;
    }
  }
  for (let i = 0; i < d; i++) {
    const j = active[i]!;
    const isIntercept = j === 0;
    const free = isIntercept ? 1e-9 : options.lambda;
    const pull = options.held?.[j] === true ? FIXED_PULL : free;
    const away = beta[j]! - (options.prior?.[j] ?? 0);
    loss += 0.5 * pull * away * away;
    gradient[i]! -= pull * away;
    hessian[i * d + i]! += pull;
    for (let k = 0; k < i; k++) hessian[k * d + i] = hessian[i * d + k]!;
  }
  return { loss, gradient, hessian };
}

function minimizeByNewton(design: DesignMatrix, active: readonly number[], options: FitOptions) {
  const beta = new Float64Array(design.columns);
  for (const j of active) beta[j] = options.prior?.[j] ?? 0;
  let moments = computeMoments(design, beta, active, options);
  let iterations = 0;
  while (iterations < ITERATIONS_MAX) {
    iterations++;
    const step = solveCholesky(moments.hessian, moments.gradient);
    if (step === null) return null;
    let scale = 1;
    let next = beta;
    let tried: Moments;
    do {
      next = Float64Array.from(beta);
      active.forEach((j, i) => (next[j]! += scale * step[i]!));
      tried = computeMoments(design, next, active, options);
      scale /= 2;
      // Rounding of a sum of a million losses must not look like a step uphill.
    } while (!(tried.loss <= moments.loss * (1 + LOSS_ROUNDING) + 1e-9) && scale > 1e-6);
    beta.set(next);
    moments = tried;
    if (Math.max(...step.map(Math.abs)) < STEP_TOLERANCE) break;
  }
  return { beta, iterations, hessian: moments.hessian };
}

/**
 * Fits; a column whose coefficient comes out with the wrong sign is fixed at zero and the rest is
 * fitted again, until none is left (at most once per column). Null when the system is singular or
 * the loss is not finite: then the champion stays.
 */
export function fitLogistic(design: DesignMatrix, options: FitOptions): LogisticFit | null {
  assert.equal(options.signs.length, design.columns);
  let active = Array.from({ length: design.columns }, (_, j) => j);
  while (true) {
    const result = minimizeByNewton(design, active, options);
    if (result === null || !result.beta.every(Number.isFinite)) return null;
    const wrong = active.filter((j) => options.signs[j]! * result.beta[j]! < 0);
    if (wrong.length === 0) return buildFit(design, active, options, result);
    const dropped = new Set(wrong);
    active = active.filter((j) => !dropped.has(j));
  }
}

function buildFit(
  design: DesignMatrix,
  active: readonly number[],
  options: FitOptions,
  result: NonNullable<ReturnType<typeof minimizeByNewton>>,
): LogisticFit {
  const { columns } = design;
  const d = active.length;
  const covariance = new Float64Array(columns * columns);
  for (let i = 0; i < d; i++) {
    const unit = new Float64Array(d);
    unit[i] = 1;
    const column = solveCholesky(result.hessian, unit);
    if (column === null) continue;
    for (let k = 0; k < d; k++) covariance[active[k]! * columns + active[i]!] = column[k]!;
  }
  const total = computeMoments(design, result.beta, active, { ...options, lambda: 0 }).loss;
  return {
    coefficients: result.beta,
    iterations: result.iterations,
    logLoss: total / design.failures.length,
    covariance,
  };
}
