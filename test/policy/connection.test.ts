// Check and handshake never connect an agent whose record verify quarantines or blocks, at any stakes and by
// either model; silence, doubt and near certainty hold back as they should.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findReservedAgent } from "../../src/bureau/decisions/test-agents.ts";
import { fillPolicyDefaults } from "../../src/contract/complete-policy.ts";
import { DEFAULT_POLICY } from "../../src/contract/policy.ts";
import type { LevelPolicy } from "../../src/contract/policy.ts";
import { DECISION, VERDICT } from "../../src/contract/vocabulary.ts";
import type { AgentScore, FoldOutcome } from "../../src/engine/reading.ts";
import { createActivePolicy } from "../../src/policy/active-policy.ts";
import type { ActivePolicy } from "../../src/policy/active-policy.ts";
import { applyPolicyRules } from "../../src/policy/rules.ts";
import { createRuleInputs } from "../../src/policy/rule-inputs.ts";
import type { PolicyRisk } from "../../src/policy/rule-inputs.ts";
import { STAKES_CAUSE, STANDING } from "../../src/policy/stakes-decision.ts";
import { DAY_MS, openEngine, START_MS } from "../engine/_engine.ts";
import { computeLogit, createRisk, decide, policyRisks, SHIPPED } from "./_connections.ts";

const LADDER = [0, 0.5, 5, 20, 250, 5000, 1e6, 1e12];

/** The strictest verdict of verify at L2 and L3 on a score of the check model. */
function verifySensitive({ policy, terms }: ActivePolicy, risk: PolicyRisk, stakes = 0): number {
  const verdicts = (["L2", "L3"] as const).map((level) => {
    const rules = { ...createRuleInputs(level, policy.levels[level], risk), terms: terms[level] };
    return applyPolicyRules({ ...rules, stakes }).verdictIndex;
  });
  return Math.max(...verdicts);
}

const border = fc.oneof(
  fc.constantFrom<LevelPolicy["deny_from"]>("fitted", "never"),
  fc.double({ min: 0.05, max: 1, noNaN: true }),
);
const borders = fc.record({ L2: border, L3: border }).map(({ L2, L3 }) =>
  createActivePolicy({
    ...DEFAULT_POLICY,
    levels: {
      ...DEFAULT_POLICY.levels,
      L2: { ...DEFAULT_POLICY.levels.L2, deny_from: L2 },
      L3: { ...DEFAULT_POLICY.levels.L3, deny_from: L3 },
    },
  }),
);

/** Records of four agents, heard of by many reporters, of which most outcomes failed. */
const failingRecords: fc.Arbitrary<FoldOutcome[]> = fc
  .array(fc.record({ failed: fc.integer({ min: 4, max: 50 }), good: fc.nat(20) }), {
    minLength: 4,
    maxLength: 4,
  })
  .map((records) =>
    records.flatMap(({ failed, good }, subject) =>
      Array.from({ length: failed + good }, (_, i): FoldOutcome => ({
        subject: `agent://t/${subject}`,
        reporter: `agent://t/${i % 4 === subject ? `voice-${i}` : i % 4}`,
        outcome: i < good ? 1 : 0,
        stakes: 40,
        gradeIndex: 0,
        signatureIndex: 2,
        settledAtMs: START_MS + i * 3_600_000,
      })),
    ),
  );

type Levels = NonNullable<Parameters<typeof fillPolicyDefaults>[0]["levels"]>;

