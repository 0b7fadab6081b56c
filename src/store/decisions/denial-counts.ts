// Repeated denials of one key, counted: beyond a few a second, identical denials become one record
// that says how many it stands for. One caller in a loop would else write thousands of equal rows a
// second, and readers of the log would wait for all of them. Works on the rings' bytes, on their
// reading end: the threads that decide spend nothing on it.
import {
  RECORD_COUNT_MAX,
  FLAG_COUNTED,
  OFFSET_COUNT,
  OFFSET_LENGTHS,
  OFFSET_NUMBERS,
  OFFSET_TEXTS,
  OFFSET_WEIGHT,
  TEXT_COUNT,
} from "./ring-layout.ts";
import { OFFSET_FLAGS, isDenialOrFlagged } from "./ring-reader.ts";

/** Identical denials in one second that get records of their own. */
export const IDENTICAL_PER_SECOND = 100;
/** Different denials counted in one second, some 800 bytes each; those beyond are not counted. */
export const DENIAL_KINDS_MAX = 16_384;

/** The stakes in a record, in words: the second number. */
const STAKES_WORD = (OFFSET_NUMBERS + 8) / 4;

interface DenialRepeat {
  /** The first of its kind, to compare others with. */
  readonly first: RecordWords;
  seen: number;
  /** Record that stands for those beyond the bound; undefined while there are none. */
  countRecord: Buffer | undefined;
  countedDenials: number;
  /** Sum of their weights. */
  weight: number;
}

export class RepeatedDenialCounter {
  #second = 0;
  #repeatsByHash = new Map<number, DenialRepeat>();
  /** Decisions that have no record of their own, since the start. */
  #mergedDenialsTotal = 0;
  #openCountRecords = 0;
  #mergedBytes = 0;

  /** Bytes of merged records since the last call. */
  takeMergedBytes(): number {
    const bytes = this.#mergedBytes;
    this.#mergedBytes = 0;
    return bytes;
  }

  get mergedDenialsTotal(): number {
    return this.#mergedDenialsTotal;
  }

  /** Whether a second is over whose counts have yet to be written. */
  isDue(nowMs: number): boolean {
    return this.#openCountRecords > 0 && Math.trunc(nowMs / 1000) !== this.#second;
  }

  /**
   * The records of `parts` that are to be stored one by one, as stretches of the same bytes, and
   * ahead of them the counts of a second that is over.
   */
  mergeRepeats(parts: readonly Uint8Array[], nowMs: number): Uint8Array[] {
    const second = Math.trunc(nowMs / 1000);
    const kept: Uint8Array[] = [];
    if (second !== this.#second) {
      kept.push(...this.takeCountRecords());
      this.#repeatsByHash.clear();
      this.#second = second;
    }
    for (const part of parts) this.#mergePart(part, kept);
    return kept;
  }

  /** The counts so far, as records. A decision that comes after begins a new one. */
  takeCountRecords(): Uint8Array[] {
    const taken: Uint8Array[] = [];
    if (this.#openCountRecords === 0) return taken;
    for (const repeat of this.#repeatsByHash.values()) {
      if (repeat.countRecord !== undefined) taken.push(this.#finishCountRecord(repeat));
    }
    return taken;
  }

  #mergePart(part: Uint8Array, kept: Uint8Array[]): void {
    // Words are read in place: they begin at a multiple of four.
    const bytes = part.byteOffset % 4 === 0 ? part : new Uint8Array(part);
    const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >>> 2);
    const records = { bytes, words };
    let from = 0;
    let at = 0;
    while (at < bytes.byteLength) {
      const end = at + words[at >>> 2]!;
      if (
        isDenialOrFlagged(bytes[at + OFFSET_FLAGS]!) &&
        this.#countIfRepeated(records, at, end, kept)
      ) {
        if (at > from) kept.push(part.subarray(from, at));
        from = end;
      }
      at = end;
    }
    if (at > from) kept.push(part.subarray(from, at));
  }

