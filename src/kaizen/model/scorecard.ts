// Scorecard as columns of a design: intercept, base rate, subject mean, viewer severity, then the
// engine's features. Turns leg results into rows and a fit back into a ScoringModel.
import {
  FEATURE_COUNT,
  LEG_FEATURES,
  LEG_MEAN,
  LEG_OUTCOMES,
  LEG_SUBJECT_VARIANCE,
  LEG_VIEWER,
  LEG_VIEWER_VARIANCE,
} from "../../../assembly/layout.ts";
import { FEATURES, FEATURE_SIGNS } from "../../contract/vocabulary.ts";
import { THIN_BELOW_DEFAULT, THIN_OUTCOMES_DEFAULT } from "../../contract/policy.ts";
import type { ScoringConfig, ScoringModel } from "../../engine/config.ts";
import { fitLogistic } from "./fit.ts";
import type { LogisticFit } from "./fit.ts";

export const SCORECARD_SIDES = ["check", "handshake"] as const;
export type ScorecardSide = (typeof SCORECARD_SIDES)[number];

/** intercept, base, mean, viewer, then FEATURES. */
export const COLUMN_COUNT = 4 + FEATURE_COUNT;
/** Signs of the columns; the intercept is free. */
export const COLUMN_SIGNS: readonly number[] = [0, 1, 1, 1, ...FEATURE_SIGNS];

/** Part of the way from the champion to the fit that one run goes. */
const FIT_STEP_SHARE = 0.5;
const HANDSHAKE_ONLY: ReadonlySet<string> = new Set([
  "viewer_short",
  "reciprocal_failure",
  "reciprocal_success",
  "viewer_latest",
  "viewer_record",
]);

/** Columns that a scorecard may use: the check leg has no viewer. */
export function flagUsableColumns(side: "check" | "handshake"): boolean[] {
  const isHandshake = side === "handshake";
  const features = FEATURES.map((name) => isHandshake || !HANDSHAKE_ONLY.has(name));
  return [true, true, true, isHandshake, ...features];
}

/** Rows of one model, with the uncertainty of both filters, before any model weighs them. */
export interface ScorecardRows {
  values: Float64Array;
  sdSubject: Float64Array;
  /** Outcomes counted about the subject before. */
  outcomes: Uint32Array;
  sdViewer: Float64Array;
  count: number;
}

export function createScorecardRows(capacity: number): ScorecardRows {
  return {
    values: new Float64Array(capacity * COLUMN_COUNT),
    sdSubject: new Float64Array(capacity),
    outcomes: new Uint32Array(capacity),
    sdViewer: new Float64Array(capacity),
    count: 0,
  };
}

/** Appends the leg result in `words` (LEG_* of assembly/layout.ts) made at base rate `g`. */
export function appendLegRow(rows: ScorecardRows, words: Float64Array, g: number): void {
  const at = rows.count * COLUMN_COUNT;
  const { values } = rows;
  values[at] = 1;
  values[at + 1] = g;
  values[at + 2] = words[LEG_MEAN]!;
  values[at + 3] = words[LEG_VIEWER]!;
  for (let j = 0; j < FEATURE_COUNT; j++) values[at + 4 + j] = words[LEG_FEATURES + j]!;
  rows.outcomes[rows.count] = words[LEG_OUTCOMES]!;
  rows.sdSubject[rows.count] = Math.sqrt(words[LEG_SUBJECT_VARIANCE]!);
  rows.sdViewer[rows.count] = Math.sqrt(words[LEG_VIEWER_VARIANCE]!);
  rows.count++;
}

/** A model's coefficients in column order. */
export function readCoefficients(model: ScoringModel): Float64Array {
  const features = FEATURES.map((name) => model.weights[name] ?? 0);
  return Float64Array.from([model.intercept, model.base, model.mean, model.viewer, ...features]);
}

/** The model with fitted coefficients; everything else as in `model`. */
export function replaceCoefficients(model: ScoringModel, beta: Float64Array): ScoringModel {
  const weights: Record<string, number> = {};
  FEATURES.forEach((name, j) => {
    if (beta[4 + j] !== 0) weights[name] = beta[4 + j]!;
  });
  // More would make a good record worse than none at stakes far above it: a config refuses it.
  if ((weights.stakes_untested ?? 0) > beta[2]!) weights.stakes_untested = beta[2]!;
  return {
    ...model,
    intercept: beta[0]!,
    base: beta[1]!,
    mean: beta[2]!,
    viewer: beta[3]!,
    weights,
  };
}

