// Validates replies. A verdict with an unknown word, a member of the wrong type, another agent's
// name or a contradiction in itself is no verdict: it is refused here, before any gate sees it.
import type {
  CheckRequest,
  CheckResponse,
  HandshakeRequest,
  HandshakeResponse,
  Leg,
  OutcomeReceipt,
  Problem,
  VerifyResponse,
} from "./messages.ts";
import { DECISIONS, RISK_LEVELS, TOOL_LEVELS, VERDICTS } from "../contract/vocabulary.ts";
import { REVIEW_DECISIONS, REVIEW_STATES } from "../contract/vocabulary.ts";
import { TrustRankError } from "./errors.ts";
import type { Review } from "./review.ts";
import { createMalformedReplyError } from "./transport.ts";

type Members = Record<string, unknown>;

/** SPEC §3: a connection opens up to here in DECISIONS; `escalate` waits, `refuse` never opens. */
const OPEN_DECISION_INDEX_MAX = DECISIONS.indexOf("connect_with_verification");

/**
 * The verdict of a check.
 * @throws TrustRankError `malformed_reply`.
 */
export function readCheck(value: unknown, request: CheckRequest): CheckResponse {
  const members = requireObject(value, "the verdict");
  const index = parseLegDecisionIndex(members, request.subject);
  assertMemberEquals(members, "stakes", request.stakes);
  if (members["allowed"] !== index <= OPEN_DECISION_INDEX_MAX) {
    throw createMalformedReplyError("`allowed` does not follow from `decision`");
  }
  fillEnforced(members);
  assertVerdictStamp(members);
  return value as CheckResponse;
}

/**
 * The verdict of a handshake.
 * @throws TrustRankError `malformed_reply`.
 */
export function readHandshake(value: unknown, request: HandshakeRequest): HandshakeResponse {
  const members = requireObject(value, "the verdict");
  assertMemberEquals(members, "initiator", request.initiator);
  assertMemberEquals(members, "counterparty", request.counterparty);
  assertMemberEquals(members, "stakes", request.stakes);
  const forward = parseLegDecisionIndex(
    requireObject(members["a_to_b"], "`a_to_b`"),
    request.counterparty,
  );
  const backward = parseLegDecisionIndex(
    requireObject(members["b_to_a"], "`b_to_a`"),
    request.initiator,
  );
  const index = requireWordIndex(members, "decision", DECISIONS);
  // SPEC §2.5 rule 1, checked again on this side: the most restrictive leg wins.
  if (index !== Math.max(forward, backward)) {
    throw createMalformedReplyError("`decision` is not the most restrictive of the legs");
  }
  if (members["connected"] !== index <= OPEN_DECISION_INDEX_MAX) {
    throw createMalformedReplyError("`connected` does not follow from `decision`");
  }
  assertTextListMember(members, "reasons");
  fillEnforced(members);
  assertVerdictStamp(members);
  return value as HandshakeResponse;
}

/**
 * The verdict on an action.
 * @throws TrustRankError `malformed_reply`.
 */
export function readVerify(value: unknown): VerifyResponse {
  const members = requireObject(value, "the verdict");
  const policy = requireObject(members["policy_action"], "`policy_action`");
  requireWordIndex(policy, "verdict", VERDICTS);
  requireTextMember(policy, "log_reason");
  const trust = requireObject(members["trust_evaluation"], "`trust_evaluation`");
  requireWordIndex(trust, "risk_level", RISK_LEVELS);
  assertNumberMember(trust, "score");
  if (typeof trust["threshold_met"] !== "boolean")
    throw createMemberTypeError("threshold_met", "a boolean");
  const provenance = requireObject(members["provenance_data"], "`provenance_data`");
  requireTextMember(provenance, "reason");
  assertTextListMember(members, "reason_codes");
  if (typeof members["enforced"] !== "boolean")
    throw createMemberTypeError("enforced", "a boolean");
  assertVerdictStamp(members);
  if (members["levels"] !== undefined)
    assertLevelVerdicts(requireObject(members["levels"], "`levels`"));
  return value as VerifyResponse;
}

function assertLevelVerdicts(levels: Members): void {
  for (const name of TOOL_LEVELS) {
    if (levels[name] === undefined) continue;
    const level = requireObject(levels[name], `\`levels.${name}\``);
    requireWordIndex(level, "verdict", VERDICTS);
    requireTextMember(level, "log_reason");
    assertTextListMember(level, "reason_codes");
    assertNumberMember(level, "holds_from");
    for (const bound of ["max_stakes", "holds_to"])
      if (level[bound] !== null) assertNumberMember(level, bound);
    for (const flag of ["threshold_met", "enforced"]) {
      if (typeof level[flag] !== "boolean") throw createMemberTypeError(flag, "a boolean");
    }
  }
}

/**
 * A review of the queue.
 * @throws TrustRankError `malformed_reply`.
 */
