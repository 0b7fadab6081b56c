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
import { malformed } from "./transport.ts";

type Members = Record<string, unknown>;

/** SPEC §3: a connection opens up to here in DECISIONS; `escalate` waits, `refuse` never opens. */
const OPEN_MAX = DECISIONS.indexOf("connect_with_verification");

/**
 * The verdict of a check.
 * @throws TrustRankError `malformed_reply`.
 */
export function readCheck(value: unknown, request: CheckRequest): CheckResponse {
  const members = requireObject(value, "the verdict");
  const index = readLeg(members, request.subject);
  same(members, "stakes", request.stakes);
  if (members["allowed"] !== index <= OPEN_MAX) {
    throw malformed("`allowed` does not follow from `decision`");
  }
  readEnforced(members);
  readStamp(members);
  return value as CheckResponse;
}

/**
 * The verdict of a handshake.
 * @throws TrustRankError `malformed_reply`.
 */
export function readHandshake(value: unknown, request: HandshakeRequest): HandshakeResponse {
  const members = requireObject(value, "the verdict");
  same(members, "initiator", request.initiator);
  same(members, "counterparty", request.counterparty);
  same(members, "stakes", request.stakes);
  const forward = readLeg(requireObject(members["a_to_b"], "`a_to_b`"), request.counterparty);
  const backward = readLeg(requireObject(members["b_to_a"], "`b_to_a`"), request.initiator);
  const index = wordIndex(members, "decision", DECISIONS);
  // SPEC §2.5 rule 1, checked again on this side: the most restrictive leg wins.
  if (index !== Math.max(forward, backward)) {
    throw malformed("`decision` is not the most restrictive of the legs");
  }
  if (members["connected"] !== index <= OPEN_MAX) {
    throw malformed("`connected` does not follow from `decision`");
  }
  texts(members, "reasons");
  readEnforced(members);
  readStamp(members);
  return value as HandshakeResponse;
}

/**
 * The verdict on an action.
 * @throws TrustRankError `malformed_reply`.
 */
export function readVerify(value: unknown): VerifyResponse {
  const members = requireObject(value, "the verdict");
  const policy = requireObject(members["policy_action"], "`policy_action`");
  wordIndex(policy, "verdict", VERDICTS);
  text(policy, "log_reason");
  const trust = requireObject(members["trust_evaluation"], "`trust_evaluation`");
  wordIndex(trust, "risk_level", RISK_LEVELS);
  number(trust, "score");
  if (typeof trust["threshold_met"] !== "boolean") throw wrong("threshold_met", "a boolean");
  const provenance = requireObject(members["provenance_data"], "`provenance_data`");
  text(provenance, "reason");
  texts(members, "reason_codes");
  if (typeof members["enforced"] !== "boolean") throw wrong("enforced", "a boolean");
  readStamp(members);
  if (members["levels"] !== undefined) readLevels(requireObject(members["levels"], "`levels`"));
  return value as VerifyResponse;
}

function readLevels(levels: Members): void {
  for (const name of TOOL_LEVELS) {
    if (levels[name] === undefined) continue;
    const level = requireObject(levels[name], `\`levels.${name}\``);
    wordIndex(level, "verdict", VERDICTS);
    text(level, "log_reason");
    texts(level, "reason_codes");
    number(level, "holds_from");
    for (const bound of ["max_stakes", "holds_to"]) if (level[bound] !== null) number(level, bound);
    for (const flag of ["threshold_met", "enforced"]) {
      if (typeof level[flag] !== "boolean") throw wrong(flag, "a boolean");
    }
  }
}

/**
 * A review of the queue.
 * @throws TrustRankError `malformed_reply`.
 */
export function readReview(value: unknown, id: string): Review {
  const members = requireObject(value, "the review");
  same(members, "id", id);
  wordIndex(members, "state", REVIEW_STATES);
  text(members, "agent");
  const isDecided = members["state"] === "decided";
  if (isDecided) wordIndex(members, "decision", REVIEW_DECISIONS);
  else if (members["decision"] !== null) throw malformed("`decision` is not of this state");
  return value as Review;
}

