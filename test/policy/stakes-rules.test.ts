// Verdicts of verify from the decision at stakes: the verdict and label of each cause, what is marked in place of a
// challenge, what waits for a reviewer, and the stakes that a level lets through.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parsePolicy } from "../../src/contract/parse/policy.ts";
import type { StakesPolicy } from "../../src/contract/stakes-policy.ts";
import { VERDICT, VERDICTS } from "../../src/contract/vocabulary.ts";
import type { ToolLevel } from "../../src/contract/vocabulary.ts";
import { createActivePolicy } from "../../src/policy/active-policy.ts";
import { applyPolicyRules, isReviewRequired } from "../../src/policy/rules.ts";
import {
  computeLevelStakesClear,
  computeLevelStakesMax,
  computeLevelStakesOpen,
  findLevelDecisionIndex,
  selectStanding,
} from "../../src/policy/standing.ts";
import { createRuleInputs } from "../../src/policy/rule-inputs.ts";
import type { PolicyRisk, RuleInputs } from "../../src/policy/rule-inputs.ts";
import { STANDING } from "../../src/policy/stakes-decision.ts";
import {
  computeLogit,
  createRisk,
  createRiskAtStakes,
  policyRisks,
  SHIPPED,
  STAKES_OF_ALL,
  stakesPolicies,
} from "./_connections.ts";

const MARKED: StakesPolicy = { on_verification: "allow_marked" };

function rulesOf(
  risk: Partial<PolicyRisk>,
  {
    level = "L2",
    stakes = 0,
    policy = {},
  }: Partial<{
    level: ToolLevel;
    stakes: number;
    policy: StakesPolicy;
  }> = {},
): RuleInputs {
  const { terms, policy: whole } = createActivePolicy(parsePolicy({ stakes: policy }));
  const inputs = createRuleInputs(level, whole.levels[level], createRisk(risk));
  return { ...inputs, terms: terms[level], stakes };
}

function ruled(...given: Parameters<typeof rulesOf>): string {
  const rules = rulesOf(...given);
  const ruling = applyPolicyRules(rules);
  const waits = isReviewRequired(ruling, rules) ? ", waits for a person" : "";
  const flagged = ruling.isFlagged ? ", flagged" : "";
  return `${VERDICTS[ruling.verdictIndex]} ${ruling.logReason}${flagged}${waits}`;
}

const SURE = createRiskAtStakes("connect");
const LIKELY = createRiskAtStakes("connect_with_verification");
const RISKY = createRiskAtStakes("escalate");
const CERTAIN = { stakesLogit: computeLogit(0.85) };
const SILENT = { silentDays: 400 };
const at = { stakes: STAKES_OF_ALL };

describe.each(["L2", "L3"] as const)("a decision at stakes at %s", (level) => {
  it.each([
    ["connect", SURE, at, "ALLOW TRUST_SUFFICIENT"],
    ["verify", LIKELY, at, "CHALLENGE STAKES_NEED_VERIFICATION"],
    ["ask a person", RISKY, at, "CHALLENGE STAKES_NEED_APPROVAL, waits for a person"],
    ["verify for silence", SILENT, at, "CHALLENGE STALE_RECORD"],
    ["verify for silence where none are named", SILENT, {}, "CHALLENGE STALE_RECORD"],
    ["verify for doubt", { ...SURE, isThin: true }, at, "CHALLENGE THIN_FILE"],
    [
      "ask a person, nearly certain",
      CERTAIN,
      {},
      "CHALLENGE STAKES_NEED_APPROVAL, waits for a person",
    ],
    [
      "hold back what is denied",
      { isDenied: true },
      {},
      "QUARANTINE RISK_ABOVE_BORDER, waits for a person",
    ],
    ["refuse what is refused", { isRefused: true }, at, "BLOCK REFUSE_RULE"],
  ] as const)("to %s", (_, risk, more, expected) => {
    expect(ruled(risk, { ...more, level })).toBe(expected);
  });

  it("waits for a person also where another rule names the challenge", () => {
    expect(ruled({ ...RISKY, failureProbability: 0.5 }, { ...at, level })).toBe(
      "CHALLENGE RISK_ABOVE_BOUND, waits for a person",
    );
    expect(ruled({ ...LIKELY, failureProbability: 0.5 }, { ...at, level })).toBe(
      "CHALLENGE RISK_ABOVE_BOUND",
    );
    const doubtful = { ...RISKY, isThin: true, isJudged: false };
    expect(ruled(doubtful, { ...at, level })).toBe("CHALLENGE THIN_FILE, waits for a person");
  });
});

