// Confidence interval of a share whose events come in clusters: outcomes of one agent are denied
// together, so that ten thousand outcomes of three agents say little about the next agent.

/** 97.5 % point of the normal distribution. */
const NORMAL_QUANTILE = 1.959964;

/** Hits and trials of one cluster are added up here; `hits` has the clusters that have any. */
export interface ClusterCounts {
  /** Trials by cluster; 0 for none. */
  readonly trials: Uint32Array;
  readonly hits: ReadonlyMap<number, number>;
}

/**
 * Trials that would say as much if they were independent (Korn and Graubard 1998): by the variance
 * of the share over clusters, never more than there are. All of them where nothing or everything was
 * hit: then there is no variance to go by.
 */
export function computeEffectiveTrials({ trials, hits }: ClusterCounts): number {
  let clusters = 0;
  let total = 0;
  let squares = 0;
  for (const count of trials) {
    if (count === 0) continue;
    clusters++;
    total += count;
    squares += count * count;
  }
  let found = 0;
  for (const count of hits.values()) found += count;
  if (found === 0 || found === total || clusters < 2) return total;
  const rate = found / total;
  let spread = rate * rate * squares;
  for (const [cluster, count] of hits) {
    const expected = rate * trials[cluster]!;
    spread += (count - expected) ** 2 - expected ** 2;
  }
  const variance = ((clusters / (clusters - 1)) * spread) / (total * total);
  return Math.min(total, (rate * (1 - rate)) / variance);
}

/** 95 % interval of a share (Wilson 1927); `count` need not be whole. 0 to 1. */
export function computeWilsonInterval(share: number, count: number): { low: number; high: number } {
  if (!(count > 0)) return { low: 0, high: 1 };
  const square = (NORMAL_QUANTILE * NORMAL_QUANTILE) / count;
  const middle = (share + square / 2) / (1 + square);
  const half =
    (NORMAL_QUANTILE * Math.sqrt((share * (1 - share)) / count + square / (4 * count))) /
    (1 + square);
  const low = share === 0 ? 0 : Math.max(0, middle - half);
  return { low, high: share === 1 ? 1 : Math.min(1, middle + half) };
}
