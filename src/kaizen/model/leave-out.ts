// Fit without one group of reporters, for every group in one pass over the rows: one Newton step
// from the whole fit, with the group's part of gradient and curvature taken out (the one-step
// deletion estimate of Pregibon 1981). A re-fit of each would cost a fit for every group.
import { solveCholesky } from "./fit.ts";
import { COLUMN_SIGNS, COLUMN_COUNT, computeRowLogit } from "./scorecard.ts";
import type { FitRows } from "./holdout.ts";

export interface FittedScorecard {
  evidence: FitRows;
  /** Rows [0, trainTo) were fitted, with these weights. */
  trainTo: number;
  weights: Float64Array;
  /** Columns that the fit may move. */
  usable: readonly boolean[];
  lambda: number;
  coefficients: Float64Array;
}

/** Columns that the whole fit left free: used, and not held at zero by their sign. */
function listFreeColumns({ usable, coefficients }: FittedScorecard): number[] {
  return [...coefficients.keys()].filter((j) => j === 0 || (usable[j] && coefficients[j] !== 0));
}

/**
 * Coefficients without the rows of each group. `findGroup` gives the group of a reporter, 0 to
 * `groups` - 1, or -1 for none. Undefined where the rest determines no fit.
 */
export function estimateFitsWithoutGroups(
  fitted: FittedScorecard,
  findGroup: (reporter: number) => number,
  groups: number,
): (Float64Array | undefined)[] {
  const { evidence, trainTo, weights, lambda, coefficients } = fitted;
  const free = listFreeColumns(fitted);
  const d = free.length;
  const whole = new Float64Array(d * d);
  const hessians = Array.from({ length: groups }, () => new Float64Array(d * d));
  const gradients = Array.from({ length: groups }, () => new Float64Array(d));
  const { values } = evidence.rows;
  for (let row = 0; row < trainTo; row++) {
    const group = findGroup(evidence.reporters[row]!);
    const p = 1 / (1 + Math.exp(-computeRowLogit(evidence.rows, row, coefficients)));
    const pull = weights[row]! * (p - evidence.failures[row]!);
    const curve = weights[row]! * p * (1 - p);
    const own = hessians[group];
    const gradient = gradients[group];
    for (let i = 0; i < d; i++) {
      const x = values[row * COLUMN_COUNT + free[i]!]!;
      if (gradient !== undefined) gradient[i]! += pull * x;
      const cx = curve * x;
      for (let k = 0; k <= i; k++) {
        const add = cx * values[row * COLUMN_COUNT + free[k]!]!;
        whole[i * d + k]! += add;
        if (own !== undefined) own[i * d + k]! += add;
      }
    }
  }
  return hessians.map((own, group) => {
    const rest = new Float64Array(d * d);
    for (let i = 0; i < d; i++) {
      for (let k = 0; k <= i; k++) {
        const value = whole[i * d + k]! - own[i * d + k]!;
        rest[i * d + k] = value;
        rest[k * d + i] = value;
      }
      rest[i * d + i]! += free[i] === 0 ? 1e-9 : lambda;
    }
    const step = solveCholesky(rest, gradients[group]!);
    return step === null ? undefined : applyFitStep(coefficients, free, step);
  });
}

/** The coefficients after a step; a sign that comes out wrong becomes zero. */
function applyFitStep(
  from: Float64Array,
  free: readonly number[],
  step: Float64Array,
): Float64Array {
  const moved = Float64Array.from(from);
  free.forEach((j, i) => {
    const value = from[j]! + step[i]!;
    moved[j] = COLUMN_SIGNS[j]! * value < 0 ? 0 : value;
  });
  return moved;
}
