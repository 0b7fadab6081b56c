// Headers of requests and answers as the OpenAPI document describes them. A route names those that it
// reads or sends beside the common ones; the names are a type, so it cannot name one without an entry.
import { SIGNATURE_LENGTH_MAX, STAKES_MAX } from "../../contract/limits.ts";
import {
  LOG_REASONS,
  RISK_LEVELS,
  TIERS,
  TOOL_LEVELS,
  VERDICTS,
} from "../../contract/vocabulary.ts";
import { AGENT_EXAMPLE, REQUEST_ID_EXAMPLE, TIME_EXAMPLE } from "./example-values.ts";

type Json = Record<string, unknown>;

interface HeaderEntry {
  readonly description: string;
  readonly schema: Json;
  readonly example?: string | number;
}

const TEXT_SCHEMA = { type: "string" };
const COUNT_SCHEMA = { type: "integer", minimum: 0 };
const createEnumSchema = (values: readonly string[]) => ({ type: "string", enum: [...values] });
const FLAG_SCHEMA = createEnumSchema(["true", "false"]);

export const REQUEST_HEADERS = {
  "X-Request-Id": {
    description:
      "Echoed by the answer when it is 1 to 128 letters, digits or `._~:/+=@-`; `request_id` in " +
      "a body is always the service's own.",
    schema: TEXT_SCHEMA,
    example: "order-42",
  },
  "X-Deadline-Ms": {
    description: "Asks for an answer within so many milliseconds, or for a 503 at once.",
    schema: { type: "integer", minimum: 0, maximum: 9_999_999 },
    example: 100,
  },
  "X-Server-Timing": {
    description: "`1` asks for `Server-Timing`.",
    schema: createEnumSchema(["1"]),
  },
  "Idempotency-Key": {
    description:
      "Makes a report repeatable, where the body has no `id`: 1 to 128 token characters.",
    schema: TEXT_SCHEMA,
    example: "invoice-2026-0042",
  },
  "X-JWS-Signature": {
    description:
      "The reporter's signature: a detached JWS (RFC 7515, `b64: false` by RFC 7797) over the raw " +
      "bytes of the body, `<protected header>..<signature>`. Needed where the service takes only " +
      "signed outcomes; see docs/guide/signed-outcomes.md.",
    schema: {
      type: "string",
      maxLength: SIGNATURE_LENGTH_MAX,
      pattern: "^[A-Za-z0-9_-]+\\.\\.[A-Za-z0-9_-]+$",
    },
    example: "eyJhbGciOiJFZDI1NTE5In0..c2lnbmF0dXJl",
  },
  traceparent: {
    description:
      "W3C Trace Context: the trace's id stands in log lines and in the decision log; ignored when " +
      "it is not well-formed.",
    schema: TEXT_SCHEMA,
    example: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
  },
  "X-Trust-Agent-Id": {
    description: "Whom the gateway authenticated, where the query does not say it.",
    schema: TEXT_SCHEMA,
    example: AGENT_EXAMPLE,
  },
  "X-Trust-Action": {
    description: "`domain.operation`, where the query does not say it.",
    schema: TEXT_SCHEMA,
    example: "payments.transfer",
  },
  "X-Trust-Tool-Level": {
    description: "How sensitive the action is, where the query does not say it.",
    schema: createEnumSchema(TOOL_LEVELS),
  },
  "X-Trust-Stakes": {
    description: "The value at risk, where the query does not say it.",
    schema: { type: "number", minimum: 0, maximum: STAKES_MAX },
    example: 840,
  },
  "X-Trust-Session-Sec": {
    description: "Length of the session so far, whole seconds.",
    schema: COUNT_SCHEMA,
    example: 42,
  },
  "X-Forwarded-Method": {
    description: "Method of the forwarded request: the action, where nothing names one.",
    schema: TEXT_SCHEMA,
    example: "POST",
  },
  "X-Original-Method": { description: "The same, as nginx calls it.", schema: TEXT_SCHEMA },
  "X-Forwarded-Proto": {
    description: "`https` where a proxy in front of the service speaks it.",
    schema: createEnumSchema(["http", "https"]),
  },
} as const satisfies Record<string, HeaderEntry>;
export type RequestHeader = keyof typeof REQUEST_HEADERS;

