// Gate G9 in decisions: sharper weights that sell no more pass, weights that are easier to fool do
// not, and a large harm needs no number of victims to show. The judge is made up; the borders are
// those of the shipped policy.
import { describe, expect, it } from "vitest";
import { DECISIONS } from "../../../../src/contract/vocabulary.ts";
import { loadDefaultConfig } from "../../../../src/engine/config.ts";
import type { ScoringConfig } from "../../../../src/engine/config.ts";
import { createEngineMemory } from "../../../../src/engine/memory.ts";
import { openEngineReader } from "../../../../src/engine/reader.ts";
import type { LoggedInputs } from "../../../../src/engine/reading.ts";
import { openEngineWriter } from "../../../../src/engine/writer.ts";
import { evaluateAttackGate } from "../../../../src/kaizen/gates/attacks/gate.ts";
import type { AttackRecordings } from "../../../../src/kaizen/gates/attacks/scripts.ts";
import { GATE_POLICY } from "../../../../src/kaizen/gates/register.ts";
import { computeConnectBorders } from "../../../../src/kaizen/gates/attacks/prizes.ts";
import type { Forecast, Holdout } from "../../../../src/kaizen/model/holdout.ts";
import { computeStakesRisk } from "../../../../src/policy/stakes-decision.ts";
import { computeLogit, decide } from "../../../policy/_connections.ts";
import { createScore, tapesOf } from "../../_attacks.ts";

const CHAMPION = loadDefaultConfig();
const CHALLENGER = { ...CHAMPION, name: "challenger" };
const ROWS = 1000;

/** A holdout of successes whose risks run evenly from 0 to .2 under the champion. */
function holdoutOf(changed: (p: number) => number): Holdout {
  const under = (of: (p: number) => number) => {
    const probabilities = Float64Array.from({ length: ROWS }, (_, i) => of((0.2 * i) / ROWS));
    const thin = new Uint8Array(ROWS);
    return { probabilities, stakesRisks: probabilities, thin } as unknown as Forecast;
  };
  return {
    failures: new Uint8Array(ROWS),
    config: CHAMPION,
    champion: under((p) => p),
    challenger: under(changed),
  } as unknown as Holdout;
}

/** The challenger's answer on attack legs and on the holdout. */
function judged(
  tapes: AttackRecordings,
  onLegs: (p: number) => number,
  onHoldout: (p: number) => number,
) {
  const judge = (config: ScoringConfig, { inputs }: LoggedInputs) => {
    const p = config === CHALLENGER ? onLegs(inputs[0]!) : inputs[0]!;
    return createScore({
      failureProbability: p,
      failureOptimistic: p,
      failurePessimistic: p,
      stakesLogit: computeLogit(p),
      isDenied: p >= 0.92,
      scoreEffective: 600 - 100 * p,
    });
  };
  const holdout = holdoutOf(onHoldout);
  const rivals = { side: "check", champion: CHAMPION, challenger: CHALLENGER, holdout } as const;
  const played = { tapes, credibility: { isInForce: false, believed: 0 } };
  return evaluateAttackGate(played, rivals, judge, GATE_POLICY);
}

/** Twelve frauds whose risk falls with every report, each a little different. */
const falling = (victim: number, step: number) => 0.3 * 0.8 ** step + victim / 1000;
const same = (p: number) => p;

