// The most sensitive tool level at which a policy would allow an agent, for those who ask once and act
// later: check, handshake and explain name no level of their own.
import { TOOL_LEVELS, VERDICTS } from "../contract/vocabulary.ts";
import type { ToolLevel } from "../contract/vocabulary.ts";
import type { ActivePolicy } from "./active-policy.ts";
import { applyPolicyRules, isMinimumMet } from "./rules.ts";
import type { PolicyRisk } from "./rules.ts";
import { areStakesVouched, findVouching } from "./vouching.ts";
import type { VouchableRecord } from "./vouching.ts";

const ALLOW = VERDICTS.indexOf("ALLOW");
const L1 = TOOL_LEVELS.indexOf("L1");

type ScoredRisk = PolicyRisk & VouchableRecord & { readonly scoreInternal: number };

/**
 * "L3", "L2", or "L1" where the policy allows neither at `nowMs` (epoch ms), at these stakes and with
 * the minimum scores of the asking key. `isHandshake`: the reading knows who looks.
 */
export function findHighestAllowedLevel(
  { policy, vouched }: Pick<ActivePolicy, "policy" | "vouched">,
  risk: ScoredRisk,
  agentId: string,
  stakes: number,
  minimums: Readonly<Record<ToolLevel, number>>,
  isHandshake: boolean,
  nowMs: number,
): ToolLevel {
  for (let index = TOOL_LEVELS.length - 1; index > L1; index -= 1) {
    const name = TOOL_LEVELS[index]!;
    const level = policy.levels[name];
    const vouching = findVouching(vouched, risk, agentId, name, nowMs);
    const isVouched = vouching !== undefined;
    const decided = applyPolicyRules(
      name,
      level,
      risk,
      isHandshake || isMinimumMet(name, level, risk.scoreInternal, minimums[name]),
      "",
      true,
      isHandshake ? level.allow_handshake_up_to : level.allow_up_to,
      isVouched,
      areStakesVouched(vouching, stakes),
    );
    if (decided.verdictIndex === ALLOW) return name;
  }
  return "L1";
}
