// Spool of decisions between the rings and the table, and the pending copies of other nodes' segments.
// The rings' bytes are appended to a segment unchanged and synced. That is cheap; inserting rows is
// expensive and waits for idle time. A segment outlives its insert: it is then compressed and kept as
// long as its rows, so that the table can be rebuilt. The number of ingested bytes is committed with the
// rows, so none is ingested twice.
import * as fs from "node:fs";
import { basename, dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import {
  encodeBlock,
  encodeCountBlock,
  encodeLatencyBlock,
  formatCompressedFile,
  listSegments,
  readSegmentBlocks,
  type DecisionSegment,
  type SpoolPosition,
  WAITING_SUFFIX,
  formatWaitingFile,
  listSegmentCopies,
} from "./segments.ts";
import { diskFileLayer, replaceFile } from "../../platform/files.ts";
import type { LatencyCount } from "../rows/latencies.ts";
import type { DecisionCount } from "./counts.ts";
import { createDecisionColumns, decodeRecordsInto } from "./ring-reader.ts";
import type { ProjectionProgress } from "./projector.ts";

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
interface PendingSegmentRange {
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
   * Appends the bytes of whole records, counts and times; they are on disk when it returns.
   * @throws the file system's error when they are not.
   */
  append(
    parts: readonly Uint8Array[],
    nowMs: number,
    counts: readonly DecisionCount[] = [],
    latencies: readonly LatencyCount[] = [],
  ): void {
    const blocks = [
      ...(parts.length > 0 ? [encodeBlock(parts)] : []),
      ...(counts.length > 0 ? [encodeCountBlock(counts)] : []),
      ...(latencies.length > 0 ? [encodeLatencyBlock(latencies)] : []),
    ];
    const block = Buffer.concat(blocks);
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
    // Newer ones may be ingested first: then the oldest keeps waiting.
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
function compressSegment(directory: string, segment: DecisionSegment): number {
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

/** Time of the newest decision or count in a segment, whole epoch ms; 0 without one. */
function readNewestDecisionMs(directory: string, segment: DecisionSegment): number {
  const columns = createDecisionColumns();
  const { records, counts } = readSegmentBlocks(directory, segment, 0);
  for (const each of records) decodeRecordsInto(columns, each);
  const times = [...(columns.numbers[0] as number[]), ...counts.map(({ minuteMs }) => minuteMs)];
  return Math.ceil(times.reduce((newest, timeMs) => Math.max(newest, timeMs), 0));
}

/** Interval in ms between two looks at the directory. */
const SCAN_INTERVAL_MS = 1000;

export class PendingCopies {
  readonly #directory: string;
  #pending: PendingSegmentRange[] = [];
  /** Copies that a later one of their node follows: nothing more comes to them. */
  #completeCopies: { readonly segment: DecisionSegment; readonly size: number }[] = [];
  /** Sizes at which nothing whole was left to take, by name. */
  readonly #scannedSizes = new Map<string, number>();
  #scannedAtMs = Number.NEGATIVE_INFINITY;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Bytes that were no rows at the last look. */
  get pendingBytes(): number {
    return this.#pending.reduce((sum, { from, size }) => sum + size - from, 0);
  }

  isScanDue(nowMs: number): boolean {
    return this.#pending.length === 0 && nowMs - this.#scannedAtMs >= SCAN_INTERVAL_MS;
  }

  /** Another database is open. */
  reset(): void {
    this.#pending = [];
    this.#scannedSizes.clear();
    this.#scannedAtMs = Number.NEGATIVE_INFINITY;
  }

  /** Finds copies with bytes beyond the database's progress. */
  scan({ bytesByName }: ProjectionProgress, nowMs: number): void {
    this.#scannedAtMs = nowMs;
    const waiting = listSegmentCopies(this.#directory).filter(({ isCompressed }) => !isCompressed);
    const sized = waiting.map((segment) => {
      return { segment, size: readFileSizeOrZero(join(this.#directory, segment.file)) };
    });
    this.#pending = sized.flatMap(({ segment, size }) => {
      const from = bytesByName.get(segment.name) ?? 0;
      const isNew = size > Math.max(from, this.#scannedSizes.get(segment.name) ?? 0);
      return isNew ? [{ segment, from, size }] : [];
    });
    const work = new Set(this.#pending.map(({ segment }) => segment));
    this.#completeCopies = sized.filter(({ segment }, index) => {
      return !work.has(segment) && sized[index + 1]?.segment.node === segment.node;
    });
  }

  /** The next that has bytes which are no rows; undefined when all of the last look are done. */
  peekNext(): PendingSegmentRange | undefined {
    return this.#pending[0];
  }

  /** It was read as far as it had whole blocks. */
  markIngested({ segment, size }: PendingSegmentRange): void {
    this.#pending = this.#pending.filter((each) => each.segment.name !== segment.name);
    this.#scannedSizes.set(segment.name, size);
  }

  /**
   * Compresses one that takes no more and is all rows.
   * @returns its bytes now, 0 when there was none.
   */
  compressOne(): number {
    const found = this.#completeCopies.shift();
    if (found === undefined) return 0;
    this.#scannedSizes.delete(found.segment.name);
    // Cut off since: what was cut off comes again.
    if (readFileSizeOrZero(join(this.#directory, found.segment.file)) < found.size) return 0;
    return compressSegment(this.#directory, found.segment);
  }
}

/** 0 where it has just been removed. */
function readFileSizeOrZero(path: string): number {
  return fs.statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
