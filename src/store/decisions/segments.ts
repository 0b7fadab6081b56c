// Decision segments: the files that every row of the decision log can be made from again. Those being
// filled or waiting are as they were written (`.spool`), those whose rows are committed are
// compressed (`.spool.gz`). Reading needs nothing else, so any process may project them: a cursor is
// a segment's name and a number of bytes before compression.
import * as fs from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { listIfThere } from "../files.ts";
import { type Blocks, decodeBlocks } from "./blocks.ts";

const WAITING = /^(\d{15}-\d{9})\.spool$/;
const KEPT = /^(\d{15}-\d{9})-(\d+)\.spool\.gz$/;
/** Larger than any segment can grow: what claims to be more is none. */
const SEGMENT_BYTES_MAX = 512 * 1024 * 1024;

/** Where the segments of a data directory lie. */
export function segmentsDirectory(dataDir: string): string {
  return join(dataDir, "store-kept");
}

export interface Segment {
  /** The same for as long as the segment exists, in whichever form. */
  readonly name: string;
  readonly file: string;
  readonly isKept: boolean;
  /** Time of its newest decision, epoch ms; 0 while it waits. */
  readonly newestMs: number;
}

/** Segments of a directory, oldest first. One that is there in both forms counts as kept. */
export function listSegments(directory: string): Segment[] {
  const found = new Map<string, Segment>();
  for (const file of listIfThere(directory).toSorted()) {
    const [, kept, newestMs] = KEPT.exec(file) ?? [];
    const [, waiting] = WAITING.exec(file) ?? [];
    const name = kept ?? waiting;
    if (name === undefined || (kept === undefined && found.has(name))) continue;
    found.set(name, { name, file, isKept: kept !== undefined, newestMs: Number(newestMs ?? 0) });
  }
  return [...found.values()].toSorted((left, right) => (left.name < right.name ? -1 : 1));
}

/** File names of a segment. */
export const waitingFile = (name: string): string => `${name}.spool`;
export const keptFile = (name: string, newestMs: number): string => `${name}-${newestMs}.spool.gz`;

/**
 * Blocks of a segment from byte `from` on; their `end` counts from there.
 * @throws the file system's error, or that of the decompression.
 */
export function readSegment(directory: string, segment: Segment, from: number): Blocks {
  const path = join(directory, segment.file);
  if (segment.isKept) {
    const options = { maxOutputLength: SEGMENT_BYTES_MAX };
    return decodeBlocks(gunzipSync(fs.readFileSync(path), options).subarray(from));
  }
  return decodeBlocks(readFrom(path, from));
}

function readFrom(path: string, from: number): Buffer {
  const descriptor = fs.openSync(path, "r");
  try {
    const bytes = Buffer.allocUnsafe(Math.max(0, fs.fstatSync(descriptor).size - from));
    const taken = fs.readSync(descriptor, bytes, 0, bytes.byteLength, from);
    return bytes.subarray(0, taken);
  } finally {
    fs.closeSync(descriptor);
  }
}
