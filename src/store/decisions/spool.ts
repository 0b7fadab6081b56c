// Spool of decisions between the rings and the table: the rings' bytes, unchanged, appended to a
// segment and synced. Writing them costs next to nothing; turning them into rows is expensive and
// waits for quiet. A segment outlives its rows: once they are committed it is compressed and kept for
// as long as they are, so that the table can be made again. The number of bytes that are rows is
// committed with them, so none is taken twice.
import * as fs from "node:fs";
import { basename, dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { encodeBlock } from "./blocks.ts";
import { createDecisionColumns, decodeRecordsInto } from "./ring-reader.ts";
import {
  formatCompressedFile,
  listSegments,
  readSegmentBlocks,
  type DecisionSegment,
  type SpoolPosition,
  WAITING_SUFFIX,
  formatWaitingFile,
} from "./segments.ts";
import { diskFileLayer, replaceFile } from "../../platform/files.ts";

/** A segment of this size or age (ms) takes no more. */
const SEGMENT_SEAL_BYTES = 4 * 1024 * 1024;
const SEGMENT_SEAL_AGE_MS = 3_600_000;
/** Fast: the bytes are wanted once in a lifetime. */
const GZIP_LEVEL = 1;

/** A segment that is not compressed yet. */
interface UncompressedSegment {
  readonly segment: DecisionSegment;
  bytes: number;
  /** Bytes of it that are rows. */
  taken: number;
  /** Epoch ms. */
  readonly beganMs: number;
}

/** Bytes of a segment that are not rows yet. */
export interface PendingSegmentRange {
  readonly segment: DecisionSegment;
  /** Byte from which on they stand. */
  readonly from: number;
  /** Byte up to which it is written. */
  readonly size: number;
}

export class DecisionSpool {
  readonly #directory: string;
  readonly #sync: (descriptor: number) => void;
  /** Oldest first; the last one may still be open. */
  #segments: UncompressedSegment[];
  /** Name part of this process's segments: distinguishes them from those of earlier ones. */
  readonly #processPrefix: string;
  #descriptor = -1;
  #count = 0;
  #pendingSinceMs = 0;

  /** `startMs` (epoch ms) must differ between processes. */
  constructor(directory: string, startMs: number, sync = fs.fdatasyncSync) {
    this.#directory = directory;
    this.#sync = sync;
    this.#processPrefix = String(startMs).padStart(15, "0");
    fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
    this.#segments = this.#listUncompressed();
  }

  /** Bytes that are not rows yet. */
  get pendingBytes(): number {
    return this.#segments.reduce((sum, { bytes, taken }) => sum + bytes - taken, 0);
  }

  /** Epoch ms since which some have waited; bytes of an earlier process count from 0. */
  get pendingSinceMs(): number {
    return this.#pendingSinceMs;
  }

  /** Takes over what the database says of each segment, by name, and segments that came to be. */
  restoreProgress(taken: ReadonlyMap<string, number>): void {
    const known = new Set(this.#segments.map(({ segment }) => segment.name));
    const found = this.#listUncompressed().filter(({ segment }) => !known.has(segment.name));
    this.#segments = [...found, ...this.#segments];
    for (const each of this.#segments) {
      each.taken = Math.min(each.bytes, taken.get(each.segment.name) ?? 0);
    }
  }

  /**
   * Appends the bytes of whole records; they are on disk when it returns.
   * @throws the file system's error when they are not.
   */
  append(parts: readonly Uint8Array[], nowMs: number): void {
    const block = encodeBlock(parts);
    if (this.pendingBytes === 0) this.#pendingSinceMs = nowMs;
    if (this.#descriptor < 0) this.#openSegment(nowMs);
    const current = this.#segments.at(-1) as UncompressedSegment;
    try {
      for (let at = 0; at < block.byteLength;) {
        at += fs.writeSync(this.#descriptor, block, at);
      }
      this.#sync(this.#descriptor);
    } catch (error) {
      this.#abandonSegment(current.bytes);
      throw error;
    }
    current.bytes += block.byteLength;
    if (current.bytes >= SEGMENT_SEAL_BYTES || nowMs - current.beganMs >= SEGMENT_SEAL_AGE_MS)
      this.#sealSegment();
  }

  /** The oldest bytes that are not rows, or undefined. */
  findOldestPending(): PendingSegmentRange | undefined {
    return createPendingRange(this.#segments.find(({ bytes, taken }) => taken < bytes));
  }

  /** Place up to which everything is written by now. */
  get writtenUpTo(): SpoolPosition {
    const last = this.#segments.at(-1);
    return { name: last?.segment.name ?? this.#processPrefix, bytes: last?.bytes ?? 0 };
  }

  /** The newest bytes before a mark that are not rows, or undefined: then all up to there are. */
  findNewestPendingBefore(mark: SpoolPosition): PendingSegmentRange | undefined {
    const found = this.#segments.findLast(({ segment, bytes, taken }) => {
      if (segment.name > mark.name) return false;
      return taken < (segment.name === mark.name ? mark.bytes : bytes);
    });
    return createPendingRange(found);
  }

  /** Bytes of a segment up to `to` are rows, and that is committed. */
  markIngested(name: string, to: number, nowMs: number): void {
    const oldest = this.findOldestPending();
    const found = this.#segments.find(({ segment }) => segment.name === name);
    if (found !== undefined) found.taken = to;
    // Newer ones may be taken first: then the oldest goes on waiting.
    if (oldest === undefined || oldest.segment.name === name) this.#pendingSinceMs = nowMs;
  }

  /**
   * Compresses the oldest segment that is sealed and all rows.
   * @returns its bytes now, 0 when there was none.
   * @throws the file system's error; then the segment stays as it is.
   */
  compressOne(): number {
    const last = this.#descriptor < 0 ? this.#segments.length : this.#segments.length - 1;
    const index = this.#segments.findIndex(({ bytes, taken }, at) => taken >= bytes && at < last);
    const found = this.#segments[index];
    if (found === undefined) return 0;
    const bytes = compressSegment(this.#directory, found.segment);
    this.#segments.splice(index, 1);
    return bytes;
  }

  close(): void {
    this.#sealSegment();
  }

  /** Segments of earlier processes that wait; a leftover beside its compressed form goes. */
  #listUncompressed(): UncompressedSegment[] {
    const segments = listSegments(this.#directory);
    for (const { name } of segments.filter(({ isCompressed }) => isCompressed)) {
      fs.rmSync(join(this.#directory, formatWaitingFile(name)), { force: true });
    }
    return segments
      .filter(
        ({ name, isCompressed }) => !isCompressed && !name.startsWith(`${this.#processPrefix}-`),
      )
      .map((segment) => {
        const bytes = fs.statSync(join(this.#directory, segment.file)).size;
        return { segment, bytes, taken: 0, beganMs: 0 };
      });
  }

  #openSegment(nowMs: number): void {
    this.#count += 1;
    const name = `${this.#processPrefix}-${String(this.#count).padStart(9, "0")}`;
    const file = formatWaitingFile(name);
    this.#descriptor = fs.openSync(join(this.#directory, file), "wx", 0o600);
    const segment = { name, file, isCompressed: false, newestMs: 0, node: "" };
    this.#segments.push({ segment, bytes: 0, taken: 0, beganMs: nowMs });
    // The name must be on disk with the first bytes.
    diskFileLayer.syncDirectory(this.#directory);
  }

  /**
   * Records that were not written whole are written again, elsewhere: they must not be read here
   * too.
   */
  #abandonSegment(bytes: number): void {
    try {
      fs.ftruncateSync(this.#descriptor, bytes);
    } catch {
      // Then the checksum shows it, or the same records come twice; none is lost.
    }
    this.#sealSegment();
  }

  #sealSegment(): void {
    if (this.#descriptor >= 0) fs.closeSync(this.#descriptor);
    this.#descriptor = -1;
  }
}

/**
 * Compresses a segment that takes no more.
 * @returns its bytes now.
 * @throws the file system's error; then the segment stays as it is.
 */
export function compressSegment(directory: string, segment: DecisionSegment): number {
  const path = join(directory, segment.file);
  const newestMs = readNewestDecisionMs(directory, segment);
  const bytes = gzipSync(fs.readFileSync(path), { level: GZIP_LEVEL });
  const name = basename(segment.file, WAITING_SUFFIX);
  replaceFile(diskFileLayer, dirname(path), formatCompressedFile(name, newestMs), bytes);
  fs.rmSync(path);
  return bytes.byteLength;
}

function createPendingRange(
  found: UncompressedSegment | undefined,
): PendingSegmentRange | undefined {
  return found && { segment: found.segment, from: found.taken, size: found.bytes };
}

/** Time of the newest decision in a segment, whole epoch ms; 0 without one. */
function readNewestDecisionMs(directory: string, segment: DecisionSegment): number {
  const columns = createDecisionColumns();
  for (const records of readSegmentBlocks(directory, segment, 0).records)
    decodeRecordsInto(columns, records);
  const times = columns.numbers[0] as number[];
  return Math.ceil(times.reduce((newest, timeMs) => Math.max(newest, timeMs), 0));
}
