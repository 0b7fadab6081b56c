// Replica of exported views: one DuckDB file with a table for each, that any tool opens without the
// service. It is made beside the old one and takes its place in one step.
import * as fs from "node:fs";
import { join } from "node:path";
import { moveDurably } from "../platform/files.ts";
import { type Connection, openDatabase } from "./duckdb.ts";
import type { SnapshotPosition, StoreDescription } from "./store.ts";
import { quoteLiteral } from "./view.ts";

const MEMORY_MEGABYTES = 512;
const REPLICA_FILE = "trustrank.duckdb";

const quoteIdentifier = (name: string) => `"${name.replaceAll('"', '""')}"`;

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
  const database = await openDatabase(partial, MEMORY_MEGABYTES, directory, timeZone);
  try {
    const connection = await database.connect();
    try {
      for (const view of views) await addTable(connection, directory, view);
      await connection.run(`CREATE TABLE as_of AS SELECT ${asOf.position}::BIGINT AS position,
        epoch_ms(CAST(${Math.floor(asOf.timeMs)} AS BIGINT)) AS time`);
      await connection.run("CHECKPOINT");
    } finally {
      connection.close();
    }
  } finally {
    database.close();
  }
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
