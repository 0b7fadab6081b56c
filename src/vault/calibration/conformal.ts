// Split conformal thresholds (provenance 5): the scores of clean texts that played no part in
// the fit bound the rate of false alarms.

/** A threshold and the bound it guarantees. */
export interface ConformalThreshold {
  /** A risk at or above it is flagged; in 1/1024. */
  readonly at: number;
  /** Bound on the share of clean texts that are flagged, over draws of the calibration texts. */
  readonly alpha: number;
}

/** Number of clean texts that `alpha` needs: with fewer no finite threshold can promise it. */
export function countCleanTextsNeeded(alpha: number): number {
  return Math.ceil(1 / alpha - 1e-9) - 1;
}

/**
 * The lowest threshold that flags a further clean text with probability at most `alpha`, when it is
 * exchangeable with these: one above the score at rank ceil((n + 1)(1 - alpha)). Undefined when
 * there are too few. Scores are integers.
 */
export function computeConformalThreshold(
  clean: readonly number[],
  alpha: number,
): ConformalThreshold | undefined {
  const rank = Math.ceil((clean.length + 1) * (1 - alpha) - 1e-9);
  if (rank > clean.length || rank < 1) return undefined;
  return { at: clean.toSorted((a, b) => a - b)[rank - 1]! + 1, alpha };
}
