// Exports of views: Parquet files, and a replica of them as one DuckDB file that any tool opens.
// Views whose past days no longer change are exported by day, all others whole. A replica is written
// beside the old one and replaces it in one step.
import * as fs from "node:fs";
import { join, dirname, resolve } from "node:path";
import type { ExportView } from "../contract/views.ts";
import type { JournalFollower } from "./journal-follower.ts";
import { buildViewQuery } from "./query/views.ts";
import type { ExportOptions, SnapshotPosition, StoreDescription } from "./store.ts";
import { type Connection, type DuckDatabase, openDatabase } from "./duckdb.ts";
import { quoteIdentifier, quoteLiteral } from "./view.ts";
import { moveDurably } from "../platform/files.ts";

/** The column that gives a row's day; views without one are exported whole. */
const DAY_COLUMNS: Readonly<Partial<Record<ExportView, string>>> = {
  outcomes: "recorded_at",
  decisions: "evaluated_at",
  decisions_minutely: "minute",
  provenance: "recorded_at",
  assessments: "assessed_at",
  audit_events: "recorded_at",
  backtests: "recorded_at",
  latency: "minute",
  movers: "day",
  scores_daily: "day",
};

export class StoreExports {
  readonly #core: JournalFollower;
  #count = 0;

  constructor(core: JournalFollower) {
    this.#core = core;
  }

  /** Days that a view has rows of; none for a view without days. */
  async listDays(view: ExportView, options: ExportOptions): Promise<string[]> {
    const column = selectDayColumn(view, options);
    if (column === undefined) return [];
    return this.#core.readQueue.read(async (connection) => {
      const rows = await connection.rows(
        `SELECT DISTINCT CAST(CAST(${column} AS DATE) AS VARCHAR)
         FROM (${await buildViewQuery(connection, view, options.tenant)})
         WHERE ${buildSinceCondition(column, options.sinceMs)} ORDER BY 1`,
      );
      return rows.map(([day]) => String(day));
    });
  }

  /** `day` must have the form of a date: it goes into SQL as it is. Undefined: every row. */
  exportParquet(
    view: ExportView,
    day: string | undefined,
    options: ExportOptions,
  ): Promise<Uint8Array> {
    const column = selectDayColumn(view, options);
    const path = join(this.#core.exportDirectory, `${this.#count++}.parquet`);
    return this.#core.readQueue.read(async (connection) => {
      const rows = await buildViewQuery(connection, view, options.tenant);
      const chosen =
        column === undefined || day === undefined
          ? ""
          : `WHERE CAST(${column} AS DATE) = DATE '${day}'
             AND ${buildSinceCondition(column, options.sinceMs)} ORDER BY ${column}`;
      try {
        await connection.run(
          `COPY (FROM (${rows}) ${chosen}) TO ${quoteLiteral(path)}
           (FORMAT parquet, COMPRESSION zstd)`,
        );
        return new Uint8Array(fs.readFileSync(path));
      } finally {
        fs.rmSync(path, { force: true });
      }
    });
  }
}

function selectDayColumn(view: ExportView, { by }: ExportOptions): string | undefined {
  return view === "outcomes" && by === "settled" ? "settled_at" : DAY_COLUMNS[view];
}

function buildSinceCondition(column: string, sinceMs: number): string {
  return `${column} >= epoch_ms(CAST(${Math.floor(sinceMs)} AS BIGINT))`;
}

const MEMORY_MEGABYTES = 512;
const REPLICA_FILE = "trustrank.duckdb";

/**
 * Writes `trustrank.duckdb` from the Parquet files below `directory`, of which each view has a folder.
 * @returns its path.
 * @throws DuckDB's error, or that of the disk; the old file is then as it was.
 */
