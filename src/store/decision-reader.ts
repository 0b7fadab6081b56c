// The reading end of a decision ring: fills columns from what is there and gives the room back only
// when told that it is safely stored.
import {
  CONTROL_BYTES,
  HEAD,
  INDEX_COUNT,
  INPUT_COUNT,
  NUMBER_COUNT,
  OFFSET_INDEXES,
  OFFSET_LENGTHS,
  OFFSET_NUMBERS,
  OFFSET_TEXTS,
  RING_BYTES,
  TAIL,
  TEXT_COUNT,
} from "./decision-layout.ts";

/** Rows by column, in the order of a record: indexes, numbers and inputs, texts. */
export interface DecisionColumns {
  count: number;
  indexes: number[][];
  numbers: number[][];
  texts: string[][];
}

export function emptyColumns(): DecisionColumns {
  const columns = (count: number) => Array.from({ length: count }, () => []);
  return {
    count: 0,
    indexes: columns(INDEX_COUNT),
    numbers: columns(NUMBER_COUNT + INPUT_COUNT),
    texts: columns(TEXT_COUNT),
  };
}

export class DecisionReader {
  readonly #control: Int32Array;
  readonly #bytes: Buffer;
  readonly #lengths: Uint16Array;
  readonly #words: Uint32Array;
  readonly #numbers: Float64Array;

  constructor(ring: SharedArrayBuffer) {
    this.#control = new Int32Array(ring, 0, 4);
    this.#bytes = Buffer.from(ring as unknown as ArrayBuffer, CONTROL_BYTES, RING_BYTES);
    this.#lengths = new Uint16Array(ring, CONTROL_BYTES, RING_BYTES / 2);
    this.#words = new Uint32Array(ring, CONTROL_BYTES, RING_BYTES / 4);
    this.#numbers = new Float64Array(ring, CONTROL_BYTES, RING_BYTES / 8);
  }

  /** Bytes waiting to be read. */
  get used(): number {
    return (Atomics.load(this.#control, HEAD) - Atomics.load(this.#control, TAIL)) >>> 0;
  }

  /** Adds up to `countMax` records to `columns`. Returns the position to release them with. */
  read(columns: DecisionColumns, countMax: number): number {
    const head = Atomics.load(this.#control, HEAD) >>> 0;
    let tail = Atomics.load(this.#control, TAIL) >>> 0;
    for (let count = 0; tail !== head && count < countMax;) {
      const at = tail & (RING_BYTES - 1);
      const length = this.#words[at / 4]!;
      if (length === 0) {
        tail = (tail + RING_BYTES - at) >>> 0;
        continue;
      }
      this.#readRecord(columns, at);
      tail = (tail + length) >>> 0;
      count += 1;
    }
    return tail;
  }

  /** Gives the room up to `position` back to the writer and wakes it if it waits for some. */
  release(position: number): void {
    Atomics.store(this.#control, TAIL, position | 0);
    Atomics.notify(this.#control, TAIL);
  }

  #readRecord(columns: DecisionColumns, at: number): void {
    const { indexes, numbers, texts } = columns;
    for (let i = 0; i < INDEX_COUNT; i += 1)
      indexes[i]!.push(this.#bytes[at + OFFSET_INDEXES + i]!);
    const from = (at + OFFSET_NUMBERS) / 8;
    for (let i = 0; i < numbers.length; i += 1) numbers[i]!.push(this.#numbers[from + i]!);
    let start = at + OFFSET_TEXTS;
    for (let i = 0; i < TEXT_COUNT; i += 1) {
      const end = start + this.#lengths[(at + OFFSET_LENGTHS) / 2 + i]!;
      texts[i]!.push(end === start ? "" : this.#bytes.toString("utf8", start, end));
      start = end;
    }
    columns.count += 1;
  }
}
