// The one table of operating faults. A fault is a value with a code; the HTTP room turns it into
// RFC 9457 problem+json in one place. A low score is never a fault (SPEC §7).

/** What is wrong with one member. */
export interface FieldError {
  /** RFC 6901. */
  pointer: string;
  code: FieldErrorCode;
  detail: string;
}

interface FaultKind {
  readonly status: number;
  readonly title: string;
  /** Seconds a caller should wait before trying again; sent as `Retry-After`. */
  readonly retryAfterSec?: number;
}

/** Code -> HTTP status and title. Codes are stable; details may change wording. */
export const FAULTS = {
  malformed_body: { status: 400, title: "body is not well-formed" },
  invalid_request: { status: 400, title: "request has invalid members" },
  invalid_parameter: { status: 400, title: "path or query parameter is invalid" },
  invalid_framing: { status: 400, title: "request framing is not acceptable" },
  attestation_malformed: { status: 400, title: "the attestation is not well-formed" },
  attestation_mismatch: { status: 400, title: "the attestation is about something else" },
  attestation_key_refused: { status: 400, title: "the key may not attest this outcome" },
  attestation_stale: { status: 400, title: "attested too long ago, or in the future" },
  attestation_invalid: { status: 400, title: "the attestation proves nothing" },
  unauthenticated: { status: 401, title: "a valid API key is required" },
  insufficient_scope: { status: 403, title: "the key lacks the scope for this route" },
  cross_site: { status: 403, title: "the request did not come from the console's own page" },
  signature_required: { status: 403, title: "the outcome must be signed by its reporter" },
  namespace_not_owned: { status: 403, title: "the namespace is not the tenant's" },
  not_found: { status: 404, title: "no such resource" },
  method_not_allowed: { status: 405, title: "the route does not take this method" },
  not_acceptable: { status: 406, title: "no acceptable representation" },
  idempotency_conflict: { status: 409, title: "the id was used with another body" },
  signature_replayed: { status: 409, title: "the signed id was used with another body" },
  namespace_conflict: { status: 409, title: "the namespace has another owner" },
  key_conflict: { status: 409, title: "the key belongs to another agent" },
  review_claimed: { status: 409, title: "another person is at the review" },
  review_decided: { status: 409, title: "the review is decided" },
  champion_changed: { status: 409, title: "other weights are live by now" },
  run_not_promotable: { status: 409, title: "the run cannot be promoted" },
  api_key_revoked: { status: 409, title: "the API key is revoked" },
  not_in_cluster: { status: 409, title: "not possible while the node is in a cluster" },
  api_key_overlaps: { status: 409, title: "too many secrets of the API key still work" },
  change_position_gone: { status: 410, title: "the position in the change feed is gone" },
  length_required: { status: 411, title: "Content-Length is required" },
  body_too_large: { status: 413, title: "body is too large" },
  unsupported_media_type: { status: 415, title: "media type is not supported" },
  host_not_known: { status: 421, title: "this host is not served here" },
  self_report: { status: 422, title: "an agent cannot report on itself" },
  outcome_in_future: { status: 422, title: "settled_at is in the future" },
  outcome_too_old: { status: 422, title: "settled_at is too old" },
  reserved_agent: { status: 422, title: "reserved test agents are not available for this" },
  signature_malformed: { status: 422, title: "the signature header is not well-formed" },
  signature_audience: { status: 422, title: "signed for another service" },
  signature_key_unknown: { status: 422, title: "no reporter key has this kid" },
  signature_key_inactive: { status: 422, title: "the key was not in force" },
  signature_key_revoked: { status: 422, title: "the key is revoked" },
  signature_key_mismatch: { status: 422, title: "the key is another agent's" },
  signature_stale: { status: 422, title: "signed too long ago, or in the future" },
  signature_invalid: { status: 422, title: "the signature does not match the body" },
  key_weak: { status: 422, title: "the public key is not acceptable" },
  key_proof_invalid: { status: 422, title: "possession of the key was not proved" },
  query_rejected: { status: 422, title: "the query was rejected" },
  backtest_running: { status: 429, title: "a back-test is under way", retryAfterSec: 2 },
  newcomers_limited: {
    status: 429,
    title: "too many new agents or pairs from this key",
    retryAfterSec: 60,
  },
  disputes_limited: {
    status: 429,
    title: "too many disputes today",
    retryAfterSec: 3600,
  },
  quota_exceeded: { status: 429, title: "the month's quota is used up", retryAfterSec: 3600 },
  rate_limited: { status: 429, title: "rate limit exceeded", retryAfterSec: 1 },
  internal: { status: 500, title: "internal error" },
  deadline_exceeded: { status: 503, title: "the deadline would be missed", retryAfterSec: 1 },
  overloaded: { status: 503, title: "the service is saturated", retryAfterSec: 1 },
  node_behind: {
    status: 503,
    title: "this node is behind its cluster",
    retryAfterSec: 5,
  },
  draining: { status: 503, title: "the service is shutting down", retryAfterSec: 5 },
  journal_unavailable: { status: 503, title: "evidence cannot be recorded now", retryAfterSec: 5 },
  store_behind: { status: 504, title: "the store has not reached the position", retryAfterSec: 1 },
  store_unavailable: { status: 503, title: "the outcome store is not available", retryAfterSec: 5 },
  webhooks_unavailable: { status: 503, title: "webhooks are not told now", retryAfterSec: 30 },
  webhooks_full: { status: 507, title: "there is no room for another webhook" },
  source_quota_exceeded: { status: 507, title: "the tenant holds as many sources as it may" },
  conditions_full: { status: 507, title: "there is no room for another condition" },
  vault_full: { status: 507, title: "the vault takes no new sources" },
  table_full: { status: 507, title: "the agent table takes no new agents" },
} as const satisfies Record<string, FaultKind>;