export const RESPONSE_HEADERS = {
  "X-Request-Id": {
    description: "The request's own `X-Request-Id`, or the service's id of it.",
    schema: TEXT_SCHEMA,
    example: REQUEST_ID_EXAMPLE,
  },
  "Cache-Control": {
    description: "`no-store`, or for how many seconds the caller alone may keep the answer.",
    schema: TEXT_SCHEMA,
    example: "private, max-age=300",
  },
  "Server-Timing": {
    description: "Milliseconds within the service, where `X-Server-Timing: 1` asked.",
    schema: TEXT_SCHEMA,
    example: "app;dur=0.112",
  },
  RateLimit: {
    description:
      "What is left of the key's limit and in how many seconds more is; where the operator limits " +
      "the class.",
    schema: TEXT_SCHEMA,
    example: '"score";r=98;t=1',
  },
  "RateLimit-Policy": {
    description: "The limit itself: quota and window in seconds.",
    schema: TEXT_SCHEMA,
    example: '"score";q=100;w=10',
  },
  "Retry-After": {
    description: "Seconds to wait before asking again, where waiting helps.",
    schema: COUNT_SCHEMA,
    example: 1,
  },
  "WWW-Authenticate": {
    description: "How to authenticate.",
    schema: TEXT_SCHEMA,
    example: "Bearer",
  },
  "X-Trust-Lag-Ms": {
    description:
      "In a cluster: the answer was made from all that the other nodes had recorded so many " +
      "milliseconds ago, or from newer.",
    schema: COUNT_SCHEMA,
    example: 240,
  },
  Allow: {
    description: "With 405: the methods of the path.",
    schema: TEXT_SCHEMA,
    example: "GET, HEAD",
  },
  "X-Trust-Effective": {
    description: "What the gateway is to do; `allow` in shadow mode.",
    schema: createEnumSchema(["allow", "deny"]),
  },
  "X-Trust-Verdict": { description: "The verdict.", schema: createEnumSchema(VERDICTS) },
  "X-Trust-Reason": {
    description: "The rule that decided.",
    schema: createEnumSchema(LOG_REASONS),
  },
  "X-Trust-Score": {
    description: "The score, 0 to 100.",
    schema: { type: "integer", minimum: 0, maximum: 100 },
    example: 88,
  },
  "X-Trust-Tier": { description: "The tier.", schema: createEnumSchema(TIERS) },
  "X-Trust-Risk": { description: "The risk level.", schema: createEnumSchema(RISK_LEVELS) },
  "X-Trust-Enforced": { description: "`false` in shadow mode.", schema: FLAG_SCHEMA },
  "X-Trust-Request-Id": {
    description: "Id of the decision, for reviews and outcomes.",
    schema: TEXT_SCHEMA,
    example: REQUEST_ID_EXAMPLE,
  },
  "X-Trust-Flagged": {
    description: "`true` where the call is allowed and flagged for review; else left out.",
    schema: createEnumSchema(["true"]),
  },
  "X-Trust-Review": {
    description: "Id of the review that holds the call back, where it waits for a person.",
    schema: TEXT_SCHEMA,
    example: "rv_0123456789abcdef",
  },
  "X-As-Of-Position": {
    description: "Position of the journal up to which its records are in the rows.",
    schema: COUNT_SCHEMA,
    example: 184_213,
  },
  "X-As-Of-Time": {
    description: "When the rows were read.",
    schema: { type: "string", format: "date-time" },
    example: TIME_EXAMPLE,
  },
  "X-Is-Truncated": {
    description: "With CSV: `true` when there are more rows than these.",
    schema: { type: "string", enum: ["true", "false"] },
    example: "false",
  },
  "Content-Security-Policy": {
    description: "What the page may load.",
    schema: TEXT_SCHEMA,
    example: "default-src 'none'",
  },
  "Cross-Origin-Opener-Policy": {
    description: "Windows of other sites have no hold of it.",
    schema: TEXT_SCHEMA,
    example: "same-origin",
  },
  "Cross-Origin-Resource-Policy": {
    description: "No other site may load it.",
    schema: TEXT_SCHEMA,
    example: "same-origin",
  },
  "Permissions-Policy": {
    description: "What of the machine the page may use.",
    schema: TEXT_SCHEMA,
    example: "camera=()",
  },
  "Set-Cookie": {
    description: "The session, below `/console` alone; empty when it is over.",
    schema: TEXT_SCHEMA,
    example: "__Host-tr_session=...; Path=/; Secure; HttpOnly; SameSite=Strict",
  },
  "Referrer-Policy": { description: "`no-referrer`.", schema: TEXT_SCHEMA, example: "no-referrer" },
  "X-Content-Type-Options": { description: "`nosniff`.", schema: TEXT_SCHEMA, example: "nosniff" },
} as const satisfies Record<string, HeaderEntry>;
export type ResponseHeader = keyof typeof RESPONSE_HEADERS;