  /** Whether a record is counted in another one; a full count goes to `kept`. */
  #countIfRepeated(records: RecordWords, at: number, end: number, kept: Uint8Array[]): boolean {
    const kind = hashDenial(records, at);
    let repeat = this.#repeatsByHash.get(kind);
    if (repeat === undefined) {
      if (this.#repeatsByHash.size >= DENIAL_KINDS_MAX) return false;
      const first = Buffer.from(records.bytes.subarray(at, end));
      const none = { seen: 0, countRecord: undefined, countedDenials: 0, weight: 0 };
      repeat = { first: viewRecord(first), ...none };
      this.#repeatsByHash.set(kind, repeat);
    } else if (!isSameDenial(repeat.first, 0, records, at)) return false;
    repeat.seen += 1;
    if (repeat.seen <= IDENTICAL_PER_SECOND) return false;
    if (repeat.countRecord === undefined) {
      repeat.countRecord = Buffer.from(records.bytes.subarray(at, end));
      this.#openCountRecords += 1;
    } else {
      this.#mergedDenialsTotal += 1;
      this.#mergedBytes += end - at;
    }
    repeat.countedDenials += 1;
    repeat.weight += readWeight(records, at);
    if (repeat.countedDenials === RECORD_COUNT_MAX) kept.push(this.#finishCountRecord(repeat));
    return true;
  }

  #finishCountRecord(repeat: DenialRepeat): Buffer {
    const record = repeat.countRecord as Buffer;
    record[OFFSET_FLAGS]! |= FLAG_COUNTED;
    record.writeUInt16LE(repeat.countedDenials, OFFSET_COUNT);
    record.writeDoubleLE(repeat.weight, OFFSET_WEIGHT);
    repeat.countRecord = undefined;
    repeat.countedDenials = 0;
    repeat.weight = 0;
    this.#openCountRecords -= 1;
    return record;
  }
}

/** Bytes of records with a view of their words; a record begins at a multiple of four. */
interface RecordWords {
  readonly bytes: Uint8Array;
  readonly words: Uint32Array;
}

function readWeight({ bytes }: RecordWords, at: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset + at).getFloat64(OFFSET_WEIGHT, true);
}

function viewRecord(record: Buffer): RecordWords {
  const bytes = new Uint8Array(record);
  return { bytes, words: new Uint32Array(bytes.buffer, 0, bytes.byteLength >>> 2) };
}

// What makes two denials identical: who asked, about whom, for what, at which level and stakes, and
// what was answered and why. Not the request's id, the time, and the numbers that drift with it. By
// word of a record: indexes and flags, lengths of texts (but the id's and the count), stakes.
const COMPARED_WORDS = [1, 2, 3, 4, 5, 6, 7, 8, 9, STAKES_WORD, STAKES_WORD + 1];
const COMPARED_MASKS = COMPARED_WORDS.map((word) => {
  if (word === 3) return 0x0000_00ff;
  if (word === 4) return 0xffff_0000;
  return word === 9 ? 0x0000_ffff : 0xffff_ffff;
});

/** Where the texts behind the request's id begin, and where the last one ends. */
function findTextRange({ words }: RecordWords, at: number): readonly [from: number, end: number] {
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
 * an entry found under it is compared.
 */
function hashDenial(records: RecordWords, at: number): number {
  const { bytes, words } = records;
  let low = 0x9e3779b1;
  let high = 0x85ebca6b;
  const mix = (value: number) => {
    low = Math.imul(low ^ value, 0x01000193);
    high = Math.imul((high ^ value ^ (low >>> 15)) | 0, 0x2c1b3c6d);
  };
  const base = at >>> 2;
  for (let index = 0; index < COMPARED_WORDS.length; index += 1) {
    mix(words[base + COMPARED_WORDS[index]!]! & COMPARED_MASKS[index]!);
  }
  const [from, end] = findTextRange(records, at);
  let byte = from;
  // Ids of 36 characters end with a word; behind others the texts' words are put together.
  const isAligned = from % 4 === 0;
  for (; byte + 4 <= end; byte += 4) {
    mix(isAligned ? words[byte >>> 2]! : readWordAt(bytes, byte));
  }
  for (; byte < end; byte += 1) mix(bytes[byte]!);
  return (high >>> 11) * 2 ** 32 + (low >>> 0);
}

function readWordAt(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}

function isSameDenial(
  one: RecordWords,
  oneAt: number,
  other: RecordWords,
  otherAt: number,
): boolean {
  for (let index = 0; index < COMPARED_WORDS.length; index += 1) {
    const word = COMPARED_WORDS[index]!;
    const difference = one.words[(oneAt >>> 2) + word]! ^ other.words[(otherAt >>> 2) + word]!;
    if ((difference & COMPARED_MASKS[index]!) !== 0) return false;
  }
  // Their lengths are the same, but for the request id's.
  const [oneFrom, oneEnd] = findTextRange(one, oneAt);
  const [otherFrom] = findTextRange(other, otherAt);
  for (let byte = oneFrom; byte < oneEnd; byte += 1) {
    if (one.bytes[byte] !== other.bytes[byte - oneFrom + otherFrom]) return false;
  }
  return true;
}
