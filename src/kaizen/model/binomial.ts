// The binomial distribution, and the exact bounds and tests that the gates make of it. Every sum
// starts at its largest term: a sum from the far end begins with (1 - p)^n, which is nothing in
// doubles from 745,000 rows on at p = .001.

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
