// Review decisions applied to rulings and decisions, and calls pending review counted. Precedence: an allowed
// request is not changed; a block (fraud flag, revoked key, refusal) stands whatever the reviewer decided; so do
// broken provenance and the key's minimum, which a review does not cover. Hot path: an allowed ruling returns
// at once.
import { isReservedAgent } from "../../contract/identifiers.ts";
import type { Leg, ReviewPointer } from "../../contract/schemas/scores.ts";
import { DECISION, VERDICT } from "../../contract/vocabulary.ts";
import type { ReviewCode, ReviewLevel } from "../../contract/vocabulary.ts";
import { isReviewRequired } from "../../policy/rules.ts";
import { OVERTURNED, type Ruling, UPHELD } from "../../policy/rulings.ts";
import type { ActiveReviewDecision, WithheldCall } from "../reviews/decision-cache.ts";
import { canOnlyRecordDeny } from "./level-ruling.ts";
import type { VerdictContext } from "./verdict-context.ts";

/** Seconds that the wait path in a response names. */
const REVIEW_WAIT_SEC = 30;

/**
 * The ruling of the level in `context.rules` after a review decision: overturned up to the stakes that the
 * reviewer named, upheld where a review would be required again.
 */
export function applyReviewToRuling(context: VerdictContext, ruling: Ruling): Ruling {
  if (ruling.verdictIndex === VERDICT.ALLOW || ruling.verdictIndex === VERDICT.BLOCK) return ruling;
  const decided = findReviewDecision(context, context.rules.toolLevel);
  if (decided === undefined || !canOnlyRecordDeny(context.rules)) return ruling;
  if (decided.decision === "upheld") {
    return isReviewRequired(ruling, context.rules) ? UPHELD : ruling;
  }
  return context.stakes <= decided.stakesMax ? OVERTURNED : ruling;
}

/** What a reviewer decided on the context's agent at the level, if it is active. */
export function findReviewDecision(
  { services, call, agentId, nowMs }: VerdictContext,
  level: ReviewLevel,
): ActiveReviewDecision | undefined {
  return services.reviews.findActiveDecision(call.principal.tenant, agentId, level, nowMs);
}

/** Whether the ruling is a review decision, which holds for one call: no cache may keep it. */
export function isReviewRuling(ruling: Ruling): boolean {
  return ruling === OVERTURNED || ruling === UPHELD;
}

/** Index of the connection's decision after a review decision, which replaces only `escalate`. */
export function applyReviewToDecision(context: VerdictContext): number {
  const { decisionIndex } = context.connection;
  if (decisionIndex !== DECISION.escalate || isReservedAgent(context.agentId)) return decisionIndex;
  const decided = findReviewDecision(context, "connect");
  if (decided === undefined) return decisionIndex;
  if (decided.decision === "upheld") return DECISION.refuse;
  return context.stakes <= decided.stakesMax ? DECISION.connect : DECISION.escalate;
}

/** The code of a review decision that replaced an `escalate`; empty for any other. */
export function selectReviewCode(measuredIndex: number, decisionIndex: number): ReviewCode | "" {
  if (measuredIndex !== DECISION.escalate || decisionIndex === DECISION.escalate) return "";
  return decisionIndex === DECISION.refuse ? "REVIEW_UPHELD" : "REVIEW_OVERTURNED";
}

/** Whether a code is a reviewer's. */
export function isReviewCode(code: string): code is ReviewCode {
  return code === "REVIEW_OVERTURNED" || code === "REVIEW_UPHELD";
}

/** Index of a logged leg's decision after the review decision in its record. */
export function applyLoggedReviewReason(decisionIndex: number, logReason: string | null): number {
  if (decisionIndex !== DECISION.escalate) return decisionIndex;
  if (logReason === UPHELD.logReason) return DECISION.refuse;
  return logReason === OVERTURNED.logReason ? DECISION.connect : DECISION.escalate;
}

/**
 * Counts a verify that requires a review; undefined where none can help: the level in `context.rules` is not
 * enforced, or something that no reviewer could overturn denies, too.
 */
export function countReviewCall(
  context: VerdictContext,
  ruling: Ruling,
): ReviewPointer | undefined {
  const { call, rules, agentId: agent } = context;
  if (call.principal.isShadow || rules.level.shadow || !canOnlyRecordDeny(rules)) return undefined;
  return countWithheldCall(context, { agent, level: rules.toolLevel, reason: ruling.logReason });
}

/** Counts a leg that requires a review, and adds the pointer to it. The response must be enforced. */
export function countReviewLeg(context: VerdictContext, leg: Leg): void {
  if (leg.decision !== "escalate") return;
  const reason = leg.reason_codes[0] ?? "BASE_RATE";
  const review = countWithheldCall(context, { agent: leg.subject, level: "connect", reason });
  if (review !== undefined) leg.review = review;
}

function countWithheldCall(
  { services, call, stakes, nowMs }: VerdictContext,
  withheld: Pick<WithheldCall, "agent" | "level" | "reason">,
): ReviewPointer | undefined {
  const { principal, requestId } = call;
  const id = services.reviews.countCall(
    { tenant: principal.tenant, requestId, stakes, ...withheld },
    nowMs,
  );
  return id === "" ? undefined : { id, wait: `/v1/reviews/${id}?wait=${REVIEW_WAIT_SEC}` };
}
