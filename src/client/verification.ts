// Additional verification of the weaker leg (SPEC §3, `connect_with_verification`): the application's
// callback, and which agent it has to verify. Shared by the gates, the approvals and the gateway.
import type { CheckResponse, HandshakeResponse, Leg, VerifyResponse } from "./messages.ts";
import type { AnswerCode } from "../contract/vocabulary.ts";

/** Any answer of the service that may ask for verification. */
type VerifiableVerdict = CheckResponse | HandshakeResponse | VerifyResponse;

/** The agent to verify, with the part of the verdict that is about it. A leg of a handshake is one. */
export interface WeakerLeg extends Pick<Leg, "subject" | "effective_score" | "tier" | "regime"> {
  readonly reason_codes: readonly AnswerCode[];
}

/**
 * Verifies the agent of `weakerLeg` beyond its identity: a second factor, a signed challenge. Only
 * `true` lets the call proceed; any other value, a throw and a rejection deny it. Called for each
 * call: its result is about that call and is never kept.
 */
export type VerificationCallback<Call> = (
  verdict: VerifiableVerdict,
  weakerLeg: WeakerLeg,
  call: Call,
) => boolean | Promise<boolean>;

/**
 * The leg that caused the decision: of a handshake the one with the stricter decision, of two equal
 * ones that with the lower score, else the initiator's; the verdict itself of a check. A verify has
 * no legs and does not repeat its agent: `agentId` is the one that was asked about, with its score.
 */
export function findWeakerLeg(verdict: CheckResponse | HandshakeResponse): Leg;
export function findWeakerLeg(verdict: VerifiableVerdict, agentId: string): WeakerLeg;
export function findWeakerLeg(verdict: VerifiableVerdict, agentId = ""): WeakerLeg {
  if ("policy_action" in verdict) {
    const { internal_score: score, tier, regime } = verdict.trust_evaluation;
    const leg = { subject: agentId, effective_score: score, tier };
    const { reason_codes } = verdict;
    return regime === undefined ? { ...leg, reason_codes } : { ...leg, regime, reason_codes };
  }
  if (!("a_to_b" in verdict)) return verdict;
  const { a_to_b: counterparty, b_to_a: initiator, decision } = verdict;
  if (counterparty.decision !== decision) return initiator;
  if (initiator.decision !== decision) return counterparty;
  return counterparty.effective_score < initiator.effective_score ? counterparty : initiator;
}

/**
 * Whether verification is what the verdict asks for: `connect_with_verification`, an ALLOW that the
 * policy only marks for it (`on_verification`), or a CHALLENGE that no person has to decide. False for
 * every other verdict: verification clears none of them.
 */
export function isVerificationDue(verdict: VerifiableVerdict): boolean {
  if (!("policy_action" in verdict)) return verdict.decision === "connect_with_verification";
  const { verdict: word, log_reason: reason } = verdict.policy_action;
  if (word === "ALLOW") return reason === "STAKES_NEED_VERIFICATION";
  return word === "CHALLENGE" && reason !== "STAKES_NEED_APPROVAL" && verdict.review === undefined;
}

/** Asks the callback about the weaker leg. Never rejects: a failing callback counts as not verified. */
export async function verifyWeakerLeg<Call>(
  callback: VerificationCallback<Call>,
  verdict: VerifiableVerdict,
  agentId: string,
  call: Call,
): Promise<boolean> {
  try {
    const returned: unknown = await callback(verdict, findWeakerLeg(verdict, agentId), call);
    return returned === true;
  } catch {
    return false;
  }
}
