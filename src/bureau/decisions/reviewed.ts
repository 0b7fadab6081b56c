// Decisions of people, put into rulings and decisions; and calls that wait for a person counted
// towards a review. What beats what: a verdict that lets through is nobody's affair; a block (fraud
// flag, revoked key, refusal) stands whatever people say; so do broken provenance and the minimum of
// the key, which a review is not about. Hot path: a ruling that lets through returns at once.
import { isReservedAgent } from "../../contract/identifiers.ts";
import type { Leg, ReviewPointer, VerifyRequest } from "../../contract/schemas/scores.ts";
import type { AgentScore } from "../../engine/reading.ts";
import type { ReviewCode, ToolLevel } from "../../contract/vocabulary.ts";
import { DECISIONS, VERDICTS } from "../../contract/vocabulary.ts";
import { isReviewRequired, OVERTURNED, type Ruling, UPHELD } from "../../policy/rules.ts";
import type { CallContext } from "../bureau.ts";
import type { ActiveReviewDecision } from "../reviews/desk.ts";
import type { BureauServices } from "../services.ts";
import { isOnlyRecordInQuestion } from "./level-ruling.ts";
import type { ProvenanceFinding } from "./provenance.ts";

const BLOCK = VERDICTS.indexOf("BLOCK");
const CONNECT = DECISIONS.indexOf("connect");
const ESCALATE = DECISIONS.indexOf("escalate");
const REFUSE = DECISIONS.indexOf("refuse");
/** Seconds that the path of an answer asks its caller to wait. */
const REVIEW_WAIT_SEC = 30;

/**
 * A ruling after what people have decided: what is overturned is let through, up to the stakes they
 * named; what is upheld is blocked where a person would have been asked again.
 */
export function applyReviewToRuling(
  services: BureauServices,
  { agent_id: agentId, stakes = 0 }: VerifyRequest,
  { principal }: CallContext,
  toolLevel: ToolLevel,
  reading: AgentScore,
  finding: ProvenanceFinding,
  ruling: Ruling,
): Ruling {
  if (ruling.verdictIndex === 0 || ruling.verdictIndex === BLOCK) return ruling;
  const decided = services.reviews.findActiveDecision(
    principal.tenant,
    agentId,
    toolLevel,
    services.nowMs,
  );
  if (decided === undefined) return ruling;
  const active = services.policies.findActivePolicy(principal.tenant);
  if (!isOnlyRecordInQuestion(active, principal, toolLevel, reading, finding)) return ruling;
  if (decided.decision === "upheld") {
    return isReviewRequired(ruling, active.policy.levels[toolLevel], reading) ? UPHELD : ruling;
  }
  return stakes <= decided.stakesMax ? OVERTURNED : ruling;
}

/** Whether a person's decision made the ruling: it holds for one call, no cache may keep it. */
export function isReviewRuling(ruling: Ruling): boolean {
  return ruling === OVERTURNED || ruling === UPHELD;
}

/** What a person's decision makes of a decision of the engine: only `escalate` waits for a person. */
export function applyReviewToDecision(
  services: BureauServices,
  call: CallContext,
  subject: string,
  { decisionIndex }: AgentScore,
  stakes: number,
): number {
  if (decisionIndex !== ESCALATE || isReservedAgent(subject)) return decisionIndex;
  const { tenant } = call.principal;
  const decided = services.reviews.findActiveDecision(tenant, subject, "connect", services.nowMs);
  return decided === undefined ? decisionIndex : applyReviewToEscalation(decided, stakes);
}

function applyReviewToEscalation(
  { decision, stakesMax }: ActiveReviewDecision,
  stakes: number,
): number {
  if (decision === "upheld") return REFUSE;
  return stakes <= stakesMax ? CONNECT : ESCALATE;
}

/** The code of a decision that a person made of an `escalate`; empty for any other. */
export function selectReviewCode(measuredIndex: number, decisionIndex: number): ReviewCode | "" {
  if (measuredIndex !== ESCALATE || decisionIndex === ESCALATE) return "";
  return decisionIndex === REFUSE ? "REVIEW_UPHELD" : "REVIEW_OVERTURNED";
}

/** The decision of a leg as it was logged, after what the record says a person made of it. */
export function applyLoggedReviewReason(decisionIndex: number, logReason: string | null): number {
  if (decisionIndex !== ESCALATE) return decisionIndex;
  if (logReason === UPHELD.logReason) return REFUSE;
  return logReason === OVERTURNED.logReason ? CONNECT : ESCALATE;
}

/**
 * Counts a verify whose ruling asks a person; undefined where none is asked: the answer is not
 * enforced, or what else is wrong no person could overturn.
 */
export function countReviewCall(
  services: BureauServices,
  { agent_id: agent, tool_level: level, stakes = 0 }: VerifyRequest,
  { principal, requestId }: CallContext,
  reading: AgentScore,
  finding: ProvenanceFinding,
  ruling: Ruling,
): ReviewPointer | undefined {
  const { tenant } = principal;
  const active = services.policies.findActivePolicy(tenant);
  if (principal.isShadow || active.policy.levels[level].shadow) return undefined;
  if (!isOnlyRecordInQuestion(active, principal, level, reading, finding)) return undefined;
  const held = { tenant, agent, level, requestId, stakes };
  return buildReviewPointer(
    services.reviews.countCall({ ...held, reason: ruling.logReason }, services.nowMs),
  );
}

/** Counts a leg that waits for a person; the leg says where. The answer must be enforced. */
export function countReviewLeg(
  services: BureauServices,
  { principal, requestId }: CallContext,
  leg: Leg,
  stakes: number,
): void {
  if (leg.decision !== "escalate") return;
  const { tenant } = principal;
  const held = { tenant, agent: leg.subject, level: "connect", requestId, stakes } as const;
  const call = { ...held, reason: leg.reason_codes[0] ?? "BASE_RATE" };
  const review = buildReviewPointer(services.reviews.countCall(call, services.nowMs));
  if (review !== undefined) leg.review = review;
}

function buildReviewPointer(id: string): ReviewPointer | undefined {
  return id === "" ? undefined : { id, wait: `/v1/reviews/${id}?wait=${REVIEW_WAIT_SEC}` };
}
