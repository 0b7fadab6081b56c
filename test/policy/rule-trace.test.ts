// The trace of rules against the rules themselves: whatever the level, the risk and the provenance, the
// step that decides is the ruling of the policy.
import fc from "fast-check";
import { expect, it } from "vitest";
import { type LevelPolicy, DEFAULT_POLICY } from "../../src/contract/policy.ts";
import { DECISIONS, TOOL_LEVELS, VERDICTS } from "../../src/contract/vocabulary.ts";
import { applyPolicyRules } from "../../src/policy/rules.ts";
import { type RuleInputs, traceRules } from "../../src/policy/rule-trace.ts";

const share = fc.oneof(
  fc.constantFrom(0, 0.05, 0.1, 0.15, 1),
  fc.double({ min: 0, max: 1, noNaN: true }),
);
const level = fc.record({
  allow_up_to: share,
  flag_above: share,
  thin: fc.constantFrom("allow", "flag", "challenge"),
  enforce: fc.boolean(),
  deny_from: fc.oneof(fc.constantFrom("fitted" as const, "never" as const), share),
  counts_stakes: fc.boolean(),
  require_verified_sources: fc.boolean(),
});
const inputs = fc
  .record({
    toolLevel: fc.constantFrom(...TOOL_LEVELS),
    level,
    risk: fc.record({
      failureProbability: share,
      failureOptimistic: share,
      isThin: fc.boolean(),
      isDenied: fc.boolean(),
      isRefused: fc.boolean(),
      decisionIndex: fc.nat(DECISIONS.length - 1),
    }),
    isMinimumMet: fc.boolean(),
    failureCode: fc.constantFrom(
      "" as const,
      "HASH_MISMATCH" as const,
      "SOURCE_REVOKED" as const,
      "UNSUPPORTED_CONTENT" as const,
    ),
    areSourcesVerified: fc.boolean(),
    allowUpTo: share,
    isVouched: fc.boolean(),
    areStakesVouched: fc.boolean(),
    scoreInternal: fc.constant(500),
    scoreMinimum: fc.constant(510),
  })
  .map((given): RuleInputs => {
    const whole: LevelPolicy = {
      ...DEFAULT_POLICY.levels.L0,
      ...(given.level as Partial<LevelPolicy>),
    };
    return { ...given, level: whole };
  });

it("decides by the rule that the policy decides by", () => {
  fc.assert(
    fc.property(inputs, (given) => {
      const steps = traceRules(given);
      const ruled = applyPolicyRules(
        given.toolLevel,
        given.level,
        given.risk,
        given.isMinimumMet,
        given.failureCode,
        given.areSourcesVerified,
        given.allowUpTo,
        given.isVouched,
        given.areStakesVouched,
      );
      const deciding = steps.filter(({ decides }) => decides);
      expect(deciding.map(({ rule, verdict }) => [rule, verdict])).toEqual([
        [ruled.logReason, VERDICTS[ruled.verdictIndex]],
      ]);
      expect(deciding[0]!.holds).toBe(true);
    }),
    { numRuns: 3000 },
  );
});

it("names the member, its bound and the value, and what was not asked", () => {
  const risk = {
    failureProbability: 0.2,
    failureOptimistic: 0.1,
    isThin: false,
    isDenied: false,
    isRefused: false,
    decisionIndex: 0,
  };
  const steps = traceRules({
    toolLevel: "L2",
    level: DEFAULT_POLICY.levels.L2,
    risk,
    isMinimumMet: false,
    failureCode: "",
    areSourcesVerified: true,
    allowUpTo: 0.1,
    isVouched: false,
    areStakesVouched: false,
    scoreInternal: 460,
    scoreMinimum: 507,
  });
  expect(steps.find(({ decides }) => decides)).toEqual({
    rule: "RISK_ABOVE_BOUND",
    verdict: "CHALLENGE",
    member: "allow_up_to",
    bound: 0.1,
    value: 0.2,
    holds: true,
    decides: true,
  });
  const holds = Object.fromEntries(steps.map((each) => [each.rule, each.holds]));
  expect(holds).toMatchObject({
    REFUSE_RULE: false,
    RISK_ABOVE_BORDER: false,
    THIN_FILE: false,
    TRUST_SUFFICIENT: null,
    // It holds too, but is no stricter than the one that decided.
    BELOW_TENANT_MINIMUM: true,
  });
});
