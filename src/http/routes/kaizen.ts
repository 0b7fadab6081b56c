// Routes of kaizen and of the configs that it makes live: start a run, read its findings (as data or as a page), roll a promotion back. A
// run may take a minute: `wait` false answers at once with its id.
import { ServiceFault } from "../../contract/faults.ts";
import { BODY_BYTES_MAX } from "../../contract/limits.ts";
import {
  parseKaizenPromoteRequest,
  parseKaizenRollbackRequest,
  parseKaizenRunRequest,
} from "../../contract/parse/requests.ts";
import type { ConfigSummary, RunRecord } from "../../kaizen/kaizen.ts";
import { HTML_MEDIA_TYPE } from "../codec/negotiation.ts";
import type { Exchange } from "../exchange.ts";
import { PAGE_HEADERS } from "../openapi/headers.ts";
import type { Route } from "../route.ts";
import type { Reply } from "../server/port.ts";
import { GRAPH_NODES_MAX, parseGraphLimit } from "../../contract/parse/parameters.ts";

const RUN_DEADLINE_MS = 300_000;
const VERSION = /^c-[0-9a-f]{16}$/;
const VERSION_EXAMPLE = "c-0123456789abcdef";
const RUN = { description: "The run", example: "k-42" };

export const KAIZEN_ROUTES: readonly Route[] = [
  {
    name: "kaizen_run",
    method: "POST",
    path: "/v1/kaizen/run",
    summary: "Re-fits the weights from settled outcomes; promotes them if every gate passes",
    access: "kaizen:run",
    body: { kind: "document", bytesMax: BODY_BYTES_MAX, schema: "KaizenRunRequest" },
    responses: {
      200: { description: "Promoted or not, and every gate's numbers", schema: "KaizenRun" },
      202: { description: "Under way (`wait` false)", schema: "KaizenRun" },
    },
    deadlineMs: RUN_DEADLINE_MS,
    handle: startRun,
  },
  {
    name: "kaizen_runs",
    method: "GET",
    path: "/v1/kaizen/runs",
    summary: "What is live, what is under way, and every run, newest first",
    access: "kaizen:run",
    responses: { 200: { description: "Status and runs", schema: "KaizenRuns" } },
    isSynchronous: true,
    handle: (exchange) => {
      const kaizen = exchange.require("kaizen");
      return exchange.document(200, { ...kaizen.status(), runs: kaizen.runs() });
    },
  },
  {
    name: "kaizen_show",
    method: "GET",
    path: "/v1/kaizen/runs/{id}",
    parameter: RUN,
    summary: "One run with every number it rests on",
    access: "kaizen:run",
    responses: { 200: { description: "The run", schema: "KaizenRun" } },
    isSynchronous: true,
    handle: (exchange) => exchange.document(200, describeRun(exchange, requireRun(exchange))),
  },
  {
    name: "kaizen_report_link",
    method: "GET",
    path: "/v1/kaizen/runs/{id}/report",
    parameter: RUN,
    summary: "The same page by a link that answers about the run give: one run, 15 minutes, no key",
    access: "none",
    query: { token: { description: "As the link has it", isRequired: true } },
    responses: {
      200: { description: "The page", mediaType: HTML_MEDIA_TYPE, headers: PAGE_HEADERS },
    },
    isSynchronous: true,
    isFixedFormat: true,
    handle: readReportByLink,
  },
  {
    name: "kaizen_report",
    method: "GET",
    path: "/v1/kaizen/reports/{id}",
    parameter: RUN,
    summary: "One run as a self-contained page with plots",
    access: "kaizen:run",
    responses: {
      200: { description: "The page", mediaType: HTML_MEDIA_TYPE, headers: PAGE_HEADERS },
    },
    isSynchronous: true,
    isFixedFormat: true,
    handle: (exchange) => buildRunPageReply(exchange, exchange.decodedParameter()),
  },
  {
    name: "kaizen_promote",
    method: "POST",
    path: "/v1/kaizen/runs/{id}/promote",
    parameter: RUN,
    summary:
      "Makes the weights live that a finished dry run has tested, if nothing has changed since",
    access: "kaizen:run",
    body: { kind: "document", bytesMax: BODY_BYTES_MAX, schema: "KaizenPromoteRequest" },
    responses: { 200: { description: "The run, promoted", schema: "KaizenRun" } },
    handle: handlePromotion,
  },
  {
    name: "kaizen_rollback",
    method: "POST",
    path: "/v1/kaizen/rollback",
    summary: "Restores the config before the newest promotion",
    access: "kaizen:run",
    body: { kind: "document", bytesMax: BODY_BYTES_MAX, schema: "KaizenRollbackRequest" },
    responses: { 200: { description: "What is live now", schema: "KaizenRollback" } },
    handle: handleRollback,
  },
  {
    name: "list_configs",
    method: "GET",
    path: "/v1/configs",
    summary: "Scoring configs that are or were live, with the runs that made them so",
    access: "kaizen:run",
    responses: { 200: { description: "The configs, the live one first", schema: "ConfigList" } },
    isSynchronous: true,
    handle: (exchange) => {
      const configs = exchange.require("kaizen").configs.list();
      const marked = configs.map((each) => markReplayable(exchange, each));
      return exchange.document(200, { configs: marked });
    },
  },
  {
    name: "read_config",
    method: "GET",
    path: "/v1/configs/{version}",
    parameter: { description: "Version of the config, or `active`", example: VERSION_EXAMPLE },
    summary: "One scoring config with its weights; with `against` what differs from another",
    access: "kaizen:run",
    query: {
      against: { description: "Version of another, or `active`", example: VERSION_EXAMPLE },
    },
    responses: { 200: { description: "The config", schema: "ConfigDocument" } },
    isSynchronous: true,
    handle: readConfig,
  },
];

