// Statistics of the promotion gates: clustered variances, drift and rank measures (kaizen
// 6.3). Plain functions of arrays, without knowledge of gates.
import assert from "node:assert/strict";

/** Terms below this part of their sum change nothing. */
const NEGLIGIBLE = 1e-17;
/** From here on Stirling's series is exact to a double. */
const STIRLING_FROM = 16;

/** log(n!) less Stirling's formula, n >= 1 (Loader 2000). */
function computeStirlingError(n: number): number {
  if (n >= STIRLING_FROM) {
    const square = n * n;
    const third = 1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / square) / square) / square;
    return (1 / 12 - third / square) / n;
  }
  let factorial = 1;
  for (let i = 2; i <= n; i++) factorial *= i;
  return Math.log(factorial) - (n + 0.5) * Math.log(n) + n - 0.5 * Math.log(2 * Math.PI);
}

/** x log(x / mean) + mean - x, also where both are nearly alike (Loader 2000). */
function computeDeviance(x: number, mean: number): number {
  const difference = x - mean;
  if (Math.abs(difference) >= 0.1 * (x + mean)) return x * Math.log(x / mean) - difference;
  const ratio = difference / (x + mean);
  let sum = difference * ratio;
  let term = 2 * x * ratio;
  for (let j = 3; ; j += 2) {
    term *= ratio * ratio;
    const next = sum + term / j;
    if (next === sum) return sum;
    sum = next;
  }
}

/** P(Bin(n, p) = k) by the saddle point, without cancellation at any n (Loader 2000). */
function computeBinomialMass(k: number, n: number, p: number): number {
  if (k === 0) return Math.exp(n * Math.log1p(-p));
  if (k === n) return Math.exp(n * Math.log(p));
  const rest = n - k;
  const error = computeStirlingError(n) - computeStirlingError(k) - computeStirlingError(rest);
  const exponent = error - computeDeviance(k, n * p) - computeDeviance(rest, n * (1 - p));
  return Math.exp(exponent) * Math.sqrt(n / (2 * Math.PI * k * rest));
}

/** A sum of falling terms, each of which is `ratio(i)` of the one before it. */
function sumFallingTerms(first: number, steps: number, ratio: (step: number) => number): number {
  let [sum, term] = [first, first];
  for (let i = 0; i < steps && term > sum * NEGLIGIBLE; i++) {
    term *= ratio(i);
    sum += term;
  }
  return sum;
}

/** P(X <= k) and P(X > k) of Bin(n, p): the smaller is summed, so that neither is rounded away. */
function computeBinomialTails(k: number, n: number, p: number): { below: number; above: number } {
  if (k < 0 || k >= n) return k < 0 ? { below: 0, above: 1 } : { below: 1, above: 0 };
  if (p <= 0 || p >= 1) return p <= 0 ? { below: 1, above: 0 } : { below: 0, above: 1 };
  const odds = p / (1 - p);
  if (k < n * p) {
    const ratio = (i: number) => (k - i) / ((n - k + i + 1) * odds);
    const below = Math.min(1, sumFallingTerms(computeBinomialMass(k, n, p), k, ratio));
    return { below, above: 1 - below };
  }
  const first = k + 1;
  const ratio = (i: number) => ((n - first - i) / (first + i + 1)) * odds;
  const above = Math.min(1, sumFallingTerms(computeBinomialMass(first, n, p), n - first, ratio));
  return { below: 1 - above, above };
}

/** P(Bin(n, p) <= k); some sqrt(n) steps. */
export function computeBinomialCdf(k: number, n: number, p: number): number {
  return computeBinomialTails(k, n, p).below;
}

/** The largest k with P(Bin(n, p) <= k) <= `share`; -1 where there is none. */
export function findBinomialQuantile(share: number, n: number, p: number): number {
  let [low, high] = [-1, n];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (computeBinomialCdf(middle, n, p) <= share) low = middle;
    else high = middle;
  }
  return low;
}

/** One-sided upper confidence bound of a proportion (Clopper-Pearson 1934). */
export function computeClopperPearsonUpper(k: number, n: number, confidence = 0.95): number {
  if (n === 0 || k >= n) return 1;
  let low = k / n;
  let high = 1;
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2;
    if (computeBinomialCdf(k, n, middle) > 1 - confidence) low = middle;
    else high = middle;
  }
  return high;
}

/** One-sided lower confidence bound of a proportion. */
export function computeClopperPearsonLower(k: number, n: number, confidence = 0.95): number {
  return k === 0 ? 0 : 1 - computeClopperPearsonUpper(n - k, n, confidence);
}

/** Exact one-sided McNemar p-value: chance of at least `more` of `more + less` at one half. */
export function computeMcNemarPValue(more: number, less: number): number {
  return computeBinomialTails(more - 1, more + less, 0.5).above;
}

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
  {
    failures,
    subjects,
    reporters,
  }: Record<"failures" | "subjects" | "reporters", ArrayLike<number>>,
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
