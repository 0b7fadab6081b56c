// Judgement of a comparison by turns: interval, words, and how often it errs on noise alone.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { seeded } from "../../../bench/load/spread.ts";
import { compare, ROUNDS_MIN } from "../../../bench/load/verdict.ts";

describe("compare", () => {
  it("needs as many rounds as an interval of 95 % does, of both sides", () => {
    const rounds = Array<number>(ROUNDS_MIN).fill(1);
    expect(compare(rounds, rounds)).toMatchObject({ ratio: 1, low: 1, high: 1 });
    expect(() => compare(rounds.slice(1), rounds.slice(1))).toThrow(/at least 6 rounds/);
    expect(() => compare(rounds, rounds.slice(1))).toThrow(/both sides/);
  });

  it("tells dearer and cheaper only where the whole interval does", () => {
    const before = [10, 11, 9, 10, 12, 8, 10, 9];
    const times = (factor: number) => before.map((value) => value * factor);
    expect(compare(before, times(1.5)).verdict).toBe("higher");
    expect(compare(before, times(0.5)).verdict).toBe("lower");
    const swapped = before.map((value, at) => value * (at % 2 === 0 ? 1.1 : 0.9));
    expect(compare(before, swapped).verdict).toBe("no difference shown");
  });

  it("cuts as many from each end as the table of the sign test says", () => {
    // Ranks of the confidence interval of a median: 12 rounds cut 2, 20 rounds 5.
    const ascending = (count: number) => Array.from({ length: count }, (_, at) => at + 1);
    const ones = (count: number) => Array<number>(count).fill(1);
    expect(compare(ones(6), ascending(6))).toMatchObject({ low: 1, high: 6 });
    expect(compare(ones(12), ascending(12))).toMatchObject({ ratio: 6.5, low: 3, high: 10 });
    expect(compare(ones(20), ascending(20))).toMatchObject({ ratio: 10.5, low: 6, high: 15 });
  });

  it("holds the true ratio in at least 95 of 100 comparisons, whatever the noise is like", () => {
    const random = seeded(7);
    // Skewed, as a machine's noise is: never faster than 1, sometimes much slower.
    const noisy = () => 1 + random() ** 6 * 3;
    let held = 0;
    const count = 2000;
    for (let at = 0; at < count; at++) {
      const before = Array.from({ length: 12 }, noisy);
      const { low, high } = compare(before, Array.from({ length: 12 }, noisy));
      if (low <= 1 && high >= 1) held += 1;
    }
    expect(held / count).toBeGreaterThanOrEqual(0.95);
  });

  it("orders low, ratio and high, and turns around with its sides", () => {
    const side = fc.array(fc.double({ min: 0.1, max: 100, noNaN: true }), {
      minLength: 6,
      maxLength: 30,
    });
    fc.assert(
      fc.property(side, side, (first, second) => {
        const count = Math.min(first.length, second.length);
        const [before, after] = [first.slice(0, count), second.slice(0, count)];
        const { low, ratio, high } = compare(before, after);
        expect(low).toBeLessThanOrEqual(ratio);
        expect(ratio).toBeLessThanOrEqual(high);
        const turned = compare(after, before);
        expect(turned.low * high).toBeCloseTo(1, 1);
        expect(turned.high * low).toBeCloseTo(1, 1);
      }),
    );
  });
});
