// Progress of the database through each decision segment and kept file: one row for each step,
// committed with the rows that it brought. The newest of a name counts.
import type { Connection } from "../duckdb.ts";

export interface ProjectionProgress {
  /** Bytes of a segment that are rows, by its name. */
  readonly bytesByName: Map<string, number>;
  /** Names of segments and files of which everything is there. */
  readonly doneNames: Set<string>;
}

export async function readProjectionProgress(connection: Connection): Promise<ProjectionProgress> {
  const rows = await connection.rows(
    "SELECT file, max(bytes), bool_or(is_done) FROM spool_taken GROUP BY file",
  );
  const taken: ProjectionProgress = { bytesByName: new Map(), doneNames: new Set() };
  for (const [file, bytes, isDone] of rows as [string, number, boolean][]) {
    taken.bytesByName.set(file, bytes);
    if (isDone) taken.doneNames.add(file);
  }
  return taken;
}

/** Records a step, inside the transaction of its rows. */
export async function recordProjectionProgress(
  connection: Connection,
  name: string,
  bytes: number,
  isDone: boolean,
): Promise<void> {
  const values = `($1::VARCHAR, ${bytes}, ${isDone})`;
  await connection.rows(`INSERT INTO spool_taken VALUES ${values}`, [name]);
}

/** Leaves one row for each name that still exists, inside the open transaction. */
export async function compactProjectionProgress(
  connection: Connection,
  isThere: (name: string) => boolean,
): Promise<void> {
  const { bytesByName, doneNames } = await readProjectionProgress(connection);
  await connection.run("DELETE FROM spool_taken");
  await connection.append("spool_taken", (appender) => {
    for (const [name, count] of bytesByName) {
      if (!isThere(name)) continue;
      appender.appendVarchar(name);
      appender.appendBigInt(BigInt(count));
      appender.appendBoolean(doneNames.has(name));
      appender.endRow();
    }
  });
}
