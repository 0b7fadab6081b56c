// Statistics of the promotion gates: clustered variances, drift and rank measures (kaizen
// 6.3). Plain functions of arrays, without knowledge of gates.
import assert from "node:assert/strict";

/** Variance of a weighted mean whose rows share subjects and reporters. */
export interface TwoWayVariance {
  mean: number;
  /** max(Vs + Vr - Vi, Vs, Vr), Cameron-Gelbach-Miller with the usual floor. */
  variance: number;
  /** Effective clusters (sum w)^2 / sum_c (sum_c w)^2 (Carter et al. 2017). */
  effectiveSubjects: number;
  effectiveReporters: number;
}

function sumByCluster(values: ArrayLike<number>, clusters: ArrayLike<number>): Map<number, number> {
  const sums = new Map<number, number>();
  for (let i = 0; i < values.length; i++) {
    const cluster = clusters[i]!;
    sums.set(cluster, (sums.get(cluster) ?? 0) + values[i]!);
  }
  return sums;
}

function computeOneWayVariance(
  deviations: Float64Array,
  clusters: ArrayLike<number>,
  n: number,
): number {
  const sums = sumByCluster(deviations, clusters);
  const groups = sums.size;
  if (groups < 2) return 0;
  let total = 0;
  for (const sum of sums.values()) total += sum * sum;
  return (groups / (groups - 1)) * (total / (n * n));
}

/** (sum w)^2 / sum over clusters of (sum w)^2. */
export function countEffectiveClusters(
  weights: ArrayLike<number>,
  clusters: ArrayLike<number>,
): number {
  let total = 0;
  let squares = 0;
  for (const sum of sumByCluster(weights, clusters).values()) {
    total += sum;
    squares += sum * sum;
  }
  return squares > 0 ? (total * total) / squares : 0;
}

/** Mean of `values` and its variance under clustering by subject and by reporter. */
export function computeTwoWayVariance(
  values: ArrayLike<number>,
  weights: ArrayLike<number>,
  subjects: ArrayLike<number>,
  reporters: ArrayLike<number>,
): TwoWayVariance {
  const n = values.length;
  assert.ok(n > 0);
  const weighted = Float64Array.from({ length: n }, (_, i) => values[i]! * weights[i]!);
  const mean = weighted.reduce((sum, x) => sum + x, 0) / n;
  const deviations = weighted.map((x) => x - mean);
  const bySubject = computeOneWayVariance(deviations, subjects, n);
  const byReporter = computeOneWayVariance(deviations, reporters, n);
  const independent = deviations.reduce((sum, x) => sum + x * x, 0) / (n * n);
  return {
    mean,
    variance: Math.max(bySubject + byReporter - independent, bySubject, byReporter),
    effectiveSubjects: countEffectiveClusters(weights, subjects),
    effectiveReporters: countEffectiveClusters(weights, reporters),
  };
}

/** AUC of `scores` and each row's DeLong placement value (V10 for bads, V01 for goods). */
function computePlacements(scores: ArrayLike<number>, failures: ArrayLike<number>) {
  const n = scores.length;
  const order = Uint32Array.from({ length: n }, (_, i) => i);
  order.sort((a, b) => scores[a]! - scores[b]!);
  const bads = Array.from({ length: n }, (_, i) => failures[i]!).reduce((s, y) => s + y, 0);
  const goods = n - bads;
  const placement = new Float64Array(n);
  let goodsBelow = 0;
  let badsBelow = 0;
  for (let i = 0; i < n;) {
    let end = i;
    let tiedGoods = 0;
    let tiedBads = 0;
    do {
      if (failures[order[end]!] === 1) tiedBads++;
      else tiedGoods++;
      end++;
    } while (end < n && scores[order[end]!] === scores[order[i]!]);
    for (let k = i; k < end; k++) {
      const row = order[k]!;
      placement[row] =
        failures[row] === 1
          ? (goodsBelow + tiedGoods / 2) / goods
          : (bads - badsBelow - tiedBads / 2) / bads;
    }
    goodsBelow += tiedGoods;
    badsBelow += tiedBads;
    i = end;
  }
  return { placement, bads, goods };
}

/** Difference of two AUCs on the same rows and its clustered standard error (Obuchowski 1997). */
export function computeAucDifference(
  challenger: ArrayLike<number>,
  champion: ArrayLike<number>,
  failures: ArrayLike<number>,
  subjects: ArrayLike<number>,
  reporters: ArrayLike<number>,
): { difference: number; standardError: number } {
  const n = failures.length;
  const a = computePlacements(challenger, failures);
  const b = computePlacements(champion, failures);
  let difference = 0;
  for (let i = 0; i < n; i++) {
    if (failures[i] === 1) difference += (a.placement[i]! - b.placement[i]!) / a.bads;
  }
  const influence = Float64Array.from({ length: n }, (_, i) => {
    const size = failures[i] === 1 ? a.bads : a.goods;
    return (a.placement[i]! - b.placement[i]! - difference) / size;
  });
  const sumSquares = (sums: Map<number, number>) => {
    let total = 0;
    for (const sum of sums.values()) total += sum * sum;
    return total;
  };
  const bySubject = sumSquares(sumByCluster(influence, subjects));
  const byReporter = sumSquares(sumByCluster(influence, reporters));
  const independent = influence.reduce((sum, x) => sum + x * x, 0);
  const variance = Math.max(bySubject + byReporter - independent, bySubject, byReporter);
  return { difference, standardError: Math.sqrt(variance) };
}

/** Population stability index of samples over ten bins of one expected sample's deciles. */
export function createStabilityIndex(
  expected: readonly number[],
): (actual: readonly number[]) => number {
  const sorted = expected.toSorted((a, b) => a - b);
  const edges = Array.from(
    { length: 9 },
    (_, i) => sorted[Math.floor(((i + 1) * sorted.length) / 10)]!,
  );
  const shares = (sample: readonly number[]) => {
    const counts = Array.from({ length: 10 }, () => 0.5);
    for (const x of sample) counts[edges.filter((edge) => x >= edge).length]! += 1;
    return counts.map((count) => count / (sample.length + 5));
  };
  const e = shares(expected);
  return (actual) =>
    shares(actual).reduce((sum, a, i) => sum + (a - e[i]!) * Math.log(a / e[i]!), 0);
}

/** The same of one sample. */
export function computeStabilityIndex(
  expected: readonly number[],
  actual: readonly number[],
): number {
  return createStabilityIndex(expected)(actual);
}

/** Spearman rank correlation. */
export function computeRankCorrelation(x: ArrayLike<number>, y: ArrayLike<number>): number {
  const [rx, ry] = [computeRanks(x), computeRanks(y)];
  const mean = (rx.length - 1) / 2;
  let xy = 0;
  let xx = 0;
  let yy = 0;
  for (let i = 0; i < rx.length; i++) {
    xy += (rx[i]! - mean) * (ry[i]! - mean);
    xx += (rx[i]! - mean) ** 2;
    yy += (ry[i]! - mean) ** 2;
  }
  return xx > 0 && yy > 0 ? xy / Math.sqrt(xx * yy) : 1;
}

function computeRanks(values: ArrayLike<number>): Float64Array {
  const n = values.length;
  const order = Uint32Array.from({ length: n }, (_, i) => i);
  order.sort((a, b) => values[a]! - values[b]!);
  const result = new Float64Array(n);
  for (let i = 0; i < n;) {
    let end = i + 1;
    while (end < n && values[order[end]!] === values[order[i]!]) end++;
    for (let k = i; k < end; k++) result[order[k]!] = (i + end - 1) / 2;
    i = end;
  }
  return result;
}
