// Envoy's check request as the head of `GET /v1/gateway/authorize`, so that key, limits, deadline and verdict are
// the same as over HTTP. Sources in order of trust: the operator (call metadata, route extensions), Envoy (method,
// certificate); never the end client.
import type { RequestHead } from "../server/port.ts";
import { parseAgentFromUri, type CallerSource } from "./caller.ts";
import type { EnvoyCheckRequest } from "./messages.ts";

export const GATEWAY_AUTHORIZE_PATH = "/v1/gateway/authorize";
/** What a route's `context_extensions` may set; they win over the call's metadata. */
const EXTENSION_PARAMETERS = [
  "tool_level",
  "action",
  "stakes",
  "resource",
  "challenge",
  "acr_values",
  "max_age",
];
/** Metadata in the place of a query: set for the whole filter, by `initial_metadata`. */
const METADATA_BY_PARAMETER: Readonly<Record<string, string>> = {
  challenge: "x-trust-challenge",
  acr_values: "x-trust-acr-values",
  max_age: "x-trust-max-age",
};
const FORWARDED_METADATA = [
  "x-trust-tool-level",
  "x-trust-action",
  "x-trust-stakes",
  "x-trust-session-sec",
];
const DEADLINE_MS_MAX = 9_999_999;

/** One call, apart from the package that received it. */
export interface EnvoyCheckCall {
  readonly request: EnvoyCheckRequest;
  /** Values of the call's metadata by lower-case name. */
  readonly metadata: (name: string) => readonly string[];
  /** Milliseconds until the caller gives up; infinite without a deadline. */
  readonly remainingMs: number;
}

/** The head to ask by. It never throws: what is missing or wrong is the route's to refuse. */
export function buildRequestHead(question: EnvoyCheckCall, source: CallerSource): RequestHead {
  const { request, remainingMs } = question;
  // Repeated metadata comes as one text that no parser takes for a value.
  const metadata = (name: string) => question.metadata(name).join(", ") || undefined;
  const http = request.attributes?.request?.http;
  return {
    method: "GET",
    path: GATEWAY_AUTHORIZE_PATH,
    query: buildGatewayQuery(request, metadata),
    authorization: metadata("authorization"),
    contentType: undefined,
    contentEncoding: undefined,
    accept: undefined,
    requestId: metadata("x-request-id") ?? readOwnValue(http?.headers, "x-request-id"),
    traceparent: metadata("traceparent") ?? readOwnValue(http?.headers, "traceparent"),
    deadlineMs: formatDeadlineMs(remainingMs),
    idempotencyKey: undefined,
    signature: undefined,
    wantsTiming: false,
    host: undefined,
    forwarded: selectForwardedHeaders(request, metadata, source),
  };
}

function buildGatewayQuery(
  request: EnvoyCheckRequest,
  metadata: (name: string) => string | undefined,
): string {
  const query = new URLSearchParams({ profile: "envoy" });
  for (const name of EXTENSION_PARAMETERS) {
    const header = METADATA_BY_PARAMETER[name];
    const value =
      readOwnValue(request.attributes?.contextExtensions, name) ??
      (header === undefined ? undefined : metadata(header));
    if (value !== undefined) query.set(name, value);
  }
  return query.toString();
}

function selectForwardedHeaders(
  request: EnvoyCheckRequest,
  metadata: (name: string) => string | undefined,
  source: CallerSource,
): ReadonlyMap<string, string> {
  const forwarded = new Map<string, string>();
  const set = (name: string, value: string | undefined) => {
    if (value !== undefined && value !== "") forwarded.set(name, value);
  };
  for (const name of FORWARDED_METADATA) set(name, metadata(name));
  const http = request.attributes?.request?.http;
  set("x-forwarded-method", http?.method);
  const name =
    source.header === undefined
      ? request.attributes?.source?.principal
      : readOwnValue(http?.headers, source.header);
  set("x-trust-agent-id", parseAgentFromUri(name ?? ""));
  return forwarded;
}

function formatDeadlineMs(remainingMs: number): string | undefined {
  if (remainingMs === Number.POSITIVE_INFINITY) return undefined;
  return String(Math.min(Math.max(0, Math.floor(remainingMs)), DEADLINE_MS_MAX));
}

/** A map's own value: its keys are the sender's. */
function readOwnValue(map: Readonly<Record<string, string>> | undefined, key: string) {
  return map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined;
}
