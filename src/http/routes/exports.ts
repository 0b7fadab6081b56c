// Routes of exports: the days that a view has rows of, and its rows as Parquet files, one for each day
// or one in all. A key sees its own tenant's rows; an administrator's key sees all. Beside them the rebuild of
// one view, `scores_daily`.
import { ServiceFault } from "../../contract/faults.ts";
import { parseDay, readChoice } from "../../contract/parse/parameters.ts";
import { DATED_VIEWS, EXPORT_DAYS, EXPORT_VIEWS, PAID_VIEWS } from "../../contract/views.ts";
import type { ExportView } from "../../contract/views.ts";
import type { ExportOptions } from "../../store/store.ts";
import { assertQuotaLeft, countRequestRead, listWithheldViews } from "../access/paid-reads.ts";
import { QUERY_MEDIA_TYPES } from "../codec/negotiation.ts";
import { buildBodyReply } from "../codec/reply.ts";
import type { Exchange } from "../exchange.ts";
import type { Route } from "../route.ts";
import type { Reply } from "../server/port.ts";
import { readSinceMs, selectVisibleTenant } from "./decisions.ts";

const PARQUET = QUERY_MEDIA_TYPES.parquet;
/** A day of a busy service is some hundred megabytes of rows. */
const DEADLINE_MS = 60_000;

const QUERY = {
  since: "Not before: a date, an RFC 3339 date-time or epoch ms",
  by: {
    description: "Outcomes by the day they were recorded, which is the default, or settled",
    values: EXPORT_DAYS,
  },
};

const SHARED = {
  method: "GET",
  access: "analytics:read",
  parameter: { description: "The view", values: EXPORT_VIEWS },
  deadlineMs: DEADLINE_MS,
} as const;

export const EXPORT_ROUTES: readonly Route[] = [
  {
    ...SHARED,
    name: "list_export_days",
    path: "/v1/export/{view}/days",
    summary: "Days (UTC) that a view has rows of; none for a view that is exported whole",
    query: QUERY,
    responses: { 200: { description: "The days", schema: "ExportDays" } },
    handle: listExportDays,
  },
  {
    ...SHARED,
    name: "export_day",
    path: "/v1/export/{view}",
    summary:
      "One day of a view as a Parquet file, or all of a view without days; of a view of current scores " +
      "a paid read",
    isPaidRead: "by_view",
    query: { day: "The day, as `2026-01-31`; required for a view with days", ...QUERY },
    responses: { 200: { description: "The file", mediaType: PARQUET } },
    isFixedFormat: true,
    handle: exportFile,
  },
];

/** A replay of a year takes minutes where there are many agents. */
const REBUILD_DEADLINE_MS = 600_000;

export const DAILY_SCORE_ROUTES: readonly Route[] = [
  {
    name: "daily_scores_status",
    method: "GET",
    path: "/v1/scores/daily",
    summary: "Whether `scores_daily` is being rebuilt, and what the last rebuild wrote",
    access: "admin",
    responses: { 200: { description: "Progress and the last one", schema: "DailyScoresStatus" } },
    isSynchronous: true,
    handle: (exchange) => exchange.document(200, exchange.require("dailyScores").status()),
  },
  {
    name: "daily_scores_rebuild",
    method: "POST",
    path: "/v1/scores/daily",
    summary:
      "Rebuilds `scores_daily` by a replay of the journal: every day before today as it would have ended",
    access: "admin",
    responses: { 200: { description: "What was written", schema: "DailyScoreRebuild" } },
    deadlineMs: REBUILD_DEADLINE_MS,
    handle: async (exchange) =>
      exchange.document(200, await exchange.require("dailyScores").rebuild()),
  },
];

async function listExportDays(exchange: Exchange): Promise<Reply> {
  const days = await exchange.services.store.listExportDays(
    parseExportView(exchange),
    readExportOptions(exchange),
  );
  return exchange.document(200, { days });
}

async function exportFile(exchange: Exchange): Promise<Reply> {
  const view = parseExportView(exchange);
  const given = exchange.query.get("day");
  const day = (DATED_VIEWS as readonly string[]).includes(view) ? parseDay(given) : undefined;
  const isPaid = PAID_VIEWS.includes(view);
  if (isPaid) assertQuotaLeft(exchange);
  const bytes = await exchange.services.store.exportParquet(view, day, readExportOptions(exchange));
  if (isPaid) countRequestRead(exchange, "export");
  return buildBodyReply(200, PARQUET, Buffer.from(bytes), exchange.echoedId);
}

function parseExportView(exchange: Exchange): ExportView {
  const view = EXPORT_VIEWS.find((each) => each === exchange.parameter);
  if (view === undefined) throw new ServiceFault("not_found", "there is no such view to export");
  if (!listWithheldViews(exchange).includes(view)) return view;
  const detail = `the view \`${view}\` takes \`score:read\` as well`;
  throw new ServiceFault("insufficient_scope", detail);
}

function readExportOptions(exchange: Exchange): ExportOptions {
  const by = readChoice(exchange.query, "by", EXPORT_DAYS) ?? "recorded";
  return { sinceMs: readSinceMs(exchange) ?? 0, tenant: selectVisibleTenant(exchange), by };
}
