// Runs one analyst's query on its own connection within limits: rows, bytes and time are bounded here,
// memory by the database. The time limit counts the time that DuckDB works, not the pauses of a stream.
import { ServiceFault } from "../../contract/faults.ts";
import type { QueryParameter } from "../../contract/schemas/service.ts";
import {
  type Connection,
  ParameterCountMismatch,
  readNumber,
  type RowChunk,
  type RowStream,
  StatementRefused,
} from "../duckdb.ts";
import {
  type QueryRights,
  assertReadOnly,
  createDatabaseRejection,
  createQueryRejection,
} from "./guard.ts";
import { createOpenPivotRejection, fillPivotValues, findPivotsWithoutValues } from "./pivot.ts";
import { encodeParquet } from "./parquet.ts";
import type { SnapshotPosition, QueryLimits, QueryResult } from "../store.ts";
import { buildCatalogSql, readTenantScope, buildTenantViewSql } from "./views.ts";

/** Text in one answer, in UTF-16 units: beyond this the answer belongs in a stream or an export. */
export const RESULT_TEXT_MAX = 16 * 1024 * 1024;

/** The database, not the query, is at fault: the store must check it. */
export class DatabaseSuspect extends Error {}

/** One statement of a caller's. */
export interface CallerStatement {
  readonly sql: string;
  /** Values of its parameters, in their order; absent: it has none. */
  readonly params?: readonly QueryParameter[] | undefined;
}

/** Limits and rights of one query. */
export interface QueryContext {
  readonly limits: QueryLimits;
  /** Whose rows are visible. */
  readonly asker: QueryRights;
  /** Epoch ms. */
  readonly clock: () => number;
  /** File that the answer is made in where it is to be Parquet; absent: it is rows. */
  readonly parquetPath?: string | undefined;
  /** Called with what can interrupt the query, before it begins. */
  readonly onWatch?: (watch: QueryTimeLimit) => void;
}

/**
 * Runs one query, on a connection that nothing else uses before or after: its views and macros last as long.
 * @throws ServiceFault `query_rejected` with the reason; DatabaseSuspect when DuckDB reports
 *   trouble with its files or itself.
 */
export async function runQuery(
  connection: Connection,
  statement: CallerStatement,
  { limits, asker, clock, parquetPath, onWatch }: QueryContext,
): Promise<QueryResult> {
  const startedAt = performance.now();
  const watch = new QueryTimeLimit(connection, limits.timeoutMs);
  onWatch?.(watch);
  try {
    return await watch.run(async () => {
      const { stream, asOf, budget } = await startReadOnlyQuery(
        connection,
        statement,
        asker,
        clock,
      );
      budget.reset(RESULT_TEXT_MAX);
      const { rowsMax } = limits;
      const isParquet = parquetPath !== undefined;
      const { chunks, ...rest } = await readRows(stream, watch, {
        rowsMax,
        keepsChunks: isParquet,
      });
      const { columns } = stream;
      let parquet: Uint8Array | undefined;
      if (isParquet) {
        await connection.run("ROLLBACK");
        parquet = await encodeParquet(connection, { columns, chunks, rowsMax }, parquetPath);
        rest.rows = [];
      }
      const elapsedMs = performance.now() - startedAt;
      return { columns, ...rest, elapsedMs, asOf, ...(parquet && { parquet }) };
    });
  } catch (error) {
    throw convertQueryError(error, watch, limits.timeoutMs);
  } finally {
    await connection.run("ROLLBACK").catch(() => undefined);
  }
}

/** A statement that has begun, in a transaction of its own that the caller ends. */
export interface StartedQuery {
  stream: RowStream;
  asOf: SnapshotPosition;
  /** Text that the stream may still give; nothing before the first `allow`. */
  budget: TextBudget;
}

/**
 * Checks a query and starts it in a read-only transaction; as `runQuery` on a connection of its own.
 * @throws ServiceFault `query_rejected`; DuckDB's errors.
 */
export async function startReadOnlyQuery(
  connection: Connection,
  { sql, params = [] }: CallerStatement,
  asker: QueryRights,
  clock: () => number,
): Promise<StartedQuery> {
  const shown = new Set<string>();
  const admit = async (text: string) => {
    const views = await assertReadOnly(connection, text, asker);
    const missing = [...views].filter((view) => !shown.has(view));
    if (asker.tenant !== undefined) await createTenantViews(connection, missing, asker.tenant);
    for (const view of missing) shown.add(view);
  };
  await connection.run(buildCatalogSql().join(";\n"));
  const pivots = findPivotsWithoutValues(sql);
  if (pivots.length > 0 && params.length > 0) throw createOpenPivotRejection();
  const closed = await fillPivotValues(sql, pivots, async (values) => {
    await admit(values);
    return (await connection.rows(values)).map(([value]) => value);
  });
  await admit(closed);
  await connection.run("BEGIN TRANSACTION READ ONLY");
  const asOf = await readSnapshotPosition(connection, clock);
  const budget = new TextBudget();
  const stream = await connection.stream(closed, params, (length) => budget.spend(length));
  return { stream, asOf, budget };
}

/** The first read of a transaction fixes what all of it sees. */
async function readSnapshotPosition(
  connection: Connection,
  clock: () => number,
): Promise<SnapshotPosition> {
  const sql = "SELECT coalesce(max(lsn), 0) FROM outcomes.main.applied";
  return { position: await readNumber(connection, sql), timeMs: clock() };
}

