// `/v1/gateway/authorize`: the verdict in the form for gateways that ask before they forward.
// Status and headers carry it, because nginx sees nothing else; gateways differ in their use of a
// status, and that difference is the profile. SPEC §4.9 names gateways, the mapping is ours.
import { isFlaggedVerdict } from "../../contract/flagged.ts";
import { throwInvalidParameter } from "../../contract/parse/parameters.ts";
import type { GatewayDenial, VerifyResponse } from "../../contract/schemas/scores.ts";
import { TOOL_LEVELS } from "../../contract/vocabulary.ts";
import type { Exchange } from "../exchange.ts";
import { ALLOWED_HEADERS, DENIAL_HEADERS } from "../openapi/headers.ts";
import type { Route } from "../route.ts";
import type { ForwardedHeaders, Reply } from "../server/port.ts";
import { verifyAndCount, isRequestAllowed, parseVerifyMembers } from "../metered-verify.ts";

/** Whether a denial's body reaches the end client, and is therefore worth writing. */
const PROFILES: Readonly<Record<string, { readonly hasBody: boolean }>> = {
  envoy: { hasBody: true },
  nginx: { hasBody: false },
  traefik: { hasBody: true },
  caddy: { hasBody: true },
  haproxy: { hasBody: false },
  kong: { hasBody: true },
  apisix: { hasBody: true },
};

const RESPONSES = {
  200: {
    description: "Let through; the verdict is in the headers",
    isEmpty: true,
    headers: ALLOWED_HEADERS,
  },
  401: {
    description:
      "A `CHALLENGE` where `challenge=step-up`, unless it waits for a person; `WWW-Authenticate` says which login would do (RFC 9470)",
    schema: "GatewayDenial",
    headers: DENIAL_HEADERS,
  },
  403: {
    description: "Not let through; the reason is in the headers, for nginx in them alone",
    schema: "GatewayDenial",
    headers: DENIAL_HEADERS,
  },
} as const;

const GATEWAY_REQUEST_HEADERS = [
  "X-Trust-Agent-Id",
  "X-Trust-Action",
  "X-Trust-Tool-Level",
  "X-Trust-Stakes",
  "X-Trust-Session-Sec",
  "X-Forwarded-Method",
  "X-Original-Method",
] as const;

const SHARED = {
  access: "score:read",
  rateClass: "score",
  summary: "A verdict for a gateway: status and `X-Trust-*` headers",
  responses: RESPONSES,
  requestHeaders: GATEWAY_REQUEST_HEADERS,
  isFixedFormat: true,
} as const;

const QUERY = {
  profile: {
    description: "The gateway that asks",
    isRequired: true,
    values: Object.keys(PROFILES),
  },
  agent_id: "Whom the gateway authenticated; else header `X-Trust-Agent-Id`",
  action: "`domain.operation`; else `X-Trust-Action`, else `http.` and the method",
  tool_level: {
    description:
      "How sensitive the action is; else `X-Trust-Tool-Level`; one of the two is required, unless the policy lists `actions`",
    values: TOOL_LEVELS,
  },
  stakes: "The value at risk; else `X-Trust-Stakes`",
  resource: "What the action is done to, for a policy's `actions`; no header says it",
  challenge: {
    description:
      "How a `CHALLENGE` that waits for no person is answered: 403, the default, or 401 with RFC 9470",
    values: ["deny", "step-up"],
  },
  acr_values: "With step-up: names of login methods that would do, in order of preference",
  max_age: "With step-up: whole seconds since the login that would do",
} as const;

/** Envoy sends the original method and appends the original path, query included, to its prefix. */
const ENVOY_PATH = "/v1/gateway/envoy/{path}";
const ENVOY_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;

export const GATEWAY_ROUTES: readonly Route[] = [
  {
    ...SHARED,
    name: "gateway_authorize",
    method: "GET",
    path: "/v1/gateway/authorize",
    query: QUERY,
    isSynchronous: true,
    handle: handleAuthorize,
  },
  {
    ...SHARED,
    name: "gateway_authorize_post",
    method: "POST",
    path: "/v1/gateway/authorize",
    query: QUERY,
    // Not for the answer, which comes at once: adapters pass a `POST`'s query only then.
    handle: handleAuthorize,
  },
  ...ENVOY_METHODS.map(createEnvoyRoute),
];

function createEnvoyRoute(method: (typeof ENVOY_METHODS)[number]): Route {
  const name = `gateway_envoy_${method.toLowerCase()}`;
  const handle = handleEnvoyAuthorize;
  const parameter = "Path and query of the forwarded request; nothing is read from it";
  return { ...SHARED, name, method, path: ENVOY_PATH, parameter, isSynchronous: true, handle };
}

