// Decision segments: the files that every row of the decision log can be made from again. Those being
// filled or waiting are as they were written (`.spool`), those whose rows are committed are
// compressed (`.spool.gz`). Reading needs nothing else, so any process may project them: a cursor is
// a segment's name and a number of bytes before compression.
import * as fs from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { listDirectoryOrEmpty } from "../files.ts";
import { type DecodedBlocks, decodeBlocks } from "./blocks.ts";

const DECISION_SEGMENT_NAME = /^\d{15}-\d{9}$/;
const WAITING_FILE_NAME = /^(\d{15}-\d{9})\.spool$/;
const COMPRESSED_FILE_NAME = /^(\d{15}-\d{9})-(\d+)\.spool\.gz$/;
/** In the same directory: a directory for each other node whose segments are copied. */
export const COPIES_DIRECTORY = "nodes";
const NODE_NAME = /^[A-Za-z0-9_-]{1,32}$/;
/** Larger than any segment can grow: what claims to be more is none. */
const SEGMENT_BYTES_MAX = 512 * 1024 * 1024;

/** Where the segments of a data directory lie. */
export function resolveSegmentsDirectory(dataDir: string): string {
  return join(dataDir, "store-kept");
}

/** A place in the segments that one process writes: a name and a number of its bytes. Names grow with time. */
export interface SpoolPosition {
  readonly name: string;
  readonly bytes: number;
}

export interface DecisionSegment {
  /** The same for as long as the segment exists, in whichever form. */
  readonly name: string;
  /** Its path from the directory of the segments. */
  readonly file: string;
  readonly isCompressed: boolean;
  /** Time of its newest decision, epoch ms; 0 while it waits. */
  readonly newestMs: number;
  /** The node that wrote it, of a copy; empty for this process's own. */
  readonly node: string;
}

/** Own segments of a directory, oldest first. One that is there in both forms counts as kept. */
export function listSegments(directory: string): DecisionSegment[] {
  return parseSegmentFiles(listDirectoryOrEmpty(directory), "");
}

/** Copies of other nodes' segments, each node's oldest first. */
export function listSegmentCopies(directory: string): DecisionSegment[] {
  const copies = join(directory, COPIES_DIRECTORY);
  return listDirectoryOrEmpty(copies)
    .filter(isNodeName)
    .flatMap((node) => parseSegmentFiles(listDirectoryOrEmpty(join(copies, node)), node));
}

/** Among the names of files. */
export function parseSegmentFiles(files: readonly string[], node: string): DecisionSegment[] {
  const found = new Map<string, DecisionSegment>();
  for (const file of files.toSorted()) {
    const [, kept, newestMs] = COMPRESSED_FILE_NAME.exec(file) ?? [];
    const [, waiting] = WAITING_FILE_NAME.exec(file) ?? [];
    const name = kept ?? waiting;
    if (name === undefined || (kept === undefined && found.has(name))) continue;
    const isKept = kept !== undefined;
    found.set(name, {
      ...qualifyForNode(name, file, node),
      isCompressed: isKept,
      newestMs: Number(newestMs ?? 0),
      node,
    });
  }
  return [...found.values()].toSorted((left, right) => (left.name < right.name ? -1 : 1));
}

/** Copies are named after their node, too. */
function qualifyForNode(name: string, file: string, node: string) {
  return node === ""
    ? { name, file }
    : { name: `${node}/${name}`, file: formatCopyPath(node, file) };
}

/** Path of a copy's file from the directory of the segments. */
export function formatCopyPath(node: string, file: string): string {
  return join(COPIES_DIRECTORY, node, file);
}

/** Whether another node may be called so. */
export function isNodeName(name: string): boolean {
  return NODE_NAME.test(name);
}

/** Whether a segment may be called so on the node that writes it. */
export function isSegmentName(name: string): boolean {
  return DECISION_SEGMENT_NAME.test(name);
}

/** File names of a segment. */
export const WAITING_SUFFIX = ".spool";
export const formatWaitingFile = (name: string): string => name + WAITING_SUFFIX;
export const formatCompressedFile = (name: string, newestMs: number): string =>
  `${name}-${newestMs}.spool.gz`;

/**
 * Blocks of a segment from byte `from` on; their `end` counts from there.
 * @throws the file system's error, or that of the decompression.
 */
export function readSegmentBlocks(
  directory: string,
  segment: DecisionSegment,
  from: number,
): DecodedBlocks {
  return decodeBlocks(readSegmentBytes(directory, segment, from));
}

/** A segment's bytes from that one on, as its writer has written them. @throws as `readSegment`. */
export function readSegmentBytes(
  directory: string,
  segment: DecisionSegment,
  from: number,
): Buffer {
  const path = join(directory, segment.file);
  if (!segment.isCompressed) return readFileFrom(path, from);
  const options = { maxOutputLength: SEGMENT_BYTES_MAX };
  return gunzipSync(fs.readFileSync(path), options).subarray(from);
}

function readFileFrom(path: string, from: number): Buffer {
  const descriptor = fs.openSync(path, "r");
  try {
    const bytes = Buffer.allocUnsafe(Math.max(0, fs.fstatSync(descriptor).size - from));
    const taken = fs.readSync(descriptor, bytes, 0, bytes.byteLength, from);
    return bytes.subarray(0, taken);
  } finally {
    fs.closeSync(descriptor);
  }
}
