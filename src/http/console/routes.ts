// Routes of the console: its page and files, the session, and the API as a session asks it. What is
// below `/console/api` is answered by the very routes below `/`, with the session's key in the place of
// `Authorization`.
import { ServiceFault } from "../../contract/faults.ts";
import { BODY_BYTES_MAX, EVIDENCE_BODY_BYTES_MAX } from "../../contract/limits.ts";
import { parseConsoleLogin } from "../../contract/parse/requests.ts";
import type { ActiveConsoleSession } from "./sessions.ts";
import { assertDecidedKey } from "../access/lag-guard.ts";
import { CONSOLE_HEADERS } from "../openapi/headers.ts";
import type { Exchange } from "../exchange.ts";
import type { Route } from "../route.ts";
import type { Reply, RequestHead } from "../server/port.ts";

// Header lines of the console's answers: what its pages may load, and who may show them.
/** Only the service's own files; no markup from strings; no framing by other pages. */
export const CONSOLE_CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** Of every answer below /console. */
export const CONSOLE_HEADER_LINES = [
  "X-Content-Type-Options",
  "nosniff",
  "Referrer-Policy",
  "no-referrer",
  "Cross-Origin-Opener-Policy",
  "same-origin",
  "Cross-Origin-Resource-Policy",
  "same-origin",
] as const;

/** Of the page itself. */
export const CONSOLE_PAGE_HEADER_LINES = [
  "Content-Security-Policy",
  CONSOLE_CONTENT_SECURITY_POLICY,
  "Permissions-Policy",
  "camera=(), microphone=(), geolocation=()",
  ...CONSOLE_HEADER_LINES,
] as const;

/** Files are named by their content. */
export const IMMUTABLE_CACHE_CONTROL = "private, max-age=31536000, immutable";

const API_PREFIX = "/console/api";
/** Longer than any route's own; that one cuts it off. */
const API_DEADLINE_MS = 180_000;
const SHARED = { access: "none", isFixedFormat: true } as const;
const SESSION_ROUTE = { ...SHARED, path: "/console/session" } as const;
const SESSION_RESPONSES = {
  200: {
    description: "The session",
    schema: "ConsoleSession",
    headers: ["Set-Cookie", ...CONSOLE_HEADERS],
  },
} as const;

const createConsoleApiRoute = (method: Route["method"]): Route => ({
  ...SHARED,
  name: `console_${method.toLowerCase()}`,
  method,
  path: `${API_PREFIX}/{path}`,
  summary: `${method} of any route of this API by the session's cookie, for the console's own page`,
  parameter: { description: "path of the route, as it is", example: "v1/keys" },
  ...(method === "GET" || method === "DELETE"
    ? {}
    : { body: { kind: "document", bytesMax: EVIDENCE_BODY_BYTES_MAX, schema: "RelayedBody" } }),
  responses: {
    200: { description: "As that route answers", mediaType: "*/*", headers: CONSOLE_HEADERS },
  },
  deadlineMs: API_DEADLINE_MS,
  isLongPoll: true,
  handle: handleConsoleApi,
});

export const CONSOLE_ROUTES: readonly Route[] = [
  {
    ...SHARED,
    name: "console_page",
    method: "GET",
    path: "/console",
    summary: "The console, for people; served under loopback names unless set otherwise",
    responses: {
      200: {
        description: "The page",
        mediaType: "text/html",
        headers: ["Content-Security-Policy", "Permissions-Policy", ...CONSOLE_HEADERS],
      },
    },
    handle: handleConsolePage,
  },
  {
    ...SHARED,
    name: "console_file",
    method: "GET",
    path: "/console/assets/{path}",
    summary: "A script or style sheet of the console, by its content",
    parameter: { description: "hash and name of the file, as the page names it" },
    responses: {
      200: {
        description: "The file",
        mediaType: ["text/javascript", "text/css", "image/svg+xml"],
        headers: CONSOLE_HEADERS,
      },
    },
    handle: handleConsoleFile,
  },
  {
    ...SESSION_ROUTE,
    name: "log_in",
    method: "POST",
    summary: "Logs in by a key or by the token of a link; sets the session's cookie",
    body: { kind: "document", bytesMax: BODY_BYTES_MAX, schema: "ConsoleLogin" },
    responses: SESSION_RESPONSES,
    handle: handleLogIn,
  },
  {
    ...SESSION_ROUTE,
    name: "read_session",
    method: "GET",
    summary: "The session of the cookie, if there is one",
    responses: {
      ...SESSION_RESPONSES,
      204: { description: "Nobody is logged in", isEmpty: true, headers: CONSOLE_HEADERS },
    },
    handle: (exchange) => {
      const session = exchange.require("console").find(exchange.head);
      return session === undefined
        ? buildNoContentReply(exchange)
        : buildSessionReply(exchange, session);
    },
  },
  {
    ...SESSION_ROUTE,
    name: "log_out",
    method: "DELETE",
    summary: "Ends the session",
    responses: {
      204: {
        description: "It is over",
        isEmpty: true,
        headers: ["Set-Cookie", ...CONSOLE_HEADERS],
      },
    },
    handle: handleLogOut,
  },
  ...(["GET", "POST", "PUT", "PATCH", "DELETE"] as const).map(createConsoleApiRoute),
];

