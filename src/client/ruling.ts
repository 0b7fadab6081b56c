// Ruling of a gateway on a verdict, and the answer it gives: pure, shared by both kinds of verdict,
// the one place where a word of the service becomes "let through" or "not".
import type { CheckResponse, HandshakeResponse, VerifyResponse } from "./messages.ts";
import { isFlaggedVerdict } from "../contract/flagged.ts";
import type { Decision, ToolLevel, Verdict } from "../contract/vocabulary.ts";
import type { TrustRankError } from "./errors.ts";
import type { FailPolicy } from "./gateway/fail-policy.ts";
import { isSensitive } from "./gateway/fail-policy.ts";
import { isCallAllowed, isOpenDecision } from "./read-reply.ts";
import { findWeakerLeg } from "./verification.ts";

/** Whatever the service answers with. */
export type AnyVerdict = CheckResponse | HandshakeResponse | VerifyResponse;

/** `due`: not verified yet; an allowed answer is only marked. `failed` is denied with VERIFICATION_FAILED. */
export type VerificationState = "due" | "passed" | "failed";

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
  /** Additional verification of the weaker leg (SPEC §3), where the verdict asks for it. */
  readonly verification: VerificationState | undefined;
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
  readonly kind:
    | "low_score_allowed"
    | "allowed_without_verdict"
    | "blocked_without_verdict"
    | "verification_passed"
    | "verification_failed";
  readonly agentId: string;
  readonly toolLevel: ToolLevel;
  readonly reason: string;
  readonly verdict?: AnyVerdict;
  readonly error?: TrustRankError;
}

export type LogCallback = (entry: GatewayLog) => void | Promise<void>;

export interface GatewayRuling {
  readonly isAllowed: boolean;
  readonly isFlagged: boolean;
  readonly word: Verdict | Decision;
  readonly reason: string;
}

/**
 * Only ALLOW passes, flagged where the service flags it. A key in shadow mode never blocks: what it would
 * have withheld is flagged.
 */
export function ruleVerify(verdict: VerifyResponse): GatewayRuling {
  const { verdict: word, log_reason: reason } = verdict.policy_action;
  const isAllowed = word === "ALLOW" || !verdict.enforced;
  const isFlagged = isAllowed && (word !== "ALLOW" || isFlaggedVerdict(verdict.policy_action));
  return { isAllowed, isFlagged, word, reason };
}

/**
 * The ruling on a connection, by check or handshake. SPEC §8.1, §8.2: at L0 and L1 it opens whatever was
 * decided, flagged at L1, and at L0 where it is refused. At L2 and L3, which stand for a tool that is not
 * known yet too, the decision stands (SPEC §3, §7), but in shadow mode.
 */
export function ruleConnection(
  verdict: CheckResponse | HandshakeResponse,
  toolLevel: ToolLevel,
): GatewayRuling {
  const { decision } = verdict;
  const isAllowed = isCallAllowed(verdict) || !isSensitive(toolLevel);
  const isLow = !isOpenDecision(verdict) && (toolLevel !== "L0" || decision === "refuse");
  const [reason = "CLEAR"] = findWeakerLeg(verdict).reason_codes;
  return { isAllowed, isFlagged: isAllowed && isLow, word: decision, reason };
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
  if (answer.verification !== undefined) headers["X-Trust-Verification"] = answer.verification;
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
