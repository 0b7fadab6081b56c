// OpenID AuthZEN Authorization API 1.0: the verdict for policy enforcement points that follow the
// standard. Members that AuthZEN leaves to "properties" (tool level, stakes) are read where its
// users put them; the answer's context carries the verdict.
import { invalidRequest, ServiceFault } from "../../contract/faults.ts";
import { isFlaggedVerdict } from "../../contract/flagged.ts";
import { isAction } from "../../contract/identifiers.ts";
import { BATCH_BODY_BYTES_MAX, BATCH_ITEMS_MAX, BODY_BYTES_MAX } from "../../contract/limits.ts";
import type { VerifyRequest, VerifyResponse } from "../../contract/schemas/scores.ts";
import { requireObjectBody, isObject } from "../../contract/parse/json-object.ts";
import { TOOL_LEVELS } from "../../contract/vocabulary.ts";
import type { Exchange } from "../exchange.ts";
import { buildProblem } from "../codec/reply.ts";
import type { Route } from "../route.ts";
import type { Reply } from "../server/port.ts";
import { verifyAndCount, isRequestAllowed, parseVerifyMembers } from "../metered-verify.ts";

const EVALUATION = "/access/v1/evaluation";
const EVALUATIONS = "/access/v1/evaluations";

/** Evaluations decided in one turn of the event loop: some milliseconds at most. */
const SLICE_ITEMS = 50;

export const AUTHZEN_ROUTES: readonly Route[] = [
  {
    name: "authzen_evaluation",
    method: "POST",
    path: EVALUATION,
    summary: "AuthZEN access evaluation",
    access: "score:read",
    rateClass: "score",
    body: { kind: "document", bytesMax: BODY_BYTES_MAX, schema: "AuthzenEvaluation" },
    responses: { 200: { description: "The decision", schema: "AuthzenDecision" } },
    isSynchronous: true,
    handle: handleEvaluation,
  },
  {
    name: "authzen_evaluations",
    method: "POST",
    path: EVALUATIONS,
    summary: "AuthZEN access evaluations, up to 1,000, in order",
    access: "score:read",
    rateClass: "score",
    body: { kind: "document", bytesMax: BATCH_BODY_BYTES_MAX, schema: "AuthzenEvaluations" },
    responses: { 200: { description: "The decisions", schema: "AuthzenDecisions" } },
    handle: handleEvaluations,
  },
  {
    name: "authzen_configuration",
    method: "GET",
    path: "/.well-known/authzen-configuration",
    summary: "AuthZEN discovery",
    access: "none",
    requestHeaders: ["X-Forwarded-Proto"],
    responses: { 200: { description: "Where to ask", schema: "AuthzenConfiguration" } },
    isSynchronous: true,
    isFixedFormat: true,
    handle: handleAuthzenConfiguration,
  },
];

interface AuthzenDecision {
  decision: boolean;
  context: Record<string, unknown>;
}

type Members = Record<string, unknown>;

async function handleEvaluation(exchange: Exchange): Promise<Reply> {
  const evaluation = requireObjectBody(exchange.readDocument());
  return exchange.document(200, await decideEvaluation(exchange, evaluation));
}

/** AuthZEN §7: members of the envelope are the defaults of an evaluation. */
async function handleEvaluations(exchange: Exchange): Promise<Reply> {
  const envelope = requireObjectBody(exchange.readDocument());
  const { evaluations, options } = envelope;
  if (evaluations === undefined || (Array.isArray(evaluations) && evaluations.length === 0)) {
    return exchange.document(200, await decideEvaluation(exchange, envelope));
  }
  if (!Array.isArray(evaluations) || evaluations.length > BATCH_ITEMS_MAX) {
    const detail = `must be a list of at most ${BATCH_ITEMS_MAX} evaluations`;
    throw invalidRequest([{ pointer: "/evaluations", code: "type", detail }]);
  }
  const stopsAt = parseStopDecision(options);
  const decided: AuthzenDecision[] = [];
  for (const [index, item] of evaluations.entries()) {
    // Waiting for what is decided already is no turn of the event loop.
    if (index > 0 && index % SLICE_ITEMS === 0) await exchange.services.turns.next();
    const result = await evaluateBatchItem(exchange, envelope, item);
    decided.push(result);
    if (result.decision === stopsAt) break;
  }
  exchange.services.limiter.charge(exchange.principal, "score", decided.length - 1);
  return exchange.document(200, { evaluations: decided });
}

/** A fault in one evaluation is a denial of that evaluation, with its reason (AuthZEN §7.2.1). */
async function evaluateBatchItem(
  exchange: Exchange,
  defaults: Members,
  item: unknown,
): Promise<AuthzenDecision> {
  const requestId = exchange.services.requestIds.next();
  try {
    const { subject, action, resource, context } = { ...defaults, ...requireObjectBody(item) };
    return await decideEvaluation(exchange, { subject, action, resource, context }, requestId);
  } catch (thrown) {
    if (!(thrown instanceof ServiceFault)) throw thrown;
    const { code, detail, errors } = thrown;
    const problem = buildProblem(thrown, exchange.head.path, requestId);
    const error = { status: problem.status, message: detail, code, errors };
    return { decision: false, context: { error, request_id: requestId } };
  }
}

