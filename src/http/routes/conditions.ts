// Routes of operators' conditions on agents and namespaces, and of the stop for all agents. A change is durable and
// active on every thread before the answer, which names the nodes of a cluster that have not confirmed it. The use
// case checks scopes: restricting and clearing are two rights, and the bureau's conditions are an administrator's.
import {
  CONDITION_SCOPES,
  CONDITION_STATES,
  type ConditionScope,
  isConditionSubject,
} from "../../contract/conditions/events.ts";
import { isCoveredBy } from "../../contract/conditions/book.ts";
import { isNamespacePattern, parseScoredId } from "../../contract/identifiers.ts";
import { BATCH_BODY_BYTES_MAX, BODY_BYTES_MAX } from "../../contract/limits.ts";
import { parseConditionCsv } from "../../contract/parse/condition-rows.ts";
import { parseCondition, parseConditionBatch, parseStop } from "../../contract/parse/conditions.ts";
import { parseLimit, readChoice, throwInvalidParameter } from "../../contract/parse/parameters.ts";
import type { Principal } from "../../contract/principal.ts";
import type { AgentCondition } from "../../contract/schemas/conditions.ts";
import { CLUSTER_CHANGE_DEADLINE_MS, confirmMissing } from "../access/missing-ids.ts";
import { isCsv } from "../codec/negotiation.ts";
import type { Exchange } from "../exchange.ts";
import { resolveNamedTenant } from "./decisions.ts";
import type { Route } from "../route.ts";
import type { Reply } from "../server/port.ts";

const TENANT_QUERY = {
  tenant: "For an administrator: whose; the key's tenant when left out",
} as const;
const SCOPE_QUERY = {
  ...TENANT_QUERY,
  scope: { description: "Whose: `tenant` when left out", values: CONDITION_SCOPES },
} as const;
const RIGHTS = "`conditions:restrict`, or `conditions:clear` for `cleared`; `admin` for the bureau";
const CHANGE = { access: "key", deadlineMs: CLUSTER_CHANGE_DEADLINE_MS } as const;
const CONDITION_BODY = {
  kind: "document",
  bytesMax: BODY_BYTES_MAX,
  schema: "ConditionRequest",
} as const;

type SubjectReader = (exchange: Exchange) => string;

/** The three routes of one kind of subject. */
function buildSubjectRoutes(
  kind: "agent" | "namespace",
  path: string,
  readSubject: SubjectReader,
): Route[] {
  const responses = { 200: { description: "The condition", schema: "AgentCondition" } };
  return [
    {
      ...CHANGE,
      name: `set_${kind}_condition`,
      method: "PUT",
      path,
      summary: `Suspends, watches or clears ${kind === "agent" ? "an agent" : "all agents of a namespace"}: ${RIGHTS}`,
      query: TENANT_QUERY,
      body: CONDITION_BODY,
      responses,
      handle: (exchange) => setCondition(exchange, readSubject(exchange)),
    },
    {
      name: `read_${kind}_condition`,
      method: "GET",
      path,
      summary: `The condition of the ${kind} itself`,
      access: "score:read",
      query: SCOPE_QUERY,
      responses,
      handle: async (exchange) => {
        const subject = readSubject(exchange);
        const conditions = exchange.require("conditions");
        const found = conditions.find(subject, readScope(exchange), readPrincipal(exchange));
        return exchange.document(200, found);
      },
    },
    {
      access: "key",
      name: `lift_${kind}_condition`,
      method: "DELETE",
      path,
      summary: `Lifts the condition of the ${kind}: ${RIGHTS}`,
      query: SCOPE_QUERY,
      responses: { 200: { description: "The condition as it was", schema: "AgentCondition" } },
      ...confirmMissing((exchange) => liftCondition(exchange, readSubject(exchange))),
    },
  ];
}

export const CONDITION_ROUTES: readonly Route[] = [
  ...buildSubjectRoutes("agent", "/v1/agents/{id}/condition", readAgent),
  ...buildSubjectRoutes("namespace", "/v1/namespaces/{namespace}/condition", readNamespace),
  {
    name: "list_conditions",
    method: "GET",
    path: "/v1/conditions",
    summary: "Conditions in force, by subject: the tenant's and the bureau's; for `admin` all",
    access: "score:read",
    query: {
      state: { description: "Only of this state", values: CONDITION_STATES },
      scope: { description: "Only of the tenant or of the bureau", values: CONDITION_SCOPES },
      agent: "Only those that cover this agent",
      after: "`next` of the page before",
      limit: "At most so many, 1 to 1000; 100 when left out",
    },
    responses: { 200: { description: "The conditions", schema: "ConditionList" } },
    handle: async (exchange) => listConditions(exchange),
  },
  {
    ...CHANGE,
    name: "set_conditions",
    method: "POST",
    path: "/v1/conditions",
    summary: `Sets up to 1,000 conditions, of a document or of CSV with a header: ${RIGHTS}`,
    query: TENANT_QUERY,
    body: { kind: "rows", bytesMax: BATCH_BODY_BYTES_MAX, schema: "ConditionBatch" },
    responses: { 200: { description: "How many were set", schema: "ConditionsSet" } },
    handle: setConditions,
  },
  {
    ...CHANGE,
    access: "conditions:restrict",
    name: "stop_agents",
    method: "PUT",
    path: "/v1/stop",
    summary: "Stops all agents above a level; `admin` for those of all tenants",
    query: TENANT_QUERY,
    body: { kind: "document", bytesMax: BODY_BYTES_MAX, schema: "StopRequest" },
    responses: { 200: { description: "The stop", schema: "Stop" } },
    handle: stopAgents,
  },
  {
    name: "read_stop",
    method: "GET",
    path: "/v1/stop",
    summary: "The stops in force for the key's tenant",
    access: "key",
    query: TENANT_QUERY,
    responses: { 200: { description: "The stops", schema: "StopState" } },
    handle: async (exchange) => {
      const stops = exchange.require("conditions").listStops(readPrincipal(exchange));
      return exchange.document(200, { stops });
    },
  },
  {
    access: "conditions:restrict",
    name: "lift_stop",
    method: "DELETE",
    path: "/v1/stop",
    summary: "Lifts a stop; `admin` for that of the bureau",
    query: SCOPE_QUERY,
    responses: { 200: { description: "The stop as it was", schema: "Stop" } },
    ...confirmMissing(liftStop),
  },
];

