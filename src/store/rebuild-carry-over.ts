// Rows that a rebuild of the database carries over: the journal gives outcomes back, but not
// decisions, not the events of other folders and not the daily scores. As far as the old database can be read they go
// through files.
import * as fs from "node:fs";
import { join } from "node:path";
import { DECISION_TABLES } from "./decisions/rows.ts";
import type { Connection } from "./duckdb.ts";
import { EVENT_TABLES } from "./rows/events.ts";
import { SCORE_TABLES } from "./rows/scores.ts";

const TABLES = [...DECISION_TABLES, ...EVENT_TABLES, ...SCORE_TABLES];

/**
 * Writes all readable rows to files in `directory`.
 * @returns the tables that were written, and those that exist and could not be read.
 */
export async function saveRows(
  connection: Connection,
  directory: string,
): Promise<{ saved: string[]; lost: string[] }> {
  const saved: string[] = [];
  const lost: string[] = [];
  for (const table of TABLES) {
    try {
      await connection.run(`COPY ${table} TO '${pathOf(directory, table)}' (FORMAT parquet)`);
      saved.push(table);
    } catch (error) {
      // An older schema does not have every table.
      if (!String(error).includes("does not exist")) lost.push(table);
    }
  }
  return { saved, lost };
}

/**
 * Puts saved rows into the new tables. Columns that are new there stay empty, columns that are no
 * longer there are left out.
 */
export async function restoreRows(
  connection: Connection,
  directory: string,
  saved: readonly string[],
): Promise<void> {
  for (const table of saved) {
    const path = pathOf(directory, table);
    const file = `read_parquet('${path}')`;
    const columns = await commonColumns(connection, table, file);
    if (columns.length > 0) {
      await connection.run(
        `INSERT INTO ${table} BY NAME SELECT ${columns.join(", ")} FROM ${file}`,
      );
    }
    fs.rmSync(path, { force: true });
  }
}

async function commonColumns(
  connection: Connection,
  table: string,
  file: string,
): Promise<string[]> {
  const rows = await connection.rows(
    `SELECT column_name FROM (DESCRIBE ${table})
     WHERE column_name IN (SELECT column_name FROM (DESCRIBE SELECT * FROM ${file}))`,
  );
  return rows.map(([name]) => String(name));
}

function pathOf(directory: string, table: string): string {
  return join(directory, `carried-${table}.parquet`).replaceAll("'", "''");
}
