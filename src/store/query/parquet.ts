// Answer of a caller's query as a Parquet file, with DuckDB's own types: through a temporary table, so that
// no text of the caller's stands in a statement that writes.
import { mkdirSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { ServiceFault } from "../../contract/faults.ts";
import type { Connection, RowChunk } from "../duckdb.ts";
import type { QueryColumn } from "../store.ts";
import { quoteIdentifier, quoteLiteral } from "../view.ts";

export interface ParquetRows {
  readonly columns: readonly QueryColumn[];
  readonly chunks: readonly RowChunk[];
  readonly rowsMax: number;
}

/**
 * The first `rowsMax` rows as the bytes of a file, which lies at `path` meanwhile: in a directory where
 * the database may write.
 * @throws DuckDB's error; ServiceFault `store_unavailable` when the disk takes no file.
 */
export async function encodeParquet(
  connection: Connection,
  { columns, chunks, rowsMax }: ParquetRows,
  path: string,
): Promise<Uint8Array> {
  const names = numberColumnNames(columns, (name) => name.toLowerCase());
  const typed = names.map((name, index) => `${quoteIdentifier(name)} ${columns[index]!.type}`);
  await connection.run(`CREATE TEMP TABLE query_answer (${typed.join(", ")})`);
  await connection.appendChunks("query_answer", chunks, rowsMax);
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    await connection.run(
      `COPY query_answer TO ${quoteLiteral(path)} (FORMAT parquet, COMPRESSION zstd)`,
    );
    return new Uint8Array(await readFile(path));
  } catch (error) {
    const isOfDisk = (error as NodeJS.ErrnoException).code !== undefined;
    if (!isOfDisk && !(error as Error).message.startsWith("IO Error")) throw error;
    // Neither the query's fault nor that of the rows; the message has the path.
    throw new ServiceFault("store_unavailable", "the file of the answer could not be written");
  } finally {
    await rm(path, { force: true });
  }
}

/** Names of columns, those of one name numbered: all of them are kept. `fold`: what makes two names one. */
export function numberColumnNames(
  columns: readonly QueryColumn[],
  fold = (name: string) => name,
): string[] {
  const taken = new Set(columns.map(({ name }) => fold(name)));
  const counts = new Map<string, number>();
  return columns.map(({ name }) => {
    let count = counts.get(fold(name)) ?? 0;
    let own = name;
    if (count > 0) {
      do own = `${name}_${count++}`;
      while (taken.has(fold(own)));
      taken.add(fold(own));
    }
    counts.set(fold(name), Math.max(1, count));
    return own;
  });
}
