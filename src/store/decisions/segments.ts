// Decision segments: the files from which every row of the decision log can be rebuilt, and their blocks.
// A segment is uncompressed (`.spool`) until its rows are committed, then compressed (`.spool.gz`).
// Reading needs nothing else, so any process can project them: a cursor is a segment's name and an
// offset before compression. A block that does not verify is skipped and counted; bytes after the last
// whole block may be a write in progress, or the torn end of a crash.
//
//   segment | block | block | ... | torn end of a crash |
//   block   | magic u32 | length u32 | crc32 u32 | 0 u32 | whole records or counts, or times (8-aligned) |
import * as fs from "node:fs";
import { join } from "node:path";
import { gunzipSync, crc32 } from "node:zlib";
import { listDirectoryOrEmpty } from "../files.ts";
import { decodeLatencies, encodeLatencies, type LatencyCount } from "../rows/latencies.ts";
import { decodeCounts, encodeCounts, type DecisionCount } from "./counts.ts";
import {
  INPUT_COUNT,
  NUMBER_COUNT,
  OFFSET_LENGTHS,
  OFFSET_NUMBERS,
  OFFSET_TEXTS,
  OFFSET_WEIGHT,
  TEXT_COUNT,
} from "./ring-layout.ts";

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

/** "TRST"; those of earlier versions are below. */
const MAGIC = 0x54535254;
/** "TRSC": exact counts (counts.ts), filled up with spaces. */
const COUNTS_MAGIC = 0x43535254;
/** "TRSL": times of answers (rows/latencies.ts), likewise. */
const LATENCIES_MAGIC = 0x4c535254;
const HEADER_BYTES = 16;
const ALIGNMENT = 8;

/** The bytes of whole records as one block. */
export function encodeBlock(parts: readonly Uint8Array[], magic = MAGIC): Buffer {
  const block = Buffer.concat([Buffer.alloc(HEADER_BYTES), ...parts]);
  block.writeUInt32LE(magic, 0);
  block.writeUInt32LE(block.byteLength - HEADER_BYTES, 4);
  block.writeUInt32LE(crc32(block.subarray(HEADER_BYTES)), 8);
  return block;
}

/** Exact counts as one block. */
export function encodeCountBlock(counts: readonly DecisionCount[]): Buffer {
  return encodeTextBlock(encodeCounts(counts), COUNTS_MAGIC);
}

/** Times of answers as one block. */
export function encodeLatencyBlock(latencies: readonly LatencyCount[]): Buffer {
  return encodeTextBlock(encodeLatencies(latencies), LATENCIES_MAGIC);
}

function encodeTextBlock(content: Buffer, magic: number): Buffer {
  const spare = (ALIGNMENT - (content.byteLength % ALIGNMENT)) % ALIGNMENT;
  return encodeBlock([content, Buffer.alloc(spare, " ")], magic);
}

interface DecodedBlocks {
  /** Records of each whole block, in the form of today. */
  readonly records: readonly Buffer[];
  readonly counts: readonly DecisionCount[];
  readonly latencies: readonly LatencyCount[];
  /** Byte behind the last whole block. */
  readonly end: number;
  /** Stretches between whole blocks that do not verify. */
  readonly damagedCount: number;
}

/** Reads every whole block. */
export function decodeBlocks(bytes: Buffer): DecodedBlocks {
  const records: Buffer[] = [];
  const counts: DecisionCount[] = [];
  const latencies: LatencyCount[] = [];
  let damagedCount = 0;
  let end = 0;
  for (let at = 0; at + HEADER_BYTES <= bytes.byteLength;) {
    const found = decodeBlockAt(bytes, at);
    if (found === undefined) {
      at += ALIGNMENT;
      continue;
    }
    if (at > end) damagedCount += 1;
    if ("records" in found) records.push(found.records);
    else if ("counts" in found) counts.push(...found.counts);
    else latencies.push(...found.latencies);
    at = found.end;
    end = at;
  }
  return { records, counts, latencies, end, damagedCount };
}

type DecodedBlock = (
  | { records: Buffer }
  | { counts: DecisionCount[] }
  | { latencies: LatencyCount[] }
) & { end: number };

