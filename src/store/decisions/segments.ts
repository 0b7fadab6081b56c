// Decision segments: the files that every row of the decision log can be made from again. Those being
// filled or waiting are as they were written (`.spool`), those whose rows are committed are
// compressed (`.spool.gz`). Reading needs nothing else, so any process may project them: a cursor is
// a segment's name and a number of bytes before compression.
import * as fs from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { listIfThere } from "../files.ts";
import { type Blocks, decodeBlocks } from "./blocks.ts";

const NAME = /^\d{15}-\d{9}$/;
const WAITING = /^(\d{15}-\d{9})\.spool$/;
const KEPT = /^(\d{15}-\d{9})-(\d+)\.spool\.gz$/;
/** In the same directory: a directory for each other node whose segments are copied. */
export const COPIES = "nodes";
const NODE = /^[A-Za-z0-9_-]{1,32}$/;
/** Larger than any segment can grow: what claims to be more is none. */
const SEGMENT_BYTES_MAX = 512 * 1024 * 1024;

/** Where the segments of a data directory lie. */
export function segmentsDirectory(dataDir: string): string {
  return join(dataDir, "store-kept");
}

/** A place in the segments that one process writes: a name and a number of its bytes. Names grow with time. */
export interface SpoolMark {
  readonly name: string;
  readonly bytes: number;
}

export interface Segment {
  /** The same for as long as the segment exists, in whichever form. */
  readonly name: string;
  /** Its path from the directory of the segments. */
  readonly file: string;
  readonly isKept: boolean;
  /** Time of its newest decision, epoch ms; 0 while it waits. */
  readonly newestMs: number;
  /** The node that wrote it, of a copy; empty for this process's own. */
  readonly node: string;
}

/** Own segments of a directory, oldest first. One that is there in both forms counts as kept. */
export function listSegments(directory: string): Segment[] {
  return segmentsIn(listIfThere(directory), "");
}

/** Copies of other nodes' segments, each node's oldest first. */
export function listCopies(directory: string): Segment[] {
  const copies = join(directory, COPIES);
  return listIfThere(copies)
    .filter(isNode)
    .flatMap((node) => segmentsIn(listIfThere(join(copies, node)), node));
}

/** Among the names of files. */
export function segmentsIn(files: readonly string[], node: string): Segment[] {
  const found = new Map<string, Segment>();
  for (const file of files.toSorted()) {
    const [, kept, newestMs] = KEPT.exec(file) ?? [];
    const [, waiting] = WAITING.exec(file) ?? [];
    const name = kept ?? waiting;
    if (name === undefined || (kept === undefined && found.has(name))) continue;
    const isKept = kept !== undefined;
    found.set(name, { ...placed(name, file, node), isKept, newestMs: Number(newestMs ?? 0), node });
  }
  return [...found.values()].toSorted((left, right) => (left.name < right.name ? -1 : 1));
}

/** Copies are named after their node, too. */
function placed(name: string, file: string, node: string) {
  return node === "" ? { name, file } : { name: `${node}/${name}`, file: copyPath(node, file) };
}

/** Path of a copy's file from the directory of the segments. */
export function copyPath(node: string, file: string): string {
  return join(COPIES, node, file);
}

/** Whether another node may be called so. */
export function isNode(name: string): boolean {
  return NODE.test(name);
}

/** Whether a segment may be called so on the node that writes it. */
export function isSegment(name: string): boolean {
  return NAME.test(name);
}

/** File names of a segment. */
export const WAITING_SUFFIX = ".spool";
export const waitingFile = (name: string): string => name + WAITING_SUFFIX;
export const keptFile = (name: string, newestMs: number): string => `${name}-${newestMs}.spool.gz`;

/**
 * Blocks of a segment from byte `from` on; their `end` counts from there.
 * @throws the file system's error, or that of the decompression.
 */
export function readSegment(directory: string, segment: Segment, from: number): Blocks {
  return decodeBlocks(readBytes(directory, segment, from));
}

/** A segment's bytes from that one on, as its writer has written them. @throws as `readSegment`. */
export function readBytes(directory: string, segment: Segment, from: number): Buffer {
  const path = join(directory, segment.file);
  if (!segment.isKept) return readFrom(path, from);
  const options = { maxOutputLength: SEGMENT_BYTES_MAX };
  return gunzipSync(fs.readFileSync(path), options).subarray(from);
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
