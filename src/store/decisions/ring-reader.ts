// Reading end of a decision ring: fills columns from the waiting records, and releases their bytes
// only once the caller has stored them safely.
import {
  CONTROL_BYTES,
  FLAG_COUNTED,
  FLAG_FLAGGED,
  FLAG_ALLOWED,
  FLAG_SESSION,
  FLAG_TRACED,
  HEAD,
  INDEX_COUNT,
  INPUT_COUNT,
  NUMBER_COUNT,
  OFFSET_COUNT,
  OFFSET_INDEXES,
  OFFSET_LENGTHS,
  OFFSET_NUMBERS,
  OFFSET_SESSION,
  OFFSET_TEXTS,
  RING_BYTES,
  TAIL,
  TEXT_COUNT,
  TRACE_BYTES,
} from "./ring-layout.ts";

/** Rows by column, in the order of a record: indexes, numbers and inputs, texts. */
export interface DecisionColumns {
  count: number;
  indexes: number[][];
  /** Seconds; -1 where none was given. */
  sessions: number[];
  numbers: number[][];
  texts: string[][];
  /** Identical denials that each row merges; 1 for nearly all. */
  counts: number[];
  /** Empty where the request was part of no trace. */
  traceIds: string[];
}

export function createDecisionColumns(): DecisionColumns {
  const columns = (count: number) => Array.from({ length: count }, () => []);
  return {
    count: 0,
    indexes: columns(INDEX_COUNT),
    sessions: [],
    numbers: columns(NUMBER_COUNT + INPUT_COUNT),
    texts: columns(TEXT_COUNT),
    counts: [],
    traceIds: [],
  };
}

/**
 * Adds the records of a stretch of bytes as `copy` gave it. A record that cannot be one is left out;
 * behind one of an impossible length (0, say) nothing tells where the next begins.
 * @returns the number of damaged records that were met.
 */
export function decodeRecordsInto(columns: DecisionColumns, bytes: Buffer): number {
  // Numbers are read in place: the copy must begin at a multiple of eight.
  const byteLength = bytes.length & ~7;
  const aligned = new Uint8Array(new ArrayBuffer(byteLength));
  aligned.set(bytes.subarray(0, byteLength));
  const views = createRingViews(aligned.buffer, 0, byteLength);
  let damagedCount = bytes.length === byteLength ? 0 : 1;
  for (let at = 0; at < byteLength;) {
    const length = views.words[at / 4]!;
    if (length < OFFSET_TEXTS || length % 8 !== 0 || at + length > byteLength) {
      return damagedCount + 1;
    }
    if (isRecord(views, at, length)) decodeRecordInto(columns, views, at, length);
    else damagedCount += 1;
    at += length;
  }
  return damagedCount;
}

/** Latest time that a record may name: beyond it SQL has no timestamps. */
const TIME_MS_MAX = 8.64e15;

function isRecord(views: RingViews, at: number, length: number): boolean {
  let end = OFFSET_TEXTS;
  for (let i = 0; i < TEXT_COUNT; i += 1) end += views.lengths[(at + OFFSET_LENGTHS) / 2 + i]!;
  if ((views.bytes[at + OFFSET_FLAGS]! & FLAG_TRACED) !== 0) end += TRACE_BYTES;
  const evaluatedMs = views.numbers[(at + OFFSET_NUMBERS) / 8]!;
  return end <= length && evaluatedMs >= 0 && evaluatedMs <= TIME_MS_MAX;
}

/** Offset of the flags in a record. */
export const OFFSET_FLAGS = OFFSET_INDEXES + INDEX_COUNT - 1;

/** Whether a record with these flags must not be lost: a denial, or one flagged for a person. */
export function isDenialOrFlagged(flags: number): boolean {
  return (flags & FLAG_ALLOWED) === 0 || (flags & FLAG_FLAGGED) !== 0;
}

interface RingViews {
  bytes: Buffer;
  lengths: Uint16Array;
  words: Uint32Array;
  numbers: Float64Array;
}

function createRingViews(buffer: ArrayBufferLike, offset: number, length: number): RingViews {
  return {
    bytes: Buffer.from(buffer as ArrayBuffer, offset, length),
    lengths: new Uint16Array(buffer, offset, length / 2),
    words: new Uint32Array(buffer, offset, length / 4),
    numbers: new Float64Array(buffer, offset, length / 8),
  };
}