/** A page in a browser: nothing is loaded by it, and its address is told to nobody. */
const RUN_PAGE_HEADER_LINES = [
  "Content-Security-Policy",
  "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  "Referrer-Policy",
  "no-referrer",
  "X-Content-Type-Options",
  "nosniff",
];

function buildRunPageReply(exchange: Exchange, id: string): Reply {
  const page = exchange.require("kaizen").report(id);
  if (page === undefined) throw new ServiceFault("not_found", "no such run");
  exchange.extraHeaders = [...(exchange.extraHeaders ?? []), ...RUN_PAGE_HEADER_LINES];
  return exchange.text(200, "text/html; charset=utf-8", page);
}

function readReportByLink(exchange: Exchange): Reply {
  const id = exchange.decodedParameter();
  const token = exchange.query.get("token") ?? "";
  if (exchange.services.reportLinks?.isTokenValid(id, token) === true)
    return buildRunPageReply(exchange, id);
  const detail = "the link has expired or is not one of this service: ask for the run again";
  // Not 401: no key would help.
  throw new ServiceFault("not_found", detail);
}

/** A run with its numbers for programs that draw, and the link that opens its report. */
function describeRun(
  exchange: Exchange,
  run: RunRecord | Pick<RunRecord, "run_id" | "state">,
): object {
  const report = exchange.services.reportLinks?.createLink(run.run_id);
  const numbers = "findings" in run ? exchange.require("kaizen").numbers(run) : undefined;
  return { ...run, ...(numbers && { numbers }), ...(report && { report }) };
}

function requireRun(exchange: Exchange): RunRecord {
  const run = exchange.require("kaizen").find(exchange.decodedParameter());
  if (run === undefined) throw new ServiceFault("not_found", "no such run");
  return run;
}

async function startRun(exchange: Exchange): Promise<Reply> {
  const { dry_run, holdout_days, sign_off, as_of, wait } = parseKaizenRunRequest(
    exchange.readDocument(),
  );
  const started = exchange.require("kaizen").start({
    isDryRun: dry_run,
    isSignedOff: sign_off,
    startedBy: exchange.principal.tenant,
    ...(holdout_days === undefined ? {} : { holdoutDays: holdout_days }),
    ...(as_of === undefined ? {} : { asOfMs: as_of }),
  });
  if (started === undefined) throw new ServiceFault("overloaded", "a run is under way");
  const run = wait ? await started.done : ({ run_id: started.id, state: "running" } as const);
  return exchange.document(wait ? 200 : 202, describeRun(exchange, run));
}

