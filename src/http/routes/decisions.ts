// Routes of the decision log (SPEC §3, audited on both sides): provenance recorded afterwards,
// decisions read back and judged again. A key sees its own tenant's rows; an administrator's key sees
// all.
import {
  DECISION_KINDS,
  type DecisionFilter,
  DECISION_EFFECTS,
  DISPOSITIONS,
} from "../../contract/decisions.ts";
import { ServiceFault } from "../../contract/faults.ts";
import { isPlainText, isReservedAgent } from "../../contract/identifiers.ts";
import { BODY_BYTES_MAX, TENANT_LENGTH_MAX } from "../../contract/limits.ts";
import { parseDecisionQuery, formatDecisionCursor } from "../../contract/parse/decision-query.ts";
import { parseLimit, parseSinceMs } from "../../contract/parse/parameters.ts";
import { parseProvenanceRecord, parseReplayRequest } from "../../contract/parse/requests.ts";
import type { ReplayableLeg } from "../../contract/schemas/decisions.ts";
import { DECISIONS, TOOL_LEVELS, VERDICTS } from "../../contract/vocabulary.ts";
import { countAgentReads } from "../access/paid-reads.ts";
import type { Exchange } from "../exchange.ts";
import type { Route } from "../route.ts";
import type { Reply } from "../server/port.ts";

const READ_DEADLINE_MS = 10_000;
/** Legs of one decision, and of earlier ones under the same caller's id. */
const LEGS_MAX = 10;

export const LIST_QUERY = {
  agent: "Subject or viewer",
  since: "Not before: a date, an RFC 3339 date-time or epoch ms",
  limit: "At most so many rows, 1 to 1000; 100 when left out",
} as const;

const BOOLEANS = ["true", "false"] as const;

/** What chooses among decisions; the same for the list and for its counts. */
const DECISION_FILTER_QUERY = {
  agent: LIST_QUERY.agent,
  subject: "The agent judged",
  verdict: { description: "Of a verify", values: VERDICTS },
  decision: { description: "What the scores said", values: DECISIONS },
  effective: { description: "What it came to for the caller", values: DECISION_EFFECTS },
  disposition: { description: "What the answer asks of the caller", values: DISPOSITIONS },
  reason: { description: "The rule that decided, or a reason code", example: "THIN_FILE" },
  kind: { description: "What was asked", values: DECISION_KINDS },
  level: { description: "Tool level of a verify", values: TOOL_LEVELS },
  flagged: { description: "Whether it was marked for a person", values: BOOLEANS },
  shadow: { description: "Whether it was in shadow mode: not enforced", values: BOOLEANS },
  config: "Version of the scoring config that answered",
  tenant: "For an administrator: whose decisions",
  since: LIST_QUERY.since,
  before: {
    description: "Only older ones: a time as in `since`, or `next` of the page before",
    example: "2026-03-02",
  },
} as const;

export const DECISION_TENANT_QUERY = { tenant: "For an administrator: whose decision" } as const;

const SHARED = { deadlineMs: READ_DEADLINE_MS } as const;

