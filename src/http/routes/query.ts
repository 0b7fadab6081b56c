// Routes of analysts: one SELECT over the outcome store, answered whole or streamed as lines, and the
// views that there are. A key sees its own tenant's rows; an administrator's key sees all.
import { ServiceFault } from "../../contract/faults.ts";
import { BODY_BYTES_MAX } from "../../contract/limits.ts";
import { parseJournalPosition } from "../../contract/parse/parameters.ts";
import { parseQueryRequest } from "../../contract/parse/requests.ts";
import { formatCsv } from "../../platform/csv.ts";
import type { QueryResult, SnapshotPosition } from "../../store/store.ts";
import { runPaidQuery } from "../access/paid-reads.ts";
import {
  negotiateQueryFormat,
  QUERY_MEDIA_TYPES,
  type AcceptedQueryFormat,
} from "../codec/negotiation.ts";
import { buildBodyReply } from "../codec/reply.ts";
import type { Exchange } from "../exchange.ts";
import type { Route } from "../route.ts";
import type { Reply } from "../server/port.ts";
import { selectVisibleTenant } from "./decisions.ts";

const QUERY_LIMITS = { rowsMax: 10_000, timeoutMs: 8_000 };
/** Longest wait for the position that a caller asks for. */
const POSITION_WAIT_MS = 5_000;
/** Longer than the store's own times together, whose errors say more than ours. */
const QUERY_DEADLINE_MS = 20_000;
/** The same for a stream, whose first rows may take all of its 60 s. */
const STREAM_DEADLINE_MS = 75_000;
const { csv: CSV, parquet: PARQUET, ndjson: NDJSON } = QUERY_MEDIA_TYPES;

export const QUERY_ROUTES: readonly Route[] = [
  {
    name: "query",
    method: "POST",
    path: "/v1/query",
    summary:
      "One read-only SELECT over the tenant's rows, for an administrator over all; " +
      "`Accept` names the form: JSON, CSV, Parquet, or `application/x-ndjson`, a stream of any length. " +
      "Over a view of current scores a paid read",
    access: "analytics:read",
    isPaidRead: "by_view",
    body: { kind: "document", bytesMax: BODY_BYTES_MAX, schema: "QueryRequest" },
    query: {
      min_position: "Waits until the journal is in the rows up to here; 504 after 5 s",
    },
    responses: {
      200: {
        description:
          "Columns and rows, CSV, a Parquet file, or a line for each row, as `Accept` says",
        schema: "QueryResult",
        mediaType: [CSV, PARQUET, NDJSON],
        headers: ["X-As-Of-Position", "X-As-Of-Time", "X-Is-Truncated"],
      },
    },
    // Lines are none of the formats that routes have in common.
    isFixedFormat: true,
    deadlineMs: STREAM_DEADLINE_MS,
    handle: handleQuery,
  },
  {
    name: "query_cancel",
    method: "DELETE",
    path: "/v1/query/{id}",
    parameter: { description: "`query_id` of a query that runs or waits", example: "q-1" },
    summary: "Ends a query of the same key, which is then answered with code `cancelled`",
    access: "analytics:read",
    responses: { 200: { description: "It is ended", schema: "QueryCancelled" } },
    handle: handleQueryCancel,
  },
  {
    name: "query_schema",
    method: "GET",
    path: "/v1/query/schema",
    summary: "The views that can be queried, with the meaning of every column",
    access: "analytics:read",
    responses: { 200: { description: "The views", schema: "QuerySchema" } },
    deadlineMs: QUERY_DEADLINE_MS,
    handle: handleQuerySchema,
  },
];

async function handleQuery(exchange: Exchange): Promise<Reply> {
  const { store } = exchange.services;
  const accepted = negotiateQueryFormat(exchange.head.accept);
  if (accepted === "msgpack") exchange.replyFormat = accepted;
  const { sql, params, format, query_id: id } = parseQueryRequest(exchange.readDocument());
  const position = exchange.query.get("min_position");
  if (position !== null)
    await store.waitUntilApplied(parseJournalPosition(position), POSITION_WAIT_MS);
  const tenant = selectVisibleTenant(exchange);
  const { querySecondsMax } = exchange.principal;
  const keyMs = querySecondsMax === undefined ? undefined : querySecondsMax * 1000;
  if (accepted === "ndjson") {
    const rows = await runPaidQuery(exchange, (withheld) =>
      store.openStream(sql, tenant, { withheld, params, workMs: keyMs }),
    );
    const headers = [...buildStreamHeaders(exchange, rows.asOf), "Content-Type", NDJSON];
    return { status: 200, headers, body: "", stream: rows };
  }
  const handle = id === undefined ? undefined : formatQueryHandle(exchange, id);
  const timeoutMs = Math.min(QUERY_LIMITS.timeoutMs, keyMs ?? Infinity);
  const limits = { ...QUERY_LIMITS, timeoutMs };
  const form = accepted === "parquet" ? "parquet" : "rows";
  const result = await runPaidQuery(exchange, (withheld) =>
    store.query(sql, limits, tenant, { withheld, params, handle, form }),
  );
  return buildQueryReply(exchange, result, form === "rows" && format === "csv" ? "csv" : accepted);
}

function buildQueryReply(
  exchange: Exchange,
  result: QueryResult,
  format: AcceptedQueryFormat,
): Reply {
  const { columns, rows, parquet, isTruncated, elapsedMs, asOf } = result;
  const headers = [...(exchange.extraHeaders ?? []), ...buildAsOfHeaders(asOf)];
  const isCutHeader = ["X-Is-Truncated", String(isTruncated)];
  exchange.extraHeaders = format === "csv" || parquet ? [...headers, ...isCutHeader] : headers;
  if (parquet) return buildBodyReply(200, PARQUET, Buffer.from(parquet), exchange.echoedId);
  if (format === "csv") {
    const names = columns.map((column) => column.name);
    return exchange.text(200, `${CSV}; charset=utf-8`, formatCsv(names, rows, "\r\n"));
  }
  return exchange.document(200, {
    columns,
    rows,
    is_truncated: isTruncated,
    elapsed_ms: elapsedMs,
    as_of: { position: asOf.position, time: new Date(asOf.timeMs).toISOString() },
  });
}

/** A caller ends its own queries alone: an id of another key's is none. */
function formatQueryHandle({ principal }: Exchange, id: string): string {
  return `${principal.keyId}\n${id}`;
}

async function handleQueryCancel(exchange: Exchange): Promise<Reply> {
  const id = exchange.decodedParameter();
  const isEnded = await exchange.services.store.cancelQuery(formatQueryHandle(exchange, id));
  if (!isEnded)
    throw new ServiceFault("not_found", "no query of this key by that id runs or waits");
  return exchange.document(200, { query_id: id });
}

/** Lines and CSV have no place for it but these. */
function buildAsOfHeaders({ position, timeMs }: SnapshotPosition): string[] {
  return ["X-As-Of-Position", String(position), "X-As-Of-Time", new Date(timeMs).toISOString()];
}

function buildStreamHeaders(exchange: Exchange, asOf: SnapshotPosition): string[] {
  return [
    "Cache-Control",
    "no-store",
    "X-Request-Id",
    exchange.echoedId,
    ...buildAsOfHeaders(asOf),
  ];
}

async function handleQuerySchema(exchange: Exchange): Promise<Reply> {
  const { views, timeZone } = await exchange.services.store.describeViews();
  return exchange.document(200, { views, time_zone: timeZone });
}
