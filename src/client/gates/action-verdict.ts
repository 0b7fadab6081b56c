// Verdict of verify at a tool level on the scale of connect decisions, so that gates treat it as they treat a
// check or a handshake. One ALLOW that the tenant only marks for verification keeps that mark.
import type { Decision, ToolLevel } from "../../contract/vocabulary.ts";
import type { TrustRankClient } from "../client.ts";
import { TrustRankError } from "../errors.ts";
import type { VerifyRequest, VerifyResponse } from "../messages.ts";
import { isVerificationDue } from "../verification.ts";

/** A verify response with the connect decision that it amounts to. */
export interface ActionVerdict extends VerifyResponse {
  /** The agent that was verified. */
  readonly subject: string;
  /**
   * `ALLOW` is `connect`, or `connect_with_verification` where the tenant's policy allows but asks for
   * verification; `CHALLENGE` is `connect_with_verification`, or `escalate` where a person decides;
   * `QUARANTINE` is `escalate`, `BLOCK` is `refuse`.
   */
  readonly decision: Decision;
  /** The label of the rule that decided, then the other reason codes. None for `connect`. */
  readonly reasons: string[];
}

/** An action to verify at a tool level. */
export interface ActionQuery {
  readonly agentId: string;
  /** `<domain>.<operation>`. */
  readonly action: string;
  readonly toolLevel: ToolLevel;
  /** Undefined: the stakes that the tenant's policy assumes. */
  readonly stakes: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Asks verify, one paid read.
 * @throws TrustRankError when there is no verdict.
 */
export async function askActionVerdict(
  client: TrustRankClient,
  { agentId, action, toolLevel, stakes, signal }: ActionQuery,
): Promise<ActionVerdict> {
  const request: VerifyRequest = { agent_id: agentId, action, tool_level: toolLevel };
  if (stakes !== undefined) request.stakes = stakes;
  return createActionVerdict(agentId, await client.verify(request, { signal }));
}

/** The verify response about `subject` with its decision. */
export function createActionVerdict(subject: string, response: VerifyResponse): ActionVerdict {
  const decision = selectDecision(response);
  const { log_reason } = response.policy_action;
  // Gates send no content to assess: that finding is about the question, not about the agent.
  const codes = response.reason_codes.filter((code) => code !== "PROVENANCE_NOT_ASSESSED");
  const reasons = decision === "connect" ? [] : [...new Set<string>([log_reason, ...codes])];
  return { ...response, subject, decision, reasons };
}

function selectDecision(response: VerifyResponse): Decision {
  const { verdict } = response.policy_action;
  const isDue = isVerificationDue(response);
  switch (verdict) {
    case "ALLOW":
      return isDue ? "connect_with_verification" : "connect";
    case "CHALLENGE":
      return isDue ? "connect_with_verification" : "escalate";
    case "QUARANTINE":
      return "escalate";
    case "BLOCK":
      return "refuse";
  }
  return rejectUnknownWord(verdict);
}

/**
 * Responses are checked word by word before they get here; those of a caller's own client may not be.
 * @throws TrustRankError `malformed_reply`.
 */
export function rejectUnknownWord(word: never): never {
  throw new TrustRankError("malformed_reply", `\`${String(word)}\` is no word of the contract`);
}
