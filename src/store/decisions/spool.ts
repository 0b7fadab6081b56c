// Spool of decisions between the rings and the table: the rings' bytes, unchanged, appended to a
// segment and synced. Writing them costs next to nothing; turning them into rows is expensive and
// waits for quiet. A segment outlives its rows: once they are committed it is compressed and kept for
// as long as they are, so that the table can be made again. The number of bytes that are rows is
// committed with them, so none is taken twice.
import * as fs from "node:fs";
import { basename, dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { encodeBlock } from "./blocks.ts";
import { emptyColumns, readRecords } from "./ring-reader.ts";
import {
  keptFile,
  listSegments,
  readSegment,
  type Segment,
  type SpoolMark,
  WAITING_SUFFIX,
  waitingFile,
} from "./segments.ts";
import { replaceDurably, syncDirectory } from "../files.ts";

/** A segment of this size or age (ms) takes no more. */
const SEGMENT_BYTES = 4 * 1024 * 1024;
const SEGMENT_MS = 3_600_000;
/** Fast: the bytes are wanted once in a lifetime. */
const GZIP_LEVEL = 1;

/** A segment that is not compressed yet. */
interface Waiting {
  readonly segment: Segment;
  bytes: number;
  /** Bytes of it that are rows. */
  taken: number;
  /** Epoch ms. */
  readonly beganMs: number;
}

/** Bytes of a segment that are not rows yet. */
export interface Untaken {
  readonly segment: Segment;
  /** Byte from which on they stand. */
  readonly from: number;
  /** Byte up to which it is written. */
  readonly size: number;
}

export class DecisionSpool {
  readonly #directory: string;
  readonly #sync: (descriptor: number) => void;
  /** Oldest first; the last one may still be open. */
  #waiting: Waiting[];
  /** Name part of this process's segments: distinguishes them from those of earlier ones. */
  readonly #life: string;
  #descriptor = -1;
  #count = 0;
  #waitingSinceMs = 0;

  /** `startMs` (epoch ms) must differ between processes. */
  constructor(directory: string, startMs: number, sync = fs.fdatasyncSync) {
    this.#directory = directory;
    this.#sync = sync;
    this.#life = String(startMs).padStart(15, "0");
    fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
    this.#waiting = this.#listed();
  }

  /** Bytes that are not rows yet. */
  get waitingBytes(): number {
    return this.#waiting.reduce((sum, { bytes, taken }) => sum + bytes - taken, 0);
  }

  /** Epoch ms since which some have waited; bytes of an earlier process count from 0. */
  get waitingSinceMs(): number {
    return this.#waitingSinceMs;
  }

  /** Takes over what the database says of each segment, by name, and segments that came to be. */
  resume(taken: ReadonlyMap<string, number>): void {
    const known = new Set(this.#waiting.map(({ segment }) => segment.name));
    const found = this.#listed().filter(({ segment }) => !known.has(segment.name));
    this.#waiting = [...found, ...this.#waiting];
    for (const each of this.#waiting) {
      each.taken = Math.min(each.bytes, taken.get(each.segment.name) ?? 0);
    }
  }

  /**
   * Appends the bytes of whole records; they are on disk when it returns.
   * @throws the file system's error when they are not.
   */
  put(parts: readonly Uint8Array[], nowMs: number): void {
    const block = encodeBlock(parts);
    if (this.waitingBytes === 0) this.#waitingSinceMs = nowMs;
    if (this.#descriptor < 0) this.#begin(nowMs);
    const current = this.#waiting.at(-1) as Waiting;
    try {
      for (let at = 0; at < block.byteLength;) {
        at += fs.writeSync(this.#descriptor, block, at);
      }
      this.#sync(this.#descriptor);
    } catch (error) {
      this.#giveUp(current.bytes);
      throw error;
    }
    current.bytes += block.byteLength;
    if (current.bytes >= SEGMENT_BYTES || nowMs - current.beganMs >= SEGMENT_MS) this.#seal();
  }

  /** The oldest bytes that are not rows, or undefined. */
  next(): Untaken | undefined {
    return untaken(this.#waiting.find(({ bytes, taken }) => taken < bytes));
  }

  /** Place up to which everything is written by now. */
  get mark(): SpoolMark {
    const last = this.#waiting.at(-1);
    return { name: last?.segment.name ?? this.#life, bytes: last?.bytes ?? 0 };
  }

  /** The newest bytes before a mark that are not rows, or undefined: then all up to there are. */
  nextBefore(mark: SpoolMark): Untaken | undefined {
    const found = this.#waiting.findLast(({ segment, bytes, taken }) => {
      if (segment.name > mark.name) return false;
      return taken < (segment.name === mark.name ? mark.bytes : bytes);
    });
    return untaken(found);
  }

  /** Bytes of a segment up to `to` are rows, and that is committed. */
  took(name: string, to: number, nowMs: number): void {
    const oldest = this.next();
    const found = this.#waiting.find(({ segment }) => segment.name === name);
    if (found !== undefined) found.taken = to;
    // Newer ones may be taken first: then the oldest goes on waiting.
    if (oldest === undefined || oldest.segment.name === name) this.#waitingSinceMs = nowMs;
  }

  /**
   * Compresses the oldest segment that is sealed and all rows.
   * @returns its bytes now, 0 when there was none.
   * @throws the file system's error; then the segment stays as it is.
   */
  keepOne(): number {
    const last = this.#descriptor < 0 ? this.#waiting.length : this.#waiting.length - 1;
    const index = this.#waiting.findIndex(({ bytes, taken }, at) => taken >= bytes && at < last);
    const found = this.#waiting[index];
    if (found === undefined) return 0;
    const bytes = keepSegment(this.#directory, found.segment);
    this.#waiting.splice(index, 1);
    return bytes;
  }

  close(): void {
    this.#seal();
  }

  /** Segments of earlier processes that wait; a leftover beside its compressed form goes. */
  #listed(): Waiting[] {
    const segments = listSegments(this.#directory);
    for (const { name } of segments.filter(({ isKept }) => isKept)) {
      fs.rmSync(join(this.#directory, waitingFile(name)), { force: true });
    }
    return segments
      .filter(({ name, isKept }) => !isKept && !name.startsWith(`${this.#life}-`))
      .map((segment) => {
        const bytes = fs.statSync(join(this.#directory, segment.file)).size;
        return { segment, bytes, taken: 0, beganMs: 0 };
      });
  }

  #begin(nowMs: number): void {
    this.#count += 1;
    const name = `${this.#life}-${String(this.#count).padStart(9, "0")}`;
    const file = waitingFile(name);
    this.#descriptor = fs.openSync(join(this.#directory, file), "wx", 0o600);
    const segment = { name, file, isKept: false, newestMs: 0, node: "" };
    this.#waiting.push({ segment, bytes: 0, taken: 0, beganMs: nowMs });
    // The name must be on disk with the first bytes.
    syncDirectory(this.#directory);
  }

  /**
   * Records that were not written whole are written again, elsewhere: they must not be read here
   * too.
   */
  #giveUp(bytes: number): void {
    try {
      fs.ftruncateSync(this.#descriptor, bytes);
    } catch {
      // Then the checksum shows it, or the same records come twice; none is lost.
    }
    this.#seal();
  }

  #seal(): void {
    if (this.#descriptor >= 0) fs.closeSync(this.#descriptor);
    this.#descriptor = -1;
  }
}

/**
 * Compresses a segment that takes no more.
 * @returns its bytes now.
 * @throws the file system's error; then the segment stays as it is.
 */
export function keepSegment(directory: string, segment: Segment): number {
  const path = join(directory, segment.file);
  const newestMs = readNewestDecisionMs(directory, segment);
  const bytes = gzipSync(fs.readFileSync(path), { level: GZIP_LEVEL });
  const name = basename(segment.file, WAITING_SUFFIX);
  replaceDurably(join(dirname(path), keptFile(name, newestMs)), bytes);
  fs.rmSync(path);
  return bytes.byteLength;
}

function untaken(found: Waiting | undefined): Untaken | undefined {
  return found && { segment: found.segment, from: found.taken, size: found.bytes };
}

/** Time of the newest decision in a segment, whole epoch ms; 0 without one. */
function readNewestDecisionMs(directory: string, segment: Segment): number {
  const columns = emptyColumns();
  for (const records of readSegment(directory, segment, 0).records) readRecords(columns, records);
  const times = columns.numbers[0] as number[];
  return Math.ceil(times.reduce((newest, timeMs) => Math.max(newest, timeMs), 0));
}
