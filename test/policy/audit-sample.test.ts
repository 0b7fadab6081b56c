// The audit's lot: what takes part in it, how often it is won, and that ids in a row win as often as others.
import { describe, expect, it } from "vitest";
import { parsePolicy } from "../../src/contract/parse/policy.ts";
import { DEFAULT_POLICY } from "../../src/contract/policy.ts";
import { RequestIdGenerator } from "../../src/http/codec/request-id.ts";
import { createActivePolicy } from "../../src/policy/active-policy.ts";
import { isEligibleForAuditSample, isInAuditSample } from "../../src/policy/audit-sample.ts";
import { applyPolicyRules } from "../../src/policy/rules.ts";
import { createRuleInputs } from "../../src/policy/rule-inputs.ts";
import type { PolicyRisk, RuleInputs } from "../../src/policy/rule-inputs.ts";
import { computeLogit, createRisk, SHIPPED } from "./_connections.ts";

const LEVEL = { ...DEFAULT_POLICY.levels.L2, audit_one_in: 20, audit_max_stakes: 20 };
const RISKY = createRisk({ failureProbability: 0.3, failureOptimistic: 0.2 });
const { assumed } = SHIPPED.terms.L2;

describe("what takes part", () => {
  const rulesOf = (risk: Partial<PolicyRisk>, more: Partial<RuleInputs> = {}): RuleInputs => ({
    ...createRuleInputs("L2", LEVEL, { ...RISKY, ...risk }),
    ...more,
  });
  const isEligible = (risk: Partial<PolicyRisk>, more: Partial<RuleInputs> = {}) => {
    const rules = rulesOf(risk, more);
    return isEligibleForAuditSample(rules, applyPolicyRules(rules));
  };
  const STALE = { failureProbability: 0, silentDays: 400 };
  const HELD_BACK = [
    {},
    { isThin: true },
    STALE,
    { failureProbability: 0, stakesLogit: computeLogit(0.3) },
  ];

  it("is what risk, doubt, silence or small stakes hold back", () => {
    for (const risk of HELD_BACK) {
      expect(isEligible(risk, { stakes: 20 })).toBe(true);
      expect(isEligible(risk, { stakes: 20.01 })).toBe(false);
      expect(isEligible(risk, { level: DEFAULT_POLICY.levels.L2 })).toBe(false);
    }
  });

  it("is up to what a request without stakes counts for, where no amount is named", () => {
    const { audit_max_stakes: _, ...unnamed } = LEVEL;
    for (const level of [unnamed, { ...LEVEL, audit_max_stakes: 0 }]) {
      expect(isEligible({}, { level, stakes: 0 })).toBe(true);
      expect(isEligible({}, { level, stakes: assumed })).toBe(true);
      expect(isEligible({}, { level, stakes: 1.01 * assumed })).toBe(false);
    }
  });

  it("is nothing at an amount below what a request without stakes counts for", () => {
    const level = { ...LEVEL, audit_max_stakes: 0.9 * assumed };
    for (const stakes of [0, 1, 0.9 * assumed])
      expect(isEligible({}, { level, stakes })).toBe(false);
  });

  it("is nothing that waits for a person, whichever rule holds it back", () => {
    const level = { ...LEVEL, audit_max_stakes: 1e9 };
    const certain = { stakesLogit: computeLogit(0.85) };
    const dear = { level, stakes: 1e6 };
    expect(isEligible({ ...certain, failureProbability: 0 })).toBe(false);
    expect(isEligible(certain)).toBe(false);
    const likely = { stakesLogit: computeLogit(0.3) };
    expect(isEligible({ ...likely, failureProbability: 0 }, dear)).toBe(false);
    expect(isEligible({ ...likely, isThin: true }, dear)).toBe(false);
    expect(isEligible({ ...likely, isThin: true }, { ...dear, stakes: 10 })).toBe(true);
  });

  it("is nothing that is denied, allowed, or held back for its text, its sources or a minimum", () => {
    const strict = { ...LEVEL, require_verified_sources: true };
    const good = { failureProbability: 0.01 };
    for (const [risk, more] of [
      [{ isDenied: true }, {}],
      [{ isRefused: true }, {}],
      [good, {}],
      [good, { isMinimumMet: false }],
      [good, { failureCode: "UNSUPPORTED_CONTENT" }],
      [good, { areSourcesVerified: false, level: strict }],
    ] as const) {
      const { logReason } = applyPolicyRules(rulesOf(risk, more));
      expect(isEligible(risk, more), logReason).toBe(false);
    }
  });
});

describe("the lot", () => {
  it.each([2, 16, 20, 1000])("is won one time in %i, also by ids that count up", (oneIn) => {
    // One id of a random millisecond and all that follow it in the same one.
    const ids = new RequestIdGenerator(() => 1_767_225_600_000);
    const draws = 40_000;
    let won = 0;
    for (let i = 0; i < draws; i++) if (isInAuditSample(ids.next(), oneIn)) won += 1;
    const expected = draws / oneIn;
    expect(Math.abs(won - expected)).toBeLessThan(5 * Math.sqrt(expected) + 1);
  });

  it("is the same whenever it is drawn again", () => {
    const id = "019ab0f3-5b1e-7c44-9a3e-0f3b3f6f2c11";
    expect([isInAuditSample(id, 7), isInAuditSample(id, 7)]).toEqual([
      isInAuditSample(id, 7),
      isInAuditSample(id, 7),
    ]);
    expect(isInAuditSample(id, 1)).toBe(true);
  });
});

describe("the option", () => {
  const of = (rules: object) => parsePolicy({ levels: { L2: rules } });

  it("is left out where it is not set, so that policies keep their version", () => {
    expect(createActivePolicy(parsePolicy({})).version).toBe(
      createActivePolicy(DEFAULT_POLICY).version,
    );
    expect(of({ audit_one_in: 50 }).levels.L2).toEqual({
      ...DEFAULT_POLICY.levels.L2,
      audit_one_in: 50,
    });
    expect(of({ audit_one_in: 50 }).levels.L3).not.toHaveProperty("audit_one_in");
  });

  it.each([
    [{ audit_one_in: 1 }, "audit_one_in", "range"],
    [{ audit_one_in: 2.5 }, "audit_one_in", "range"],
    [{ audit_one_in: 1_000_001 }, "audit_one_in", "range"],
    [{ audit_one_in: "50" }, "audit_one_in", "type"],
    [{ audit_one_in: 50, audit_max_stakes: -1 }, "audit_max_stakes", "range"],
  ])("refuses %j", (rules, member, code) => {
    expect(() => of(rules)).toThrow(
      expect.objectContaining({
        errors: [expect.objectContaining({ pointer: `/levels/L2/${member}`, code })],
      }),
    );
  });
});