describe("gate G9", () => {
  it("passes weights that decide alike, and says what the scripts get", () => {
    const gate = judged(tapesOf(12, { sybil_20x5: falling }), same, same);
    expect(gate).toMatchObject({ id: "G9", passed: true });
    expect(gate.sentence).toContain("no script gets anything more often");
    expect(gate.sentence).toContain("default policy");
    expect(gate.numbers["sybil_20x5 ALLOW at L2: wrong"]).toBeGreaterThan(80);
    expect(gate.numbers["sybil_20x5 ALLOW at L2: price"]).toBe(14);
    expect(Object.values(gate.numbers).every(Number.isFinite)).toBe(true);
  });

  it("passes weights that are less strict with everybody, and keeps the numbers", () => {
    const half = (p: number) => p / 2;
    const { passed, numbers } = judged(tapesOf(12, { sybil_20x5: falling }), half, half);
    expect(passed).toBe(true);
    expect(numbers["sybil_20x5 ALLOW at L2: excess"]).toBeGreaterThan(0.15);
    expect(numbers["sybil_20x5 ALLOW at L2: excess at equal service"]).toBeLessThanOrEqual(0);
    expect(numbers["sybil_20x5 ALLOW at L2: price"]).toBeLessThan(14);
  });

  it("stops weights that only attackers find less strict, by script, prize and price", () => {
    const half = (p: number) => p / 2;
    const gate = judged(tapesOf(12, { sybil_20x5: falling }), half, same);
    expect(gate.passed).toBe(false);
    expect(gate.sentence).toMatch(/sybil_20x5 gets ALLOW at L2 in \d+ of 168 answers, not \d+/);
    expect(gate.sentence).toContain("(from 3 invented reports on, under the champion from 14)");
  });

  it("lets a little more through than before pass: the noise of a fit", () => {
    const little = (p: number) => p * 0.97;
    expect(judged(tapesOf(12, { sybil_20x5: falling }), little, same).passed).toBe(true);
  });

  it("stops a large harm to a single victim, whom no test could prove", () => {
    const cheat = { cheap_trades: () => 0.1 };
    const gate = judged(tapesOf(1, cheat), (p) => (p === 0.1 ? 0.001 : p), same);
    expect(gate.passed).toBe(false);
    expect(gate.numbers["cheap_trades connect at 10: p"]).toBeGreaterThan(GATE_POLICY.attack_p_max);
  });

  it("stops slander that gets honest agents denied, whatever the service to others", () => {
    const slander = {
      bad_mouthing: (victim: number, step: number) => 0.8 + 0.01 * step + victim / 1e4,
    };
    const sharper = (p: number) => (p > 0.5 ? p + 0.08 : p);
    const gate = judged(tapesOf(12, slander), sharper, sharper);
    expect(gate.passed).toBe(false);
    expect(gate.sentence).toContain("bad_mouthing gets denied at L2");
  });
});

it("has the borders that check goes by at stakes", () => {
  const memory = createEngineMemory();
  const writer = openEngineWriter(memory, CHAMPION, 7n);
  const reader = openEngineReader(memory, 1);
  const nowMs = Date.parse("2026-06-01T00:00:00Z");
  const agents = Array.from({ length: 60 }, (_, i) => `agent://border/${i}`);
  agents.forEach((subject, i) => {
    for (let k = 0; k <= i; k++) {
      writer.fold({
        subject,
        reporter: `agent://border/voice-${k % 20}`,
        outcome: k % 7 === 5 && i % 3 === 0 ? 0 : 1,
        stakes: 10,
        gradeIndex: 0,
        signatureIndex: 2,
        settledAtMs: nowMs - (i - k + 1) * 3_600_000,
      });
    }
  });
  const seen = new Set<string>();
  for (const subject of agents) {
    for (const stakes of [0.05, 0.3, 1, 5, 20, 100, 400, 5000, 2e4]) {
      const reading = reader.check(subject, stakes, nowMs);
      if (reading.isDenied) continue;
      const borders = computeConnectBorders(CHAMPION, stakes);
      const risk = computeStakesRisk(reading, stakes);
      const isConnected = risk <= borders.connect && !reading.isThin;
      const isVerified = risk <= borders.verification;
      const expected = isConnected
        ? "connect"
        : isVerified
          ? "connect_with_verification"
          : "escalate";
      expect(DECISIONS[decide(reading, stakes).decisionIndex]).toBe(expected);
      seen.add(expected);
    }
  }
  expect(seen.size).toBe(3);
});
