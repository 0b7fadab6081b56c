// Names of spool files whose rows are in the table, committed with them: after a crash no file is
// taken twice.
import type { Connection } from "../duckdb.ts";

/** Whether the rows of a spool file are in the table. */
export async function isSpoolTaken(connection: Connection, file: string): Promise<boolean> {
  const rows = await connection.rows("SELECT 1 FROM spool_taken WHERE file = $1::VARCHAR", [file]);
  return rows.length > 0;
}

/** Records the name of a spool file, inside the transaction of its rows. */
export async function takeSpool(connection: Connection, file: string): Promise<void> {
  await connection.rows("INSERT INTO spool_taken VALUES ($1::VARCHAR)", [file]);
}
