// Minimum score of each tool level where the API key names none (SPEC §2.3 `threshold_met`): the policy's own, or a
// default from the risk that the level tolerates. Resolved once for a policy, so that a verdict only compares.
import type { LevelPolicy, Policy } from "../contract/policy.ts";
import { computeInternalScore, SCORE_MIN } from "../contract/units.ts";
import { TOOL_LEVELS } from "../contract/vocabulary.ts";
import type { ToolLevel } from "../contract/vocabulary.ts";
import { CRITICAL_ABOVE } from "./rules.ts";

/** Minimum internal score, 301 to 850, of every level; 300 only where the policy names it. */
export function resolveLevelMinimums({ levels }: Policy): Record<ToolLevel, number> {
  const resolve = (level: LevelPolicy) => level.minimum_score ?? computeDefaultMinimum(level);
  const entries = TOOL_LEVELS.map((name) => [name, resolve(levels[name])]);
  return Object.fromEntries(entries) as Record<ToolLevel, number>;
}

/**
 * Rounded as scores are compared, so an agent within the bound always meets it. Bounds from 80 % on lie below
 * the scale: the lowest score that can be missed stands for them.
 */
function computeDefaultMinimum(level: LevelPolicy): number {
  return Math.max(SCORE_MIN + 1, Math.round(computeInternalScore(selectToleratedRisk(level))));
}

/** Failure probability up to which the level neither withholds nor flags; `CRITICAL` begins where it names none. */
function selectToleratedRisk({ allow_up_to: allowed, flag_above: flagged }: LevelPolicy): number {
  if (allowed < 1) return allowed;
  return flagged < 1 ? flagged : CRITICAL_ABOVE;
}
