// Weights of evidence by its reporters: alike by default, by credibility where it is in force, no
// reporter and no crowd of newcomers above its share.
import { describe, expect, it } from "vitest";
import type { FitRows } from "../../../src/kaizen/model/holdout.ts";
import { markNewReporters, computeRowWeights } from "../../../src/kaizen/model/row-weights.ts";
import { CONFIG, evidenceFrom } from "../_evidence.ts";

const ROWS = 2000;
const TRAIN = 1500;

/** Evidence whose rows are told by `reporterOf(row)`. */
function toldBy(reporterOf: (row: number) => number): FitRows {
  const evidence = evidenceFrom(1, ROWS, CONFIG.handshake);
  return {
    ...evidence,
    reporters: Uint32Array.from({ length: ROWS }, (_, row) => reporterOf(row)),
  };
}

function weightsOf(evidence: FitRows, from: number, to: number): Float64Array {
  return computeRowWeights(evidence, from, to, markNewReporters(evidence, TRAIN));
}

/** Share of the mass that reporters from `first` on hold. */
function shareFrom(evidence: FitRows, first: number, from: number, to: number): number {
  const weights = weightsOf(evidence, from, to);
  const all = weights.reduce((sum, weight) => sum + weight, 0);
  const own = weights.filter((_, i) => evidence.reporters[from + i]! >= first);
  return own.reduce((sum, weight) => sum + weight, 0) / all;
}

describe("weights of evidence", () => {
  it("are alike among many old reporters, without seeds", () => {
    const evidence = toldBy((row) => row % 300);
    expect(weightsOf(evidence, 0, TRAIN).every((weight) => weight === 1)).toBe(true);
    expect(weightsOf(evidence, TRAIN, ROWS).every((weight) => weight === 1)).toBe(true);
  });

  it("let no reporter have more than a fiftieth", () => {
    const evidence = toldBy((row) => (row % 2 === 0 ? 400 : row % 300));
    const one = TRAIN * 0.02;
    expect(shareFrom(evidence, 400, 0, TRAIN)).toBeCloseTo(one / (one + TRAIN / 2), 6);
  });

  it("follow credibility, and the cap counts by it", () => {
    const evidence = toldBy((row) => row % 300);
    evidence.credibility = Float64Array.from(evidence.reporters, (id) => (id < 30 ? 1 : 0.3));
    const weights = weightsOf(evidence, TRAIN, ROWS);
    expect(
      [...weights].map((weight, i) => weight === evidence.credibility![TRAIN + i]),
    ).not.toContain(false);
  });

  it("let newcomers together have a tenth, in training and in the test", () => {
    // In the newest quarter of the training and in the test, one row in three is a new name's.
    const evidence = toldBy((row) =>
      row >= TRAIN * 0.75 && row % 3 === 0 ? 1000 + row : row % 300,
    );
    expect(shareFrom(evidence, 1000, 0, TRAIN)).toBeLessThan(0.1);
    expect(shareFrom(evidence, 1000, TRAIN, ROWS)).toBeCloseTo(0.1, 6);
  });

  it("starve no young deployment: who is there before the newest quarter counts", () => {
    const evidence = toldBy((row) => Math.floor(row / 5));
    const weights = weightsOf(evidence, 0, TRAIN);
    expect(weights.subarray(0, TRAIN * 0.75).every((weight) => weight === 1)).toBe(true);
    // In the test nobody is known: no mass, which gate G1 calls too few reporters.
    expect(weightsOf(evidence, TRAIN, ROWS).every((weight) => weight === 0)).toBe(true);
  });
});
