// Ruling of a gateway on a verdict, and the answer it gives: pure, shared by both kinds of verdict,
// the one place where a word of the service becomes "let through" or "not".
import type { CheckResponse, HandshakeResponse, VerifyResponse } from "./messages.ts";
import type { Decision, ToolLevel, Verdict } from "../contract/vocabulary.ts";
import type { TrustRankError } from "./errors.ts";
import type { FailPolicy } from "./gateway/fail-policy.ts";
import { isSensitive } from "./gateway/fail-policy.ts";
import { isCallAllowed, isOpenDecision } from "./read-reply.ts";

/** Whatever the service answers with. */
export type AnyVerdict = CheckResponse | HandshakeResponse | VerifyResponse;

/** The ruling on a request, with its reason. */
export interface GatewayAnswer<Kind extends AnyVerdict> {
  readonly allowed: boolean;
  /** SPEC §7: HTTP status for the end client. 200 lets the request through. */
  readonly status: 200 | 403 | 503;
  /** The verdict's own word, or the fail policy's when there is no verdict. */
  readonly word: Verdict | Decision;
  /** One label for the log: of the rule that decided, or of the fault. */
  readonly reason: string;
  readonly verdict: Kind | undefined;
  /** Reason of a missing verdict. */
  readonly error: TrustRankError | undefined;
  /** SPEC §8.2: let through on a low score; for review by a person. */
  readonly flagged: boolean;
  /** True for every answer without a verdict behind it, allowed or not. */
  readonly degraded: boolean;
  readonly failPolicy: FailPolicy["name"] | undefined;
  /** Whole seconds, with status 503. */
  readonly retryAfterSec: number | undefined;
  readonly isCached: boolean;
  /** Age of a cached verdict, milliseconds. */
  readonly ageMs: number;
}

/** An event for a log or a reviewer. */
export interface GatewayLog {
  readonly kind: "low_score_allowed" | "allowed_without_verdict" | "blocked_without_verdict";
  readonly agentId: string;
  readonly toolLevel: ToolLevel;
  readonly reason: string;
  readonly verdict?: AnyVerdict;
  readonly error?: TrustRankError;
}

export interface GatewayRuling {
  readonly isAllowed: boolean;
  readonly isFlagged: boolean;
  readonly word: Verdict | Decision;
  readonly reason: string;
}

/** Only ALLOW passes. A key in shadow mode never blocks: its verdicts are for the log. */
export function ruleVerify(verdict: VerifyResponse, toolLevel: ToolLevel): GatewayRuling {
  const { verdict: word, log_reason: reason } = verdict.policy_action;
  const { risk_level: risk } = verdict.trust_evaluation;
  const isLow = risk === "HIGH" || risk === "CRITICAL";
  const isAllowed = word === "ALLOW" || !verdict.enforced;
  const isFlagged = isAllowed && (word !== "ALLOW" || (isLow && toolLevel !== "L0"));
  return { isAllowed, isFlagged, word, reason };
}

/**
 * SPEC §8.2: at L0 and L1 a low score passes, flagged at L1; at L2 and L3 the decision stands, but
 * in shadow mode.
 */
export function ruleCheck(verdict: CheckResponse, toolLevel: ToolLevel): GatewayRuling {
  const isClear = isOpenDecision(verdict);
  const isAllowed = isCallAllowed(verdict) || !isSensitive(toolLevel);
  const reason = verdict.reason_codes[0] ?? "CLEAR";
  return {
    isAllowed,
    isFlagged: isAllowed && !isClear && toolLevel !== "L0",
    word: verdict.decision,
    reason,
  };
}

/**
 * The ruling on an arrival. A refusal of either side opens no connection, whatever the tool (SPEC
 * §3, §7); what waits for a person passes at L0 and L1, flagged at L1 (SPEC §8.2).
 */
export function ruleArrival(
  verdict: CheckResponse | HandshakeResponse,
  toolLevel: ToolLevel,
): GatewayRuling {
  const { decision } = verdict;
  const isClear = isOpenDecision(verdict);
  const isPassing = decision === "escalate" && !isSensitive(toolLevel);
  const isAllowed = isCallAllowed(verdict) || isPassing;
  const legs = "a_to_b" in verdict ? [verdict.b_to_a, verdict.a_to_b] : [verdict];
  const strictest = legs.find((leg) => leg.decision === decision);
  return {
    isAllowed,
    isFlagged: isAllowed && !isClear && toolLevel !== "L0",
    word: decision,
    reason: strictest?.reason_codes[0] ?? "CLEAR",
  };
}

/** Header lines of an answer: for the upstream, the end client and the access log alike. */
export function answerHeaders(answer: GatewayAnswer<AnyVerdict>): Record<string, string> {
  const headers: Record<string, string> = {
    "X-Trust-Effective": answer.allowed ? "allow" : "deny",
    "X-Trust-Verdict": answer.word,
    "X-Trust-Reason": answer.reason,
  };
  if (answer.verdict !== undefined) headers["X-Trust-Request-Id"] = answer.verdict.request_id;
  const review = answer.allowed ? undefined : findReviewId(answer.verdict);
  if (review !== undefined) headers["X-Trust-Review"] = review;
  if (answer.flagged) headers["X-Trust-Flagged"] = "true";
  if (answer.failPolicy !== undefined) headers["X-Trust-Degraded"] = answer.failPolicy;
  if (answer.retryAfterSec !== undefined) headers["Retry-After"] = String(answer.retryAfterSec);
  return headers;
}

/** The first review that holds it back. */
function findReviewId(verdict: AnyVerdict | undefined): string | undefined {
  if (verdict === undefined) return undefined;
  const legs = "a_to_b" in verdict ? [verdict.b_to_a, verdict.a_to_b] : [verdict];
  return legs.find(({ review }) => review !== undefined)?.review?.id;
}
