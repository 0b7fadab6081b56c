// The audit's lot: what takes part in it, how often it is won, and that ids in a row win as often as others.
import { describe, expect, it } from "vitest";
import { parsePolicy } from "../../src/contract/parse/policy.ts";
import { DEFAULT_POLICY } from "../../src/contract/policy.ts";
import { RequestIdGenerator } from "../../src/http/codec/request-id.ts";
import type { FindingCode } from "../../src/contract/vocabulary.ts";
import { createActivePolicy } from "../../src/policy/active-policy.ts";
import { isEligibleForAuditSample, isInAuditSample } from "../../src/policy/audit-sample.ts";
import { applyPolicyRules, createRuleInputs } from "../../src/policy/rules.ts";
import type { PolicyRisk } from "../../src/policy/rules.ts";

const LEVEL = { ...DEFAULT_POLICY.levels.L2, audit_one_in: 20, audit_max_stakes: 5 };
const RISKY: PolicyRisk = {
  failureProbability: 0.3,
  failureOptimistic: 0.2,
  isThin: false,
  isDenied: false,
  isRefused: false,
  decisionIndex: 0,
};

describe("what takes part", () => {
  const ruled = (
    risk: Partial<PolicyRisk>,
    isMinimumMet = true,
    failureCode: FindingCode | "" = "",
    areSourcesVerified = true,
    level = LEVEL,
  ) =>
    applyPolicyRules({
      ...createRuleInputs("L2", level, { ...RISKY, ...risk }),
      isMinimumMet,
      failureCode,
      areSourcesVerified,
    });

  it("is what risk, doubt or small stakes hold back", () => {
    for (const risk of [{}, { isThin: true }, { failureProbability: 0, decisionIndex: 1 }]) {
      expect(isEligibleForAuditSample(LEVEL, ruled(risk), 5)).toBe(true);
      expect(isEligibleForAuditSample(LEVEL, ruled(risk), 5.01)).toBe(false);
      expect(isEligibleForAuditSample(DEFAULT_POLICY.levels.L2, ruled(risk), 0)).toBe(false);
    }
    const { audit_max_stakes: _, ...unnamed } = LEVEL;
    expect(isEligibleForAuditSample(unnamed, ruled({}), 0)).toBe(true);
    expect(isEligibleForAuditSample(unnamed, ruled({}), 0.01)).toBe(false);
  });

  it("is nothing that is denied, allowed, or held back for its text, its sources or a minimum", () => {
    const strict = { ...LEVEL, require_verified_sources: true };
    for (const ruling of [
      ruled({ isDenied: true }),
      ruled({ isRefused: true }),
      ruled({ failureProbability: 0.01 }),
      ruled({ failureProbability: 0.01 }, false),
      ruled({ failureProbability: 0.01 }, true, "UNSUPPORTED_CONTENT"),
      ruled({ failureProbability: 0.01 }, true, "", false, strict),
    ]) {
      expect(isEligibleForAuditSample(LEVEL, ruling, 0), ruling.logReason).toBe(false);
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
