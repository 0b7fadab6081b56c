// Replies and problems: the one place where a fault becomes RFC 9457 problem+json, and the header
// lines that replies share. Values put into headers are validated where they enter (tokens,
// numbers, constants), so no reply can be split.
import { faultKind, ServiceFault } from "../../contract/faults.ts";
import type { Problem } from "../../contract/schemas/service.ts";
import { encodeMsgpack } from "./msgpack.ts";
import { type WireFormat, MEDIA_TYPES } from "./negotiation.ts";
import type { Reply } from "../server/port.ts";

/** SPEC §7 leaves error bodies open: types are stable URNs, one per code of the fault table. */
const PROBLEM_TYPE_PREFIX = "urn:trustrank:problem:";
export const PROBLEM_MEDIA_TYPE = "application/problem+json";
const NO_STORE = "no-store";

const INSTANCE_LENGTH_MAX = 512;
/** A detail repeats names of members, which are the caller's and may hold anything. */
// oxlint-disable-next-line no-control-regex
const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;
const UNSAFE_IN_PATH = /[^\x21-\x7e]/g;

/** The members of a problem, ready to be serialised or embedded in a batch item. */
export function buildProblem(
  { code, detail, errors }: Pick<ServiceFault, "code" | "detail" | "errors">,
  path: string,
  requestId: string,
): Problem {
  const { status, title } = faultKind(code);
  const problem: Problem = {
    type: PROBLEM_TYPE_PREFIX + code,
    title,
    status,
    detail: detail.replaceAll(CONTROL_CHARACTERS, "?"),
    instance: path.slice(0, INSTANCE_LENGTH_MAX).replaceAll(UNSAFE_IN_PATH, "?"),
    code,
    request_id: requestId,
  };
  if (errors.length > 0) problem.errors = [...errors];
  return problem;
}

/** Ids of a request: its own, and the one its reply's header echoes. */
export interface RequestIdPair {
  readonly requestId: string;
  readonly echoedId: string;
}

/** The one conversion from fault to reply. */
export function buildFaultReply(
  fault: ServiceFault,
  path: string,
  { requestId, echoedId }: RequestIdPair,
): Reply {
  const kind: { status: number; retryAfterSec?: number } = faultKind(fault.code);
  const headers = [
    "Content-Type",
    PROBLEM_MEDIA_TYPE,
    "Cache-Control",
    NO_STORE,
    "X-Request-Id",
    echoedId,
  ];
  const retryAfterSec = fault.retryAfterSec ?? kind.retryAfterSec;
  if (retryAfterSec !== undefined) headers.push("Retry-After", String(retryAfterSec));
  if (fault.code === "unauthenticated") headers.push("WWW-Authenticate", "Bearer");
  const problem = buildProblem(fault, path, requestId);
  return { status: kind.status, headers, body: JSON.stringify(problem) };
}

/** A reply with `no-store`, in the caller's format. */
export function buildDocumentReply(
  status: number,
  value: unknown,
  format: WireFormat,
  echoedId: string,
): Reply {
  const body = format === "json" ? JSON.stringify(value) : encodeMsgpack(value);
  return buildBodyReply(status, MEDIA_TYPES[format], body, echoedId);
}

/** Like `documentReply` for a body that is already text or bytes. */
export function buildBodyReply(
  status: number,
  mediaType: string,
  body: string | Uint8Array,
  echoedId: string,
): Reply {
  const headers = ["Content-Type", mediaType, "Cache-Control", NO_STORE, "X-Request-Id", echoedId];
  return { status, headers, body };
}

/** Header lines of `headers` that `extra` does not set itself (`Retry-After` of a rate limit). */
export function dropOverriddenHeaders(
  headers: readonly string[],
  extra: readonly string[] | undefined,
): string[] {
  const kept: string[] = [];
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] as string;
    if (extra === undefined || !extra.includes(name)) kept.push(name, headers[index + 1] as string);
  }
  return kept;
}