async function handlePromotion(exchange: Exchange): Promise<Reply> {
  const { reason } = parseKaizenPromoteRequest(exchange.readDocument());
  const by = exchange.principal.keyId;
  const run = await exchange.require("kaizen").promote(exchange.decodedParameter(), { by, reason });
  if (run === undefined) throw new ServiceFault("not_found", "no such run");
  const { run_id, champion_version: config_from, challenger_version: config_to } = run;
  const detail = { run_id, config_from, config_to, reason };
  await exchange.recordAuditEvent("kaizen.promoted", exchange.principal.tenant, detail);
  return exchange.document(200, describeRun(exchange, run));
}

async function handleRollback(exchange: Exchange): Promise<Reply> {
  const { reason } = parseKaizenRollbackRequest(exchange.readDocument());
  const done = await exchange.require("kaizen").rollback(reason);
  if (done === undefined) throw new ServiceFault("not_found", "there is no promotion to take back");
  const detail = { ...done, reason };
  await exchange.recordAuditEvent("kaizen.rolled_back", exchange.principal.tenant, detail);
  return exchange.document(200, done);
}

function readConfig(exchange: Exchange): Reply {
  const configs = exchange.require("kaizen").configs;
  const version = exchange.decodedParameter();
  const against = exchange.query.get("against") ?? undefined;
  if (against !== undefined && against !== "active" && !VERSION.test(against)) {
    const detail = "`against` must be `active` or the version of a config, `c-` and 16 hex digits";
    throw new ServiceFault("invalid_parameter", detail);
  }
  const found = configs.find(version, against);
  if (found !== undefined) return exchange.document(200, markReplayable(exchange, found));
  const missing = configs.find(version) === undefined ? version : against;
  throw new ServiceFault("not_found", `no config \`${missing}\` is on file`);
}

function markReplayable<Config extends ConfigSummary>({ services }: Exchange, config: Config) {
  return { ...config, replayable: services.bureau.holdsConfig(config.version) };
}

// Reporter credibility: status, refresh, and the graph of reporters.

/** A batch over ten million outcomes takes half a minute. */
const BATCH_DEADLINE_MS = 300_000;

export const CREDIBILITY_ROUTES: readonly Route[] = [
  {
    name: "credibility_status",
    method: "GET",
    path: "/v1/kaizen/credibility",
    summary: "Whether reporters are weighed by credibility, and what the last batch found",
    access: "kaizen:run",
    responses: { 200: { description: "Switch and last batch", schema: "CredibilityStatus" } },
    isSynchronous: true,
    handle: (exchange) => exchange.document(200, exchange.require("credibility").status()),
  },
  {
    name: "credibility_refresh",
    method: "POST",
    path: "/v1/kaizen/credibility",
    summary: "Computes every reporter's credibility from the whole history, now",
    access: "kaizen:run",
    responses: { 200: { description: "What changed", schema: "CredibilityBatch" } },
    deadlineMs: BATCH_DEADLINE_MS,
    handle: async (exchange) =>
      exchange.document(200, await exchange.require("credibility").refresh()),
  },
  {
    name: "credibility_graph",
    method: "GET",
    path: "/v1/kaizen/credibility/graph",
    summary: "Reporters of the last batch, who vouched for whom, and their clusters",
    access: "kaizen:run",
    query: {
      around: "A reporter: those within two steps of it, by the heaviest edges",
      limit: `At most so many reporters, 1 to ${GRAPH_NODES_MAX}; 200 when left out`,
    },
    responses: { 200: { description: "Reporters and edges", schema: "CredibilityGraph" } },
    isSynchronous: true,
    handle: showGraph,
  },
];

function showGraph(exchange: Exchange): Reply {
  const query = exchange.query;
  const limit = parseGraphLimit(query.get("limit"));
  const around = query.get("around") ?? undefined;
  const graph = exchange.require("credibility").graph(limit, around);
  if (graph !== undefined) return exchange.document(200, graph);
  throw new ServiceFault("not_found", "the last batch kept no such reporter");
}