/**
 * Where one run goes from the champion towards a fit: halfway (kaizen 6.2). Signs and bounds hold
 * between two models that keep them.
 */
export function stepTowards(champion: Float64Array, fit: Float64Array): Float64Array {
  return champion.map((before, j) => before + FIT_STEP_SHARE * (fit[j]! - before));
}

/** Standard deviation of a row's log-odds under a model's weights on the two filters. */
export function computeRowDeviation(rows: ScorecardRows, row: number, model: ScoringModel): number {
  return Math.hypot(model.mean * rows.sdSubject[row]!, model.viewer * rows.sdViewer[row]!);
}

/** Whether the engine takes the record of a row as thin, by its own rule (scoring 3). */
export function isThinRow(rows: ScorecardRows, row: number, config: ScoringConfig): boolean {
  if (rows.outcomes[row]! < (config.thin_outcomes ?? THIN_OUTCOMES_DEFAULT)) return true;
  const resolved = 1 - rows.sdSubject[row]! ** 2 / config.subject_variance;
  return resolved < (config.thin_below ?? THIN_BELOW_DEFAULT);
}

/** Log-odds of one row under coefficients. */
export function computeRowLogit(rows: ScorecardRows, row: number, beta: Float64Array): number {
  let eta = 0;
  for (let j = 0; j < COLUMN_COUNT; j++) eta += beta[j]! * rows.values[row * COLUMN_COUNT + j]!;
  return eta;
}

/** Columns with any value but zero in rows [from, to), of those that may be used. */
function listNonzeroColumns(
  rows: ScorecardRows,
  [from, to]: readonly [number, number],
  usable: readonly boolean[],
): number[] {
  const isLive = usable.map(() => false);
  for (let at = from * COLUMN_COUNT; at < to * COLUMN_COUNT; at++) {
    if (rows.values[at] !== 0) isLive[at % COLUMN_COUNT] = true;
  }
  return [...isLive.keys()].filter((j) => usable[j] && isLive[j]);
}

/** Rows that a scorecard is fitted on, with their labels. */
interface LabeledRows {
  readonly rows: ScorecardRows;
  readonly failures: Uint8Array;
  /** Absent: 1 for every row. */
  readonly weights?: Float64Array;
}

interface ScorecardFitOptions {
  /** Whether each column may get a weight. */
  readonly usable: readonly boolean[];
  /** Strength of the penalty towards the champion. */
  readonly lambda: number;
  /** Columns that keep the champion's weight. */
  readonly held?: ReadonlySet<number>;
}

/**
 * Fits the usable columns on rows [from, to), with a penalty towards `champion`; a column of zeros
 * keeps the champion's weight. Null when the fit fails; the champion then stays.
 */
export function fitScorecard(
  { rows, failures, weights }: LabeledRows,
  range: readonly [number, number],
  champion: ScoringModel,
  { usable, lambda, held }: ScorecardFitOptions,
): LogisticFit | null {
  const [from, to] = range;
  const before = readCoefficients(champion).map((b, j) => (usable[j] ? b : 0));
  const live = listNonzeroColumns(rows, range, usable);
  const columns = live.length;
  const values = new Float64Array((to - from) * columns);
  for (let row = from; row < to; row++) {
    const at = (row - from) * columns;
    for (let i = 0; i < columns; i++) values[at + i] = rows.values[row * COLUMN_COUNT + live[i]!]!;
  }
  const design = { columns, values, failures: failures.subarray(from, to) };
  const weighted =
    weights === undefined ? design : { ...design, weights: weights.subarray(from, to) };
  const fit = fitLogistic(weighted, {
    lambda,
    prior: Float64Array.from(live, (j) => before[j]!),
    signs: live.map((j) => COLUMN_SIGNS[j]!),
    held: live.map((j) => held?.has(j) === true),
  });
  if (fit === null) return null;
  const coefficients = Float64Array.from(before);
  live.forEach((j, i) => (coefficients[j] = fit.coefficients[i]!));
  return { ...fit, coefficients };
}