function handleAuthorize(exchange: Exchange): Reply | Promise<Reply> {
  const query = exchange.query;
  for (const name of Object.keys(QUERY)) {
    if (query.getAll(name).length > 1) {
      throwInvalidParameter(`query parameter \`${name}\` is repeated`);
    }
  }
  return authorizeForProfile(exchange, query.get("profile") ?? "", query);
}

/** The query is the end client's own, so nothing is read from it: only headers count. */
function handleEnvoyAuthorize(exchange: Exchange): Reply | Promise<Reply> {
  return authorizeForProfile(exchange, "envoy", undefined);
}

function authorizeForProfile(
  exchange: Exchange,
  profile: string,
  query: URLSearchParams | undefined,
): Reply | Promise<Reply> {
  if (!Object.hasOwn(PROFILES, profile)) {
    const names = Object.keys(PROFILES).join(", ");
    throwInvalidParameter(`\`profile\` must be one of ${names}`);
  }
  const stepUp = readStepUpRequirement(exchange, query);
  const members = collectVerifyMembers(exchange, query);
  const isLevelNamed = members["tool_level"] !== undefined;
  if (!isLevelNamed && exchange.services.bureau.listsActions(exchange.principal.tenant)) {
    members["tool_level"] = "L3";
  }
  const request = parseVerifyMembers(members);
  const response = verifyAndCount(exchange, request, { isLevelNamed });
  const hasBody = PROFILES[profile]?.hasBody === true;
  if (response instanceof Promise) {
    return response.then((settled) => buildGatewayReply(exchange, settled, hasBody, stepUp));
  }
  return buildGatewayReply(exchange, response, hasBody, stepUp);
}

/**
 * From the query alone, which is the operator's; where that is the end client's, from headers. Not
 * from both: nginx passes on whatever headers its client sent.
 */
function readStepUpRequirement(
  exchange: Exchange,
  query: URLSearchParams | undefined,
): StepUpRequirement | undefined {
  const forwarded = exchange.head.forwarded ?? NO_FORWARDED_HEADERS;
  const given = (parameter: string, header: string) =>
    query === undefined ? forwarded.get(header) : (query.get(parameter) ?? undefined);
  return parseStepUp(
    given("challenge", "x-trust-challenge"),
    given("acr_values", "x-trust-acr-values"),
    given("max_age", "x-trust-max-age"),
  );
}

/**
 * The query is written by the gateway's operator, headers may have come from anywhere: where both
 * set a member, the query wins.
 */
function collectVerifyMembers(
  exchange: Exchange,
  query: URLSearchParams | undefined,
): Record<string, unknown> {
  const forwarded: ForwardedHeaders = exchange.head.forwarded ?? NO_FORWARDED_HEADERS;
  const given = (parameter: string, header: string) =>
    query?.get(parameter) ?? forwarded.get(header);
  const session = forwarded.get("x-trust-session-sec");
  // From the operator alone: gateways that clear the other headers of their clients do not know this one.
  const resource = query?.get("resource") ?? undefined;
  return {
    agent_id: given("agent_id", "x-trust-agent-id"),
    action: given("action", "x-trust-action") ?? deriveHttpAction(exchange, forwarded),
    tool_level: given("tool_level", "x-trust-tool-level"),
    stakes: parseNumberOrText(given("stakes", "x-trust-stakes")),
    resource: resource === undefined ? undefined : { id: resource },
    context: session === undefined ? {} : { session_duration_sec: parseNumberOrText(session) },
  };
}

const NO_FORWARDED_HEADERS: ForwardedHeaders = new Map();
const NUMBER = /^[0-9]{1,13}(?:\.[0-9]{1,6})?$/;

/** A text that is no plain decimal number stays text, and the parser reports the member. */
function parseNumberOrText(text: string | undefined): number | string | undefined {
  return text !== undefined && NUMBER.test(text) ? Number(text) : text;
}

function deriveHttpAction(exchange: Exchange, forwarded: ForwardedHeaders): string {
  const method =
    forwarded.get("x-forwarded-method") ??
    forwarded.get("x-original-method") ??
    exchange.head.method;
  return `http.${method.toLowerCase()}`;
}

/** Whether a stronger login may answer the verdict: a challenge that waits for a person needs the person. */
function isLoginEnough({ policy_action: policy, review }: VerifyResponse): boolean {
  if (policy.verdict !== "CHALLENGE" || review !== undefined) return false;
  return policy.log_reason !== "STAKES_NEED_APPROVAL";
}

/**
 * 200 or 403: no gateway has CHALLENGE or QUARANTINE, so the header names the verdict. 401 for a
 * CHALLENGE that the end client may answer with a stronger login.
 */
