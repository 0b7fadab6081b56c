// Rows as a Parquet file, written by a database in memory: for commands that have rows and no store.
import { dirname, resolve } from "node:path";
import { moveDurably } from "../../platform/files.ts";
import { openDatabase } from "../duckdb.ts";
import { quoteLiteral } from "../view.ts";

const MEMORY_MEGABYTES = 512;

export type ParquetType = "VARCHAR" | "BIGINT" | "DATE";

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
  const database = await openDatabase(":memory:", MEMORY_MEGABYTES, dirname(partial));
  try {
    const connection = await database.connect();
    try {
      const stored = columns.map(
        ({ name, type }) => `${name} ${type === "DATE" ? "VARCHAR" : type}`,
      );
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
    } finally {
      connection.close();
    }
  } finally {
    database.close();
  }
  moveDurably(partial, path);
}