function decodeRecordInto(
  columns: DecisionColumns,
  views: RingViews,
  at: number,
  length: number,
): void {
  const { indexes, numbers, texts } = columns;
  for (let i = 0; i < INDEX_COUNT; i += 1) indexes[i]!.push(views.bytes[at + OFFSET_INDEXES + i]!);
  const flags = views.bytes[at + OFFSET_FLAGS]!;
  const hasSession = (flags & FLAG_SESSION) !== 0;
  const isCounted = (flags & FLAG_COUNTED) !== 0;
  columns.counts.push(isCounted ? views.lengths[(at + OFFSET_COUNT) / 2]! : 1);
  columns.sessions.push(hasSession ? views.bytes.readUIntLE(at + OFFSET_SESSION, 3) : -1);
  const from = (at + OFFSET_NUMBERS) / 8;
  for (let i = 0; i < numbers.length; i += 1) numbers[i]!.push(views.numbers[from + i]!);
  let start = at + OFFSET_TEXTS;
  for (let i = 0; i < TEXT_COUNT; i += 1) {
    const end = start + views.lengths[(at + OFFSET_LENGTHS) / 2 + i]!;
    texts[i]!.push(end === start ? "" : views.bytes.toString("utf8", start, end));
    start = end;
  }
  const isTraced = (flags & FLAG_TRACED) !== 0;
  const traceAt = at + length - TRACE_BYTES;
  columns.traceIds.push(isTraced ? views.bytes.toString("hex", traceAt, at + length) : "");
  columns.count += 1;
}

export class DecisionRingReader {
  readonly #control: Int32Array;
  readonly #views: RingViews;
  /** No record up to here is urgent; ahead of the tail. */
  #scannedPosition = 0;

  constructor(ring: SharedArrayBuffer) {
    this.#control = new Int32Array(ring, 0, 4);
    this.#views = createRingViews(ring, CONTROL_BYTES, RING_BYTES);
  }

  /** Bytes waiting to be read. */
  get usedBytes(): number {
    return (Atomics.load(this.#control, HEAD) - Atomics.load(this.#control, TAIL)) >>> 0;
  }

  /** Whether a record waits that must not be lost: a denial, or one flagged for a person. */
  hasDenialOrFlagged(): boolean {
    const head = Atomics.load(this.#control, HEAD) >>> 0;
    const tail = Atomics.load(this.#control, TAIL) >>> 0;
    // The records checked last time may have been released since.
    const isBehind = (this.#scannedPosition - tail) >>> 0 > (head - tail) >>> 0;
    let position = isBehind ? tail : this.#scannedPosition;
    while (position !== head) {
      const at = position & (RING_BYTES - 1);
      const length = this.#views.words[at / 4]!;
      if (length > 0 && isDenialOrFlagged(this.#views.bytes[at + OFFSET_FLAGS]!)) break;
      position = (position + (length === 0 ? RING_BYTES - at : length)) >>> 0;
    }
    this.#scannedPosition = position;
    return position !== head;
  }

  /**
   * Copies up to `countMax` records, as they are, into `parts`; at most two stretches, for the
   * ring's end. Returns the position to release them with.
   */
  copyRecords(parts: Uint8Array[], countMax = Number.POSITIVE_INFINITY): number {
    let from = -1;
    let to = -1;
    const flush = () => {
      if (to > from) parts.push(new Uint8Array(this.#views.bytes.subarray(from, to)));
    };
    const position = this.#walkRecords(countMax, (at, length) => {
      if (at !== to) {
        flush();
        from = at;
      }
      to = at + length;
    });
    flush();
    return position;
  }

  #walkRecords(countMax: number, visit: (at: number, length: number) => void): number {
    const head = Atomics.load(this.#control, HEAD) >>> 0;
    let tail = Atomics.load(this.#control, TAIL) >>> 0;
    for (let count = 0; tail !== head && count < countMax;) {
      const at = tail & (RING_BYTES - 1);
      const length = this.#views.words[at / 4]!;
      if (length === 0) {
        tail = (tail + RING_BYTES - at) >>> 0;
        continue;
      }
      visit(at, length);
      tail = (tail + length) >>> 0;
      count += 1;
    }
    return tail;
  }

  /** Releases the bytes up to `position` to the writer and wakes it if it waits for some. */
  release(position: number): void {
    Atomics.store(this.#control, TAIL, position | 0);
    Atomics.notify(this.#control, TAIL);
  }
}