export function readReview(value: unknown, id: string): Review {
  const members = requireObject(value, "the review");
  assertMemberEquals(members, "id", id);
  requireWordIndex(members, "state", REVIEW_STATES);
  requireTextMember(members, "agent");
  const isDecided = members["state"] === "decided";
  if (isDecided) requireWordIndex(members, "decision", REVIEW_DECISIONS);
  else if (members["decision"] !== null)
    throw createMalformedReplyError("`decision` is not of this state");
  return value as Review;
}

/** One result of a batch: the verdict, or the problem of that item alone. */
export type VerifyBatchItem =
  | { readonly verdict: VerifyResponse; readonly problem?: never }
  | { readonly problem: Problem; readonly verdict?: never };

/**
 * Exactly `count` items in the order of the requests.
 * @throws TrustRankError `malformed_reply`.
 */
export function readVerifyBatch(value: unknown, count: number): VerifyBatchItem[] {
  const { items } = requireObject(value, "the reply");
  if (!Array.isArray(items) || items.length !== count) {
    throw createMalformedReplyError(`\`items\` does not hold ${count} results`);
  }
  return items.map((entry) => {
    const item = requireObject(entry, "an item");
    if (item["status"] === 200) return { verdict: readVerify(item["result"]) };
    const problem = requireObject(item["problem"], "`problem`");
    requireTextMember(problem, "code");
    return { problem: problem as unknown as Problem };
  });
}

/**
 * The receipt of an outcome.
 * @throws TrustRankError `malformed_reply`.
 */
export function readReceipt(value: unknown): OutcomeReceipt {
  const members = requireObject(value, "the receipt");
  requireTextMember(members, "outcome_id");
  if (typeof members["duplicate"] !== "boolean")
    throw createMemberTypeError("duplicate", "a boolean");
  return value as OutcomeReceipt;
}

/**
 * The service's name in signatures.
 * @throws TrustRankError `not_found` when it has none.
 */
export function readServiceId(value: unknown): string {
  const { service_id: id } = requireObject(value, "the health report");
  if (id === undefined) throw new TrustRankError("not_found", "the service takes no signatures");
  if (typeof id !== "string") throw createMemberTypeError("service_id", "a string");
  return id;
}

/** Services of older versions name no shadow mode: they enforce. */
function fillEnforced(members: Members): void {
  members["enforced"] ??= true;
  if (typeof members["enforced"] !== "boolean")
    throw createMemberTypeError("enforced", "a boolean");
}

/** True when the leg or verdict lets the call proceed; for verdicts already read. */
export function isOpenDecision(verdict: Pick<Leg, "decision">): boolean {
  return DECISIONS.indexOf(verdict.decision) <= OPEN_DECISION_INDEX_MAX;
}

/** Whether a verdict is answered in shadow mode; one that does not say so is enforced. */
export function isShadowVerdict({ enforced = true }: { readonly enforced?: boolean }): boolean {
  return !enforced;
}

/** Whether a check holds nothing back: it opens the connection, or is answered in shadow mode. */
export function isCallAllowed(
  verdict: Pick<CheckResponse | HandshakeResponse, "decision" | "enforced">,
): boolean {
  return isOpenDecision(verdict) || isShadowVerdict(verdict);
}

/** Index into DECISIONS. */
function parseLegDecisionIndex(members: Members, subject: string): number {
  assertMemberEquals(members, "subject", subject);
  assertNumberMember(members, "effective_score");
  assertTextListMember(members, "reasons");
  const stakesMax = members["max_stakes"];
  if (stakesMax !== null) assertNumberMember(members, "max_stakes");
  return requireWordIndex(members, "decision", DECISIONS);
}

function assertVerdictStamp(members: Members): void {
  requireTextMember(members, "request_id");
  const evaluated = Date.parse(requireTextMember(members, "evaluated_at"));
  const expires = Date.parse(requireTextMember(members, "expires_at"));
  if (!(expires >= evaluated))
    throw createMalformedReplyError("the verdict expires before it was made");
}

function requireObject(value: unknown, name: string): Members {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Members;
  throw createMalformedReplyError(`${name} is not an object`);
}

function assertMemberEquals(members: Members, name: string, expected: string | number): void {
  if (members[name] !== expected)
    throw createMalformedReplyError(`\`${name}\` is not what was asked about`);
}

function requireTextMember(members: Members, name: string): string {
  const value = members[name];
  if (typeof value !== "string") throw createMemberTypeError(name, "a string");
  return value;
}

function assertTextListMember(members: Members, name: string): void {
  const value = members[name];
  const isList = Array.isArray(value) && value.every((item) => typeof item === "string");
  if (!isList) throw createMemberTypeError(name, "a list of strings");
}

function assertNumberMember(members: Members, name: string): void {
  if (!Number.isFinite(members[name])) throw createMemberTypeError(name, "a number");
}

function requireWordIndex(members: Members, name: string, words: readonly string[]): number {
  const index = words.indexOf(members[name] as string);
  if (index < 0) throw createMalformedReplyError(`\`${name}\` is no word of the contract`);
  return index;
}

function createMemberTypeError(name: string, type: string): Error {
  return createMalformedReplyError(`\`${name}\` is not ${type}`);
}
