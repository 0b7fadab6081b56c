// One scorecard as columns of a design: intercept, base rate, subject mean, viewer severity, then
// the engine's features. Turns leg results into rows and a fit back into a ScoringModel.
import {
  FEATURE_COUNT,
  LEG_FEATURES,
  LEG_MEAN,
  LEG_SD,
  LEG_VIEWER,
} from "../../assembly/layout.ts";
import { FEATURES, FEATURE_SIGNS } from "../contract/vocabulary.ts";
import type { ScoringModel } from "../engine/config.ts";
import { fitLogistic } from "./fit.ts";
import type { Fit } from "./fit.ts";

/** intercept, base, mean, viewer, then FEATURES. */
export const COLUMNS = 4 + FEATURE_COUNT;
/** Signs of the columns; the intercept is free. */
export const COLUMN_SIGNS: readonly number[] = [0, 1, 1, 1, ...FEATURE_SIGNS];

/** Rows of one model, with the uncertainty each was scored with. */
export interface ScorecardRows {
  values: Float64Array;
  sd: Float64Array;
  count: number;
}

export function createRows(capacity: number): ScorecardRows {
  return {
    values: new Float64Array(capacity * COLUMNS),
    sd: new Float64Array(capacity),
    count: 0,
  };
}

/** Appends the leg result in `words` (LEG_* of assembly/layout.ts) made at base rate `g`. */
export function appendRow(rows: ScorecardRows, words: Float64Array, g: number): void {
  const at = rows.count * COLUMNS;
  const { values } = rows;
  values[at] = 1;
  values[at + 1] = g;
  values[at + 2] = words[LEG_MEAN]!;
  values[at + 3] = words[LEG_VIEWER]!;
  for (let j = 0; j < FEATURE_COUNT; j++) values[at + 4 + j] = words[LEG_FEATURES + j]!;
  rows.sd[rows.count] = words[LEG_SD]!;
  rows.count++;
}

/** A model's coefficients in column order. */
export function coefficientsOf(model: ScoringModel): Float64Array {
  const features = FEATURES.map((name) => model.weights[name] ?? 0);
  return Float64Array.from([model.intercept, model.base, model.mean, model.viewer, ...features]);
}

/** The model with fitted coefficients; all else as in `model`. */
export function withCoefficients(model: ScoringModel, beta: Float64Array): ScoringModel {
  const weights: Record<string, number> = {};
  FEATURES.forEach((name, j) => {
    if (beta[4 + j] !== 0) weights[name] = beta[4 + j]!;
  });
  return {
    ...model,
    intercept: beta[0]!,
    base: beta[1]!,
    mean: beta[2]!,
    viewer: beta[3]!,
    weights,
  };
}

/** Log-odds of one row under coefficients. */
export function rowLogit(rows: ScorecardRows, row: number, beta: Float64Array): number {
  let eta = 0;
  for (let j = 0; j < COLUMNS; j++) eta += beta[j]! * rows.values[row * COLUMNS + j]!;
  return eta;
}

/**
 * Fits the columns named in `usable` on rows [from, to), pulled towards `champion`. Null when the
 * fit breaks; then the champion stays.
 */
export function fitScorecard(
  rows: ScorecardRows,
  failures: Uint8Array,
  range: readonly [number, number],
  champion: ScoringModel,
  usable: readonly boolean[],
  lambda: number,
): Fit | null {
  const [from, to] = range;
  const values = rows.values.slice(from * COLUMNS, to * COLUMNS);
  for (let at = 0; at < values.length; at += COLUMNS) {
    for (let j = 0; j < COLUMNS; j++) if (!usable[j]) values[at + j] = 0;
  }
  const prior = coefficientsOf(champion).map((b, j) => (usable[j] ? b : 0));
  return fitLogistic(
    { columns: COLUMNS, values, failures: failures.subarray(from, to) },
    { lambda, prior, signs: COLUMN_SIGNS },
  );
}
