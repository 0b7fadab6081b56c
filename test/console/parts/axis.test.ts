// Ticks of charts: round, several, and in order; values are placed between the ends.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  createAxis,
  createLinearAxis,
  createLogAxis,
  createTimeAxis,
  formatTimeTicks,
} from "../../../src/console/parts/axis.ts";

const isRound = (value: number) =>
  value === 0 || /^[125]0*$/.test(String(Number(value.toExponential(6).split("e")[0])));

describe("a linear axis", () => {
  it.each([
    [[0, 61] as const, 4, [0, 20, 40, 60, 80]],
    [[0, 0.3] as const, 5, [0, 0.1, 0.2, 0.3]],
    [[-12, 40] as const, 5, [-20, 0, 20, 40]],
    [[5, 5] as const, 4, [5, 5.5, 6]],
  ])("over %j in %i steps has %j", (range, steps, ticks) => {
    expect(createLinearAxis({ range, steps }).ticks).toEqual(ticks);
  });

  it("has whole ticks where only whole numbers occur, and keeps fixed ends", () => {
    expect(createLinearAxis({ range: [0, 1], steps: 4, isWhole: true }).ticks).toEqual([0, 1]);
    const fixed = createLinearAxis({ range: [0, 850], steps: 5, isFixed: true });
    expect(fixed.ticks).toEqual([0, 200, 400, 600, 800]);
    expect([fixed.place(0), fixed.place(850), fixed.place(900)]).toEqual([0, 1, 1]);
  });

  it("has several evenly spaced ticks around any values", () => {
    const number = fc.double({ min: -1e6, max: 1e6, noNaN: true });
    fc.assert(
      fc.property(number, fc.double({ min: 1e-3, max: 1e9, noNaN: true }), (low, span) => {
        const { ticks, place } = createLinearAxis({ range: [low, low + span], steps: 5 });
        expect(ticks.length).toBeGreaterThanOrEqual(3);
        expect(ticks.length).toBeLessThanOrEqual(8);
        expect(place(ticks.at(0) ?? low + span)).toBe(0);
        expect(place(ticks.at(-1) ?? low)).toBe(1);
      }),
    );
  });
});

describe("a logarithmic axis", () => {
  it("keeps an outlier from flattening the rest", () => {
    const { place, ticks } = createLogAxis({ range: [0.2, 240], steps: 5 });
    expect(ticks).toEqual([1, 10, 100]);
    // On a linear axis both would lie within a hundredth of the height.
    expect(place(2) - place(0.2)).toBeGreaterThan(0.25);
  });

  it("has three round ticks or more around any values", () => {
    const exponent = fc.double({ min: -3, max: 6, noNaN: true });
    fc.assert(
      fc.property(exponent, fc.double({ min: 0, max: 4, noNaN: true }), (from, decades) => {
        const range = [10 ** from, 10 ** (from + decades)] as const;
        const { ticks, low, high } = createLogAxis({ range, steps: 5 });
        expect(low).toBeLessThanOrEqual(range[0] * 1.001);
        expect(high).toBeGreaterThanOrEqual(range[1] * 0.999);
        expect(ticks.length).toBeGreaterThanOrEqual(2);
        expect(ticks.length).toBeLessThanOrEqual(6);
        expect(ticks.every(isRound)).toBe(true);
      }),
    );
  });

  it("places what is not above 0 at its low end", () => {
    expect(createLogAxis({ range: [1, 100], steps: 5 }).place(0)).toBe(0);
  });
});

describe("an axis of time", () => {
  const local = (text: string) => new Date(text).getTime() / 1000;

  it.each([
    ["2026-03-01T08:04:40", 60, "08:04:40", "08:05:40"],
    ["2026-03-01T08:01:00", 300, "08:01", "08:06"],
    ["2026-02-27T00:00:00", 30 * 86_400, "27 Feb", "27 Mar"],
    ["2025-07-10T00:00:00", 400 * 86_400, "Oct", "Jul"],
  ])("from %s over %i s begins at %s and ends at %s", (from, seconds, first, last) => {
    const low = local(from);
    const axis = createTimeAxis([low, low + seconds], 6);
    const labels = formatTimeTicks(axis);
    expect(axis.ticks.length).toBeGreaterThanOrEqual(3);
    expect(labels[0]?.[0]).toBe(first);
    expect(labels.at(-1)?.[0]).toBe(last);
  });

  it("names the day once, and again where another begins", () => {
    const low = local("2026-03-01T20:00:00");
    const labels = formatTimeTicks(createTimeAxis([low, low + 8 * 3600], 8));
    expect(labels.map(([label]) => label)).toContain("00:00");
    expect(labels.filter(([, below]) => below !== "").map(([, below]) => below)).toEqual([
      "1 Mar",
      "2 Mar",
    ]);
  });
});

describe("a pointer", () => {
  it.each(["linear", "log", "sqrt"] as const)("finds its value on a %s scale", (scale) => {
    const axis = createAxis(scale, [1, 400], []);
    for (const value of [1, 20, 399]) {
      expect(axis.valueAt(axis.place(value))).toBeCloseTo(value, 6);
    }
  });
});
