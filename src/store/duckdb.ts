// Binding to DuckDB, and the only file that imports its package. Opens a database under the house
// rules (one thread, bounded memory, no access to files or extensions, settings locked) and turns
// values into JSON.
import { createRequire } from "node:module";
import type * as DuckDB from "@duckdb/node-api";
import type { QueryParameter } from "../contract/schemas/service.ts";
import { formatDuration, formatUtcTimestamp, LocalTimeFormatter } from "./local-time.ts";
import type { QueryColumn } from "./store.ts";
import { quoteLiteral } from "./view.ts";

// Required, not imported: to learn the names that this package exports, `import` scans its 180 files
// before it loads them, which costs every store thread a tenth of a second of CPU.
const {
  DuckDBDataChunk,
  DuckDBInstance,
  DuckDBIntervalValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  DuckDBTypeId,
  JsonDuckDBValueConverter,
  DOUBLE,
  LIST,
  StatementType,
  UTINYINT,
  VARCHAR,
} = createRequire(import.meta.url)("@duckdb/node-api") as typeof DuckDB;

export type RowValues = unknown[];

/** One table's appender: values in column order, then `endRow`. */
export type RowAppender = Pick<
  DuckDB.DuckDBAppender,
  | "appendBigInt"
  | "appendBoolean"
  | "appendDouble"
  | "appendInteger"
  | "appendNull"
  | "appendUTinyInt"
  | "appendVarchar"
  | "endRow"
> & { appendInstant(epochMs: number): void; appendTexts(values: readonly string[]): void };

/** Rows of an answer as DuckDB holds them. */
export interface RowChunk {
  /** Turns them into values here; called once. */
  readonly rows: () => RowValues[];
  readonly native: DuckDB.DuckDBDataChunk;
}

/** A statement's answer, pulled in parts: a huge one is never held whole. */
export interface RowStream {
  columns: QueryColumn[];
  /** The next rows, or undefined at the end. */
  next(): Promise<RowChunk | undefined>;
  /** Must be called; the connection serves no other statement before. */
  close(): void;
}

export interface Connection {
  /** Runs statements without an answer. */
  run(sql: string): Promise<void>;
  /** Runs a statement with text parameters and returns all rows. For our own small queries. */
  rows(sql: string, parameters?: readonly (string | null)[]): Promise<RowValues[]>;
  /** Appends rows inside the open transaction; `fill` must be synchronous. */
  append(table: string, fill: (appender: RowAppender) => void): Promise<void>;
  /** Appends whole columns, inside the open transaction. Types are UTINYINT, DOUBLE, VARCHAR. */
  appendColumns(
    table: string,
    types: readonly string[],
    columns: readonly (readonly (string | number | null)[])[],
    count: number,
  ): Promise<void>;
  /** Appends the first `rowsMax` rows of an answer to a table of its columns. */
  appendChunks(table: string, chunks: readonly RowChunk[], rowsMax: number): Promise<void>;
  /**
   * Prepares exactly one reading statement and starts it, inside the open transaction.
   * @throws StatementRefused when the text is anything else, ParameterCountMismatch.
   */
  stream(
    sql: string,
    parameters: readonly QueryParameter[],
    onText: (length: number) => void,
  ): Promise<RowStream>;
  /** Stops the running statement, from another turn of the event loop. */
  interrupt(): void;
  close(): void;
}

export interface DuckDatabase {
  connect(): Promise<Connection>;
  /** Close every connection first: an open one keeps the file locked. */
  close(): void;
}

/** The text is not one statement that only reads. */
export class StatementRefused extends Error {}

/** A statement has another number of parameters than there are values. */
export class ParameterCountMismatch extends Error {}

/** Where a query may put what its memory does not hold, and how much of it. */
export interface SpillOptions {
  readonly directory: string;
  readonly megabytes: number;
}

export interface DatabaseOptions {
  /** At least 512: less has left DuckDB unable to replay its own log. */
  readonly memoryMegabytes: number;
  /** The one place where files may be written and read. */
  readonly exportDirectory: string;
  /** IANA name of the zone of local times; absent: UTC. */
  readonly timeZone?: string | undefined;
  /** Absent: both. */
  readonly access?: "READ_WRITE" | "READ_ONLY";
  /** Absent: a query that its memory does not hold fails. */
  readonly spill?: SpillOptions | undefined;
}

/**
 * Opens (or creates) a database file.
 * @throws DuckDB's error when it does not open: when another process holds it, READ_ONLY too.
 */
