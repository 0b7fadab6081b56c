// Database files of the store. They are moved and counted, never opened: opening one and closing it
// would drop the locks that DuckDB holds on it.
import * as fs from "node:fs";
import { join } from "node:path";
import { diskFileLayer } from "../platform/files.ts";
import { CATALOG } from "./view.ts";

export const DATABASE_FILE = `${CATALOG}.duckdb`;
export const WAL_FILE = `${DATABASE_FILE}.wal`;
const ASIDE = /^broken-(\d+)$/;
/** Databases set aside that are kept; the oldest beyond them go. */
const ASIDE_MAX = 5;

/**
 * Moves the database aside, into a directory named with the time: 14 digits, UTC.
 * @returns its new directory, and those removed for it.
 */
export function moveDatabaseAside(
  directory: string,
  nowMs: number,
): { aside: string; removed: string[] } {
  const taken = fs.readdirSync(directory).filter((name) => ASIDE.test(name));
  const numbers = taken.map((name) => Number(ASIDE.exec(name)?.[1]));
  const time = Number(new Date(nowMs).toISOString().replaceAll(/\D/g, "").slice(0, 14));
  const aside = join(directory, `broken-${Math.max(time, ...numbers.map((each) => each + 1))}`);
  fs.mkdirSync(aside, { mode: 0o700 });
  for (const name of [DATABASE_FILE, WAL_FILE]) {
    const from = join(directory, name);
    if (fs.existsSync(from)) fs.renameSync(from, join(aside, name));
  }
  diskFileLayer.syncDirectory(directory);
  const removed = taken.toSorted().slice(0, Math.max(0, taken.length + 1 - ASIDE_MAX));
  for (const name of removed) fs.rmSync(join(directory, name), { recursive: true });
  return { aside, removed };
}

/** Names in a directory; none when it is not there. */
export function listDirectoryOrEmpty(directory: string): string[] {
  return fs.existsSync(directory) ? fs.readdirSync(directory) : [];
}
