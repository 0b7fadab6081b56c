// Runs one analyst's query within limits, on a connection of its own: rows, bytes and time are
// bounded here, memory by the database. No query can stop the service.
import { ServiceFault } from "../../contract/faults.ts";
import type { Connection, RowStream } from "../duckdb.ts";
import { StatementRefused } from "../duckdb.ts";
import { type Asker, assertReadOnly, oneLine, queryRejected } from "./guard.ts";
import { closePivots, openPivots } from "./pivot.ts";
import type { AsOf, QueryLimits, QueryResult } from "../store.ts";
import { readTenantScope, tenantViewStatements } from "./views.ts";
import { Watch } from "./watch.ts";

/** Text in one answer, in UTF-16 units: beyond this the answer belongs in a stream or an export. */
export const RESULT_TEXT_MAX = 16 * 1024 * 1024;

/** The database, not the query, is at fault: the store must check it. */
export class DatabaseSuspect extends Error {}

/**
 * Runs one query.
 * @param asker whose rows are visible; a tenant's on a connection of its own.
 * @param clock epoch ms.
 * @param onWatch called with what can interrupt it, before it begins.
 * @throws ServiceFault `query_rejected` with the reason; DatabaseSuspect when DuckDB reports
 *   trouble with its files or itself.
 */
export async function runQuery(
  connection: Connection,
  sql: string,
  limits: QueryLimits,
  asker: Asker,
  clock: () => number,
  onWatch: (watch: Watch) => void = () => undefined,
): Promise<QueryResult> {
  const startedAt = performance.now();
  const watch = new Watch(connection, limits.timeoutMs);
  onWatch(watch);
  try {
    return await watch.during(async () => {
      const { stream, asOf, budget } = await startReading(connection, sql, asker, clock);
      budget.allow(RESULT_TEXT_MAX);
      const { rows, isTruncated } = await readRows(stream, limits.rowsMax, watch);
      const elapsedMs = performance.now() - startedAt;
      return { columns: stream.columns, rows, isTruncated, elapsedMs, asOf };
    });
  } catch (error) {
    throw convertQueryError(error, watch, limits.timeoutMs);
  } finally {
    await connection.run("ROLLBACK").catch(() => undefined);
  }
}

/** A statement that has begun, in a transaction of its own that the caller ends. */
export interface Reading {
  stream: RowStream;
  asOf: AsOf;
  /** Text that the stream may still give; nothing before the first `allow`. */
  budget: TextBudget;
}

/**
 * Checks a query and starts it in a read-only transaction.
 * @throws ServiceFault `query_rejected`; DuckDB's errors.
 */
export async function startReading(
  connection: Connection,
  sql: string,
  asker: Asker,
  clock: () => number,
): Promise<Reading> {
  const shown = new Set<string>();
  const admit = async (text: string) => {
    const views = await assertReadOnly(connection, text, asker);
    const missing = [...views].filter((view) => !shown.has(view));
    if (asker.tenant !== undefined) await showOwnRows(connection, missing, asker.tenant);
    for (const view of missing) shown.add(view);
  };
  const closed = await closePivots(sql, openPivots(sql), async (values) => {
    await admit(values);
    return (await connection.rows(values)).map(([value]) => value);
  });
  await admit(closed);
  await connection.run("BEGIN TRANSACTION READ ONLY");
  const asOf = await asOfNow(connection, clock);
  const budget = new TextBudget();
  const stream = await connection.stream(closed, (length) => budget.take(length));
  return { stream, asOf, budget };
}

/** The first read of a transaction fixes what all of it sees. */
async function asOfNow(connection: Connection, clock: () => number): Promise<AsOf> {
  const [row] = await connection.rows("SELECT coalesce(max(lsn), 0) FROM outcomes.main.applied");
  return { position: Number(row?.[0]), timeMs: clock() };
}

/** Puts a tenant's own views before those over everything, for the life of the connection. */
async function showOwnRows(
  connection: Connection,
  views: Iterable<string>,
  tenant: string,
): Promise<void> {
  const scope = await readTenantScope(connection, tenant);
  for (const statement of tenantViewStatements(views, scope)) await connection.run(statement);
}

class TextOverflow extends Error {}

/** Bound on the text of an answer, or of each part of a streamed one. */
class TextBudget {
  #left = 0;

  allow(length: number): void {
    this.#left = length;
  }

  take(length: number): void {
    this.#left -= length;
    if (this.#left < 0) throw new TextOverflow();
  }
}

async function readRows(
  stream: RowStream,
  rowsMax: number,
  watch: Watch,
): Promise<{ rows: unknown[][]; isTruncated: boolean }> {
  const rows: unknown[][] = [];
  try {
    for (;;) {
      const chunk = await stream.next();
      if (watch.isOver) throw new Error("INTERRUPT Error: Interrupted!");
      if (chunk === undefined) return { rows, isTruncated: false };
      for (const row of chunk.rows()) {
        if (rows.length === rowsMax) return { rows, isTruncated: true };
        rows.push(row);
      }
    }
  } finally {
    stream.close();
  }
}

/** Errors of DuckDB that point to the database instead of the query. */
const SUSPECT = /^(IO|INTERNAL|FATAL|Serialization) Error/;

/** The error of a query as its caller shall see it. */
export function convertQueryError(error: unknown, watch: Watch, limitMs: number): Error {
  if (error instanceof ServiceFault) return error;
  if (watch.isCancelled) return queryCancelled();
  if (watch.isOver) return tookTooLong(limitMs);
  if (error instanceof StatementRefused) return queryRejected("only one SELECT is allowed");
  if (error instanceof TextOverflow) {
    return queryRejected(`the answer is larger than ${RESULT_TEXT_MAX} characters`);
  }
  const message = error instanceof Error ? error.message : String(error);
  if (message.startsWith("INTERRUPT Error")) {
    return new ServiceFault("store_unavailable", "the outcome store ended the query");
  }
  if (SUSPECT.test(message)) return new DatabaseSuspect(message, { cause: error });
  if (message.startsWith("Out of Memory Error")) return tookTooMuchMemory();
  return queryRejected(oneLine(message));
}

/** The limit is on the work of the query: no repetition and no longer wait of the client helps. */
export function tookTooLong(limitMs: number): ServiceFault {
  const detail =
    `the query took longer than ${limitMs} ms, which is all the time that the store works on one: ` +
    "ask for fewer days, read `agents_daily` in place of `outcomes`, or export the rows";
  return rejectedFor("timeout", detail);
}

export function tookTooMuchMemory(): ServiceFault {
  return rejectedFor("memory", "the query needs more memory than the store may use");
}

export function queryCancelled(): ServiceFault {
  return rejectedFor("cancelled", "the query was ended by the key that asked it");
}

/** `code` tells a program what ended it. */
function rejectedFor(code: "timeout" | "memory" | "cancelled", detail: string): ServiceFault {
  return new ServiceFault("query_rejected", detail, [{ pointer: "/sql", code, detail }]);
}
