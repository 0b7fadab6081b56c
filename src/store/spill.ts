// Room on the disk for what a query of DuckDB does not hold in memory.
import * as fs from "node:fs";
import { join } from "node:path";
import type { SpillOptions } from "./duckdb.ts";

/** Bytes that stay free on the disk: twice what the journal keeps for itself. */
const FREE_BYTES_MIN = 128 * 1024 * 1024;
const MEBIBYTE = 1024 * 1024;
const SPILL_DIRECTORY = "spill";
/** A database may put on disk so many times what it may have in memory... */
const SPILL_MEMORY_FACTOR = 4;
/** ... and at most this part of what is free: the journal is on the same disk. */
const SPILL_SHARE = 0.5;

/**
 * Makes `spill/` in `parent` anew: what a killed process has left there goes. Undefined where the disk has no room.
 */
export function prepareSpillDirectory(
  parent: string,
  memoryBytes: number,
): SpillOptions | undefined {
  const directory = join(parent, SPILL_DIRECTORY);
  fs.rmSync(directory, { recursive: true, force: true });
  fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
  const bytes = Math.min(memoryBytes * SPILL_MEMORY_FACTOR, computeFreeBytes(parent) * SPILL_SHARE);
  const megabytes = Math.floor(bytes / MEBIBYTE);
  return megabytes > 0 ? { directory, megabytes } : undefined;
}

/** Of the disk of `directory`, beyond what stays free. */
export function computeFreeBytes(directory: string): number {
  const { bavail, bsize } = fs.statfsSync(directory);
  return bavail * bsize - FREE_BYTES_MIN;
}
