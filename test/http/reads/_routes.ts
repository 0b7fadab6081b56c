// Table of routes for the tests of paid reads: which scores each gives, and valid requests to it.
import { buildMessageExample } from "../../../src/http/openapi/examples.ts";
import type { Route } from "../../../src/http/route.ts";

/**
 * `paid`: current scores, each a read. `by_view`: the same for views of current scores. `logged`: scores
 * as the tenant's own decisions gave them, which were paid then. `subject`: an agent's own report, opened by
 * a link without a key. `none`: no agent's score. `admin`: takes an administrator's key.
 */
export type Gives = "paid" | "by_view" | "logged" | "subject" | "none" | "admin";

const LISTED: Readonly<Record<Exclude<Gives, "admin">, string>> = {
  paid: `verify verify_batch check handshake explain list_agents agent_history gateway_authorize
    gateway_authorize_post gateway_envoy_get gateway_envoy_post gateway_envoy_put gateway_envoy_patch
    gateway_envoy_delete gateway_envoy_options authzen_evaluation authzen_evaluations replay_decision
    agent_report console_get console_post share_agent_report`,
  by_view: "query export_day",
  logged: `list_decisions count_decisions trace_decision read_decision list_reviews read_review
    claim_review decide_review`,
  subject: "shared_agent_report",
  none: `follow_changes list_outcomes authzen_configuration report_outcome report_outcomes register_reporter_key
    list_reporter_keys reporter_key_nonce revoke_reporter_key register_evidence_batch list_evidence
    register_evidence read_evidence revoke_evidence read_vault_root label_texts list_thresholds
    record_provenance dispute kaizen_run kaizen_runs kaizen_show kaizen_report_link kaizen_report
    kaizen_promote kaizen_rollback list_configs read_config credibility_status credibility_refresh
    credibility_graph policy_show list_export_days query_cancel query_schema signing_keys usage service_index livez
    healthz readyz metrics service_series service_status cluster_state openapi docs docs_style
    set_agent_condition read_agent_condition lift_agent_condition set_namespace_condition
    read_namespace_condition lift_namespace_condition list_conditions set_conditions stop_agents read_stop
    lift_stop receive_signal console_page console_file log_in read_session log_out console_put console_patch console_delete`,
};

const GIVEN = new Map(
  Object.entries(LISTED).flatMap(([gives, names]) =>
    names.split(/\s+/).map((name) => [name, gives as Gives] as const),
  ),
);

/** @throws Error for a route that this table does not know: say what it gives. */
export function classifyRoute({ name, access }: Route): Gives {
  if (access === "admin") return "admin";
  const gives = GIVEN.get(name);
  if (gives === undefined) throw new Error(`the route \`${name}\` gives scores or not: say which`);
  return gives;
}

/** Names in the table that no route has. */
export function listUnknownNames(routes: readonly Route[]): string[] {
  const names = new Set(routes.map(({ name }) => name));
  return [...GIVEN.keys()].filter((name) => !names.has(name));
}