const STOP_DECISIONS: Readonly<Record<string, boolean | undefined>> = {
  execute_all: undefined,
  deny_on_first_deny: false,
  permit_on_first_permit: true,
};

/** The decision after which evaluation stops; undefined: all are evaluated. */
function parseStopDecision(options: unknown): boolean | undefined {
  const semantic = isObject(options) ? options["evaluations_semantic"] : undefined;
  if (semantic === undefined) return undefined;
  if (typeof semantic === "string" && Object.hasOwn(STOP_DECISIONS, semantic))
    return STOP_DECISIONS[semantic];
  const detail = `must be one of ${Object.keys(STOP_DECISIONS).join(", ")}`;
  throw invalidRequest([{ pointer: "/options/evaluations_semantic", code: "enum", detail }]);
}

async function decideEvaluation(
  exchange: Exchange,
  evaluation: Members,
  requestId = exchange.requestId,
): Promise<AuthzenDecision> {
  const { request, isLevelNamed } = convertEvaluation(evaluation);
  const asked = { requestId, isLevelNamed, facts: evaluation };
  return formatAuthzenDecision(await verifyAndCount(exchange, request, asked));
}

function convertEvaluation(members: Members): { request: VerifyRequest; isLevelNamed: boolean } {
  const subject = requireEntity(members, "subject");
  const action = requireEntity(members, "action");
  const resource = requireEntity(members, "resource");
  const context = isObject(members["context"]) ? members["context"] : {};
  const { content_hash, cited_sources, session_duration_sec } = context;
  const { content, content_type, question } = context;
  const asked = { content_hash, cited_sources, session_duration_sec, content, content_type };
  const given = Object.entries({ ...asked, question }).filter(([, value]) => value !== undefined);
  const places = [readProperties(action), readProperties(resource), context];
  const level = selectStrictestLevel(places);
  const request = parseVerifyMembers({
    agent_id: subject["id"],
    action: completeActionName(action["name"], resource["type"]),
    tool_level: level ?? "L3",
    stakes: places.map((place) => place["stakes"]).find((value) => value !== undefined),
    context: Object.fromEntries(given),
  });
  return { request, isLevelNamed: level !== undefined };
}

function requireEntity(members: Members, name: string): Members {
  const value = members[name];
  if (isObject(value)) return value;
  const code = value === undefined ? "required" : "type";
  throw invalidRequest([{ pointer: `/${name}`, code, detail: "must be an object" }]);
}

function readProperties(value: Members): Members {
  return isObject(value["properties"]) ? value["properties"] : {};
}

/** AuthZEN names actions freely (`can_read`): the resource's type completes ours. */
function completeActionName(name: unknown, type: unknown): unknown {
  if (isAction(name) || typeof type !== "string") return name;
  return typeof name === "string" ? `${type}.${name}` : name;
}

/**
 * AuthZEN has no tool levels: the strictest of those named, undefined when none is. An unknown word is left
 * for the parser to refuse.
 */
function selectStrictestLevel(places: readonly Members[]): unknown {
  let strictest = -1;
  for (const place of places) {
    const level = place["tool_level"];
    if (level === undefined) continue;
    const index = (TOOL_LEVELS as readonly unknown[]).indexOf(level);
    if (index < 0) return level;
    strictest = Math.max(strictest, index);
  }
  return TOOL_LEVELS[strictest];
}

function formatAuthzenDecision(response: VerifyResponse): AuthzenDecision {
  const { policy_action: policy, trust_evaluation: trust } = response;
  return {
    decision: isRequestAllowed(response),
    context: {
      verdict: policy.verdict,
      log_reason: policy.log_reason,
      reason_codes: response.reason_codes,
      score: trust.score,
      tier: trust.tier,
      risk_level: trust.risk_level,
      flagged: isFlaggedVerdict(policy),
      ...(response.action_entry === undefined ? {} : { action_entry: response.action_entry }),
      enforced: response.enforced,
      request_id: response.request_id,
      config_version: response.config_version,
      evaluated_at: response.evaluated_at,
      expires_at: response.expires_at,
    },
  };
}

const HOST = /^[A-Za-z0-9.:[\]-]{1,255}$/;

/** The address is that of the request: behind a proxy, the proxy's. */
function handleAuthzenConfiguration(exchange: Exchange): Reply {
  const { host, forwarded } = exchange.head;
  if (host === undefined || !HOST.test(host)) {
    throw new ServiceFault("invalid_parameter", "header `host` is not a host");
  }
  const scheme = forwarded?.get("x-forwarded-proto") === "https" ? "https" : "http";
  const base = `${scheme}://${host}`;
  return exchange.document(200, {
    policy_decision_point: base,
    access_evaluation_endpoint: base + EVALUATION,
    access_evaluations_endpoint: base + EVALUATIONS,
  });
}
