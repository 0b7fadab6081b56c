// Queries to a tenant's policy: fills the rule inputs of one tool level from an agent's score, and finds the
// most sensitive level that the policy allows. Pure; allocates nothing.
import { SCORE_MIN } from "../contract/units.ts";
import { TOOL_LEVELS, VERDICT } from "../contract/vocabulary.ts";
import type { ToolLevel } from "../contract/vocabulary.ts";
import type { ActivePolicy } from "./active-policy.ts";
import { applyPolicyRules } from "./rules.ts";
import { REFUSED } from "./rulings.ts";
import type { PolicyRisk, RuleInputs } from "./rule-inputs.ts";
import { findVouching } from "./vouching.ts";
import { isWithinStakesCap, selectStakesCap } from "./stakes-decision.ts";
import type { VouchableRecord, VouchingQuery } from "./vouching.ts";

const L1 = TOOL_LEVELS.indexOf("L1");

/** The part of a score that a policy reads. */
export type PolicyScore = PolicyRisk & VouchableRecord & { readonly scoreInternal: number };

/** A request as a policy sees it. One object is reused on the hot path. */
export interface PolicyQuery extends VouchingQuery {
  readonly active: Pick<ActivePolicy, "policy" | "vouched" | "terms" | "levelMinimums">;
  readonly reading: PolicyScore;
  readonly stakes: number;
  /** Of the API key; 300: it names none. */
  readonly minimumScores: Readonly<Record<ToolLevel, number>>;
  /** Inputs of the level that was filled last. */
  readonly rules: RuleInputs;
}

/** Fills the inputs of the rules for one level, with provenance that holds. */
export function fillRuleInputs(query: PolicyQuery, toolLevel: ToolLevel): RuleInputs {
  const { rules, reading, stakes } = query;
  const level = query.active.policy.levels[toolLevel];
  const keyMinimum = query.minimumScores[toolLevel];
  // Only a minimum that the key or the policy names is enforced: a default one is only reported.
  const enforcedMinimum = Math.max(keyMinimum, level.minimum_score ?? SCORE_MIN);
  const vouching = findVouching(query, toolLevel);
  rules.toolLevel = toolLevel;
  rules.level = level;
  rules.risk = reading;
  const terms = query.active.terms[toolLevel];
  rules.terms = terms;
  rules.isThinAllowed = level.thin === "allow";
  rules.stakes = stakes;
  rules.scoreInternal = Math.round(reading.scoreInternal);
  rules.scoreMinimum =
    keyMinimum > SCORE_MIN ? enforcedMinimum : query.active.levelMinimums[toolLevel];
  rules.isMinimumMet = rules.scoreInternal >= enforcedMinimum;
  rules.failureCode = "";
  rules.areSourcesVerified = true;
  rules.allowUpTo = level.allow_up_to;
  rules.isVouched = vouching !== undefined;
  rules.areStakesVouched =
    vouching !== undefined && isWithinStakesCap(terms, stakes, vouching.stakesMax);
  rules.vouchedStakesMax = vouching === undefined ? 0 : selectStakesCap(terms, vouching.stakesMax);
  return rules;
}

/** Fills the inputs of one level for a handshake: its own bound, and no minimum score. */
export function fillHandshakeRuleInputs(query: PolicyQuery, toolLevel: ToolLevel): RuleInputs {
  const rules = fillRuleInputs(query, toolLevel);
  rules.isMinimumMet = true;
  rules.allowUpTo = rules.level.allow_handshake_up_to;
  return rules;
}

/**
 * "L3", "L2", or "L1" where the policy allows neither, for requests that name no level of their own (check,
 * handshake, explain).
 */
export function findHighestAllowedLevel(query: PolicyQuery, isHandshake: boolean): ToolLevel {
  for (let index = TOOL_LEVELS.length - 1; index > L1; index -= 1) {
    const name = TOOL_LEVELS[index]!;
    if (isLevelAllowed(query, name, { isHandshake, isCleared: false })) return name;
  }
  return "L1";
}

/** Whether a level allows; a cleared agent is held only by what refuses it or by a bound. */
export function isLevelAllowed(
  query: PolicyQuery,
  name: ToolLevel,
  { isHandshake, isCleared }: { readonly isHandshake: boolean; readonly isCleared: boolean },
): boolean {
  const rules = isHandshake ? fillHandshakeRuleInputs(query, name) : fillRuleInputs(query, name);
  const ruling = applyPolicyRules(rules);
  if (ruling.verdictIndex === VERDICT.ALLOW) return true;
  return isCleared && ruling !== REFUSED && rules.isMinimumMet;
}
