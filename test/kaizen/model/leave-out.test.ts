// One-step deletion against the re-fit that it stands for.
import { describe, expect, it } from "vitest";
import { estimateFitsWithoutGroups } from "../../../src/kaizen/model/leave-out.ts";
import { readCoefficients, fitScorecard } from "../../../src/kaizen/model/scorecard.ts";
import { CONFIG, evidenceFrom, USABLE } from "../_evidence.ts";

const ROWS = 6000;
const TRUTH = { ...CONFIG.handshake, intercept: -1, mean: 0.5 };

describe("the fit without a group", () => {
  const evidence = evidenceFrom(1, ROWS, TRUTH);
  // A thirtieth of the reporters says the opposite of what it saw.
  const groupOf = (reporter: number) => (reporter < 10 ? 0 : reporter < 60 ? 1 : -1);
  evidence.reporters.forEach((reporter, row) => {
    if (groupOf(reporter) === 0) evidence.failures[row] = 1 - evidence.failures[row]!;
  });
  const champion = CONFIG.handshake;
  const fit = (weights: Float64Array) =>
    fitScorecard({ ...evidence, weights }, [0, ROWS], champion, { usable: USABLE, lambda: 5 })!
      .coefficients;
  const weights = new Float64Array(ROWS).fill(1);
  const coefficients = fit(weights);
  const input = { evidence, trainTo: ROWS, weights, usable: USABLE, lambda: 5, coefficients };
  const found = estimateFitsWithoutGroups(input, groupOf, 2);

  it.each([0, 1])("is near the re-fit without group %i, far from the whole", (group) => {
    const without = fit(
      weights.map((_, row) => (groupOf(evidence.reporters[row]!) === group ? 0 : 1)),
    );
    const distance = (a: Float64Array, b: Float64Array) =>
      Math.hypot(...a.map((x, j) => x - b[j]!));
    const whole = distance(coefficients, without);
    expect(whole).toBeGreaterThan(0.02);
    expect(distance(found[group]!, without)).toBeLessThan(0.31 * whole);
  });

  it("keeps the champion's weight on what the fit may not use", () => {
    const before = readCoefficients(champion);
    USABLE.forEach((isUsable, j) => {
      if (!isUsable) expect(found[0]![j]).toBe(coefficients[j]);
    });
    expect(before.length).toBe(coefficients.length);
  });

  it("has no answer when nobody is left", () => {
    const all = estimateFitsWithoutGroups({ ...input, lambda: 0 }, () => 0, 1);
    expect(all).toEqual([undefined]);
  });
});
