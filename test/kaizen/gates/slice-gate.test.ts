// Gate G10: the right rows in the right slices, the slice that is hurt by name, and errors of
// calibration told apart: by chance, inherited, or the challenger's own.
import { describe, expect, it } from "vitest";
import { FEATURES } from "../../../src/contract/vocabulary.ts";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import { GATE_POLICY } from "../../../src/kaizen/gates/register.ts";
import { evaluateSliceGate } from "../../../src/kaizen/gates/slice-gate.ts";
import { forecastRows } from "../../../src/kaizen/model/holdout.ts";
import type { Forecast, Holdout } from "../../../src/kaizen/model/holdout.ts";
import { COLUMN_COUNT } from "../../../src/kaizen/model/scorecard.ts";
import {
  buildCalibrationSlices,
  parseNamespaceOfKey,
  buildSlices,
} from "../../../src/kaizen/model/slices.ts";
import { evidenceFrom } from "../_evidence.ts";

const SHIPPED = loadDefaultConfig();

describe("slices of a holdout", () => {
  const ROWS = 2000;
  const evidence = {
    ...evidenceFrom(5, ROWS, SHIPPED.check),
    context: {
      stakes: Float64Array.from({ length: ROWS }, (_, i) => (i % 20 === 0 ? 1000 : 1)),
      stakesKnown: new Uint8Array(ROWS).fill(1),
      namespaces: Uint32Array.from({ length: ROWS }, (_, i) => (i % 4 === 0 ? 1 : 0)),
      namespaceNames: ["acme", "bank"],
    },
  };

  it("are everything, newcomers, high stakes and each namespace", () => {
    const column = 4 + FEATURES.indexOf("evidence");
    const slices = new Map(buildSlices(evidence, 400, ROWS).map(({ name, rows }) => [name, rows]));
    expect([...slices.keys()]).toEqual(["all", "new agents", "namespace acme", "namespace bank"]);
    expect(slices.get("all")).toHaveLength(1600);
    expect(slices.get("namespace bank")).toHaveLength(400);
    const isNew = (row: number) =>
      evidence.rows.values[(400 + row) * COLUMN_COUNT + column]! < Math.log(4);
    expect([...slices.get("new agents")!].every(isNew)).toBe(true);
    const steep = { ...evidence.context, stakes: evidence.context.stakes.map((x, i) => x + i) };
    const high = buildSlices({ ...evidence, context: steep }, 400, ROWS).find(
      ({ name }) => name === "high stakes",
    );
    expect(high!.rows.length).toBeGreaterThanOrEqual(160);
    expect(high!.rows.length).toBeLessThan(260);
  });

  it("names the one that is hurt, though the whole gains", () => {
    const config = SHIPPED;
    const champion = forecastRows(evidence, [0, ROWS], config.check, config);
    const isBank = (row: number) => row % 4 === 0;
    const losses = champion.losses.map((loss, i) => loss * (isBank(i) ? 1.3 : 0.7));
    const { failures, subjects, reporters } = evidence;
    const holdout: Holdout = {
      failures,
      subjects,
      reporters,
      weights: new Float64Array(ROWS).fill(1),
      champion,
      challenger: { ...champion, losses },
      config,
    };
    const gate = evaluateSliceGate(holdout, buildSlices(evidence, 0, ROWS), [], GATE_POLICY);
    expect(gate.passed).toBe(false);
    expect(gate.sentence).toMatch(/^1 of 4 slices .*: namespace bank, needed 0 \(looked at/);
    expect(gate.numbers["all: z"]).toBeGreaterThan(0);
  });

  it("knows the namespace of an agent", () => {
    expect(parseNamespaceOfKey("agent://acme/buyer")).toBe("acme");
    expect(parseNamespaceOfKey("no agent")).toBe("");
  });
});

describe("calibration in the slices", () => {
  const ROWS = 4000;
  const evidence = evidenceFrom(9, ROWS, SHIPPED.check);
  const champion = forecastRows(evidence, [0, ROWS], SHIPPED.check, SHIPPED);

  /** The gate on two slices of 1,000 rows, when forecasts are multiplied in the second. */
  function gateWith(own: number, other: number, isHarmless = false) {
    const second = (i: number) => i >= 1000 && i < 2000;
    const times = (factor: number): Forecast => ({
      ...champion,
      probabilities: champion.probabilities.map((p, i) => (second(i) ? p * factor : p)),
    });
    const { failures, subjects, reporters } = evidence;
    const weights = new Float64Array(ROWS).fill(1);
    const base = { failures, subjects, reporters, weights, config: SHIPPED };
    const holdout: Holdout = { ...base, champion: times(other), challenger: times(own) };
    const rows = Uint32Array.from({ length: isHarmless ? 150 : 1000 }, (_, i) => i);
    const slices = [
      { name: "first", rows },
      { name: "second", rows: rows.map((i) => i + 1000) },
    ];
    return evaluateSliceGate(holdout, [], slices, GATE_POLICY);
  }

  it("passes what is foretold within the factor, and keeps both shares", () => {
    const gate = gateWith(1, 1);
    expect(gate).toMatchObject({ passed: true, isWarning: false });
    expect(gate.numbers["second: foretold"]).toBeCloseTo(gate.numbers["second: seen"]!, 1);
    expect(gate.sentence).toContain("in 0 of 2 slices the failures foretold are off");
  });

  it("stops a challenger that adds the error", () => {
    const gate = gateWith(0.5, 1);
    expect(gate.passed).toBe(false);
    expect(gate.sentence).toMatch(
      /second: .* foretold, .* seen, .* \(fails: worse than the champion/,
    );
  });

  it("lets an inherited error through by name, and one that shrinks", () => {
    for (const own of [0.5, 0.6]) {
      const gate = gateWith(own, 0.5);
      expect(gate).toMatchObject({ passed: true, isWarning: true });
      expect(gate.sentence).toContain("the champion is no better beyond chance");
    }
  });

  it("asks nothing of slices with few rows", () => {
    expect(gateWith(0.2, 1, true).sentence).toContain("in 0 of 0 slices");
  });

  it("are what an agent did last, tenths of the stakes, and tiers", () => {
    const failures = new Uint8Array(60);
    // Subject 1: 25 successes an hour apart, then two failures, then a success, then asked again.
    const told = [...Array.from({ length: 25 }, () => 0), 1, 1, 0, 0];
    told.forEach((failure, i) => (failures[i] = failure));
    const small = {
      ...evidenceFrom(1, 60, SHIPPED.check),
      failures,
      subjects: Uint32Array.from({ length: 60 }, (_, i) => (i < told.length ? 1 : 100 + i)),
      context: {
        stakes: Float64Array.from({ length: 60 }, (_, i) => i),
        stakesKnown: new Uint8Array(60).fill(1),
        namespaces: new Uint32Array(60),
        namespaceNames: [""],
      },
    };
    const forecasts = forecastRows(small, [10, 60], SHIPPED.check, SHIPPED);
    const slices = buildCalibrationSlices(small, [10, 60], forecasts, SHIPPED);
    const rowsOf = (name: string) => [...slices.find((slice) => slice.name === name)!.rows];
    expect(rowsOf("last outcome failed")).toEqual([16, 17]);
    expect(rowsOf("last two failed")).toEqual([17]);
    expect(rowsOf("20 successes, then 2 or 3 failures in a week")).toEqual([17, 18]);
    expect(rowsOf("stakes, tenth 1 of 10")).toEqual([0, 1, 2, 3, 4]);
    const tiers = slices.filter(({ name }) => name.startsWith("tier "));
    expect(tiers.reduce((sum, { rows }) => sum + rows.length, 0)).toBe(50);
  });
});