/** Read on every route. */
export const COMMON_REQUEST_HEADERS: readonly RequestHeader[] = [
  "X-Request-Id",
  "X-Deadline-Ms",
  "X-Server-Timing",
  "traceparent",
];
/** Sent with every answer, some only when asked for. */
export const COMMON_RESPONSE_HEADERS: readonly ResponseHeader[] = [
  "X-Request-Id",
  "Cache-Control",
  "Server-Timing",
];
export const RATE_HEADERS: readonly ResponseHeader[] = ["RateLimit", "RateLimit-Policy"];
/** Sent with every answer to a key, by a node of a cluster. */
export const CLUSTER_HEADERS: readonly ResponseHeader[] = ["X-Trust-Lag-Ms"];

/** Answers of the gateway route, let through or not. */
const GATEWAY_HEADERS: readonly ResponseHeader[] = [
  "X-Trust-Effective",
  "X-Trust-Verdict",
  "X-Trust-Reason",
  "X-Trust-Score",
  "X-Trust-Tier",
  "X-Trust-Risk",
  "X-Trust-Enforced",
  "X-Trust-Request-Id",
];
/** Of allowed requests. */
export const ALLOWED_HEADERS: readonly ResponseHeader[] = [...GATEWAY_HEADERS, "X-Trust-Flagged"];
/** Of denied requests. */
export const DENIAL_HEADERS: readonly ResponseHeader[] = [...GATEWAY_HEADERS, "X-Trust-Review"];
/** Answers that are a page for a browser. */
export const PAGE_HEADERS: readonly ResponseHeader[] = [
  "Content-Security-Policy",
  "Referrer-Policy",
  "X-Content-Type-Options",
];

/** Of everything below /console. */
export const CONSOLE_HEADERS: readonly ResponseHeader[] = [
  "X-Content-Type-Options",
  "Referrer-Policy",
  "Cross-Origin-Opener-Policy",
  "Cross-Origin-Resource-Policy",
];

/** `components.headers`. */
export function buildHeaderComponents(): Json {
  return { ...RESPONSE_HEADERS };
}

/** `components.parameters`: the headers of requests. */
export function buildHeaderParameters(): Json {
  return Object.fromEntries(
    Object.entries(REQUEST_HEADERS).map(([name, entry]) => [
      name,
      { name, in: "header", required: false, ...entry },
    ]),
  );
}

/** References to response headers by name. */
export function buildHeaderReferences(names: readonly ResponseHeader[]): Json {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
