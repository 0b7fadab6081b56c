// Sample of a long history: the outcomes that become rows of evidence. A row costs ten times the memory of its outcome, and beyond
// some millions another one changes no verdict: of more than that a random sample is taken. The
// rest is still folded, so that every row sees the record its agent really had.

/** Rows of a run at most, where nothing else is set. */
export const EVIDENCE_ROWS_MAX = 2_000_000;

/** Numbers that a draw can be. */
const DRAW_RANGE = 2 ** 32;

export interface SampleBounds {
  /** Rows wanted of more outcomes than that: on average, and within some thousandths. */
  readonly rowsMax: number;
  /**
   * Times that part the outcomes into stretches with an equal share of the rows each, epoch ms: a
   * holdout of weeks after training of years would have few.
   */
  readonly bordersMs: readonly number[];
  /** The same seed draws the same outcomes. */
  readonly seed: number;
}

/** A number of an outcome's own, 0 to 2^32 - 1: the finalizer of MurmurHash3. */
function hashOutcomeIndex(seed: number, i: number): number {
  let hash = (Math.imul(i, 0x9e37_79b1) ^ seed) >>> 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Rows of each stretch: equal ones, but none more than it has; what that leaves goes to the others. */
export function allotRows(rowsMax: number, counts: readonly number[]): number[] {
  const shares = counts.map(() => 0);
  const smallestFirst = [...counts.keys()].toSorted((a, b) => counts[a]! - counts[b]!);
  let left = rowsMax;
  for (const [done, stretch] of smallestFirst.entries()) {
    const equal = left / (counts.length - done);
    shares[stretch] = Math.min(counts[stretch]!, equal);
    left -= shares[stretch];
  }
  return shares;
}

/**
 * Those of `candidates`, indices of outcomes, that become rows, in their order; all of them where
 * that are no more than `rowsMax`. With fewer rows wanted a part of the same ones is taken.
 */
export function sampleOutcomes(
  candidates: Uint32Array,
  settledMs: ArrayLike<number>,
  { rowsMax, bordersMs, seed }: SampleBounds,
): Uint32Array {
  if (candidates.length <= rowsMax) return candidates;
  const borders = Float64Array.from(bordersMs).toSorted();
  const stretchOf = (i: number) => {
    let stretch = 0;
    while (stretch < borders.length && settledMs[i]! >= borders[stretch]!) stretch++;
    return stretch;
  };
  const counts = Array.from({ length: borders.length + 1 }, () => 0);
  for (const i of candidates) counts[stretchOf(i)]! += 1;
  const shares = allotRows(rowsMax, counts);
  const limits = shares.map((share, at) =>
    counts[at] === 0 ? 0 : (share / counts[at]!) * DRAW_RANGE,
  );
  return candidates.filter((i) => hashOutcomeIndex(seed, i) < limits[stretchOf(i)]!);
}