export async function openDatabase(path: string, options: DatabaseOptions): Promise<DuckDatabase> {
  const { memoryMegabytes, exportDirectory, timeZone = "UTC", spill } = options;
  const instance = await DuckDBInstance.create(path, {
    access_mode: options.access ?? "READ_WRITE",
    threads: "1",
    memory_limit: `${memoryMegabytes}MB`,
    temp_directory: spill?.directory ?? "",
    autoinstall_known_extensions: "false",
    autoload_known_extensions: "false",
    allow_community_extensions: "false",
  });
  const connection = await instance.connect();
  const localTimes = new LocalTimeFormatter(timeZone);
  try {
    await connection.run(`SET GLOBAL TimeZone = ${quoteLiteral(timeZone)}`);
    // Set at creation, DuckDB 1.5 reports this bound but does not enforce it.
    if (spill) await connection.run(`SET max_temp_directory_size = '${spill.megabytes}MiB'`);
    // Order matters: with external access off neither directory can be set any more. A list cannot
    // be given at creation, so all three follow at once.
    await connection.run(`SET allowed_directories = [${quoteLiteral(`${exportDirectory}/`)}]`);
    await connection.run("SET enable_external_access = false");
    await connection.run("SET lock_configuration = true");
  } catch (error) {
    connection.closeSync();
    instance.closeSync();
    throw error;
  }
  connection.closeSync();
  return {
    connect: async () => new DuckConnection(await instance.connect(), localTimes),
    close: () => instance.closeSync(),
  };
}

const READ_STATEMENT_TYPES: ReadonlySet<number> = new Set([
  StatementType.SELECT,
  StatementType.EXPLAIN,
]);

/** Most rows in a chunk of this DuckDB. */
const CHUNK_ROWS = 2048;
const COLUMN_TYPES: Readonly<Record<string, DuckDB.DuckDBType>> = { UTINYINT, DOUBLE, VARCHAR };

class DuckConnection implements Connection {
  readonly #connection: DuckDB.DuckDBConnection;
  readonly #localTimes: LocalTimeFormatter;

  constructor(connection: DuckDB.DuckDBConnection, localTimes: LocalTimeFormatter) {
    this.#connection = connection;
    this.#localTimes = localTimes;
  }

  async run(sql: string): Promise<void> {
    await this.#connection.run(sql);
  }