export async function writeReplica(
  directory: string,
  { views, timeZone }: StoreDescription,
  asOf: SnapshotPosition,
): Promise<string> {
  const partial = join(directory, `.${REPLICA_FILE}.partial`);
  const leftovers = [partial, `${partial}.wal`];
  for (const path of leftovers) fs.rmSync(path, { force: true });
  const database = await openDatabase(partial, {
    memoryMegabytes: MEMORY_MEGABYTES,
    exportDirectory: directory,
    timeZone,
  });
  await useOnce(database, async (connection) => {
    for (const view of views) await addTable(connection, directory, view);
    await connection.run(`CREATE TABLE as_of AS SELECT ${asOf.position}::BIGINT AS position,
      epoch_ms(CAST(${Math.floor(asOf.timeMs)} AS BIGINT)) AS time`);
    await connection.run("CHECKPOINT");
  });
  // A tool that opens it for writing would keep the next reader out.
  fs.chmodSync(partial, 0o444);
  const path = join(directory, REPLICA_FILE);
  moveDurably(partial, path);
  return path;
}

async function addTable(
  connection: Connection,
  directory: string,
  { name, comment, columns }: StoreDescription["views"][number],
): Promise<void> {
  const table = quoteIdentifier(name);
  const typed = columns.map((column) => `${quoteIdentifier(column.name)} ${column.type}`);
  await connection.run(`CREATE TABLE ${table} (${typed.join(", ")})`);
  await connection.run(`COMMENT ON TABLE ${table} IS ${quoteLiteral(comment)}`);
  for (const column of columns) {
    const target = `${table}.${quoteIdentifier(column.name)}`;
    await connection.run(`COMMENT ON COLUMN ${target} IS ${quoteLiteral(column.comment)}`);
  }
  const files = listParquetFiles(join(directory, name));
  if (files.length === 0) return;
  const list = files.map(quoteLiteral).join(", ");
  await connection.run(
    `INSERT INTO ${table} BY NAME FROM read_parquet([${list}], hive_partitioning = false)`,
  );
}

/** Parquet files of a view: one, or one in each day's folder. */
function listParquetFiles(folder: string): string[] {
  if (!fs.existsSync(folder)) return [];
  return fs
    .readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".parquet"))
    .map((path) => join(folder, path));
}

type ParquetType = "VARCHAR" | "BIGINT" | "DATE";

/** A column and its type; a date's values are texts such as `2026-01-31`. */
export interface ParquetColumn {
  readonly name: string;
  readonly type: ParquetType;
}

/** Writes the file beside its place and puts it there when it is whole. */
export async function writeParquet(
  path: string,
  columns: readonly ParquetColumn[],
  rows: readonly (readonly (string | number)[])[],
): Promise<void> {
  const partial = `${resolve(path)}.partial`;
  const database = await openDatabase(":memory:", {
    memoryMegabytes: MEMORY_MEGABYTES,
    exportDirectory: dirname(partial),
  });
  await useOnce(database, async (connection) => {
    const stored = columns.map(({ name, type }) => `${name} ${type === "DATE" ? "VARCHAR" : type}`);
    await connection.run(`CREATE TABLE rows_out (${stored.join(", ")})`);
    await connection.append("rows_out", (appender) => {
      for (const row of rows) {
        for (const value of row) {
          if (typeof value === "number") appender.appendBigInt(BigInt(value));
          else appender.appendVarchar(value);
        }
        appender.endRow();
      }
    });
    const shown = columns.map(({ name, type }) => `CAST(${name} AS ${type}) AS ${name}`);
    await connection.run(
      `COPY (SELECT ${shown.join(", ")} FROM rows_out) TO ${quoteLiteral(partial)}
       (FORMAT parquet, COMPRESSION zstd)`,
    );
  });
  moveDurably(partial, path);
}

/** Runs `run` on one connection, then closes the connection and the database. */
async function useOnce(
  database: DuckDatabase,
  run: (connection: Connection) => Promise<void>,
): Promise<void> {
  try {
    const connection = await database.connect();
    try {
      await run(connection);
    } finally {
      connection.close();
    }
  } finally {
    database.close();
  }
}