export const DECISION_ROUTES: readonly Route[] = [
  {
    name: "record_provenance",
    method: "POST",
    path: "/v1/provenance",
    summary: "Records what an agent wrote from which sources; kept for the analysts",
    access: "outcomes:write",
    rateClass: "outcomes",
    body: { kind: "document", bytesMax: BODY_BYTES_MAX, schema: "ProvenanceRecord" },
    responses: { 202: { description: "Durable; among the rows soon", schema: "Accepted" } },
    handle: recordProvenance,
  },
  {
    ...SHARED,
    name: "list_decisions",
    method: "GET",
    path: "/v1/decisions",
    summary: "The tenant's decisions, newest first, one entry per leg",
    access: "score:read",
    query: { ...DECISION_FILTER_QUERY, limit: LIST_QUERY.limit },
    responses: { 200: { description: "The decisions", schema: "DecisionList" } },
    handle: listDecisions,
  },
  {
    ...SHARED,
    name: "count_decisions",
    method: "GET",
    path: "/v1/decisions/facets",
    summary: "The same decisions counted by verdict, reason, level and more, and over time",
    access: "score:read",
    query: DECISION_FILTER_QUERY,
    responses: { 200: { description: "The counts", schema: "DecisionFacets" } },
    handle: countDecisions,
  },
  {
    ...SHARED,
    name: "replay_decision",
    method: "POST",
    path: "/v1/decisions/{request_id}/replay",
    summary:
      "Judges a decision again under the active or a named config; says what differs. A paid read",
    access: "score:read",
    isPaidRead: true,
    query: DECISION_TENANT_QUERY,
    body: { kind: "document", bytesMax: BODY_BYTES_MAX, schema: "ReplayRequest" },
    responses: { 200: { description: "Identical, or the differences", schema: "DecisionReplay" } },
    handle: replayDecision,
  },
  {
    ...SHARED,
    name: "trace_decision",
    method: "GET",
    path: "/v1/decisions/{request_id}/trace",
    summary: "Why it came out so: row read, features, provenance, rules, and what is not on record",
    access: "score:read",
    query: DECISION_TENANT_QUERY,
    responses: { 200: { description: "The trace", schema: "DecisionTrace" } },
    handle: traceDecision,
  },
  {
    ...SHARED,
    name: "read_decision",
    method: "GET",
    path: "/v1/decisions/{request_id}",
    summary: "One decision with the inputs it was judged from",
    access: "score:read",
    query: DECISION_TENANT_QUERY,
    responses: { 200: { description: "Its legs", schema: "DecisionRecord" } },
    handle: readDecision,
  },
];

/** Answered once it is durable; its row comes later (SPEC §4.9: asynchronous). */
async function recordProvenance(exchange: Exchange): Promise<Reply> {
  const { notes, clock } = exchange.services;
  const record = parseProvenanceRecord(exchange.readDocument());
  await notes.recordNote("provenance", {
    ...record,
    recorded_at: clock(),
    tenant: exchange.principal.tenant,
    request_id: record.request_id ?? null,
  });
  return exchange.document(202, { accepted: true, request_id: exchange.requestId });
}

async function listDecisions(exchange: Exchange): Promise<Reply> {
  const query = exchange.query;
  const filter = { ...readDecisionFilter(exchange), limit: parseLimit(query.get("limit")) };
  const page = await exchange.services.store.readDecisionPage(filter);
  const { legs, isSampled: sampled } = page;
  const last = legs.at(-1);
  // A full page may be the last one; then the next is empty.
  const next = last === undefined || legs.length < filter.limit ? null : formatLegCursor(last);
  const decisions = legs.map(omitInputs);
  const complete = page.isComplete && !sampled;
  return exchange.document(200, { decisions, complete, sampled, next });
}

async function countDecisions(exchange: Exchange): Promise<Reply> {
  const filter = { ...readDecisionFilter(exchange), limit: 0 };
  const counts = await exchange.services.store.countDecisions(filter);
  const formatTime = (epochMs: number) => new Date(epochMs).toISOString();
  const { entries, decisions, lookedAt, oldestMs, facets, stepMs, times } = counts;
  return exchange.document(200, {
    entries,
    decisions,
    looked_at: lookedAt,
    complete: counts.isComplete && !counts.isSampled,
    sampled: counts.isSampled,
    oldest_at: oldestMs === undefined ? null : formatTime(oldestMs),
    facets,
    step_ms: stepMs,
    times: times.map(({ atMs, ...step }) => ({ at: formatTime(atMs), ...step })),
  });
}

/** What the query chooses among the rows that the caller sees. */
function readDecisionFilter(exchange: Exchange): Omit<DecisionFilter, "limit"> {
  const choices = parseDecisionQuery(exchange.query);
  return { ...choices, tenant: selectVisibleTenant(exchange) };
}

function formatLegCursor({ evaluated_at, request_id: requestId, leg }: ReplayableLeg): string {
  return formatDecisionCursor({ evaluatedMs: Date.parse(evaluated_at), requestId, leg });
}

function omitInputs(leg: ReplayableLeg): Record<string, unknown> {
  return Object.fromEntries(Object.entries(leg).filter(([name]) => name !== "inputs"));
}

