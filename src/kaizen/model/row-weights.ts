// Weights of evidence in a fit and in a test, by who reports: credibility, a cap on each reporter,
// and one cap on all newcomers together (kaizen 6.1). Names cost nothing, so what many new names say
// at once may not outweigh what others have said for long.
import type { FitRows } from "./holdout.ts";

/** No reporter above about 2 % of the mass (kaizen 6.3). */
const REPORTER_SHARE = 0.02;
/** Mass that every reporter may have, in rows. */
const REPORTER_MASS_FREE_ROWS = 5;
/** No more than this share of the mass for all newcomers together. */
const NEW_REPORTERS_SHARE = 0.1;
/** Who first reported in the newest part of the training rows, or later, is a newcomer. */
const NEWEST_ROWS_SHARE = 0.25;

/**
 * Newcomers by number: 1. Counted in rows and not from the last promotion: a deployment that has
 * promoted nothing for years, or never, must not take all its reporters for newcomers.
 */
export function markNewReporters({ reporters }: FitRows, trainTo: number): Uint8Array {
  const isNew = new Uint8Array(computeAgentCount(reporters)).fill(1);
  for (let row = 0; row < trainTo * (1 - NEWEST_ROWS_SHARE); row++) isNew[reporters[row]!] = 0;
  return isNew;
}

/** Size of a column by agent: one more than the largest number. */
export function computeAgentCount(agents: Uint32Array): number {
  return agents.reduce((most, id) => Math.max(most, id), -1) + 1;
}

/** min(1, max(floor, share of the mass) / mass of the reporter), in place. */
function capReporterMass(weights: Float64Array, reporters: Uint32Array): void {
  const sums = new Map<number, number>();
  let total = 0;
  reporters.forEach((reporter, i) => {
    sums.set(reporter, (sums.get(reporter) ?? 0) + weights[i]!);
    total += weights[i]!;
  });
  const cap = Math.max(REPORTER_MASS_FREE_ROWS, REPORTER_SHARE * total);
  reporters.forEach((reporter, i) => (weights[i]! *= Math.min(1, cap / sums.get(reporter)!)));
}

/** Newcomers together at most `NEWCOMER_SHARE` of the mass, in place. */
function capNewReporterMass(
  weights: Float64Array,
  reporters: Uint32Array,
  isNew: Uint8Array,
): void {
  let [established, newcomers] = [0, 0];
  reporters.forEach((reporter, i) => {
    if (isNew[reporter] === 1) newcomers += weights[i]!;
    else established += weights[i]!;
  });
  const allowed = (established * NEW_REPORTERS_SHARE) / (1 - NEW_REPORTERS_SHARE);
  if (newcomers <= allowed) return;
  const factor = allowed / newcomers;
  reporters.forEach((reporter, i) => {
    if (isNew[reporter] === 1) weights[i]! *= factor;
  });
}

/**
 * Weights of rows [from, to) by their reporters: rho where standings were in force at the time of
 * the row, then both caps. 0 to 1 each.
 */
export function computeRowWeights(
  evidence: FitRows,
  from: number,
  to: number,
  isNew: Uint8Array,
): Float64Array {
  const reporters = evidence.reporters.subarray(from, to);
  const weights =
    evidence.credibility?.slice(from, to) ?? new Float64Array(reporters.length).fill(1);
  capReporterMass(weights, reporters);
  capNewReporterMass(weights, reporters, isNew);
  return weights;
}

/** Weights of the training rows [0, to): the evidence's own, and who reports. */
export function computeTrainingWeights(
  evidence: FitRows,
  to: number,
  isNew: Uint8Array,
): Float64Array {
  return computeRowWeights(evidence, 0, to, isNew).map(
    (weight, i) => weight * evidence.weights[i]!,
  );
}
