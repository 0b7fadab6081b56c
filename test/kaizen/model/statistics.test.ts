// The statistics behind the gates against brute force, known values and their own definitions.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSeededRandom } from "../../../src/kaizen/model/bootstrap.ts";
import {
  computeAucDifference,
  countEffectiveClusters,
  computeRankCorrelation,
  computeStabilityIndex,
  computeTwoWayVariance,
} from "../../../src/kaizen/model/statistics.ts";
import { computeAuc } from "../../../src/kaizen/model/forecast-metrics.ts";

const rows = fc
  .array(
    fc.record({
      value: fc.double({ min: -5, max: 5, noNaN: true }),
      weight: fc.double({ min: 0.1, max: 1, noNaN: true }),
      subject: fc.nat(5),
      reporter: fc.nat(5),
    }),
    { minLength: 2, maxLength: 40 },
  )
  .filter((list) => new Set(list.map((r) => r.subject)).size > 1)
  .filter((list) => new Set(list.map((r) => r.reporter)).size > 1);

describe("the clustered variance", () => {
  it("is the double sum over pairs of rows that share a cluster", () => {
    fc.assert(
      fc.property(rows, (list) => {
        const n = list.length;
        const x = list.map((r) => r.value * r.weight);
        const mean = x.reduce((a, b) => a + b, 0) / n;
        const pairs = (same: (i: number, j: number) => boolean) => {
          let sum = 0;
          for (let i = 0; i < n; i++) {
            for (let j = 0; j < n; j++) {
              if (same(i, j)) sum += (x[i]! - mean) * (x[j]! - mean);
            }
          }
          return sum / n ** 2;
        };
        const groups = (pick: (r: (typeof list)[0]) => number) => new Set(list.map(pick)).size;
        const [gs, gr] = [groups((r) => r.subject), groups((r) => r.reporter)];
        const vs = (gs / (gs - 1)) * pairs((i, j) => list[i]!.subject === list[j]!.subject);
        const vr = (gr / (gr - 1)) * pairs((i, j) => list[i]!.reporter === list[j]!.reporter);
        const vi = pairs((i, j) => i === j);
        const { mean: found, variance } = computeTwoWayVariance(
          list.map((r) => r.value),
          list.map((r) => r.weight),
          list.map((r) => r.subject),
          list.map((r) => r.reporter),
        );
        expect(found).toBeCloseTo(mean, 10);
        expect(variance).toBeCloseTo(Math.max(vs + vr - vi, vs, vr), 8);
      }),
    );
  });

  it("counts effective clusters between 1 and their number", () => {
    expect(countEffectiveClusters([1, 1, 1, 1], [0, 1, 2, 3])).toBeCloseTo(4);
    expect(countEffectiveClusters([1, 1, 1, 1], [7, 7, 7, 7])).toBeCloseTo(1);
    expect(countEffectiveClusters([3, 1], [0, 1])).toBeCloseTo(1.6);
  });
});

describe("ranking and drift", () => {
  it("gives the difference of two AUCs, and no error for equal scores", () => {
    const random = createSeededRandom(1);
    const n = 400;
    const failures = Uint8Array.from({ length: n }, () => (random.uniform() < 0.2 ? 1 : 0));
    const a = Float64Array.from(failures, (y) => y + random.normal());
    const b = Float64Array.from(failures, (y) => 0.5 * y + random.normal());
    const ids = Uint32Array.from(failures, (_, i) => i);
    const labels = { failures, subjects: ids, reporters: ids };
    const found = computeAucDifference(a, b, labels);
    expect(found.difference).toBeCloseTo(computeAuc(a, failures) - computeAuc(b, failures), 10);
    expect(found.standardError).toBeGreaterThan(0.01);
    const same = computeAucDifference(a, a, labels);
    expect(same).toEqual({ difference: 0, standardError: 0 });
  });

  it("knows a shifted population and an unshifted one", () => {
    const random = createSeededRandom(2);
    const draw = (shift: number) => Array.from({ length: 4000 }, () => random.normal() + shift);
    expect(computeStabilityIndex(draw(0), draw(0))).toBeLessThan(0.02);
    expect(computeStabilityIndex(draw(0), draw(1))).toBeGreaterThan(0.5);
  });

  it("is 1 for any rising map and -1 for any falling one", () => {
    const x = [3, 1, 4, 1.5, 9];
    expect(computeRankCorrelation(x, x.map(Math.exp))).toBeCloseTo(1);
    expect(
      computeRankCorrelation(
        x,
        x.map((v) => -v),
      ),
    ).toBeCloseTo(-1);
  });
});