async function readDecision(exchange: Exchange): Promise<Reply> {
  const legs = await findDecisionLegs(exchange);
  return exchange.document(200, { request_id: exchange.decodedParameter(), legs });
}

async function replayDecision(exchange: Exchange): Promise<Reply> {
  const { config } = parseReplayRequest(exchange.readDocument());
  const configVersion = config === "active" ? undefined : config;
  const legs = await findDecisionLegs(exchange);
  const replay = exchange.services.bureau.replayDecision(legs, configVersion);
  const subject = legs.find((leg) => isReservedAgent(leg.subject))?.subject ?? legs[0]!.subject;
  countAgentReads(exchange, "explain", [subject]);
  return exchange.document(200, replay);
}

async function traceDecision(exchange: Exchange): Promise<Reply> {
  const { bureau, kaizen } = exchange.services;
  const legs = await findDecisionLegs(exchange);
  const version = legs[0]?.config_version;
  const config = version === undefined ? undefined : kaizen?.configs.find(version)?.config;
  return exchange.document(200, bureau.traceDecision(legs, config));
}

/**
 * Ids are ours. Of old decisions whose callers chose one id for several the newest counts, and an
 * administrator names the tenant where it was several tenants'.
 */
export async function findDecisionLegs(exchange: Exchange): Promise<ReplayableLeg[]> {
  const named = exchange.query.get("tenant") ?? undefined;
  const { legs: found, isComplete } = await exchange.services.store.readDecisionPage({
    tenant: selectVisibleTenant(exchange) ?? named,
    requestId: exchange.decodedParameter(),
    limit: LEGS_MAX,
  });
  const [newest] = found;
  // Another tenant's decision looks the same as an unknown one.
  if (newest === undefined && !isComplete) {
    throw new ServiceFault("store_behind", "many decisions are being stored: ask again");
  }
  if (newest === undefined) {
    throw new ServiceFault("not_found", "no decision has this request id");
  }
  const { evaluated_at, tenant, kind } = newest;
  if (found.some((leg) => leg.tenant !== tenant)) {
    const detail = "decisions of several tenants have this id: name one with `tenant`";
    throw new ServiceFault("invalid_parameter", detail);
  }
  const isSame = (leg: ReplayableLeg) =>
    leg.evaluated_at === evaluated_at && leg.tenant === tenant && leg.kind === kind;
  const legs = found.filter(isSame);
  return legs.filter((leg, index) => legs.findIndex((each) => each.leg === leg.leg) === index);
}

export function readListFilter(exchange: Exchange): DecisionFilter {
  const query = exchange.query;
  const filter: DecisionFilter = {
    tenant: selectVisibleTenant(exchange),
    limit: parseLimit(query.get("limit")),
  };
  const agent = query.get("agent");
  if (agent !== null) filter.agent = agent;
  const sinceMs = readSinceMs(exchange);
  if (sinceMs !== undefined) filter.sinceMs = sinceMs;
  return filter;
}

export function readSinceMs(exchange: Exchange): number | undefined {
  const since = exchange.query.get("since");
  return since === null ? undefined : parseSinceMs(since);
}

/**
 * The tenant that the query names, by default the key's.
 * @throws ServiceFault `insufficient_scope` for another tenant without `admin`; `invalid_parameter`.
 */
export function resolveNamedTenant({ query, principal }: Exchange): string {
  const named = query.get("tenant") ?? principal.tenant;
  if (named === principal.tenant) return named;
  if (!principal.scopes.has("admin")) {
    throw new ServiceFault("insufficient_scope", "only `admin` may name another `tenant`");
  }
  if (isPlainText(named, TENANT_LENGTH_MAX)) return named;
  const detail = `\`tenant\` must be 1 to ${TENANT_LENGTH_MAX} bytes of plain text`;
  throw new ServiceFault("invalid_parameter", detail);
}

/** Tenant whose rows the caller sees; undefined: every tenant. */
export function selectVisibleTenant({ principal }: Exchange): string | undefined {
  return principal.scopes.has("admin") ? undefined : principal.tenant;
}
