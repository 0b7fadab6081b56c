// Copies of other nodes' segments, as work for the store: those that have bytes which are no rows yet, and those
// that take no more. Another thread lengthens them (threads/stream.ts); a copy is always a beginning of what its
// node has written.
import * as fs from "node:fs";
import { join } from "node:path";
import { listCopies, type Segment } from "./segments.ts";
import { keepSegment, type Untaken } from "./spool.ts";
import type { Taken } from "./taken.ts";

/** Interval in ms between two looks at the directory. */
const LOOK_MS = 1000;

export class CopiedSegments {
  readonly #directory: string;
  #work: Untaken[] = [];
  /** Copies that a later one of their node follows: nothing more comes to them. */
  #complete: { readonly segment: Segment; readonly size: number }[] = [];
  /** Sizes at which nothing whole was left to take, by name. */
  readonly #looked = new Map<string, number>();
  #lookedAtMs = Number.NEGATIVE_INFINITY;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Bytes that were no rows at the last look. */
  get waitingBytes(): number {
    return this.#work.reduce((sum, { from, size }) => sum + size - from, 0);
  }

  isLookDue(nowMs: number): boolean {
    return this.#work.length === 0 && nowMs - this.#lookedAtMs >= LOOK_MS;
  }

  /** Another database is open. */
  renew(): void {
    this.#work = [];
    this.#looked.clear();
    this.#lookedAtMs = Number.NEGATIVE_INFINITY;
  }

  /** `taken`: what the database has of each. */
  look({ bytes }: Taken, nowMs: number): void {
    this.#lookedAtMs = nowMs;
    const waiting = listCopies(this.#directory).filter(({ isKept }) => !isKept);
    const sized = waiting.map((segment) => {
      return { segment, size: readFileSizeOrZero(join(this.#directory, segment.file)) };
    });
    this.#work = sized.flatMap(({ segment, size }) => {
      const from = bytes.get(segment.name) ?? 0;
      const isNew = size > Math.max(from, this.#looked.get(segment.name) ?? 0);
      return isNew ? [{ segment, from, size }] : [];
    });
    const work = new Set(this.#work.map(({ segment }) => segment));
    this.#complete = sized.filter(({ segment }, index) => {
      return !work.has(segment) && sized[index + 1]?.segment.node === segment.node;
    });
  }

  /** The next that has bytes which are no rows; undefined when all of the last look are done. */
  next(): Untaken | undefined {
    return this.#work[0];
  }

  /** It was read as far as it had whole blocks. */
  took({ segment, size }: Untaken): void {
    this.#work = this.#work.filter((each) => each.segment.name !== segment.name);
    this.#looked.set(segment.name, size);
  }

  /**
   * Compresses one that takes no more and is all rows.
   * @returns its bytes now, 0 when there was none.
   */
  keepOne(): number {
    const found = this.#complete.shift();
    if (found === undefined) return 0;
    this.#looked.delete(found.segment.name);
    // Cut off since: what was cut off comes again.
    if (readFileSizeOrZero(join(this.#directory, found.segment.file)) < found.size) return 0;
    return keepSegment(this.#directory, found.segment);
  }
}

/** 0 where it has just been removed. */
function readFileSizeOrZero(path: string): number {
  return fs.statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
