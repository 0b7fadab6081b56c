// The interval of a share, by known values and by what it is for.
import { describe, expect, it } from "vitest";
import { computeWilsonInterval } from "../../src/policy/confidence-interval.ts";

describe("Wilson's interval", () => {
  it("is that of the textbook, within 0 to 1 and never empty", () => {
    // Agresti and Coull (1998): 0 of 10 and 5 of 10 at 95 %.
    expect(computeWilsonInterval(0, 10).low).toBe(0);
    expect(computeWilsonInterval(0, 10).high).toBeCloseTo(0.2775, 4);
    expect(computeWilsonInterval(0.5, 10).low).toBeCloseTo(0.2366, 4);
    expect(computeWilsonInterval(0.5, 10).high).toBeCloseTo(0.7634, 4);
    expect(computeWilsonInterval(1, 3).high).toBe(1);
    expect(computeWilsonInterval(0, 0)).toEqual({ low: 0, high: 1 });
  });
});
