// Made-up labels on real rows, for the benches of kaizen: worlds in which the truth is known. Rows
// of one reporter share a mood, so that they are as dependent as real ones.
import type { ScoringModel } from "../src/engine/config.ts";
import type { FitRows } from "../src/kaizen/model/holdout.ts";
import type { RandomGenerator } from "../src/kaizen/model/bootstrap.ts";
import { readCoefficients } from "../src/kaizen/model/scorecard.ts";

/** Share of the latent variance of a label that its reporter's mood explains. */
const REPORTER_SHARE = 0.3;

/** Log-odds of failure of a row in a made-up world. */
export type Truth = (evidence: FitRows, row: number) => number;

/**
 * Labels by a Gaussian copula: each row keeps its probability, rows of one reporter share a mood.
 * The mood is drawn anew for each stretch of rows: kept for ever it would be a fact to learn.
 */
export function drawLabels(
  evidence: FitRows,
  truth: Truth,
  stretches: number[][],
  random: RandomGenerator,
): Uint8Array {
  const failures = new Uint8Array(evidence.failures.length);
  for (const [from, to] of stretches) {
    const moods = new Map<number, number>();
    for (let row = from!; row < to!; row++) {
      const reporter = evidence.reporters[row]!;
      let mood = moods.get(reporter);
      if (mood === undefined) moods.set(reporter, (mood = random.normal()));
      const own = random.normal() * Math.sqrt(1 - REPORTER_SHARE);
      const latent = Math.sqrt(REPORTER_SHARE) * mood + own;
      failures[row] = normalCdf(latent) < 1 / (1 + Math.exp(-truth(evidence, row))) ? 1 : 0;
    }
  }
  return failures;
}

/** Abramowitz and Stegun 7.1.26, error below 1.5e-7. */
export function normalCdf(x: number): number {
  const t = 1 / (1 + (0.3275911 * Math.abs(x)) / Math.SQRT2);
  const poly =
    ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
  const tail = (poly * Math.exp((-x * x) / 2)) / 2;
  return x > 0 ? 1 - tail : tail;
}

/**
 * Coefficients of a world that has moved away from `champion`: recent failures mean more, the
 * viewer's mood less, and failures are rarer overall.
 */
export function movedTruth(champion: ScoringModel): Float64Array {
  const moved = readCoefficients(champion);
  moved[0]! -= 0.8;
  moved[3]! *= 0.4;
  moved[5]! += 1.5;
  return moved;
}