/** One result of a batch: the verdict, or the problem of that item alone. */
export type BatchItem =
  | { readonly verdict: VerifyResponse; readonly problem?: never }
  | { readonly problem: Problem; readonly verdict?: never };

/**
 * Exactly `count` items in the order of the requests.
 * @throws TrustRankError `malformed_reply`.
 */
export function readVerifyBatch(value: unknown, count: number): BatchItem[] {
  const { items } = requireObject(value, "the reply");
  if (!Array.isArray(items) || items.length !== count) {
    throw malformed(`\`items\` does not hold ${count} results`);
  }
  return items.map((entry) => {
    const item = requireObject(entry, "an item");
    if (item["status"] === 200) return { verdict: readVerify(item["result"]) };
    const problem = requireObject(item["problem"], "`problem`");
    text(problem, "code");
    return { problem: problem as unknown as Problem };
  });
}

/**
 * The receipt of an outcome.
 * @throws TrustRankError `malformed_reply`.
 */
export function readReceipt(value: unknown): OutcomeReceipt {
  const members = requireObject(value, "the receipt");
  text(members, "outcome_id");
  if (typeof members["duplicate"] !== "boolean") throw wrong("duplicate", "a boolean");
  return value as OutcomeReceipt;
}

/**
 * The service's name in signatures.
 * @throws TrustRankError `not_found` when it has none.
 */
export function readServiceId(value: unknown): string {
  const { service_id: id } = requireObject(value, "the health report");
  if (id === undefined) throw new TrustRankError("not_found", "the service takes no signatures");
  if (typeof id !== "string") throw wrong("service_id", "a string");
  return id;
}

/** Services of older versions name no shadow mode: they enforce. */
function readEnforced(members: Members): void {
  members["enforced"] ??= true;
  if (typeof members["enforced"] !== "boolean") throw wrong("enforced", "a boolean");
}

/** True when the leg or verdict lets the call proceed; for verdicts already read. */
export function isOpen(verdict: Pick<Leg, "decision">): boolean {
  return DECISIONS.indexOf(verdict.decision) <= OPEN_MAX;
}

/** Whether a verdict is answered in shadow mode; one that does not say so is enforced. */
export function isShadow({ enforced = true }: { readonly enforced?: boolean }): boolean {
  return !enforced;
}

/** Whether a check holds nothing back: it opens the connection, or is answered in shadow mode. */
export function isLetThrough(
  verdict: Pick<CheckResponse | HandshakeResponse, "decision" | "enforced">,
): boolean {
  return isOpen(verdict) || isShadow(verdict);
}

/** Index into DECISIONS. */
function readLeg(members: Members, subject: string): number {
  same(members, "subject", subject);
  number(members, "effective_score");
  texts(members, "reasons");
  const stakesMax = members["max_stakes"];
  if (stakesMax !== null) number(members, "max_stakes");
  return wordIndex(members, "decision", DECISIONS);
}

function readStamp(members: Members): void {
  text(members, "request_id");
  const evaluated = Date.parse(text(members, "evaluated_at"));
  const expires = Date.parse(text(members, "expires_at"));
  if (!(expires >= evaluated)) throw malformed("the verdict expires before it was made");
}

function requireObject(value: unknown, name: string): Members {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Members;
  throw malformed(`${name} is not an object`);
}

function same(members: Members, name: string, expected: string | number): void {
  if (members[name] !== expected) throw malformed(`\`${name}\` is not what was asked about`);
}

function text(members: Members, name: string): string {
  const value = members[name];
  if (typeof value !== "string") throw wrong(name, "a string");
  return value;
}

function texts(members: Members, name: string): void {
  const value = members[name];
  const isList = Array.isArray(value) && value.every((item) => typeof item === "string");
  if (!isList) throw wrong(name, "a list of strings");
}

function number(members: Members, name: string): void {
  if (!Number.isFinite(members[name])) throw wrong(name, "a number");
}

function wordIndex(members: Members, name: string, words: readonly string[]): number {
  const index = words.indexOf(members[name] as string);
  if (index < 0) throw malformed(`\`${name}\` is no word of the contract`);
  return index;
}

function wrong(name: string, type: string): Error {
  return malformed(`\`${name}\` is not ${type}`);
}