export type FaultCode = keyof typeof FAULTS;
export const FAULT_CODES = Object.keys(FAULTS) as FaultCode[];

/** What may be wrong with one member: its form, a limit that it met, or the fault it makes alone. */
export const FIELD_ERROR_CODES = [
  "required",
  "unknown",
  "duplicate",
  "doubled",
  "inverted",
  "mismatch",
  "depth",
  "type",
  "enum",
  "range",
  "format",
  "length",
  "timeout",
  "memory",
  "cancelled",
  "sql",
  ...FAULT_CODES,
] as const;
export type FieldErrorCode = (typeof FIELD_ERROR_CODES)[number];

/** Faults that one row of a batch or an import may have while the others are recorded. */
const OF_ONE_ROW: ReadonlySet<FaultCode> = new Set([
  "idempotency_conflict",
  "signature_replayed",
  "newcomers_limited",
  "table_full",
]);

/** Whether `thrown` is one row's own; else nothing of its batch was acknowledged. */
export function isOfOneRow(thrown: unknown): thrown is ServiceFault {
  return thrown instanceof ServiceFault && OF_ONE_ROW.has(thrown.code);
}

/** HTTP status, title and retry advice of a code. */
export function faultKind(code: FaultCode): FaultKind {
  return FAULTS[code];
}

/**
 * An operating fault: thrown at the edges, answered in one place. `detail` is one line of prose,
 * lower case, no full stop, user input in backticks. Never holds secrets or the whole body.
 */
export class ServiceFault extends Error {
  readonly code: FaultCode;
  readonly detail: string;
  readonly errors: readonly FieldError[];
  /** Seconds to wait before trying again, where it is not always the same for the code. */
  readonly retryAfterSec: number | undefined;

  constructor(
    code: FaultCode,
    detail: string,
    errors: readonly FieldError[] = [],
    retryAfterSec?: number,
  ) {
    // No stack: a fault is an answer, and a sender of faulty rows would have thousands of stacks walked.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(`${code}: ${detail}`);
    Error.stackTraceLimit = stackTraceLimit;
    this.name = "ServiceFault";
    this.code = code;
    this.detail = detail;
    this.errors = errors;
    this.retryAfterSec = retryAfterSec;
  }
}

/** The fault that reports `errors`, of which there is one at least. */
export function invalidRequest(errors: readonly FieldError[]): ServiceFault {
  const first = errors[0] as FieldError;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  const where = first.pointer === "" ? "the body" : `\`${first.pointer}\``;
  return new ServiceFault("invalid_request", `${where}: ${first.detail}${more}`, errors);
}
