// Passage that a verdict gives through a gate: open, only once verified, only by a person, or none. Shared by
// functions, routes and tools, so that all of them open alike.
import { TOOL_LEVELS, type ToolLevel } from "../../contract/vocabulary.ts";
import type { CheckVerdict, HandshakeVerdict } from "../client.ts";
import { isShadowVerdict } from "../read-reply.ts";
import { type ActionVerdict, rejectUnknownWord } from "./action-verdict.ts";

/**
 * What a verdict allows: `open`; `marked`, open with verification due; `verification`, closed until
 * verified; `person`, closed until a person approves; `refused`.
 */
export type Passage = "open" | "marked" | "verification" | "person" | "refused";

type GateVerdict = CheckVerdict | HandshakeVerdict | ActionVerdict;

/**
 * The passage that a verdict gives at a tool level. Never `open` or `marked` where the policy would not
 * allow the agent at that level, except in shadow mode.
 * @throws TrustRankError `malformed_reply` on an unknown decision.
 */
export function selectPassage(verdict: GateVerdict, toolLevel: ToolLevel): Passage {
  if (isShadowVerdict(verdict)) return "open";
  const { decision } = verdict;
  switch (decision) {
    case "connect":
      return isLevelAllowed(verdict, toolLevel) ? "open" : "verification";
    case "connect_with_verification":
      // Either leg of a handshake may be the weaker one; a level is allowed to one agent.
      if ("a_to_b" in verdict) return "verification";
      return isLevelAllowed(verdict, toolLevel) ? "marked" : "verification";
    case "escalate":
      return "person";
    case "refuse":
      return "refused";
  }
  return rejectUnknownWord(decision);
}

function isLevelAllowed(verdict: GateVerdict, toolLevel: ToolLevel): boolean {
  if ("policy_action" in verdict) return verdict.policy_action.verdict === "ALLOW";
  const legs = "a_to_b" in verdict ? [verdict.a_to_b, verdict.b_to_a] : [verdict];
  const index = TOOL_LEVELS.indexOf(toolLevel);
  return legs.every((leg) => TOOL_LEVELS.indexOf(leg.tool_level_max) >= index);
}
