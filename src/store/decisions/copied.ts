// Copies of other nodes' segments, as work for the store: those that have bytes which are no rows yet, and those
// that take no more. Another thread lengthens them (threads/stream.ts); a copy is always a beginning of what its
// node has written.
import * as fs from "node:fs";
import { join } from "node:path";
import { listSegmentCopies, type DecisionSegment } from "./segments.ts";
import { compressSegment, type PendingSegmentRange } from "./spool.ts";
import type { ProjectionProgress } from "./taken.ts";

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

  /** `taken`: what the database has of each. */
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
