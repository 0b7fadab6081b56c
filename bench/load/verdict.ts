// Judgement of a comparison by turns: the median of the ratios, the interval that holds the true one
// with 95 % (of the median, from order statistics: no shape of the noise is assumed), and its words.
import { rounded } from "./spread.ts";

/** Rounds from which an interval of 95 % exists at all. */
export const ROUNDS_MIN = 6;
const TAIL = 0.025;

/** Of one figure; all are ratios of the new side to the old. */
export interface Comparison {
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
  /** For figures of which less is better. */
  readonly verdict: "lower" | "higher" | "no difference shown";
}

/** @throws Error for fewer rounds than ROUNDS_MIN, or sides of different length. */
export function compare(before: readonly number[], after: readonly number[]): Comparison {
  if (before.length !== after.length || before.length < ROUNDS_MIN) {
    throw new Error(`at least ${ROUNDS_MIN} rounds of both sides are needed`);
  }
  const ratios = after.map((value, at) => value / before[at]!).toSorted((a, b) => a - b);
  const rank = rankOf(ratios.length);
  const [low, high] = [ratios[rank]!, ratios.at(-1 - rank)!];
  const middle = (ratios[Math.floor((ratios.length - 1) / 2)]! + ratios[ratios.length >> 1]!) / 2;
  const verdict = high < 1 ? "lower" : low > 1 ? "higher" : "no difference shown";
  return { ratio: rounded(middle), low: rounded(low), high: rounded(high), verdict };
}

/** How many values are cut from each end: the chance of more heads than that is at most the tail. */
function rankOf(count: number): number {
  let chance = 0.5 ** count;
  let below = 0;
  for (let rank = 0; rank < count; rank++) {
    below += chance;
    if (below > TAIL) return Math.max(0, rank - 1);
    chance = (chance * (count - rank)) / (rank + 1);
  }
  return 0;
}