export interface RouteRequest {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** What requests are about. */
export interface RequestSubjects {
  readonly agent: string;
  readonly requestId: string;
  readonly reviewId: string;
  readonly linkToken: string;
  /** Of a console session of the key. */
  readonly session: Readonly<Record<string, string>>;
  readonly key: string;
}

const ENVOY_HEADERS = (agent: string) => ({
  "x-trust-agent-id": agent,
  "x-trust-tool-level": "L2",
  "x-trust-action": "orders.place",
});

/** Requests of a route that it accepts, as the tenant of the subjects makes them. */
export function buildRouteRequests(route: Route, about: RequestSubjects): RouteRequest[] {
  const { agent, requestId, reviewId, linkToken, session, key } = about;
  const id = encodeURIComponent(agent);
  const { name, method } = route;
  const body = route.body === undefined ? undefined : buildMessageExample(route.body.schema);
  const at = (path: string, more: Partial<RouteRequest> = {}): RouteRequest => ({
    method,
    path,
    ...(body === undefined ? {} : { body }),
    ...more,
  });
  const verify = { agent_id: agent, action: "orders.place", tool_level: "L2", context: {} };
  const subject = { type: "agent", id: agent };
  const evaluation = {
    subject,
    action: { name: "orders.place" },
    resource: { type: "tool", id: "orders", properties: { tool_level: "L2" } },
  };
  const sql = (text: string, more: object = {}) => at(route.path, { body: { sql: text, ...more } });
  const report = `/v1/agents/${id}/report`;
  const special: Readonly<Record<string, () => RouteRequest[]>> = {
    verify: () => [at(route.path, { body: verify })],
    verify_batch: () => [at(route.path, { body: { items: [verify, verify] } })],
    check: () => [at(route.path, { body: { subject: agent, stakes: 5 } })],
    handshake: () => [
      at(route.path, { body: { initiator: agent, counterparty: agent, stakes: 5 } }),
    ],
    explain: () => [at(`/v1/agents/${id}`), at(`/v1/agents/${id}`, { method: "HEAD" })],
    list_agents: () => [
      at("/v1/agents"),
      at("/v1/agents", { method: "HEAD" }),
      at("/v1/agents?limit=1000&order=-score", { headers: { accept: "application/msgpack" } }),
      at(`/v1/agents?prefix=${id}&tier=A`),
    ],
    agent_history: () => [at(`/v1/agents/${id}/history`)],
    gateway_authorize: () => [
      at(`/v1/gateway/authorize?profile=nginx&tool_level=L2&agent_id=${id}`),
    ],
    gateway_authorize_post: () => [
      at(`/v1/gateway/authorize?profile=nginx&tool_level=L2&agent_id=${id}`),
    ],
    authzen_evaluation: () => [at(route.path, { body: evaluation })],
    authzen_evaluations: () => [at(route.path, { body: { evaluations: [evaluation] } })],
    replay_decision: () => [at(`/v1/decisions/${requestId}/replay`, { body: {} })],
    trace_decision: () => [at(`/v1/decisions/${requestId}/trace`)],
    read_decision: () => [at(`/v1/decisions/${requestId}`)],
    list_reviews: () => [at("/v1/reviews"), at("/v1/reviews?state=all")],
    read_review: () => [at(`/v1/reviews/${reviewId}`)],
    claim_review: () => [at(`/v1/reviews/${reviewId}/claim`, { body: {} })],
    decide_review: () => [at(`/v1/reviews/${reviewId}/decision`, { body: { decision: "upheld" } })],
    agent_report: () => [
      at(report),
      at(`${report}?format=html`),
      at(report, { headers: { accept: "application/msgpack" } }),
    ],
    share_agent_report: () => [at(`${report}/links`, { body: {} })],
    shared_agent_report: () => [at(`/v1/shared-reports?token=${linkToken}&format=json`)],
    query: () => [
      sql("SELECT * FROM agents"),
      sql("SELECT agent, score FROM agents", { format: "csv" }),
      sql('WITH a AS (FROM "AGENTS") SELECT max(score) AS score FROM a'),
      sql("SELECT error(agent || ' internal_score ' || internal_score) FROM agents"),
      sql("SUMMARIZE agents"),
      at(route.path, {
        body: { sql: "SELECT tier FROM agents" },
        headers: { accept: "application/x-ndjson" },
      }),
    ],
    export_day: () => [at("/v1/export/agents"), at("/v1/export/scores_daily?day=2026-01-01")],
    list_export_days: () => [at("/v1/export/scores_daily/days")],
    kaizen_run: () => [at(route.path, { body: { dry_run: true, wait: false } })],
    report_outcome: () => [
      at(route.path, {
        body: {
          subject: agent,
          reporter: "agent://elsewhere/reporter",
          outcome: 1,
          stakes: 1,
          grade: "counterparty",
        },
      }),
    ],
    dispute: () => [at(route.path, { body: { agent, statement: "please look again" } })],
    console_get: () => [at("/console/api/v1/agents?limit=5", { headers: session })],
    console_post: () => [
      at("/console/api/v1/check", { headers: session, body: { subject: agent, stakes: 5 } }),
    ],
    console_put: () => [at("/console/api/v1/agents", { headers: session, body: {} })],
    console_patch: () => [at("/console/api/v1/agents", { headers: session, body: {} })],
    console_delete: () => [at("/console/api/v1/agents", { headers: session })],
    log_in: () => [at(route.path, { headers: { "sec-fetch-site": "same-origin" }, body: { key } })],
    // The session is needed until the last route.
    log_out: () => [],
    read_session: () => [at(route.path, { headers: session })],
  };
  if (name.startsWith("gateway_envoy_")) {
    return [at("/v1/gateway/envoy/orders", { headers: ENVOY_HEADERS(agent) })];
  }
  const listed = special[name];
  return listed === undefined ? [at(route.path.replace(/\{\w+\}/, id))] : listed();
}
