// Repeated denials of one key, counted: beyond a few a second, identical denials become one record
// that says how many it stands for. One caller in a loop would else write thousands of equal rows a
// second, and readers of the log would wait for all of them. Works on the rings' bytes, on their
// reading end: the threads that decide spend nothing on it.
import {
  COUNT_MAX,
  FLAG_COUNTED,
  OFFSET_COUNT,
  OFFSET_LENGTHS,
  OFFSET_NUMBERS,
  OFFSET_TEXTS,
  TEXT_COUNT,
} from "./ring-layout.ts";
import { FLAGS_AT, isUrgent } from "./ring-reader.ts";

/** Identical denials in one second that get records of their own. */
export const IDENTICAL_PER_SECOND = 100;
/** Different denials counted in one second, some 800 bytes each; those beyond are not counted. */
export const KINDS_MAX = 16_384;

/** The stakes in a record, in words: the second number. */
const STAKES_WORD = (OFFSET_NUMBERS + 8) / 4;

interface Repeat {
  /** The first of its kind, to compare others with. */
  readonly first: Records;
  seen: number;
  /** Record that stands for those beyond the bound; undefined while there are none. */
  held: Buffer | undefined;
  heldCount: number;
}

export class RepeatedDenials {
  #second = 0;
  #kinds = new Map<number, Repeat>();
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
    // Words are read in place: they begin at a multiple of four.
    const bytes = part.byteOffset % 4 === 0 ? part : new Uint8Array(part);
    const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >>> 2);
    const records = { bytes, words };
    let from = 0;
    let at = 0;
    while (at < bytes.byteLength) {
      const end = at + words[at >>> 2]!;
      if (isUrgent(bytes[at + FLAGS_AT]!) && this.#isCounted(records, at, end, kept)) {
        if (at > from) kept.push(part.subarray(from, at));
        from = end;
      }
      at = end;
    }
    if (at > from) kept.push(part.subarray(from, at));
  }

  /** Whether a record is counted in another one; a full count goes to `kept`. */
  #isCounted(records: Records, at: number, end: number, kept: Uint8Array[]): boolean {
    const kind = hashDenial(records, at);
    let repeat = this.#kinds.get(kind);
    if (repeat === undefined) {
      if (this.#kinds.size >= KINDS_MAX) return false;
      const first = Buffer.from(records.bytes.subarray(at, end));
      repeat = { first: viewRecord(first), seen: 0, held: undefined, heldCount: 0 };
      this.#kinds.set(kind, repeat);
    } else if (!isSameKind(repeat.first, 0, records, at)) return false;
    repeat.seen += 1;
    if (repeat.seen <= IDENTICAL_PER_SECOND) return false;
    if (repeat.held === undefined) {
      repeat.held = Buffer.from(records.bytes.subarray(at, end));
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

/** Bytes of records with a view of their words; a record begins at a multiple of four. */
interface Records {
  readonly bytes: Uint8Array;
  readonly words: Uint32Array;
}

function viewRecord(record: Buffer): Records {
  const bytes = new Uint8Array(record);
  return { bytes, words: new Uint32Array(bytes.buffer, 0, bytes.byteLength >>> 2) };
}

// What makes two denials identical: who asked, about whom, for what, at which level and stakes, and
// what was answered and why. Not the request's id, the time, and the numbers that drift with it. By
// word of a record: indexes and flags, lengths of texts (but the id's and the count), stakes.
const HEAD_WORDS = [1, 2, 3, 4, 5, 6, 7, 8, 9, STAKES_WORD, STAKES_WORD + 1];
const HEAD_MASKS = HEAD_WORDS.map((word) => {
  if (word === 3) return 0x0000_00ff;
  if (word === 4) return 0xffff_0000;
  return word === 9 ? 0x0000_ffff : 0xffff_ffff;
});

/** Where the texts behind the request's id begin, and where the last one ends. */
function findTextRange({ words }: Records, at: number): readonly [from: number, end: number] {
  const first = (at + OFFSET_LENGTHS) >>> 2;
  const idLength = words[first]! & 0xffff;
  let length = 0;
  // Two lengths a word; the last word's upper half is the count.
  for (let word = 0; word < TEXT_COUNT >>> 1; word += 1) {
    const pair = words[first + word]!;
    length += (pair & 0xffff) + (pair >>> 16);
  }
  length += words[first + (TEXT_COUNT >>> 1)]! & 0xffff;
  const from = at + OFFSET_TEXTS;
  return [from + idLength, from + length];
}

/**
 * A number of 53 bits by what makes denials identical. Others may share it, by chance or by design:
 * whoever is found under it is compared.
 */
function hashDenial(records: Records, at: number): number {
  const { bytes, words } = records;
  let low = 0x9e3779b1;
  let high = 0x85ebca6b;
  const mix = (value: number) => {
    low = Math.imul(low ^ value, 0x01000193);
    high = Math.imul((high ^ value ^ (low >>> 15)) | 0, 0x2c1b3c6d);
  };
  const base = at >>> 2;
  for (let index = 0; index < HEAD_WORDS.length; index += 1) {
    mix(words[base + HEAD_WORDS[index]!]! & HEAD_MASKS[index]!);
  }
  const [from, end] = findTextRange(records, at);
  let byte = from;
  // Ids of 36 characters end with a word; behind others the texts' words are put together.
  const isAligned = from % 4 === 0;
  for (; byte + 4 <= end; byte += 4) {
    mix(isAligned ? words[byte >>> 2]! : wordAt(bytes, byte));
  }
  for (; byte < end; byte += 1) mix(bytes[byte]!);
  return (high >>> 11) * 2 ** 32 + (low >>> 0);
}

function wordAt(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}

function isSameKind(one: Records, oneAt: number, other: Records, otherAt: number): boolean {
  for (let index = 0; index < HEAD_WORDS.length; index += 1) {
    const word = HEAD_WORDS[index]!;
    const difference = one.words[(oneAt >>> 2) + word]! ^ other.words[(otherAt >>> 2) + word]!;
    if ((difference & HEAD_MASKS[index]!) !== 0) return false;
  }
  // Their lengths are the same, but for the request id's.
  const [oneFrom, oneEnd] = findTextRange(one, oneAt);
  const [otherFrom] = findTextRange(other, otherAt);
  for (let byte = oneFrom; byte < oneEnd; byte += 1) {
    if (one.bytes[byte] !== other.bytes[byte - oneFrom + otherFrom]) return false;
  }
  return true;
}
