// Sample of a long history: all outcomes while they are few, then a random part of each stretch of time.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sampleOutcomes, allotRows } from "../../../src/kaizen/replay/evidence.ts";
import type { SampleBounds } from "../../../src/kaizen/replay/evidence.ts";

const COUNT = 200_000;
const all = Uint32Array.from({ length: COUNT }, (_, i) => i);
/** Outcome i settled at i. */
const times = Float64Array.from(all);
const draw = (bounds: Partial<SampleBounds>) =>
  sampleOutcomes(all, times, { rowsMax: 20_000, bordersMs: [], seed: 7, ...bounds });
const within = (rows: Uint32Array, from: number, to: number) =>
  rows.filter((i) => i >= from && i < to).length;

describe("shares", () => {
  it("are equal, but for stretches that have fewer", () => {
    expect(allotRows(900, [1000, 1000, 1000])).toEqual([300, 300, 300]);
    expect(allotRows(900, [100, 5000, 1000])).toEqual([100, 400, 400]);
    expect(allotRows(900, [1000, 0, 50])).toEqual([850, 0, 50]);
    expect(allotRows(900, [10, 20])).toEqual([10, 20]);
  });

  it("hand out all there is, and never more than a stretch has", () => {
    const counts = fc.array(fc.nat(1_000_000), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(fc.nat(2_000_000), counts, (rowsMax, given) => {
        const shares = allotRows(rowsMax, given);
        const sum = (numbers: number[]) => numbers.reduce((a, b) => a + b, 0);
        expect(sum(shares)).toBeCloseTo(Math.min(rowsMax, sum(given)), 3);
        for (const [at, share] of shares.entries()) expect(share).toBeLessThanOrEqual(given[at]!);
        // Whoever got less than another had no more.
        for (const [at, share] of shares.entries()) {
          if (share < Math.max(...shares) - 1e-6) expect(share).toBe(given[at]);
        }
      }),
    );
  });
});

describe("a sample", () => {
  it("is everything while that is no more than wanted", () => {
    expect(draw({ rowsMax: COUNT })).toBe(all);
    expect(draw({ rowsMax: COUNT - 1000 })).not.toHaveLength(COUNT);
  });

  it("is in order, about as large as wanted, and spread evenly", () => {
    const rows = draw({});
    expect(rows).toEqual(rows.toSorted());
    expect(Math.abs(rows.length - 20_000)).toBeLessThan(5 * Math.sqrt(20_000));
    for (let from = 0; from < COUNT; from += 20_000) {
      expect(Math.abs(within(rows, from, from + 20_000) - 2000)).toBeLessThan(5 * Math.sqrt(2000));
    }
    // Nor does it follow what repeats in the history, as reporters in turns.
    for (const step of [2, 3, 10, 64]) {
      const of = rows.filter((i) => i % step === 0).length / rows.length;
      expect(Math.abs(of - 1 / step)).toBeLessThan(5 * Math.sqrt(1 / step / 20_000));
    }
  });

  it("gives a short stretch as many rows as a long one", () => {
    const rows = draw({ bordersMs: [195_000, 180_000] });
    expect(within(rows, 195_000, COUNT)).toBe(5000);
    for (const [from, to] of [
      [0, 180_000],
      [180_000, 195_000],
    ] as const) {
      expect(Math.abs(within(rows, from, to) - 7500)).toBeLessThan(450);
    }
    // Borders that part nothing: the same one twice, before the first, after the last.
    expect(draw({ bordersMs: [100_000, 100_000, -1, COUNT] })).toEqual(
      draw({ bordersMs: [100_000] }),
    );
  });

  it("is the same for the same seed, another for another", () => {
    expect(draw({})).toEqual(draw({}));
    const other = new Set(draw({ seed: 8 }));
    const shared = draw({}).filter((i) => other.has(i)).length;
    // A tenth of a tenth, by chance.
    expect(Math.abs(shared - 2000)).toBeLessThan(250);
  });

  it("with fewer rows is a part of the larger one", () => {
    const larger = new Set(draw({}));
    expect(draw({ rowsMax: 5000 }).every((i) => larger.has(i))).toBe(true);
  });
});
