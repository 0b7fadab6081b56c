// Gate G6 in the real engine: the shipped weights pass, and weights that break one of its promises
// are caught by the number that speaks of it.
import { describe, expect, it } from "vitest";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import type { ScoringConfig, ScoringModel } from "../../../src/engine/config.ts";
import { probeInPrivateEngine } from "../../../src/kaizen/replay/private-engines.ts";
import { GATE_POLICY } from "../../../src/kaizen/gates/register.ts";
import type { Forecast } from "../../../src/kaizen/model/holdout.ts";
import { evaluateMonotoneGate } from "../../../src/kaizen/gates/monotone.ts";

const SHIPPED = loadDefaultConfig();

function withCheck(change: Partial<ScoringModel>): ScoringConfig {
  return { ...SHIPPED, check: { ...SHIPPED.check, ...change } };
}

function gateOf(challenger: ScoringConfig, seed = 1) {
  const found = probeInPrivateEngine("check", SHIPPED, challenger, seed);
  const made = { challenger: { model: challenger.check } as Forecast };
  return evaluateMonotoneGate(made, GATE_POLICY, found);
}

describe("ten thousand random states", () => {
  it.each(["check", "handshake"] as const)("the shipped %s weights keep every promise", (side) => {
    const found = probeInPrivateEngine(side, SHIPPED, SHIPPED, 7);
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
    const gate = evaluateMonotoneGate({ challenger: { model } as Forecast }, GATE_POLICY);
    expect(gate).toMatchObject({ passed: false, sentence: "wrong sign of recent_failure" });
  });

  it("is the same experiment for the same seed", () => {
    const challenger = withCheck({ intercept: 0.4 });
    const once = gateOf(challenger, 3);
    expect(gateOf(challenger, 3)).toEqual(once);
    expect(gateOf(challenger, 4)).not.toEqual(once);
  });
});
