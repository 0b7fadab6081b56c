// Errors of the client: a verdict against the call (TrustGateError) and no verdict at all
// (TrustRankError). Never one class for both: only the second is an outage.
import type { FaultCode } from "../contract/faults.ts";
import type { FieldError } from "./messages.ts";
import type { Decision } from "../contract/vocabulary.ts";

/**
 * `import` and `require` load one copy of this library each, and a dependency may bring a third:
 * an error is known by its mark, whichever copy threw it.
 */
const ERROR_BRANDS = {
  fault: Symbol.for("trustrank.TrustRankError"),
  refusal: Symbol.for("trustrank.TrustGateError"),
};

/** `instanceof` by the mark for the class itself, and as ever for a subclass. */
function isBrandedInstance(asked: unknown, marked: unknown, mark: symbol, value: unknown): boolean {
  if (asked !== marked) return Function.prototype[Symbol.hasInstance].call(asked, value);
  return typeof value === "object" && value !== null && mark in value;
}

/** Faults before the service has answered. */
export type TransportCode =
  | "timeout"
  | "aborted"
  | "unreachable"
  | "malformed_reply"
  | "unexpected_status"
  | "not_configured"
  | "invalid_argument";

export interface TrustRankErrorDetails {
  /** HTTP status of the reply; absent when none came. */
  readonly status?: number | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly requestId?: string | undefined;
  /** The offending members, when the service named them. */
  readonly errors?: readonly FieldError[] | undefined;
  readonly cause?: unknown;
}

/** There is no verdict: the network, the service, or the request itself was at fault. */
export class TrustRankError extends Error {
  static {
    Object.defineProperty(this.prototype, ERROR_BRANDS.fault, { value: true });
  }

  readonly code: TransportCode | FaultCode;
  /** HTTP status of the reply; undefined when none came. */
  readonly status: number | undefined;
  /** Pause that the service asks for, milliseconds. */
  readonly retryAfterMs: number | undefined;
  readonly requestId: string | undefined;
  readonly errors: readonly FieldError[];

  constructor(
    code: TransportCode | FaultCode,
    detail: string,
    details: TrustRankErrorDetails = {},
  ) {
    super(detail, { cause: details.cause });
    this.name = "TrustRankError";
    this.code = code;
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
    this.requestId = details.requestId;
    this.errors = details.errors ?? [];
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isBrandedInstance(this, TrustRankError, ERROR_BRANDS.fault, value);
  }

  /**
   * Whether the same request may succeed later: there was no answer, something else answered, or
   * the service cannot now. Reads of scores are better not repeated (SPEC §8.1); outcomes with an
   * `id` may be.
   */
  get isTransient(): boolean {
    if (this.code === "malformed_reply") return true;
    if (this.status !== undefined) return this.status === 429 || this.status >= 500;
    return this.code === "timeout" || this.code === "unreachable";
  }
}

/** Members of a verdict that explain a refusal. */
export interface RefusingVerdict {
  readonly decision: Decision;
  readonly reasons: readonly string[];
  readonly request_id: string;
}

/**
 * The call must not run: by the verdict, or because a callback that supplies the question threw
 * (SPEC §4.7). `response` is ready for a route: frameworks look for it on an authenticator's error.
 */
export class TrustGateError extends Error {
  static {
    Object.defineProperty(this.prototype, ERROR_BRANDS.refusal, { value: true });
  }

  /** Absent when a callback threw: no question was sent then and nothing was paid. */
  readonly verdict: RefusingVerdict | undefined;
  readonly decision: Decision;
  readonly reasons: readonly string[];
  readonly status = 403;

  /**
   * `message` also says why a callback failed, for logs; `reasons` and `response`, which callers and models
   * see, do not.
   */
  constructor(detail: string, verdict?: RefusingVerdict, cause?: unknown) {
    const hasReason = verdict === undefined && cause instanceof Error && cause.message !== "";
    super(hasReason ? `${detail}: ${cause.message}` : detail, { cause });
    this.name = "TrustGateError";
    this.verdict = verdict;
    this.decision = verdict?.decision ?? "refuse";
    this.reasons = verdict?.reasons ?? [detail];
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isBrandedInstance(this, TrustGateError, ERROR_BRANDS.refusal, value);
  }

  /** SPEC §4.8: HTTP 403 with the scored reason. A new object each time: bodies are read once. */
  get response(): Response {
    const { decision, reasons, verdict } = this;
    const body = { decision, reasons, request_id: verdict?.request_id };
    return Response.json(body, { status: this.status, headers: { "Cache-Control": "no-store" } });
  }
}

/** The error for a verdict that blocks a call. */
export function createGateError(
  agentId: string,
  verdict: { decision: Decision; reasons: string[]; request_id: string },
): TrustGateError {
  const because = verdict.reasons.length === 0 ? "" : `: ${verdict.reasons.join("; ")}`;
  return new TrustGateError(`${verdict.decision} for \`${agentId}\`${because}`, verdict);
}

/**
 * One line: the code, then the members at fault, or the detail where the service named none.
 * `nameMember` turns the JSON pointer of a member into the name that the reader knows it by.
 */
export function describeError(
  { code, message, errors }: TrustRankError,
  nameMember: (pointer: string) => string = (pointer) => pointer,
): string {
  const members = errors.map(({ pointer, detail }) =>
    pointer === "" ? detail : `${nameMember(pointer)}: ${detail}`,
  );
  return `${code}: ${members.length === 0 ? message : members.join("; ")}`;
}

/**
 * Why there is no verdict, for a person or a model. What the service refused as wrong comes with its
 * members, since the asker can correct it; of anything else only the code.
 */
export function describeMissingVerdict(error: Error): string {
  if (!(error instanceof TrustRankError)) return "no trust verdict (the policy failed)";
  const { code, status = 500 } = error;
  return `no trust verdict (${status < 500 ? describeError(error) : code})`;
}

/** Any thrown value as a TrustRankError; one that is already passes unchanged. */
export function convertToTrustRankError(thrown: unknown): TrustRankError {
  if (thrown instanceof TrustRankError) return thrown;
  const detail = thrown instanceof Error ? thrown.message : "the call failed";
  return new TrustRankError("unreachable", detail, { cause: thrown });
}