describe("a level that lets through what its gateways verify", () => {
  const marked = "ALLOW STAKES_NEED_VERIFICATION, flagged";
  const of = (risk: Partial<PolicyRisk>, stakes = STAKES_OF_ALL) =>
    ruled(risk, { stakes, policy: MARKED });

  it("marks what is to be verified, and nothing that is clear or waits for a person", () => {
    expect(of(LIKELY)).toBe(marked);
    expect(of(SILENT)).toBe(marked);
    expect(of(SURE)).toBe("ALLOW TRUST_SUFFICIENT");
    expect(of(RISKY)).toBe("CHALLENGE STAKES_NEED_APPROVAL, waits for a person");
    expect(of(CERTAIN, 0)).toBe("CHALLENGE STAKES_NEED_APPROVAL, waits for a person");
    expect(of({ isDenied: true })).toBe("QUARANTINE RISK_ABOVE_BORDER, waits for a person");
  });

  it("keeps what other rules say stricter", () => {
    expect(of({ ...LIKELY, failureProbability: 0.5 })).toBe("CHALLENGE RISK_ABOVE_BOUND");
    expect(of({ ...SURE, isThin: true })).toBe("CHALLENGE THIN_FILE");
  });

  it("is one level where one is named", () => {
    const policy: StakesPolicy = { levels: { L3: MARKED } };
    expect(ruled(LIKELY, { ...at, policy, level: "L3" })).toBe(marked);
    expect(ruled(LIKELY, { ...at, policy })).toBe("CHALLENGE STAKES_NEED_VERIFICATION");
  });

  it("lets stakes through up to where a person is asked", () => {
    const rules = rulesOf(LIKELY, { ...at, policy: MARKED });
    expect(computeLevelStakesClear(rules)).toBe(computeLevelStakesOpen(rules));
    const challenged = rulesOf(LIKELY, at);
    expect(computeLevelStakesClear(challenged)).toBeLessThan(STAKES_OF_ALL);
    expect(computeLevelStakesOpen(challenged)).toBeGreaterThan(STAKES_OF_ALL);
  });
});

describe("levels that hold nothing back", () => {
  it("flag silence at L1 alone, and ask nobody for stakes", () => {
    const flagged = "ALLOW STALE_RECORD_FLAGGED, flagged";
    expect(ruled(SILENT, { ...at, level: "L1" })).toBe(flagged);
    expect(ruled(SILENT, { ...at, level: "L0" })).toBe("ALLOW TRUST_SUFFICIENT");
    for (const level of ["L0", "L1"] as const) {
      expect(ruled(RISKY, { ...at, level })).toBe("ALLOW TRUST_SUFFICIENT");
      expect(ruled(CERTAIN, { level })).toBe("ALLOW TRUST_SUFFICIENT");
      // Nothing named counts for nothing.
      const { assumed, isSensitive } = SHIPPED.terms[level];
      expect([assumed, isSensitive]).toEqual([0, false]);
    }
  });
});

describe("stakes at a level", () => {
  const isClear = { isThin: false, isDenied: false, isRefused: false };
  const cases = fc.record({
    risk: fc.oneof(
      policyRisks,
      policyRisks.map((risk) => ({ ...risk, ...isClear, silentDays: 3 })),
    ),
    policy: stakesPolicies,
    level: fc.constantFrom<ToolLevel>("L2", "L3"),
    stakes: fc.double({ min: -2, max: 7, noNaN: true }).map((power) => 10 ** power),
  });

  it("are let through up to the bound that the level names, and no further", () => {
    let inner = 0;
    fc.assert(
      fc.property(cases, ({ risk, ...more }) => {
        // By the stakes alone: what else a level holds back, it holds back at any stakes.
        const rules = rulesOf({ ...risk, failureProbability: 0 }, more);
        const clear = computeLevelStakesClear(rules);
        const verdictAt = (stakes: number) => applyPolicyRules({ ...rules, stakes }).verdictIndex;
        const isHeld = selectStanding(rules) !== STANDING.clear;
        if (isHeld || clear === 0) expect(verdictAt(0)).toBeGreaterThan(VERDICT.ALLOW);
        else if (clear === Infinity) expect(verdictAt(1e12)).toBe(VERDICT.ALLOW);
        else {
          inner += 1;
          expect(verdictAt(clear)).toBe(VERDICT.ALLOW);
          const beyond = Math.max(clear, rules.terms.assumed / rules.terms.unit) * 1.000001;
          expect(verdictAt(beyond)).toBeGreaterThan(VERDICT.ALLOW);
        }
        const bound = computeLevelStakesMax(rules);
        const decision = findLevelDecisionIndex(rules);
        if (decision <= 1) expect(bound).toBeGreaterThanOrEqual(rules.stakes);
      }),
      { numRuns: 2000 },
    );
    expect(inner).toBeGreaterThan(200);
  });

  it("are never judged more leniently for more of them, with any policy", () => {
    const unmarked = { on_verification: "challenge" } as const;
    fc.assert(
      fc.property(cases, fc.double({ min: 1, max: 1e5, noNaN: true }), (given, factor) => {
        const { risk, policy, level, stakes } = given;
        for (const marking of [MARKED, unmarked]) {
          const of = (named: number) => {
            const rules = rulesOf(risk, {
              level,
              stakes: named,
              policy: { ...policy, ...marking },
            });
            return applyPolicyRules(rules).verdictIndex;
          };
          expect(of(stakes * factor)).toBeGreaterThanOrEqual(of(stakes));
          expect(of(stakes)).toBeGreaterThanOrEqual(of(0));
        }
      }),
      { numRuns: 1000 },
    );
  });
});
