// A run with gate G9 in its place: asked of a challenger alone, and a border of denial that slander
// profits from stays where it was, without the weights going with it.
import { expect, it } from "vitest";
import type { ScoringConfig } from "../../src/engine/config.ts";
import type { LoggedInputs } from "../../src/engine/reading.ts";
import { computeDenialThreshold } from "../../src/kaizen/model/holdout.ts";
import { challengeBothScorecards } from "../../src/kaizen/run.ts";
import { computeLogit } from "../policy/_connections.ts";
import { createScore, tapesOf } from "./_attacks.ts";
import { CONFIG, evidenceFrom } from "./_evidence.ts";

const TRUTH = { ...CONFIG.handshake, intercept: -1, mean: 0.5 };
const evidence = evidenceFrom(1, 9000, TRUTH);

/** Slandered agents lie at `slandered`; nothing else differs between the models. */
function runWith(slandered: number, testedToMs = 0) {
  let played = 0;
  const judge = (config: ScoringConfig, { inputs }: LoggedInputs) => {
    const p = inputs[0]!;
    return createScore({
      failureProbability: p,
      failurePessimistic: p,
      // Nobody is connected at stakes.
      stakesLogit: computeLogit(0.79),
      isDenied: p >= computeDenialThreshold(config.handshake, config),
      scoreEffective: 600,
    });
  };
  const play = () => {
    played++;
    const tapes = tapesOf(12, { bad_mouthing: () => slandered });
    return { tapes, credibility: { isInForce: false, believed: 0 } };
  };
  const both = { check: evidence, handshake: evidence };
  const findings = challengeBothScorecards(
    both,
    CONFIG,
    {
      id: "k-20260601-030000000",
      nowMs: evidence.timesMs.at(-1)! + 1,
      holdoutDays: 120,
      isSignedOff: true,
      isPilot: false,
      testedToMs: { check: testedToMs, handshake: testedToMs },
      gapMs: 0,
      isBrief: true,
    },
    { attacks: { play, judge } },
  );
  return { played, side: findings.sides.find((each) => each.side === "handshake")! };
}

it("asks the attacks once for both scorecards, before G10", () => {
  const { played, side } = runWith(0.01);
  expect(side.passed, side.reason).toBe(true);
  expect(side.gates.slice(-3).map(({ id }) => id)).toEqual(["G9", "G10", "G11"]);
  expect(side.challenger!.deny_at).toBeLessThan(CONFIG.handshake.deny_at!);
  expect(side.denial_border).toMatch(/^a record denies from a failure probability of 0\.\d+ on/);
  expect(side.rows.held_back).toBeGreaterThan(0);
  expect(side.rows.held_back).toBeLessThan(side.rows.holdout);
  expect(played).toBe(1);
});

it("keeps the border that slander would profit from, and promotes the weights", () => {
  const { side } = runWith(0.98);
  expect(side.passed, side.reason).toBe(true);
  expect(side.challenger!.deny_at).toBe(CONFIG.handshake.deny_at);
  expect(side.challenger!.mean).toBeCloseTo(0.5, 0);
  expect(side.denial_border).toMatch(
    /^the border of denial stays at 0\.\d+; from 0\.\d+ on, .* slander would deny honest agents$/,
  );
});

it("plays nothing where there is no challenger", () => {
  const { played, side } = runWith(0.01, evidence.timesMs[8950]);
  expect(played).toBe(0);
  expect(side.reason).toMatch(/^insufficient evidence/);
  expect(side.denial_border).toBeUndefined();
});