function readScope({ query }: Exchange): ConditionScope {
  return readChoice(query, "scope", CONDITION_SCOPES) ?? "tenant";
}

/** The key, acting for the tenant that an administrator names. */
function readPrincipal(exchange: Exchange): Principal {
  const { principal } = exchange;
  const tenant = resolveNamedTenant(exchange);
  return tenant === principal.tenant ? principal : { ...principal, tenant };
}

function readAgent(exchange: Exchange): string {
  const agent = parseScoredId(exchange.decodedParameter());
  if (isConditionSubject(agent)) return agent;
  return throwInvalidParameter("a reserved test agent has no condition");
}

/** `acme` or `acme/eu`, percent-encoded: every agent below it. */
function readNamespace(exchange: Exchange): string {
  const pattern = `agent://${exchange.decodedParameter()}/*`;
  if (isNamespacePattern(pattern)) return pattern;
  return throwInvalidParameter("a namespace is segments of letters, digits and `._~-`: `acme/eu`");
}

/** An answer with the spread of the change over a cluster. */
async function replyWithEffect(exchange: Exchange, document: object): Promise<Reply> {
  const effective = await exchange.services.effect?.();
  return exchange.document(200, { ...document, ...(effective && { effective }) });
}

async function setCondition(exchange: Exchange, subject: string): Promise<Reply> {
  const order = parseCondition(exchange.readDocument(), exchange.services.clock());
  const conditions = exchange.require("conditions");
  return replyWithEffect(exchange, await conditions.set(subject, order, readPrincipal(exchange)));
}

async function liftCondition(exchange: Exchange, subject: string): Promise<Reply> {
  const conditions = exchange.require("conditions");
  const lifted = await conditions.lift(subject, readScope(exchange), readPrincipal(exchange));
  return replyWithEffect(exchange, lifted);
}

async function setConditions(exchange: Exchange): Promise<Reply> {
  const nowMs = exchange.services.clock();
  const orders = isCsv(exchange.head.contentType)
    ? parseConditionCsv(exchange.body, nowMs)
    : parseConditionBatch(exchange.readDocument(), nowMs);
  await exchange.require("conditions").setAll(orders, readPrincipal(exchange));
  return replyWithEffect(exchange, { set: orders.length });
}

async function stopAgents(exchange: Exchange): Promise<Reply> {
  const order = parseStop(exchange.readDocument(), exchange.services.clock());
  const stopped = await exchange.require("conditions").stop(order, readPrincipal(exchange));
  return replyWithEffect(exchange, stopped);
}

async function liftStop(exchange: Exchange): Promise<Reply> {
  const conditions = exchange.require("conditions");
  const lifted = await conditions.liftStop(readScope(exchange), readPrincipal(exchange));
  return replyWithEffect(exchange, lifted);
}

function listConditions(exchange: Exchange): Reply {
  const { query, principal } = exchange;
  const state = readChoice(query, "state", CONDITION_STATES);
  const scope = readChoice(query, "scope", CONDITION_SCOPES);
  const agent = query.get("agent");
  const limit = parseLimit(query.get("limit"));
  const after = query.get("after");
  const from = after === null ? "" : parseCursor(after);
  const found = exchange
    .require("conditions")
    .list(principal)
    .filter(
      (each) =>
        (state === undefined || each.state === state) &&
        (scope === undefined || each.scope === scope) &&
        (agent === null || isCoveredBy(agent, each.subject)),
    );
  const rest = found.filter((each) => buildPlace(each) > from);
  const conditions = rest.slice(0, limit);
  const last = rest.length > limit ? conditions.at(-1) : undefined;
  const next = last === undefined ? null : Buffer.from(buildPlace(last)).toString("base64url");
  return exchange.document(200, { conditions, next, total: found.length });
}

/** Place of a condition in the order of the list. */
function buildPlace({ subject, tenant }: AgentCondition): string {
  return `${subject}\n${tenant ?? ""}`;
}

function parseCursor(cursor: string): string {
  const place = Buffer.from(cursor, "base64url").toString();
  if (place.includes("\n")) return place;
  return throwInvalidParameter("`after` must be the `next` of a page");
}