async function handleConsolePage(exchange: Exchange): Promise<Reply> {
  const door = exchange.require("console");
  door.checkHost(exchange.head);
  const reply = exchange.text(200, "text/html; charset=utf-8", await door.assets.document());
  return { ...reply, headers: [...reply.headers, ...CONSOLE_PAGE_HEADER_LINES] };
}

async function handleConsoleFile(exchange: Exchange): Promise<Reply> {
  const door = exchange.require("console");
  door.checkHost(exchange.head);
  const asset = await door.assets.find(exchange.parameter);
  if (asset === undefined) throw new ServiceFault("not_found", "no file has this name");
  const { mediaType, body } = asset;
  const kept = ["Content-Type", mediaType, "Cache-Control", IMMUTABLE_CACHE_CONTROL];
  return {
    status: 200,
    headers: [...kept, "X-Request-Id", exchange.echoedId, ...CONSOLE_HEADER_LINES],
    body,
  };
}

function handleLogIn(exchange: Exchange): Reply {
  const door = exchange.require("console");
  const { head } = exchange;
  // Before the body is looked at: elsewhere there is nothing to be told about it.
  door.checkHost(head);
  door.checkSite(head);
  const given = parseConsoleLogin(exchange.readDocument());
  assertDecidedKey(exchange.services, given.key && `Bearer ${given.key}`);
  const { cookie, session } = door.logIn(head, given);
  const reply = buildSessionReply(exchange, session);
  return { ...reply, headers: [...reply.headers, "Set-Cookie", cookie] };
}

function handleLogOut(exchange: Exchange): Reply {
  const door = exchange.require("console");
  door.admit(exchange.head);
  return buildNoContentReply(exchange, "Set-Cookie", door.logOut(exchange.head));
}

function buildNoContentReply(exchange: Exchange, ...lines: string[]): Reply {
  const headers = [...lines, "Cache-Control", "no-store", "X-Request-Id", exchange.echoedId];
  return { status: 204, headers: [...headers, ...CONSOLE_HEADER_LINES], body: "" };
}

function buildSessionReply(
  exchange: Exchange,
  { csrf, principal, endsAtMs, shortId }: ActiveConsoleSession,
): Reply {
  const reply = exchange.document(200, {
    csrf,
    session: shortId,
    key_id: principal.keyId,
    tenant: principal.tenant,
    scopes: [...principal.scopes].toSorted(),
    ends_at: new Date(endsAtMs).toISOString(),
    version: exchange.services.version,
    unit_of_account: exchange.require("console").unitOfAccount,
  });
  return { ...reply, headers: [...reply.headers, ...CONSOLE_HEADER_LINES] };
}

/** The same request without the prefix, asked by the session's key. */
async function handleConsoleApi(exchange: Exchange): Promise<Reply> {
  const { head, services, body } = exchange;
  const { principal } = exchange.require("console").admit(head);
  const path = head.path.slice(API_PREFIX.length);
  if (path.startsWith("/console")) throw new ServiceFault("not_found", "no route has this path");
  const asked: RequestHead = {
    method: head.method,
    path,
    query: head.query,
    authorization: undefined,
    contentType: head.contentType,
    contentEncoding: head.contentEncoding,
    accept: head.accept,
    requestId: head.requestId,
    traceparent: head.traceparent,
    deadlineMs: head.deadlineMs,
    idempotencyKey: head.idempotencyKey,
    signature: undefined,
    wantsTiming: false,
    host: head.host,
    forwarded: undefined,
    peerAddress: exchange.peerAddress(),
  };
  const reply = await services.askAs(principal, asked, body, exchange.requestId);
  // A lent body and raw lines are valid until the next reply is made: it may come before this one is sent.
  const { status, stream } = reply;
  const headers = [...reply.headers, ...CONSOLE_HEADER_LINES];
  if (stream !== undefined) return { status, headers, body: "", stream };
  return { status, headers, body: reply.lentBody ? Buffer.from(reply.lentBody()) : reply.body };
}