function decodeBlockAt(bytes: Buffer, at: number): DecodedBlock | undefined {
  const start = at + HEADER_BYTES;
  const length = bytes.readUInt32LE(at + 4);
  if (length === 0 || length > bytes.byteLength - start) return undefined;
  const magic = bytes.readUInt32LE(at);
  // The magic first: a checksum over the rest at every eighth byte would take for ever.
  const stored = bytes.subarray(start, start + length);
  if (magic === MAGIC) {
    return isChecksumValid(bytes, at, stored)
      ? { records: stored, end: start + length }
      : undefined;
  }
  const verified = () => (isChecksumValid(bytes, at, stored) ? stored : undefined);
  if (magic === COUNTS_MAGIC) {
    const content = verified();
    const counts = content && decodeCounts(content);
    return counts && { counts, end: start + length };
  }
  if (magic === LATENCIES_MAGIC) {
    const content = verified();
    const latencies = content && decodeLatencies(content);
    return latencies && { latencies, end: start + length };
  }
  const records = upgradeRecords(magic, verified);
  return records && { records, end: start + length };
}

function isChecksumValid(bytes: Buffer, at: number, stored: Buffer): boolean {
  return crc32(stored) === bytes.readUInt32LE(at + 8);
}

/** How records of an earlier version differ from today's. */
interface OldFormat {
  readonly inputCount: number;
  /** Where each input of today stood among them, as far as it was there. */
  readonly inputIndexes: readonly number[];
  /** Ten texts: the eleventh length was never written. */
  readonly isOfTenTexts: boolean;
}

function countUpTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

const INPUT_INDEXES_OF_29 = [
  0, 1, 2, 3, 4, 5, 6, 7, 19, 20, 21, 22, 23, 28, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
];
/** By the magic of their blocks: "TRSP", "TRSQ", "TRSR", "TRSS". None had a weight. */
const OLD_FORMATS: ReadonlyMap<number, OldFormat> = new Map([
  [0x50535254, { inputCount: 29, inputIndexes: INPUT_INDEXES_OF_29, isOfTenTexts: true }],
  [0x51535254, { inputCount: 29, inputIndexes: INPUT_INDEXES_OF_29, isOfTenTexts: false }],
  [0x52535254, { inputCount: 31, inputIndexes: countUpTo(31), isOfTenTexts: false }],
  [0x53535254, { inputCount: 34, inputIndexes: countUpTo(34), isOfTenTexts: false }],
]);
/** Weight of a record of a version that dropped allowed decisions without one. */
export const WEIGHT_UNKNOWN = Number.NaN;
/** The last input, days of silence, in records that did not have it: never heard of. */
const NEVER_HEARD_OF = -1;

/**
 * Records of a block of an earlier version as today's; undefined for a magic that never was, or when
 * `stored` finds that they do not verify. A record of an impossible length ends them.
 */
function upgradeRecords(magic: number, stored: () => Buffer | undefined): Buffer | undefined {
  const format = OLD_FORMATS.get(magic);
  if (format === undefined) return undefined;
  const records = stored();
  if (records === undefined) return undefined;
  const parts: Buffer[] = [];
  const shortest = OLD_INPUTS_AT + 8 * format.inputCount;
  for (let at = 0; at + 4 <= records.byteLength;) {
    const length = records.readUInt32LE(at);
    if (length < shortest || at + length > records.byteLength) break;
    parts.push(upgradeRecord(records.subarray(at, at + length), format));
    at += length;
  }
  return Buffer.concat(parts);
}

const INPUTS_AT = OFFSET_NUMBERS + 8 * NUMBER_COUNT;
/** Without the weight. */
const OLD_INPUTS_AT = OFFSET_WEIGHT;

function upgradeRecord(
  record: Buffer,
  { inputCount, inputIndexes, isOfTenTexts }: OldFormat,
): Buffer {
  const longer = Buffer.alloc(record.byteLength + 8 * (INPUT_COUNT - inputCount) + 8);
  record.copy(longer, 0, 0, OLD_INPUTS_AT);
  longer.writeDoubleLE(WEIGHT_UNKNOWN, OFFSET_WEIGHT);
  longer.writeUInt32LE(longer.byteLength, 0);
  if (isOfTenTexts) longer.writeUInt16LE(0, OFFSET_LENGTHS + 2 * (TEXT_COUNT - 1));
  inputIndexes.forEach((place, i) => {
    const from = OLD_INPUTS_AT + 8 * place;
    record.copy(longer, INPUTS_AT + 8 * i, from, from + 8);
  });
  if (inputIndexes.length < INPUT_COUNT) {
    longer.writeDoubleLE(NEVER_HEARD_OF, INPUTS_AT + 8 * (INPUT_COUNT - 1));
  }
  record.copy(longer, OFFSET_TEXTS, OLD_INPUTS_AT + 8 * inputCount);
  return longer;
}
