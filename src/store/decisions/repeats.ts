// Repeated denials of one key, counted: beyond a few a second, identical denials become one record
// that says how many it stands for. One caller in a loop would else write thousands of equal rows a
// second, and readers of the log would wait for all of them. Works on the rings' bytes, on their
// reading end: the threads that decide spend nothing on it.
import {
  COUNT_MAX,
  FLAG_COUNTED,
  INDEX_COUNT,
  OFFSET_COUNT,
  OFFSET_INDEXES,
  OFFSET_LENGTHS,
  OFFSET_NUMBERS,
  OFFSET_TEXTS,
  TEXT_COUNT,
} from "./ring-layout.ts";
import { FLAGS_AT, isUrgent } from "./ring-reader.ts";

/** Identical denials in one second that get records of their own. */
export const IDENTICAL_PER_SECOND = 100;
/** Different denials counted in one second, some 400 bytes each; those beyond are not counted. */
export const KINDS_MAX = 16_384;

interface Repeat {
  seen: number;
  /** Record that stands for those beyond the bound; undefined while there are none. */
  held: Buffer | undefined;
  heldCount: number;
}

export class RepeatedDenials {
  #second = 0;
  #kinds = new Map<string, Repeat>();
  /** Decisions that have no record of their own, since the start. */
  #countedTotal = 0;
  #heldKinds = 0;

  get countedTotal(): number {
    return this.#countedTotal;
  }

  /** Whether a second is over whose counts have yet to be written. */
  isDue(nowMs: number): boolean {
    return this.#heldKinds > 0 && Math.trunc(nowMs / 1000) !== this.#second;
  }

  /**
   * The records of `parts` that are to be stored one by one, as stretches of the same bytes, and
   * ahead of them the counts of a second that is over.
   */
  sift(parts: readonly Uint8Array[], nowMs: number): Uint8Array[] {
    const second = Math.trunc(nowMs / 1000);
    const kept: Uint8Array[] = [];
    if (second !== this.#second) {
      kept.push(...this.takeHeld());
      this.#kinds.clear();
      this.#second = second;
    }
    for (const part of parts) this.#siftPart(part, kept);
    return kept;
  }

  /** The counts so far, as records. A decision that comes after begins a new one. */
  takeHeld(): Uint8Array[] {
    const taken: Uint8Array[] = [];
    if (this.#heldKinds === 0) return taken;
    for (const repeat of this.#kinds.values()) {
      if (repeat.held !== undefined) taken.push(this.#finish(repeat));
    }
    return taken;
  }

  #siftPart(part: Uint8Array, kept: Uint8Array[]): void {
    const bytes = Buffer.from(part.buffer, part.byteOffset, part.byteLength);
    let from = 0;
    let at = 0;
    while (at < bytes.byteLength) {
      const end = at + bytes.readUInt32LE(at);
      if (isUrgent(bytes[at + FLAGS_AT]!) && this.#isCounted(bytes.subarray(at, end), kept)) {
        if (at > from) kept.push(part.subarray(from, at));
        from = end;
      }
      at = end;
    }
    if (at > from) kept.push(part.subarray(from, at));
  }

  /** Whether a record is counted in another one; a full count goes to `kept`. */
  #isCounted(record: Buffer, kept: Uint8Array[]): boolean {
    const kind = kindOf(record);
    let repeat = this.#kinds.get(kind);
    if (repeat === undefined) {
      if (this.#kinds.size >= KINDS_MAX) return false;
      repeat = { seen: 0, held: undefined, heldCount: 0 };
      this.#kinds.set(kind, repeat);
    }
    repeat.seen += 1;
    if (repeat.seen <= IDENTICAL_PER_SECOND) return false;
    if (repeat.held === undefined) {
      repeat.held = Buffer.from(record);
      this.#heldKinds += 1;
    } else {
      this.#countedTotal += 1;
    }
    repeat.heldCount += 1;
    if (repeat.heldCount === COUNT_MAX) kept.push(this.#finish(repeat));
    return true;
  }

  #finish(repeat: Repeat): Buffer {
    const record = repeat.held as Buffer;
    record[FLAGS_AT]! |= FLAG_COUNTED;
    record.writeUInt16LE(repeat.heldCount, OFFSET_COUNT);
    repeat.held = undefined;
    repeat.heldCount = 0;
    this.#heldKinds -= 1;
    return record;
  }
}

/** Offset of the stakes in a record: the second number. */
const STAKES_AT = OFFSET_NUMBERS + 8;

/**
 * What makes two denials identical: who asked, about whom, for what, at which level and stakes, and
 * what was answered and why. Not the request's id, the time, and the numbers that drift with it.
 */
function kindOf(record: Buffer): string {
  let end = OFFSET_TEXTS;
  for (let text = 0; text < TEXT_COUNT; text += 1) {
    end += record.readUInt16LE(OFFSET_LENGTHS + 2 * text);
  }
  const from = OFFSET_TEXTS + record.readUInt16LE(OFFSET_LENGTHS);
  // The lengths, but the request id's, keep two texts from being taken for two others.
  return (
    record.toString("latin1", OFFSET_INDEXES, OFFSET_INDEXES + INDEX_COUNT) +
    record.toString("latin1", OFFSET_LENGTHS + 2, OFFSET_LENGTHS + 2 * TEXT_COUNT) +
    record.toString("latin1", STAKES_AT, STAKES_AT + 8) +
    record.toString("latin1", from, end)
  );
}
