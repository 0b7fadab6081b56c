// Progress of the database through each decision segment and kept file: one row for each step,
// committed with the rows that it brought. The newest of a name counts.
import type { Connection } from "../duckdb.ts";

export interface Taken {
  /** Bytes of a segment that are rows, by its name. */
  readonly bytes: Map<string, number>;
  /** Names of segments and files of which everything is there. */
  readonly done: Set<string>;
}

export async function readTaken(connection: Connection): Promise<Taken> {
  const rows = await connection.rows(
    "SELECT file, max(bytes), bool_or(is_done) FROM spool_taken GROUP BY file",
  );
  const taken: Taken = { bytes: new Map(), done: new Set() };
  for (const [file, bytes, isDone] of rows as [string, number, boolean][]) {
    taken.bytes.set(file, bytes);
    if (isDone) taken.done.add(file);
  }
  return taken;
}

/** Records a step, inside the transaction of its rows. */
export async function noteTaken(
  connection: Connection,
  name: string,
  bytes: number,
  isDone: boolean,
): Promise<void> {
  const values = `($1::VARCHAR, ${bytes}, ${isDone})`;
  await connection.rows(`INSERT INTO spool_taken VALUES ${values}`, [name]);
}

/** Leaves one row for each name that still exists, inside the open transaction. */
export async function compactTaken(
  connection: Connection,
  isThere: (name: string) => boolean,
): Promise<void> {
  const { bytes, done } = await readTaken(connection);
  await connection.run("DELETE FROM spool_taken");
  await connection.append("spool_taken", (appender) => {
    for (const [name, count] of bytes) {
      if (!isThere(name)) continue;
      appender.appendVarchar(name);
      appender.appendBigInt(BigInt(count));
      appender.appendBoolean(done.has(name));
      appender.endRow();
    }
  });
}
