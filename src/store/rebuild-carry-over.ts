// Rows that a rebuild takes from the database it replaces, as far as that can still be read. A database
// of this version has nothing that is not in the journal or in kept files, but for notes that have
// not moved into the journal yet. One of an earlier version held decisions, counts, scores and notes
// alone: they become kept files, and rows that wait to be journaled.
import { DAY_MS } from "../contract/units.ts";
import * as fs from "node:fs";
import { join } from "node:path";
import { readNumber, type Connection } from "./duckdb.ts";
import { moveDurably } from "../platform/files.ts";
import { insertParquetRows, type KeptRows } from "./kept-rows.ts";
import { EVENT_TABLES } from "./rows/events.ts";
import { quoteLiteral } from "./view.ts";

const OLD_SPOOL_SUFFIX = ".spool";

interface CarryOverResult {
  /** Tables of which rows were saved for the new database. */
  readonly saved: readonly string[];
  /** Tables that exist and could not be read. */
  readonly lost: readonly string[];
}

interface CarryOverOptions {
  readonly keptRows: KeptRows;
  /** The one directory in which the database may write. */
  readonly exportDirectory: string;
  readonly nowMs: number;
  /** Where earlier versions kept decisions on their way; they move to `segments`. */
  readonly oldSpool: string;
  readonly segments: string;
}

/** Saves what the database alone knows. */
export async function saveCarriedRows(
  connection: Connection,
  options: CarryOverOptions,
): Promise<CarryOverResult> {
  const saved: string[] = [];
  const lost: string[] = [];
  const save = async (table: string, work: () => Promise<unknown>) => {
    try {
      await work();
      return true;
    } catch (error) {
      // An older schema does not have every table.
      if (!String(error).includes("does not exist")) lost.push(table);
      return false;
    }
  };
  for (const table of Object.values(EVENT_TABLES)) {
    const isSaved = await save(table, async () => {
      const isPlaced = await hasColumn(connection, table, "position");
      const path = buildCarryOverPath(options.exportDirectory, table);
      const rows = `FROM ${table}${isPlaced ? " WHERE position IS NULL" : ""}`;
      await connection.run(`COPY (${rows}) TO ${quoteLiteral(path)} (FORMAT parquet)`);
    });
    if (isSaved) saved.push(table);
  }
  if (await hasColumn(connection, "spool_taken", "is_done").catch(() => true)) {
    return { saved, lost };
  }
  await save("decision_rows", () => saveOldDecisions(connection, options));
  await save("score_day_rows", () => saveOldScores(connection, options));
  await save("spool_taken", async () => {
    const rows = await connection.rows("SELECT file FROM spool_taken");
    migrateOldSpool(options, new Set(rows.map(([file]) => String(file))));
  });
  return { saved, lost };
}

/** Puts saved rows into the new tables. */
export async function restoreCarriedRows(
  connection: Connection,
  exchange: string,
  saved: readonly string[],
): Promise<void> {
  for (const table of saved) {
    const path = buildCarryOverPath(exchange, table);
    await insertParquetRows(connection, table, path);
    fs.rmSync(path, { force: true });
  }
}

/**
 * Moves the spool files of an earlier version to the segments; those whose rows are in the database
 * (`taken`) go. Harmless when there are none.
 */
export function migrateOldSpool(
  { oldSpool, segments }: Pick<CarryOverOptions, "oldSpool" | "segments">,
  taken: ReadonlySet<string> = new Set(),
): void {
  if (!fs.existsSync(oldSpool)) return;
  for (const file of fs.readdirSync(oldSpool).filter((name) => name.endsWith(OLD_SPOOL_SUFFIX))) {
    if (taken.has(file)) fs.rmSync(join(oldSpool, file));
    else moveDurably(join(oldSpool, file), join(segments, file));
  }
  fs.rmSync(oldSpool, { recursive: true });
}

async function hasColumn(connection: Connection, table: string, column: string): Promise<boolean> {
  const rows = await connection.rows(
    `SELECT 1 FROM duckdb_columns() WHERE table_name = $1::VARCHAR AND column_name = $2::VARCHAR`,
    [table, column],
  );
  return rows.length > 0;
}

/** Rows of single decisions begin where the daily counts end. */
async function saveOldDecisions(
  connection: Connection,
  { keptRows, nowMs }: CarryOverOptions,
): Promise<void> {
  const oldest = `SELECT coalesce(min(evaluated_ms), ${nowMs}) FROM decision_rows`;
  const cutoffMs = Math.floor((await readNumber(connection, oldest)) / DAY_MS) * DAY_MS;
  await keptRows.save(connection, "days", cutoffMs);
  await keptRows.save(connection, "rows", nowMs);
}

async function saveOldScores(
  connection: Connection,
  { keptRows }: CarryOverOptions,
): Promise<void> {
  const rows = await connection.rows(
    "SELECT DISTINCT date_diff('day', DATE '1970-01-01', day) FROM score_day_rows",
  );
  for (const [day] of rows) {
    const ofDay = `day = DATE '1970-01-01' + ${Number(day)}`;
    await keptRows.save(connection, "scores", Number(day), ofDay);
  }
}

function buildCarryOverPath(directory: string, table: string): string {
  return join(directory, `carried-${table}.parquet`);
}