/** Puts a tenant's own views before those over everything, for the life of the connection. */
async function createTenantViews(
  connection: Connection,
  views: Iterable<string>,
  tenant: string,
): Promise<void> {
  const scope = await readTenantScope(connection, tenant);
  for (const statement of buildTenantViewSql(views, scope)) await connection.run(statement);
}

class TextOverflow extends Error {}

/** Bound on the text of an answer, or of each part of a streamed one. */
class TextBudget {
  #left = 0;

  reset(length: number): void {
    this.#left = length;
  }

  spend(length: number): void {
    this.#left -= length;
    if (this.#left < 0) throw new TextOverflow();
  }
}

async function readRows(
  stream: RowStream,
  watch: QueryTimeLimit,
  { rowsMax, keepsChunks }: { readonly rowsMax: number; readonly keepsChunks: boolean },
): Promise<{ rows: unknown[][]; chunks: RowChunk[]; isTruncated: boolean }> {
  const rows: unknown[][] = [];
  const chunks: RowChunk[] = [];
  try {
    for (;;) {
      const chunk = await stream.next();
      if (watch.isInterrupted) throw new Error("INTERRUPT Error: Interrupted!");
      if (chunk === undefined) return { rows, chunks, isTruncated: false };
      if (keepsChunks) chunks.push(chunk);
      for (const row of chunk.rows()) {
        if (rows.length === rowsMax) return { rows, chunks, isTruncated: true };
        rows.push(row);
      }
    }
  } finally {
    stream.close();
  }
}

/** Errors of DuckDB that point to the database instead of the query. */
const DATABASE_ERROR = /^(IO|INTERNAL|FATAL|Serialization) Error/;

/** The error of a query as its caller shall see it. */
export function convertQueryError(error: unknown, watch: QueryTimeLimit, limitMs: number): Error {
  if (error instanceof ServiceFault) return error;
  if (watch.isCancelled) return createQueryCancelledFault();
  if (watch.isInterrupted) return createQueryTimeoutFault(limitMs);
  if (error instanceof StatementRefused) return createQueryRejection("only one SELECT is allowed");
  if (error instanceof ParameterCountMismatch) return createParameterFault(error.message);
  if (error instanceof TextOverflow) {
    return createQueryRejection(`the answer is larger than ${RESULT_TEXT_MAX} characters`);
  }
  const message = error instanceof Error ? error.message : String(error);
  if (message.startsWith("INTERRUPT Error")) {
    return new ServiceFault("store_unavailable", "the outcome store ended the query");
  }
  if (DATABASE_ERROR.test(message)) return new DatabaseSuspect(message, { cause: error });
  if (message.startsWith("Out of Memory Error")) return createQueryMemoryFault();
  return createDatabaseRejection(message);
}

function createParameterFault(detail: string): ServiceFault {
  return new ServiceFault("query_rejected", detail, [
    { pointer: "/params", code: "length", detail },
  ]);
}

/** The limit is on the work of the query: no repetition and no longer wait of the client helps. */
export function createQueryTimeoutFault(limitMs: number): ServiceFault {
  const detail =
    `the query took longer than ${limitMs} ms, the limit of the service or of its key (\`query_seconds_max\`): ` +
    "ask for fewer days, read `agents_daily` in place of `outcomes`, or export the rows";
  return createQueryLimitFault("timeout", detail);
}

/** Whether `error` is the fault of a query that was interrupted after `limitMs`. */
export function isTimeoutAfter(error: unknown, limitMs: number): boolean {
  const { detail } = createQueryTimeoutFault(limitMs);
  return error instanceof ServiceFault && error.detail === detail;
}

/** Whether `error` is the fault of a query that found no memory. */
export function isMemoryFault(error: unknown): boolean {
  return error instanceof ServiceFault && error.errors[0]?.code === "memory";
}

export function createQueryMemoryFault(): ServiceFault {
  return createQueryLimitFault("memory", "the query needs more memory than the store may use");
}

export function createQueryCancelledFault(): ServiceFault {
  return createQueryLimitFault("cancelled", "the query was ended by the key that asked it");
}

/** `code` lets a program distinguish the causes. */
function createQueryLimitFault(
  code: "timeout" | "memory" | "cancelled",
  detail: string,
): ServiceFault {
  return new ServiceFault("query_rejected", detail, [{ pointer: "/sql", code, detail }]);
}

/** An interrupt that comes between two steps is lost, so it is repeated at this interval in ms. */
export const INTERRUPT_REPEAT_MS = 20;

export class QueryTimeLimit {
  isInterrupted = false;
  /** Its caller wants no answer any more. */
  isCancelled = false;
  readonly #connection: Connection;
  #leftMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(connection: Connection, limitMs: number) {
    this.#connection = connection;
    this.#leftMs = limitMs;
  }

  /** Runs `work` within the time that is left. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    this.#timer = setTimeout(() => this.#interruptRepeatedly(), Math.max(0, this.#leftMs));
    try {
      return await work();
    } finally {
      clearTimeout(this.#timer);
      this.#leftMs -= performance.now() - startedAt;
    }
  }

  /** Interrupts it for its caller's sake. */
  cancel(): void {
    this.isCancelled = true;
    this.#interruptRepeatedly();
  }

  #interruptRepeatedly(): void {
    this.isInterrupted = true;
    this.#connection.interrupt();
    clearTimeout(this.#timer);
    this.#timer = setInterval(() => this.#connection.interrupt(), INTERRUPT_REPEAT_MS);
  }
}
