// Backlog of source texts to index after startup: their places in the journal, by the number of
// their index. Indexing runs in the background on threads of a pool; a request whose index is
// still missing makes it on the spot: answers are the same at any time.
//
// INVARIANT: an index is published before its text is removed from the backlog (one
// compare-and-swap each, so that of two builders one wins). A builder holds its epoch guard
// (epochs.ts): the writer removes a text once no reader can know its source, and reuses the number
// once no builder is left from before.
import { DOCUMENTS_MAX, GROUNDING_DIRECTORY } from "../../../assembly/grounding/layout.ts";

/*
 * Header: | texts left | next number to make | end of the numbers | stopped |, u32 each. Of each
 * number: | segment f64 | offset f64 |, and in a table of its own | bytes u32 |: those of the
 * journal's record, 0 where there is nothing to make.
 */
const LEFT_AT = 0;
const NEXT_AT = 1;
const END_AT = 2;
const STOPPED_AT = 3;
const HEADER_BYTES = 64;
/** Numbers that a thread takes at once: neighbours in the journal. */
const NUMBERS_PER_RANGE = 32;

/** Place of a record in the journal: its segment, and its byte offset in it. */
export interface TextLocation {
  readonly segment: number;
  readonly offset: number;
}

/** Zeroed; its pages are touched only as they are used. */
export function createBacklogMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(HEADER_BYTES + DOCUMENTS_MAX * 20);
}

/** View of the backlog, on any thread. */
export class IndexBacklog {
  readonly #header: Uint32Array;
  readonly #locations: Float64Array;
  readonly #bytes: Uint32Array;
  readonly #directory: Uint32Array;

  constructor(memory: SharedArrayBuffer, grounding: WebAssembly.Memory) {
    this.#header = new Uint32Array(memory, 0, HEADER_BYTES / 4);
    this.#locations = new Float64Array(memory, HEADER_BYTES, DOCUMENTS_MAX * 2);
    this.#bytes = new Uint32Array(memory, HEADER_BYTES + DOCUMENTS_MAX * 16, DOCUMENTS_MAX);
    this.#directory = new Uint32Array(grounding.buffer, GROUNDING_DIRECTORY, DOCUMENTS_MAX);
  }

  /** Texts that are not indexed yet. */
  get remainingCount(): number {
    return Atomics.load(this.#header, LEFT_AT);
  }

  /** Writer, at start: defers the index `number` of a text. */
  add(number: number, { segment, offset }: TextLocation, bytes: number): void {
    this.#locations[number * 2] = segment;
    this.#locations[number * 2 + 1] = offset;
    Atomics.store(this.#bytes, number, bytes);
    Atomics.add(this.#header, LEFT_AT, 1);
    this.#header[END_AT] = Math.max(this.#header[END_AT]!, number + 1);
  }

  /**
   * Removes an index from the backlog: the builder after publishing, the writer once its source is
   * gone.
   */
  remove(number: number): void {
    const bytes = Atomics.load(this.#bytes, number);
    if (bytes === 0) return;
    const isMine = Atomics.compareExchange(this.#bytes, number, bytes, 0) === bytes;
    if (isMine) Atomics.sub(this.#header, LEFT_AT, 1);
  }

  /** Bytes of the record to read for this index; 0 for none. */
  readRecordBytes(number: number): number {
    return Atomics.load(this.#bytes, number);
  }

  readLocation(number: number): TextLocation {
    return { segment: this.#locations[number * 2]!, offset: this.#locations[number * 2 + 1]! };
  }

  /** Publishes an index unless there is one; the loser frees its own. */
  publish(number: number, document: number): boolean {
    return Atomics.compareExchange(this.#directory, number, 0, document) === 0;
  }

  isIndexed(number: number): boolean {
    return Atomics.load(this.#directory, number) !== 0;
  }

  /**
   * The next numbers for a thread that works off the backlog; undefined at the end, and once
   * stopped.
   */
  takeRange(): { from: number; to: number } | undefined {
    if (Atomics.load(this.#header, STOPPED_AT) !== 0) return undefined;
    const from = Atomics.add(this.#header, NEXT_AT, NUMBERS_PER_RANGE);
    const end = this.#header[END_AT]!;
    return from >= end ? undefined : { from, to: Math.min(from + NUMBERS_PER_RANGE, end) };
  }

  /** Stops the threads that work off the backlog, each after its current text. */
  stop(): void {
    Atomics.store(this.#header, STOPPED_AT, 1);
  }

  get isStopped(): boolean {
    return Atomics.load(this.#header, STOPPED_AT) !== 0;
  }
}
