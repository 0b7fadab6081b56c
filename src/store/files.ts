// Files of the database in the store's directory. They are moved and counted, never opened: opening
// one and closing it would drop the locks that DuckDB holds on it.
import * as fs from "node:fs";
import { join } from "node:path";
import { CATALOG } from "./view.ts";

export const DATABASE_FILE = `${CATALOG}.duckdb`;
export const WAL_FILE = `${DATABASE_FILE}.wal`;

/** Moves the database aside. Returns its new directory. */
export function setAside(directory: string): string {
  const taken = fs
    .readdirSync(directory)
    .map((name) => Number(/^broken-(\d+)$/.exec(name)?.[1] ?? 0));
  const aside = join(directory, `broken-${Math.max(0, ...taken) + 1}`);
  fs.mkdirSync(aside, { mode: 0o700 });
  for (const name of [DATABASE_FILE, WAL_FILE]) {
    const from = join(directory, name);
    if (fs.existsSync(from)) fs.renameSync(from, join(aside, name));
  }
  return aside;
}
