// One challenge from evidence to verdict: nothing found in noise, a real shift found, and every
// way in which the evidence can be useless leaves the champion where it is.
import { describe, expect, it } from "vitest";
import { FEATURES } from "../../src/contract/vocabulary.ts";
import type { ScoringModel } from "../../src/engine/config.ts";
import { challengeScorecard } from "../../src/kaizen/challenge.ts";
import type { FitRows } from "../../src/kaizen/model/holdout.ts";
import { COLUMN_COUNT } from "../../src/kaizen/model/scorecard.ts";
import { CONFIG, evidenceFrom, USABLE } from "./_evidence.ts";

const ROWS = 9000;
const CHAMPION = CONFIG.handshake;
const MOVED: ScoringModel = {
  ...CHAMPION,
  intercept: -1,
  mean: 0.5,
  weights: { ...CHAMPION.weights, recent_failure: 4 },
};

function run(evidence: FitRows, from = 6000, to = ROWS) {
  return challengeScorecard(evidence, CONFIG, {
    side: "handshake",
    usable: USABLE,
    trainTo: from,
    holdoutFrom: from,
    holdoutTo: to,
    isPilot: false,
  });
}

describe("a challenge", () => {
  it("promotes when the world has moved, with the number behind every gate", () => {
    const found = run(evidenceFrom(1, ROWS, MOVED));
    expect(found.reason).toBe("all gates passed");
    expect(found.gates.map((gate) => gate.id)).toEqual([
      "G1",
      "G2",
      "G3",
      "G4",
      "G5",
      "G6",
      "G7",
      "G8",
      "G10",
      "G11",
    ]);
    for (const gate of found.gates) {
      expect(Object.values(gate.numbers).every(Number.isFinite), gate.id).toBe(true);
    }
    // One run goes halfway: what a lesson has wrong costs a quarter of what it would.
    const { recent_failure: recent = 0 } = CHAMPION.weights;
    expect(found.challenger!.mean).toBeCloseTo((CHAMPION.mean + 0.5) / 2, 1);
    expect(found.challenger!.weights.recent_failure).toBeGreaterThan(recent + 0.4 * (4 - recent));
    expect(found.challenger!.weights.recent_failure).toBeLessThan(recent + 0.6 * (4 - recent));
  });

  it("keeps the champion when it is the truth, most of the time", () => {
    const promoted = Array.from({ length: 12 }, (_, seed) =>
      run(evidenceFrom(100 + seed, ROWS, CHAMPION)),
    ).filter((found) => found.passed);
    expect(promoted.length).toBeLessThanOrEqual(1);
  });

  it("gives the same answer twice", () => {
    expect(run(evidenceFrom(5, ROWS, MOVED))).toEqual(run(evidenceFrom(5, ROWS, MOVED)));
  });

  it.each([
    ["no rows", 6000, 6000, /no settled outcomes/],
    ["few rows", 6000, 6100, /insufficient evidence: 100 rows/],
    ["little training", 450, 4000, /insufficient evidence: 450 training rows/],
  ])("says why with %s", (_, from, to, reason) => {
    const found = run(evidenceFrom(2, ROWS, MOVED), from, to);
    expect(found.passed).toBe(false);
    expect(found.reason).toMatch(reason);
  });

  it("keeps the champion when one reporter is all the evidence there is", () => {
    const evidence = evidenceFrom(3, ROWS, MOVED);
    evidence.reporters.fill(7);
    expect(run(evidence).reason).toMatch(/effective reporters/);
  });

  it("keeps the champion when the fit breaks", () => {
    const evidence = evidenceFrom(4, ROWS, MOVED);
    evidence.rows.values[5 * COLUMN_COUNT + 2] = Number.NaN;
    expect(run(evidence).reason).toBe("the fit broke; the champion stays");
  });

  it("keeps the champion when the data are separable: no finite fit is theirs", () => {
    const evidence = evidenceFrom(6, ROWS, MOVED);
    for (let row = 0; row < ROWS; row++) {
      evidence.rows.values[row * COLUMN_COUNT + 2] = evidence.failures[row]! * 2 - 1;
    }
    const found = run(evidence);
    expect(found.challenger).toBeUndefined();
    expect(found.reason).toMatch(/features tell every failure from every success; the champion/);
  });

  it("keeps the champion's weight on a column that never changes", () => {
    const evidence = evidenceFrom(6, ROWS, MOVED);
    for (let row = 0; row < ROWS; row++) evidence.rows.values[row * COLUMN_COUNT + 10] = 3;
    const { challenger } = run(evidence);
    const name = FEATURES[10 - 4]!;
    expect(challenger!.weights[name]).toBeCloseTo(CHAMPION.weights[name] ?? 0, 6);
  });

  it("keeps the champion when the holdout holds what is no number", () => {
    const evidence = evidenceFrom(7, ROWS, MOVED);
    evidence.rows.values[7000 * COLUMN_COUNT + 2] = Number.NaN;
    const found = run(evidence);
    expect(found.passed).toBe(false);
    expect(found.reason).toBe("the holdout gives no finite score; the champion stays");
  });

  it("keeps the champion when there is no success to learn from", () => {
    const evidence = evidenceFrom(8, ROWS, MOVED);
    evidence.failures.fill(1);
    expect(run(evidence).reason).toMatch(
      /insufficient evidence: 3000 rows with 3000 failures and 0/,
    );
  });
});
