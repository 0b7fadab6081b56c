// The binomial distribution and the exact bounds of the gates, from a handful of rows to a hundred
// million: against a plain sum, published values and SciPy's.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  computeBinomialCdf,
  findBinomialQuantile,
  computeClopperPearsonLower,
  computeClopperPearsonUpper,
  computeMcNemarPValue,
} from "../../../src/kaizen/model/statistics.ts";
import {
  fitDenialThreshold,
  computeNeymanPearsonThreshold,
} from "../../../src/kaizen/model/forecast-metrics.ts";

/** The slow reference: every term from the first on, in logarithms. */
function summedCdf(k: number, n: number, p: number): number {
  let logTerm = n * Math.log1p(-p);
  let sum = Math.exp(logTerm);
  for (let i = 0; i < k; i++) {
    logTerm += Math.log((n - i) / (i + 1)) + Math.log(p / (1 - p));
    sum += Math.exp(logTerm);
  }
  return Math.min(1, sum);
}

describe("the binomial distribution", () => {
  it("is the sum of its terms", () => {
    const place = fc.record({
      n: fc.integer({ min: 1, max: 3000 }),
      part: fc.double({ min: 0, max: 1, noNaN: true }),
      p: fc.double({ min: 1e-6, max: 1 - 1e-6, noNaN: true }),
    });
    fc.assert(
      fc.property(place, ({ n, part, p }) => {
        const k = Math.floor(part * n);
        expect(computeBinomialCdf(k, n, p)).toBeCloseTo(k >= n ? 1 : summedCdf(k, n, p), 10);
      }),
    );
  });

  // scipy.stats.binom.cdf(k, n, p), SciPy 1.17.
  it.each([
    [3, 40, 0.25, 0.004695680338250517],
    [12, 15, 0.7, 0.873172285377237],
    [1000, 1_000_000, 0.001, 0.5084093682207762],
    [900, 1_000_000, 0.001, 0.0006940154622868455],
    [499_000, 1_000_000, 0.5, 0.0228041499326948],
    [500_000, 1_000_000, 0.5, 0.5003989421806654],
    [999_500, 1_000_000, 0.9995, 0.5059516070372202],
    [99_500, 100_000_000, 0.001, 0.056923194349755075],
  ])("is that of SciPy at %i of %i at %f", (k, n, p, expected) => {
    expect(computeBinomialCdf(k, n, p) / expected).toBeCloseTo(1, 9);
  });

  it("is nothing below none, and one where all are meant", () => {
    expect(computeBinomialCdf(-1, 5, 0.3)).toBe(0);
    expect(computeBinomialCdf(5, 5, 0.3)).toBe(1);
    expect(computeBinomialCdf(2, 5, 0)).toBe(1);
    expect(computeBinomialCdf(2, 5, 1)).toBe(0);
    expect(computeBinomialCdf(0, 10, 0.1)).toBeCloseTo(0.9 ** 10, 12);
  });

  // The border of denial at .1 % and 5 %; by SciPy. (1 - p)^n is no double above zero from 745,000 on.
  it.each([
    [2994, -1],
    [2995, 0],
    [744_000, 698],
    [745_200, 700],
    [1_000_000, 947],
    [100_000_000, 99_479],
  ])("lets %i successes exceed a border %i times", (n, allowed) => {
    expect(findBinomialQuantile(0.05, n, 0.001)).toBe(allowed);
  });
});

describe("exact bounds", () => {
  it("gives the published Clopper-Pearson values", () => {
    // 0 of n at 95 % one-sided: 1 - 0.05^(1/n).
    expect(computeClopperPearsonUpper(0, 2995)).toBeCloseTo(1 - 0.05 ** (1 / 2995), 9);
    // The sample sizes that just show 0.1 % (kaizen 6.3, G5).
    for (const [k, n] of [
      [0, 2995],
      [1, 4742],
      [2, 6294],
      [3, 7752],
    ] as const) {
      expect(computeClopperPearsonUpper(k, n)).toBeLessThanOrEqual(0.001);
      expect(computeClopperPearsonUpper(k, n - 2)).toBeGreaterThan(0.001);
    }
    // 10 of 100: two-sided 90 % interval .0553 to .1637.
    expect(computeClopperPearsonLower(10, 100)).toBeCloseTo(0.0553, 3);
    expect(computeClopperPearsonUpper(10, 100)).toBeCloseTo(0.1637, 3);
  });

  it("narrows around the share with a hundred million rows", () => {
    const [k, n] = [50_000, 100_000_000];
    const error = Math.sqrt(k) / n;
    expect((computeClopperPearsonUpper(k, n) - k / n) / error).toBeCloseTo(1.645, 1);
    expect((k / n - computeClopperPearsonLower(k, n)) / error).toBeCloseTo(1.645, 1);
  });

  it("gives the chance of so many changes one way", () => {
    expect(computeMcNemarPValue(5, 0)).toBeCloseTo(1 / 32, 12);
    expect(computeMcNemarPValue(0, 5)).toBe(1);
    // Small ones too: one less the rest would be zero.
    expect(computeMcNemarPValue(80, 0) * 2 ** 80).toBeCloseTo(1, 9);
  });
});

describe("the border of denial", () => {
  const scores = (n: number) => Array.from({ length: n }, (_, i) => i / n);
  const exceeding = (all: readonly number[], border: number) =>
    all.filter((x) => x > border).length;

  it("is the lowest that the bound allows", () => {
    const all = scores(5000);
    const above = exceeding(all, computeNeymanPearsonThreshold(all));
    expect(computeClopperPearsonUpper(above, 5000)).toBeLessThanOrEqual(0.001);
    expect(computeClopperPearsonUpper(above + 1, 5000)).toBeGreaterThan(0.001);
    expect(computeNeymanPearsonThreshold(all.slice(0, 2900))).toBe(Infinity);
  });

  it("is found among more successes than (1 - p)^n has digits for", () => {
    const all = scores(800_000);
    const above = exceeding(all, computeNeymanPearsonThreshold(all));
    expect(above).toBe(findBinomialQuantile(0.05, 800_000, 0.001));
    expect(fitDenialThreshold(all)).toBeGreaterThanOrEqual(computeNeymanPearsonThreshold(all));
  });
});
