// Minimum scores of levels that name none, against the rules on risk: an agent that a level neither withholds nor
// flags for its risk meets the level's minimum, and one that misses it is at most a point below the bound.
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { DEFAULT_POLICY, MINIMUM_SCORES_DEFAULT } from "../../src/contract/policy.ts";
import type { LevelPolicy, Policy } from "../../src/contract/policy.ts";
import { computeInternalScore } from "../../src/contract/units.ts";
import { TOOL_LEVELS, VERDICT } from "../../src/contract/vocabulary.ts";
import type { ToolLevel } from "../../src/contract/vocabulary.ts";
import { createActivePolicy } from "../../src/policy/active-policy.ts";
import { fillRuleInputs } from "../../src/policy/policy-query.ts";
import { createRuleInputs } from "../../src/policy/rule-inputs.ts";
import { applyPolicyRules } from "../../src/policy/rules.ts";
import { createRisk, createRiskAtStakes } from "./_connections.ts";

/** The risk at which the score reaches the floor of the scale. */
const FLOOR_RISK = 0.8;

function buildPolicy(level: Partial<LevelPolicy>): Policy {
  const levels = TOOL_LEVELS.map((name) => [name, { ...DEFAULT_POLICY.levels[name], ...level }]);
  return { ...DEFAULT_POLICY, levels: Object.fromEntries(levels) as Policy["levels"] };
}

/** The rules of a level as they see a settled record of that failure probability. */
function fillAt(
  policy: Policy,
  toolLevel: ToolLevel,
  failureProbability: number,
  minimumScores = MINIMUM_SCORES_DEFAULT,
) {
  const scoreInternal = computeInternalScore(failureProbability);
  const risk = createRisk({ failureProbability, ...createRiskAtStakes("connect") });
  return fillRuleInputs(
    {
      active: createActivePolicy(policy),
      reading: { ...risk, scoreInternal, reasonIndexes: [], reasonCount: 0 },
      agentId: "agent://acme/a",
      nowMs: 0,
      stakes: 0,
      minimumScores,
      rules: createRuleInputs(),
    },
    toolLevel,
  );
}

const levelNames = fc.constantFrom(...TOOL_LEVELS);
const risks = fc.oneof(
  fc.double({ min: 1e-6, max: 0.999_999, noNaN: true }),
  fc.constantFrom(0.05, 0.1, 0.15, 0.4),
);
/** Bounds that the scale can express. */
const bounds = fc.double({ min: 1e-4, max: FLOOR_RISK - 0.01, noNaN: true });

it("stands at the bound of each shipped level, above the floor of the scale", () => {
  expect(createActivePolicy(DEFAULT_POLICY).levelMinimums).toEqual({
    L0: Math.round(computeInternalScore(0.4)),
    L1: Math.round(computeInternalScore(DEFAULT_POLICY.levels.L1.flag_above)),
    L2: Math.round(computeInternalScore(DEFAULT_POLICY.levels.L2.allow_up_to)),
    L3: Math.round(computeInternalScore(DEFAULT_POLICY.levels.L3.allow_up_to)),
  });
});

it("is met by every risk within the bound, and by none that is a point or more beyond it", () => {
  fc.assert(
    fc.property(levelNames, bounds, risks, fc.boolean(), (name, bound, risk, isFlag) => {
      const policy = buildPolicy(
        isFlag ? { allow_up_to: 1, flag_above: bound } : { allow_up_to: bound },
      );
      const rules = fillAt(policy, name, risk);
      const isMet = rules.scoreInternal >= rules.scoreMinimum;
      const isPointBeyond = computeInternalScore(risk) <= computeInternalScore(bound) - 1;
      // Between the two, rounding decides.
      expect(isMet).toBe(risk <= bound || (!isPointBeyond && isMet));
    }),
  );
});

it("is met wherever verify allows an agent for its risk, without a flag", () => {
  let clear = 0;
  fc.assert(
    fc.property(levelNames, fc.option(bounds), risks, (name, bound, risk) => {
      const rules = fillAt(
        bound === null ? DEFAULT_POLICY : buildPolicy({ allow_up_to: bound }),
        name,
        risk,
      );
      const { verdictIndex, isFlagged, logReason } = applyPolicyRules(rules);
      const isClear =
        verdictIndex === VERDICT.ALLOW && !isFlagged && logReason === "TRUST_SUFFICIENT";
      if (isClear) clear += 1;
      return !isClear || rules.scoreInternal >= rules.scoreMinimum;
    }),
  );
  expect(clear).toBeGreaterThan(5);
});

it("can be missed at every level of every policy that names none", () => {
  const anyBound = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(levelNames, anyBound, anyBound, (name, allowed, flagged) => {
      const policy = buildPolicy({ allow_up_to: allowed, flag_above: flagged });
      const { levelMinimums } = createActivePolicy(policy);
      const rules = fillAt(policy, name, 1 - 1e-9);
      expect(levelMinimums[name]).toBeLessThanOrEqual(850);
      return rules.scoreInternal < levelMinimums[name] && rules.isMinimumMet;
    }),
  );
});

it("gives way to a minimum that the policy or the key names, the higher of both, which is enforced", () => {
  const minimums = fc.option(fc.integer({ min: 301, max: 850 }));
  fc.assert(
    fc.property(levelNames, minimums, minimums, risks, (name, ofPolicy, ofKey, risk) => {
      fc.pre(ofPolicy !== null || ofKey !== null);
      const key = { ...MINIMUM_SCORES_DEFAULT, [name]: ofKey ?? 300 };
      const rules = fillAt(buildPolicy({ minimum_score: ofPolicy }), name, risk, key);
      expect(rules.scoreMinimum).toBe(Math.max(ofPolicy ?? 0, ofKey ?? 0));
      return rules.isMinimumMet === rules.scoreInternal >= rules.scoreMinimum;
    }),
  );
  // The floor itself, named by the policy, is a minimum that nobody misses.
  const floor = fillAt(buildPolicy({ minimum_score: 300 }), "L3", 0.99);
  expect([floor.scoreMinimum, floor.isMinimumMet]).toEqual([300, true]);
});