function buildGatewayReply(
  exchange: Exchange,
  response: VerifyResponse,
  hasBody: boolean,
  stepUp: StepUpRequirement | undefined,
): Reply {
  const { verdict, log_reason: reason } = response.policy_action;
  const isAllowed = isRequestAllowed(response);
  const headers = buildVerdictHeaders(exchange, response, isAllowed);
  if (isFlaggedVerdict(response.policy_action)) headers.push("X-Trust-Flagged", "true");
  if (isAllowed) return { status: 200, headers, body: "" };
  // Whoever may ask the service waits for the person there: GET /v1/reviews/{id}?wait=30.
  if (response.review !== undefined) headers.push("X-Trust-Review", response.review.id);
  const isChallenge = stepUp !== undefined && isLoginEnough(response);
  if (isChallenge) headers.push("WWW-Authenticate", formatStepUpChallenge(stepUp, reason));
  const denial: GatewayDenial = { verdict, reason, request_id: response.request_id };
  const body = hasBody ? JSON.stringify(denial) : "";
  return { status: isChallenge ? 401 : 403, headers, body };
}

function buildVerdictHeaders(
  exchange: Exchange,
  response: VerifyResponse,
  isAllowed: boolean,
): string[] {
  const { policy_action: policy, trust_evaluation: trust } = response;
  const remainingMs = Date.parse(response.expires_at) - exchange.services.clock();
  const ageSec = Math.max(0, Math.floor(remainingMs / 1000));
  return [
    "Content-Type",
    "application/json",
    // A denial is forwarded to the end client, whose cache must not keep it.
    "Cache-Control",
    isAllowed ? `private, max-age=${ageSec}` : "no-store",
    "X-Request-Id",
    exchange.echoedId,
    "X-Trust-Effective",
    isAllowed ? "allow" : "deny",
    "X-Trust-Verdict",
    policy.verdict,
    "X-Trust-Reason",
    policy.log_reason,
    "X-Trust-Score",
    String(trust.score),
    "X-Trust-Tier",
    trust.tier,
    "X-Trust-Risk",
    trust.risk_level,
    "X-Trust-Enforced",
    String(response.enforced),
    "X-Trust-Request-Id",
    response.request_id,
  ];
}

// Step-up authentication (RFC 9470): a CHALLENGE answered with 401 names the login that is strong enough, in
// the terms of the operator's identity provider.
const ACR_VALUES_LENGTH_MAX = 256;
/** Visible ASCII without `"` and `\`: one word, or several with single spaces. */
const ACR_VALUES = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/;
const MAX_AGE = /^[0-9]{1,9}$/;

/** The authentication that would do; one of the two at least. */
export interface StepUpRequirement {
  /** Names of authentication contexts, the preferred one first. */
  readonly acrValues: string | undefined;
  /** Seconds since the last login, in digits. */
  readonly maxAgeSec: string | undefined;
}

/**
 * What a gateway wants a CHALLENGE to be: undefined for a plain denial.
 * @throws ServiceFault `invalid_parameter`; also for words about a login that nothing would use.
 */
export function parseStepUp(
  challenge: string | undefined,
  acrValues: string | undefined,
  maxAgeSec: string | undefined,
): StepUpRequirement | undefined {
  if (challenge !== undefined && challenge !== "deny" && challenge !== "step-up") {
    throwInvalidParameter("`challenge` must be one of deny, step-up");
  }
  const isGiven = acrValues !== undefined || maxAgeSec !== undefined;
  if (challenge !== "step-up") {
    if (isGiven) throwInvalidParameter("`acr_values` and `max_age` need `challenge=step-up`");
    return undefined;
  }
  if (!isGiven) throwInvalidParameter("`challenge=step-up` needs `acr_values`, `max_age` or both");
  if (
    acrValues !== undefined &&
    !(acrValues.length <= ACR_VALUES_LENGTH_MAX && ACR_VALUES.test(acrValues))
  ) {
    const form = `1 to ${ACR_VALUES_LENGTH_MAX} characters of visible ASCII without quotes`;
    throwInvalidParameter(`\`acr_values\` must be ${form}`);
  }
  if (maxAgeSec !== undefined && !MAX_AGE.test(maxAgeSec)) {
    throwInvalidParameter("`max_age` must be whole seconds");
  }
  return { acrValues, maxAgeSec };
}

/** Value of `WWW-Authenticate` for a CHALLENGE given for `reason`, a code. */
export function formatStepUpChallenge(
  { acrValues, maxAgeSec }: StepUpRequirement,
  reason: string,
): string {
  const parameters = [
    'error="insufficient_user_authentication"',
    `error_description="a stronger authentication is required (${reason})"`,
  ];
  if (acrValues !== undefined) parameters.push(`acr_values="${acrValues}"`);
  if (maxAgeSec !== undefined) parameters.push(`max_age="${Number(maxAgeSec)}"`);
  return `Bearer ${parameters.join(", ")}`;
}
