// Gate G6 in the real engine: the shipped weights pass, and weights that break one of its promises
// are caught by the number that speaks of it. Gate G10: the right rows in the right slices.
import { describe, expect, it } from "vitest";
import { FEATURES } from "../../../src/contract/vocabulary.ts";
import { defaultConfig } from "../../../src/engine/config.ts";
import type { ScoringConfig, ScoringModel } from "../../../src/engine/config.ts";
import { probeEngine } from "../../../src/kaizen/replay/probe-engine.ts";
import { GATE_POLICY } from "../../../src/kaizen/gates/gate.ts";
import { sliceGate } from "../../../src/kaizen/gates/loss.ts";
import { forecast } from "../../../src/kaizen/model/holdout.ts";
import type { Forecast, Holdout } from "../../../src/kaizen/model/holdout.ts";
import { COLUMNS } from "../../../src/kaizen/model/scorecard.ts";
import { namespaceOf, slicesOf } from "../../../src/kaizen/model/slices.ts";
import { monotoneGate } from "../../../src/kaizen/gates/random-states.ts";
import { evidenceFrom } from "../_evidence.ts";

const SHIPPED = defaultConfig();

function withCheck(change: Partial<ScoringModel>): ScoringConfig {
  return { ...SHIPPED, check: { ...SHIPPED.check, ...change } };
}

function gateOf(challenger: ScoringConfig, seed = 1) {
  const found = probeEngine("check", SHIPPED, challenger, seed);
  const made = { challenger: { model: challenger.check } as Forecast };
  return monotoneGate(made, GATE_POLICY, found);
}

describe("ten thousand random states", () => {
  it.each(["check", "handshake"] as const)("the shipped %s weights keep every promise", (side) => {
    const found = probeEngine(side, SHIPPED, SHIPPED, 7);
    expect(found).toMatchObject({ states: 10_000, failureHelps: 0, stakesRelax: 0, notFinite: 0 });
    expect(found.largestStep).toBeGreaterThan(10);
    expect(found.largestStep).toBe(found.championLargestStep);
    expect(found.shift99).toBe(0);
  });

  it("catches weights of the right sign under which a failure helps", () => {
    const gate = gateOf(withCheck({ mean: 0.05, weights: { evidence: -1 } }));
    expect(gate.passed).toBe(false);
    expect(gate.numbers["wrong_signs"]).toBe(0);
    expect(gate.numbers["failure_helps"]).toBeGreaterThan(1000);
  });

  it("catches weights under which one report decides everything", () => {
    const gate = gateOf(withCheck({ mean: 4 }));
    expect(gate.passed).toBe(false);
    expect(gate.numbers["largest_step"]).toBeGreaterThan(GATE_POLICY.report_step_max);
    expect(gate.numbers["failure_helps"]).toBe(0);
  });

  it("catches a wrong sign without any state", () => {
    const model = withCheck({ weights: { recent_failure: -1 } }).check;
    const gate = monotoneGate({ challenger: { model } as Forecast }, GATE_POLICY);
    expect(gate).toMatchObject({ passed: false, sentence: "wrong sign of recent_failure" });
  });

  it("is the same experiment for the same seed", () => {
    const challenger = withCheck({ intercept: 0.4 });
    const once = gateOf(challenger, 3);
    expect(gateOf(challenger, 3)).toEqual(once);
    expect(gateOf(challenger, 4)).not.toEqual(once);
  });
});

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
    const gate = sliceGate(holdout, slicesOf(evidence, 0, ROWS), GATE_POLICY);
    expect(gate.passed).toBe(false);
    expect(gate.sentence).toMatch(/^1 of 4 slices .*: namespace bank \(/);
    expect(gate.numbers["all: z"]).toBeGreaterThan(0);
  });

  it("knows the namespace of an agent", () => {
    expect(namespaceOf("agent://acme/buyer")).toBe("acme");
    expect(namespaceOf("no agent")).toBe("");
  });
});
