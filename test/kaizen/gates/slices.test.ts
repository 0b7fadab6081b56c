// Gate G10: the right rows in the right slices, the slice that is hurt by name, and errors of
// calibration told apart: by chance, inherited, or the challenger's own.
import { describe, expect, it } from "vitest";
import { FEATURES } from "../../../src/contract/vocabulary.ts";
import { defaultConfig } from "../../../src/engine/config.ts";
import { GATE_POLICY } from "../../../src/kaizen/gates/gate.ts";
import { sliceGate } from "../../../src/kaizen/gates/slices.ts";
import { forecast } from "../../../src/kaizen/model/holdout.ts";
import type { Forecast, Holdout } from "../../../src/kaizen/model/holdout.ts";
import { COLUMNS } from "../../../src/kaizen/model/scorecard.ts";
import { calibrationSlices, namespaceOf, slicesOf } from "../../../src/kaizen/model/slices.ts";
import { evidenceFrom } from "../_evidence.ts";

const SHIPPED = defaultConfig();

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
    const slices = new Map(slicesOf(evidence, 400, ROWS).map(({ name, rows }) => [name, rows]));
    expect([...slices.keys()]).toEqual(["all", "new agents", "namespace acme", "namespace bank"]);
    expect(slices.get("all")).toHaveLength(1600);
    expect(slices.get("namespace bank")).toHaveLength(400);
    const isNew = (row: number) =>
      evidence.rows.values[(400 + row) * COLUMNS + column]! < Math.log(4);
    expect([...slices.get("new agents")!].every(isNew)).toBe(true);
    const steep = { ...evidence.context, stakes: evidence.context.stakes.map((x, i) => x + i) };
    const high = slicesOf({ ...evidence, context: steep }, 400, ROWS).find(
      ({ name }) => name === "high stakes",
    );
    expect(high!.rows.length).toBeGreaterThanOrEqual(160);
    expect(high!.rows.length).toBeLessThan(260);
  });

  it("names the one that is hurt, though the whole gains", () => {
    const config = SHIPPED;
    const champion = forecast(evidence, 0, ROWS, config.check, config);
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
    const gate = sliceGate(holdout, slicesOf(evidence, 0, ROWS), [], GATE_POLICY);
    expect(gate.passed).toBe(false);
    expect(gate.sentence).toMatch(/^1 of 4 slices .*: namespace bank \(/);
    expect(gate.numbers["all: z"]).toBeGreaterThan(0);
  });

  it("knows the namespace of an agent", () => {
    expect(namespaceOf("agent://acme/buyer")).toBe("acme");
    expect(namespaceOf("no agent")).toBe("");
  });
});