describe("an agent that verify quarantines or blocks", () => {
  it("is never connected, by check or by a handshake, at any stakes", () => {
    const held: Record<number, number> = {};
    const cases = fc.tuple(failingRecords, borders, fc.nat(60), fc.boolean());
    fc.assert(
      fc.property(cases, ([stream, active, wait, isRevoked]) => {
        const { reader, writer } = openEngine();
        for (const outcome of stream) writer.fold(outcome);
        if (isRevoked) writer.markKeyRevoked("agent://t/3", true);
        const now = stream.at(-1)!.settledAtMs + wait * DAY_MS;
        for (let i = 0; i < 4; i += 1) {
          const subject = `agent://t/${i}`;
          const verdict = verifySensitive(active, { ...reader.check(subject, 0, now) });
          if (verdict < VERDICT.QUARANTINE) continue;
          held[verdict] = (held[verdict] ?? 0) + 1;
          for (const stakes of LADDER) {
            const check = decide(reader.check(subject, stakes, now), stakes, active);
            const [leg] = reader.handshake(`agent://t/${(i + 1) % 4}`, subject, stakes, now);
            const handshake = decide(leg, stakes, active);
            for (const { decisionIndex, stakesMax, stakesClear } of [check, handshake]) {
              expect(decisionIndex).toBeGreaterThanOrEqual(DECISION.escalate);
              expect([stakesMax, stakesClear]).toEqual([0, 0]);
            }
            if (verdict < VERDICT.BLOCK) continue;
            expect(check.decisionIndex).toBe(DECISION.refuse);
            expect(handshake.decisionIndex).toBe(DECISION.refuse);
          }
        }
      }),
      { numRuns: 250 },
    );
    expect(held[VERDICT.QUARANTINE]).toBeGreaterThan(20);
    expect(held[VERDICT.BLOCK]).toBeGreaterThan(100);
  });

  it("is not, whatever the model of the handshake makes of it", () => {
    let held = 0;
    const facts = fc.record({
      risk: policyRisks,
      recordProbability: fc.double({ min: 0, max: 1, noNaN: true }),
      recordOptimistic: fc.double({ min: 0, max: 1, noNaN: true }),
      isRecordThin: fc.boolean(),
      isRecordDenied: fc.boolean(),
      isRecordRefused: fc.boolean(),
    });
    const cases = fc.tuple(facts, borders, fc.constantFrom(...LADDER));
    fc.assert(
      fc.property(cases, ([{ risk, ...record }, active, stakes]) => {
        // The same subject as the check model reads it: what a handshake's score says of the record.
        const asChecked = {
          ...risk,
          failureProbability: record.recordProbability,
          failureOptimistic: record.recordOptimistic,
          isThin: record.isRecordThin,
          isDenied: record.isRecordDenied,
          isRefused: record.isRecordRefused,
        };
        if (verifySensitive(active, asChecked) < VERDICT.QUARANTINE) return;
        held += 1;
        const { decisionIndex } = decide({ ...risk, ...record }, stakes, active);
        expect(decisionIndex).toBeGreaterThanOrEqual(DECISION.escalate);
      }),
      { numRuns: 3000 },
    );
    expect(held).toBeGreaterThan(500);
  });

  it("is held back by the stricter border of L2 and L3", () => {
    const at = (levels: Levels, given: Partial<PolicyRisk>) => {
      const active = createActivePolicy(fillPolicyDefaults({ levels }));
      return decide(createRisk(given), 0, active).standing;
    };
    const likely = { failureProbability: 0.6, failureOptimistic: 0.45 };
    expect(at({}, likely)).toBe(STANDING.clear);
    expect(at({ L3: { deny_from: 0.6 } }, likely)).toBe(STANDING.denied);
    expect(at({ L3: { deny_from: 0.45 } }, likely)).toBe(STANDING.refused);
    expect(at({ L3: { deny_from: 0.45 } }, { ...likely, isThin: true })).toBe(STANDING.clear);
    const never = { L2: { deny_from: "never" }, L3: { deny_from: "never" } } as const;
    expect(at(never, { isDenied: true })).toBe(STANDING.clear);
    expect(at({ ...never, L3: {} }, { isDenied: true })).toBe(STANDING.denied);
    expect(at(never, { isRefused: true })).toBe(STANDING.refused);
  });
});

describe("check", () => {
  const certain = { stakesLogit: computeLogit(0.81) };
  const causeOf = (given: Partial<PolicyRisk>, stakes = 0) =>
    decide(createRisk(given), stakes).cause;

  it("leaves a nearly certain failure to a person, at any stakes", () => {
    for (const stakes of LADDER) expect(causeOf(certain, stakes)).toBe(STAKES_CAUSE.nearCertain);
    expect(decide(createRisk(certain), 0)).toMatchObject({ stakesMax: 0, stakesClear: 0 });
    expect(causeOf({ stakesLogit: computeLogit(0.79) })).toBe(STAKES_CAUSE.verification);
    expect(causeOf({ ...certain, isJudged: false, isThin: true })).toBe(STAKES_CAUSE.verification);
  });

  it("verifies a thin record and a silent one, and says which", () => {
    expect(causeOf({ isThin: true })).toBe(STAKES_CAUSE.thin);
    expect(causeOf({ silentDays: 180 })).toBe(STAKES_CAUSE.connect);
    expect(causeOf({ silentDays: 180.01 })).toBe(STAKES_CAUSE.stale);
    // Never heard of is thin, not silent.
    expect(causeOf({ silentDays: -1 })).toBe(STAKES_CAUSE.connect);
    const silent = decide(createRisk({ silentDays: 400, stakesLogit: computeLogit(0.01) }), 0);
    expect(silent).toMatchObject({ decisionIndex: 1, stakesClear: 0 });
    expect(silent.stakesMax).toBeGreaterThan(250);
  });

  it("connects a thin record where L2 allows one", () => {
    const active = createActivePolicy(fillPolicyDefaults({ levels: { L2: { thin: "allow" } } }));
    expect(decide(createRisk({ isThin: true }), 0, active).cause).toBe(STAKES_CAUSE.connect);
    const flagged = createActivePolicy(fillPolicyDefaults({ levels: { L2: { thin: "flag" } } }));
    expect(decide(createRisk({ isThin: true }), 0, flagged).cause).toBe(STAKES_CAUSE.thin);
  });

  it("counts small stakes and none as those assumed", () => {
    const { assumed } = SHIPPED.terms.connect;
    fc.assert(
      fc.property(policyRisks, fc.double({ min: 0, max: 1, noNaN: true }), (risk, share) => {
        // Within its reach stakes change no risk: what is left is the amount that they count for.
        const reading = { ...risk, stakesUntested: 0 };
        const { decisionIndex } = decide(reading, 0);
        expect(decide(reading, share * assumed).decisionIndex).toBe(decisionIndex);
      }),
    );
  });

  it("gives a reserved agent the decision that it stands for, at any stakes", () => {
    for (const [name, decision] of [
      ["connect", DECISION.connect],
      ["verify", DECISION.connect_with_verification],
      ["escalate", DECISION.escalate],
      ["refuse", DECISION.refuse],
    ] as const) {
      const reading: AgentScore = findReservedAgent(`agent://test/${name}`, true)!.reading;
      for (const stakes of LADDER) expect(decide(reading, stakes).decisionIndex).toBe(decision);
      const isHeld = verifySensitive(SHIPPED, reading) >= VERDICT.QUARANTINE;
      expect(isHeld).toBe(decision >= DECISION.escalate);
    }
  });
});