  async rows(sql: string, parameters: readonly (string | null)[] = []): Promise<RowValues[]> {
    const result = await this.#connection.run(sql, [...parameters]);
    return result.convertRows(createJsonConverter(() => undefined, this.#localTimes));
  }

  async append(table: string, fill: (appender: RowAppender) => void): Promise<void> {
    const appender = await this.#connection.createAppender(table);
    const target = Object.assign(appender, {
      appendInstant: (epochMs: number) => {
        if (Number.isFinite(epochMs)) appender.appendTimestamp(convertToTimestamp(epochMs));
        else appender.appendNull();
      },
      appendTexts: (values: readonly string[]) => appender.appendList([...values], LIST(VARCHAR)),
    });
    try {
      fill(target);
      // Closing flushes too, but reports no error: rows would be missing.
      appender.flushSync();
    } catch (error) {
      appender.clear();
      throw error;
    } finally {
      appender.closeSync();
    }
  }

  async appendColumns(
    table: string,
    types: readonly string[],
    columns: readonly (readonly (string | number | null)[])[],
    count: number,
  ): Promise<void> {
    const appender = await this.#connection.createAppender(table);
    try {
      const chunkTypes = types.map((type) => COLUMN_TYPES[type] as DuckDB.DuckDBType);
      for (let from = 0; from < count; from += CHUNK_ROWS) {
        const rowCount = Math.min(CHUNK_ROWS, count - from);
        const chunk = DuckDBDataChunk.create(chunkTypes, rowCount);
        for (const [index, values] of columns.entries()) {
          chunk.setColumnValues(index, values.slice(from, from + rowCount));
        }
        appender.appendDataChunk(chunk);
      }
      appender.flushSync();
    } finally {
      appender.closeSync();
    }
  }

  async appendChunks(table: string, chunks: readonly RowChunk[], rowsMax: number): Promise<void> {
    const appender = await this.#connection.createAppender(table);
    let left = rowsMax;
    try {
      for (const { native } of chunks) {
        if (native.rowCount > left) native.rowCount = left;
        left -= native.rowCount;
        appender.appendDataChunk(native);
      }
      appender.flushSync();
    } finally {
      appender.closeSync();
    }
  }

  async stream(
    sql: string,
    parameters: readonly QueryParameter[],
    onText: (length: number) => void,
  ): Promise<RowStream> {
    const extracted = await this.#connection.extractStatements(sql);
    if (extracted.count !== 1) throw new StatementRefused("more than one statement");
    const prepared = await extracted.prepare(0);
    try {
      if (!READ_STATEMENT_TYPES.has(prepared.statementType))
        throw new StatementRefused("not a SELECT");
      bindParameters(prepared, parameters);
      const result = await prepared.stream();
      const converter = createJsonConverter(onText, this.#localTimes);
      const atEnd = async () => {
        // A failure between two chunks looks like the end: only the transaction shows it.
        await this.#connection.run("SELECT 1").catch(throwLateFailure);
      };
      return openRowStream(result, () => prepared.destroySync(), converter, atEnd);
    } catch (error) {
      prepared.destroySync();
      throw error;
    }
  }

  interrupt(): void {
    this.#connection.interrupt();
  }

  close(): void {
    this.#connection.closeSync();
  }
}

/** Whole numbers as BIGINT, others as DOUBLE. @throws ParameterCountMismatch */
function bindParameters(
  prepared: DuckDB.DuckDBPreparedStatement,
  parameters: readonly QueryParameter[],
): void {
  const count = prepared.parameterCount;
  if (count !== parameters.length) {
    throw new ParameterCountMismatch(
      `the query has ${count} parameters, and there are ${parameters.length} values for them`,
    );
  }
  prepared.bind(
    parameters.map((value) => (Number.isSafeInteger(value) ? BigInt(value as number) : value)),
  );
}

/** The first value of a statement's first row as a number; NaN without a row. */
export async function readNumber(connection: Connection, sql: string): Promise<number> {
  const [row] = await connection.rows(sql);
  return Number(row?.[0]);
}

/** A value of a row: integers are bigint, numbers doubles; a time that is not finite is null. */
type CellValue = string | number | bigint | boolean | null | { readonly epochMs: number };

/** Appends values in column order. */
export function appendValues(appender: RowAppender, ...values: CellValue[]): void {
  for (const value of values) {
    if (value === null) appender.appendNull();
    else if (typeof value === "string") appender.appendVarchar(value);
    else if (typeof value === "number") appender.appendDouble(value);
    else if (typeof value === "bigint") appender.appendBigInt(value);
    else if (typeof value === "boolean") appender.appendBoolean(value);
    else appender.appendInstant(value.epochMs);
  }
}

/** Appends rows inside the open transaction; `write` appends the values of one. */
export async function appendRows<Row>(
  connection: Connection,
  table: string,
  rows: readonly Row[],
  write: (appender: RowAppender, row: Row) => void,
): Promise<void> {
  if (rows.length === 0) return;
  await connection.append(table, (appender) => {
    for (const row of rows) {
      write(appender, row);
      appender.endRow();
    }
  });
}

function throwLateFailure(error: Error): never {
  if (!error.message.includes("transaction is aborted")) throw error;
  throw new Error("the query failed after its first rows: one of fewer rows says why");
}

function openRowStream(
  result: DuckDB.DuckDBResult,
  close: () => void,
  converter: DuckDB.DuckDBValueConverter<DuckDB.Json>,
  atEnd: () => Promise<void>,
): RowStream {
  const names = result.columnNames();
  return {
    columns: names.map((name, index) => ({ name, type: result.columnType(index).toString() })),
    next: async () => {
      const chunk = await result.fetchChunk();
      if (chunk === null || chunk.rowCount === 0) {
        await atEnd();
        return undefined;
      }
      return { rows: () => chunk.convertRows(converter), native: chunk };
    },
    close,
  };
}

function convertToTimestamp(epochMs: number): DuckDB.DuckDBTimestampValue {
  return new DuckDBTimestampValue(BigInt(Math.round(epochMs * 1000)));
}

/** Decimals of up to 15 digits are exact enough as a number; wider ones stay text. */
const DECIMAL_DIGITS_MAX = 15;

/**
 * Values as JSON can carry them: integers as numbers while exact, else text; timestamps (which
 * are UTC here) in RFC 3339, those with a zone in local time; intervals in ISO 8601; the rest as DuckDB's own JSON form.
 */
function createJsonConverter(
  onText: (length: number) => void,
  localTimes: LocalTimeFormatter,
): DuckDB.DuckDBValueConverter<DuckDB.Json> {
  return (value, type, converter) => {
    // Fast path: most values are plain, and testing for that costs less than the general conversion.
    if (value === null || typeof value === "boolean") return value;
    if (typeof value === "string") {
      onText(value.length);
      return value;
    }
    if (typeof value === "number" && Number.isFinite(value)) return value;
    if (typeof value === "bigint") {
      const number = Number(value);
      return Number.isSafeInteger(number) ? number : value.toString();
    }
    if (value instanceof DuckDBTimestampValue) return formatUtcTimestamp(value.toString());
    if (value instanceof DuckDBTimestampTZValue) {
      return value.isFinite ? localTimes.format(value.micros) : value.toString();
    }
    if (value instanceof DuckDBIntervalValue) return formatDuration(value);
    const json = JsonDuckDBValueConverter(value, type, converter);
    if (typeof json !== "string") return json;
    onText(json.length);
    if (type.typeId === DuckDBTypeId.DECIMAL && json.length <= DECIMAL_DIGITS_MAX) {
      return Number(json);
    }
    return json;
  };
}
