// The e-value of many tests: against the mixture integrated step by step, and in made-up series of tests,
// stopped when it suits whoever looks.
import { expect, test } from "vitest";
import { combinedZ, eValue } from "../../bench/e-process.ts";
import { createSeededRandom } from "../../src/kaizen/model/random.ts";

/** Likelihood ratio averaged over gains above 0, normal with variance 2, by the midpoint rule. */
function integrated(zs: readonly number[]): number {
  const sum = zs.reduce((all, z) => all + z, 0);
  const [step, end] = [1e-3, 20];
  let total = 0;
  for (let gain = step / 2; gain < end; gain += step) {
    const prior = (2 / Math.sqrt(4 * Math.PI)) * Math.exp(-(gain * gain) / 4);
    total += prior * Math.exp(gain * sum - (gain * gain * zs.length) / 2) * step;
  }
  return total;
}

/** z of `count` tests of a challenger whose true z is `gain`. */
function series(seed: number, count: number, gain: number): number[] {
  const random = createSeededRandom(seed);
  return Array.from({ length: count }, () => gain + random.normal());
}

/** The largest e-value of a series within its first tests, and the one at which it would stop at 20. */
function stopped(zs: readonly number[]): number {
  let e = 1;
  for (let n = 1; n <= zs.length; n++) {
    e = eValue(zs.slice(0, n));
    if (e >= 20) return e;
  }
  return e;
}

test.each([[[0]], [[1.5]], [[-2, 0.3]], [[1.2, 1.1, 0.9, 1.4, 2]], [Array<number>(20).fill(0.4)]])(
  "the e-value of %j is the mixture",
  (zs) => {
    const whole = integrated(zs);
    expect(Math.abs(eValue(zs) / whole - 1)).toBeLessThan(1e-4);
  },
);

test("without a test there is no evidence", () => {
  expect(eValue([])).toBeCloseTo(1, 6);
  expect(combinedZ([])).toBe(0);
});

test("where nothing is gained its mean is at most 1, and one in twenty ever reaches 20", () => {
  const seeds = Array.from({ length: 4000 }, (_, i) => i + 1);
  const ends = seeds.map((seed) => stopped(series(seed, 40, 0)));
  const mean = ends.reduce((sum, e) => sum + e, 0) / ends.length;
  // Standard error of the mean: below .07.
  expect(mean).toBeLessThan(1.15);
  expect(ends.filter((e) => e >= 20).length / ends.length).toBeLessThan(0.05);
});

test("a loss is no evidence of a gain", () => {
  const seeds = Array.from({ length: 500 }, (_, i) => i + 1);
  expect(seeds.filter((seed) => stopped(series(seed, 40, -0.5)) >= 20)).toEqual([]);
});

test("a dozen tests that say little each prove a gain together", () => {
  const seeds = Array.from({ length: 200 }, (_, i) => i + 1);
  const found = seeds.filter((seed) => stopped(series(seed, 12, 1.2)) >= 20);
  expect(found.length).toBeGreaterThan(180);
});
