// Runs one analyst's query within limits, on a connection of its own: rows, bytes and time are
// bounded here, memory by the database. No query can stop the service.
import { ServiceFault } from "../../contract/faults.ts";
import type { Connection, RowStream } from "../duckdb.ts";
import { StatementRefused } from "../duckdb.ts";
import { assertReadOnly, oneLine, queryRejected } from "./guard.ts";
import type { QueryLimits, QueryResult } from "../store.ts";
import { scopeOf, tenantViewStatements } from "./views.ts";

/** Text in one answer, in UTF-16 units: beyond this the answer belongs in an export. */
export const RESULT_TEXT_MAX = 16 * 1024 * 1024;
/** An interrupt that comes between two steps is lost, so it is repeated at this interval in ms. */
export const INTERRUPT_REPEAT_MS = 20;

/** The database, not the query, is at fault: the store must check it. */
export class DatabaseSuspect extends Error {}

/**
 * Runs one query.
 * @param tenant whose rows are visible, on a connection of its own; undefined for all.
 * @throws ServiceFault `query_rejected` with the reason; DatabaseSuspect when DuckDB reports
 *   trouble with its files or itself.
 */
export async function runQuery(
  connection: Connection,
  sql: string,
  limits: QueryLimits,
  tenant: string | undefined,
): Promise<QueryResult> {
  const startedAt = performance.now();
  const watch = new Watch(connection, limits.timeoutMs);
  try {
    const views = await assertReadOnly(connection, sql, tenant !== undefined);
    if (tenant !== undefined) await showOwnRows(connection, views, tenant);
    await connection.run("BEGIN TRANSACTION READ ONLY");
    try {
      const budget = textBudget();
      const stream = await connection.stream(sql, budget);
      const { rows, isTruncated } = await readRows(stream, limits.rowsMax, watch);
      const elapsedMs = performance.now() - startedAt;
      return { columns: stream.columns, rows, isTruncated, elapsedMs };
    } finally {
      watch.stop();
      await connection.run("ROLLBACK").catch(() => undefined);
    }
  } catch (error) {
    throw faultOf(error, watch, limits);
  } finally {
    watch.stop();
  }
}

/** Puts a tenant's own views before those over everything, for the life of the connection. */
async function showOwnRows(
  connection: Connection,
  views: Iterable<string>,
  tenant: string,
): Promise<void> {
  const scope = await scopeOf(connection, tenant);
  for (const statement of tenantViewStatements(views, scope)) await connection.run(statement);
}

/** Interrupts the connection once the time is over, until stopped. */
class Watch {
  isOver = false;
  #timer: NodeJS.Timeout;

  constructor(connection: Connection, timeoutMs: number) {
    this.#timer = setTimeout(() => {
      this.isOver = true;
      connection.interrupt();
      this.#timer = setInterval(() => connection.interrupt(), INTERRUPT_REPEAT_MS);
    }, timeoutMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

class TextOverflow extends Error {}

function textBudget(): (length: number) => void {
  let left = RESULT_TEXT_MAX;
  return (length) => {
    left -= length;
    if (left < 0) throw new TextOverflow();
  };
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
      for (const row of chunk) {
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

function faultOf(error: unknown, watch: Watch, limits: QueryLimits): Error {
  if (error instanceof ServiceFault) return error;
  if (watch.isOver) return queryRejected(`the query took longer than ${limits.timeoutMs} ms`);
  if (error instanceof StatementRefused) return queryRejected("only one SELECT is allowed");
  if (error instanceof TextOverflow) {
    return queryRejected(`the answer is larger than ${RESULT_TEXT_MAX} characters`);
  }
  const message = error instanceof Error ? error.message : String(error);
  if (message.startsWith("INTERRUPT Error")) {
    return new ServiceFault("store_unavailable", "the outcome store ended the query");
  }
  if (SUSPECT.test(message)) return new DatabaseSuspect(message, { cause: error });
  if (message.startsWith("Out of Memory Error")) {
    return queryRejected("the query needs more memory than the store may use");
  }
  return queryRejected(oneLine(message));
}
