// Grounding for the rest of the vault: builders that index documents, the writer that publishes
// them, readers that score a text against some of them. Text goes into the thread's scratch as
// UTF-16, numbers come out.
import {
  DOCUMENTS_CITED_MAX,
  DOCUMENTS_MAX,
  GROUNDING_DIRECTORY,
  GROUNDING_HEADER,
  NUMBERS_BLOCK_BYTES,
  NUMBERS_BLOCKS,
  RESULT_CONTRADICTED,
  RESULT_MIXED,
  RESULT_RISK,
  RESULT_TOKENS,
  RESULT_UNSUPPORTED,
  RESULT_UNSUPPORTED_END,
  RESULT_UNSUPPORTED_START,
  RESULT_WORDS,
  RESULT_WORST,
  RESULT_WORST_END,
  RESULT_WORST_NUMBER,
  RESULT_WORST_START,
  ROW_WORDS,
  SCRATCH_CITED,
  SCRATCH_CONTAINED,
  SCRATCH_RESULT,
  SCRATCH_ROWS,
  SCRATCH_TEXT,
  SCRATCH_WINDOW,
  SENTENCE_ROWS_MAX,
  STATUS_OK,
  TEXT_UNITS_MAX,
} from "../../../assembly/grounding/layout.ts";
import { instantiateGrounding } from "./module.ts";
import type { GroundingExports } from "./module.ts";
import {
  installLanguage,
  installNumbers,
  installWeights,
  readGroundingNumbers,
  readStemWeights,
} from "./tables.ts";
import type { GroundingNumbers } from "./tables.ts";

/** Result of a score; reused by the next call. Risks and shares are in 1/1024. */
export interface GroundingScore {
  /** Sentences scored; 0 when the text holds nothing that can be checked. */
  sentenceCount: number;
  risk: number;
  /** z, number and place of the sentence to name: the first contradicted one, else the worst. */
  worst: number;
  worstNumber: number;
  /** Units of the scored text. */
  worstStart: number;
  worstEnd: number;
  /** First number (1), else first name (2), of the worst sentence that no document holds. */
  unsupportedKind: number;
  unsupportedStart: number;
  unsupportedEnd: number;
  /** The sentence named has another number than a document has in the same statement. */
  isContradicted: boolean;
  mixedWords: number;
  tokenCount: number;
}

/** This thread's part of the shared memory. */
class GroundingScratch {
  readonly exports: GroundingExports;
  readonly address: number;
  readonly text: Buffer;
  readonly result: Int32Array;
  readonly cited: Uint32Array;
  readonly windows: Int32Array;
  readonly contained: Int32Array;
  readonly rows: Int32Array;

  constructor(memory: WebAssembly.Memory, exports: GroundingExports) {
    this.exports = exports;
    const address = exports.openScratch() >>> 0;
    if (address === 0) throw new RangeError("the grounding memory is full (4 GiB)");
    this.address = address;
    const { buffer } = memory;
    this.text = Buffer.from(
      buffer as unknown as ArrayBuffer,
      address + SCRATCH_TEXT,
      TEXT_UNITS_MAX * 2,
    );
    this.result = new Int32Array(buffer, address + SCRATCH_RESULT, RESULT_WORDS);
    this.cited = new Uint32Array(buffer, address + SCRATCH_CITED, DOCUMENTS_CITED_MAX);
    this.windows = new Int32Array(buffer, address + SCRATCH_WINDOW, DOCUMENTS_CITED_MAX);
    this.contained = new Int32Array(buffer, address + SCRATCH_CONTAINED, DOCUMENTS_CITED_MAX);
    this.rows = new Int32Array(buffer, address + SCRATCH_ROWS, SENTENCE_ROWS_MAX * ROW_WORDS);
  }

  /** Writes as much of a text as fits behind `units`; returns its length in units. */
  write(text: string, units: number): number {
    const length = Math.min(text.length, TEXT_UNITS_MAX - units);
    return this.text.write(text, units * 2, length * 2, "utf16le") >> 1;
  }
}

/** Scores in one thread. Not re-entrant; what it returns lives until the next call. */
export class GroundingReader {
  readonly #scratch: GroundingScratch;
  readonly #reading: GroundingScore = {
    sentenceCount: 0,
    risk: 0,
    worst: 0,
    worstNumber: 0,
    worstStart: 0,
    worstEnd: 0,
    unsupportedKind: 0,
    unsupportedStart: 0,
    unsupportedEnd: 0,
    isContradicted: false,
    mixedWords: 0,
    tokenCount: 0,
  };

  /** Takes a scratch of its own: one reader per thread, made once. */
  constructor(memory: WebAssembly.Memory) {
    this.#scratch = new GroundingScratch(memory, instantiateGrounding(memory));
  }

  /**
   * Scores `text` against documents by number, at most 64; `topShare` is that of the kind of
   * evidence.
   * @returns undefined when none of the documents has an index.
   */
  score(
    text: string,
    question: string,
    documents: readonly number[],
    topShare: number,
  ): GroundingScore | undefined {
    const scratch = this.#scratch;
    const count = Math.min(documents.length, DOCUMENTS_CITED_MAX);
    for (let at = 0; at < count; at++) scratch.cited[at] = documents[at]!;
    const textUnits = scratch.write(text, 0);
    const questionUnits = question === "" ? 0 : scratch.write(question, textUnits);
    const { address, exports, result } = scratch;
    const scored = exports.score(address, textUnits, questionUnits, count, topShare);
    if (scored < 0) return undefined;
    const reading = this.#reading;
    reading.sentenceCount = scored;
    reading.risk = result[RESULT_RISK]!;
    reading.worst = result[RESULT_WORST]!;
    reading.worstNumber = result[RESULT_WORST_NUMBER]!;
    reading.worstStart = result[RESULT_WORST_START]!;
    reading.worstEnd = result[RESULT_WORST_END]!;
    reading.unsupportedKind = result[RESULT_UNSUPPORTED]!;
    reading.unsupportedStart = result[RESULT_UNSUPPORTED_START]!;
    reading.unsupportedEnd = result[RESULT_UNSUPPORTED_END]!;
    reading.isContradicted = result[RESULT_CONTRADICTED] !== 0;
    reading.mixedWords = result[RESULT_MIXED]!;
    reading.tokenCount = result[RESULT_TOKENS]!;
    return reading;
  }

  /** Of the last score: best share of a sentence within two neighbouring ones of document `at`. */
  readBestWindow(at: number): number {
    return this.#scratch.windows[at]!;
  }

  /** Of the last score: best share of a sentence found anywhere in document `at`. */
  readContainedShare(at: number): number {
    return this.#scratch.contained[at]!;
  }

  /** Of the last score: features, risk and place of sentence `at`, as ROW_* words. A live view. */
  viewSentenceRow(at: number): Int32Array {
    return this.#scratch.rows.subarray(at * ROW_WORDS, (at + 1) * ROW_WORDS);
  }

  /** Number of sentence rows of the last score. */
  static countSentenceRows(reading: GroundingScore): number {
    return Math.min(reading.sentenceCount, SENTENCE_ROWS_MAX);
  }
}

/** Builds indexes on any thread; an index is invisible until the writer publishes it. */
export class IndexBuilder {
  readonly #scratch: GroundingScratch;

  /** Takes a scratch of its own: one builder per thread. The writer must have been made before. */
  constructor(memory: WebAssembly.Memory, exports = instantiateGrounding(memory)) {
    this.#scratch = new GroundingScratch(memory, exports);
  }

  /**
   * Address of the index of a text, cut at 524,288 units.
   * @throws RangeError when memory is full.
   */
  build(text: string, leaves = ""): number {
    const leafUnits = Math.min(leaves.length, TEXT_UNITS_MAX / 4);
    const kept = Math.min(text.length, TEXT_UNITS_MAX - leafUnits);
    const textUnits = this.#scratch.write(text.slice(0, kept), 0);
    const written = this.#scratch.write(leaves.slice(0, leafUnits), textUnits);
    const { exports, address } = this.#scratch;
    const document = exports.buildDocument(address, textUnits, written) >>> 0;
    if (document === 0) throw new RangeError("the grounding memory is full (4 GiB)");
    return document;
  }

  /** Frees an index that was never published; false to be called again. */
  tryDiscard(document: number): boolean {
    return this.#scratch.exports.freeDocument(document) !== 0;
  }
}

/** The one writer of a memory: tables first, then documents. */
export class GroundingWriter {
  readonly #memory: WebAssembly.Memory;
  readonly #exports: GroundingExports;
  readonly #builder: IndexBuilder;
  readonly #header: Uint32Array;
  readonly #directory: Uint32Array;
  readonly #freeNumbers: number[] = [];
  #nextNumber = 0;

  /**
   * Fills the tables with the shipped numbers.
   * @throws Error when the memory already has a writer.
   */
  constructor(memory: WebAssembly.Memory) {
    this.#memory = memory;
    this.#exports = instantiateGrounding(memory);
    if (this.#exports.initialise() !== STATUS_OK) {
      throw new Error("the grounding memory already has a writer");
    }
    installLanguage(memory, this.#exports);
    this.#builder = new IndexBuilder(memory, this.#exports);
    this.#header = new Uint32Array(memory.buffer, GROUNDING_HEADER, NUMBERS_BLOCKS >> 2);
    this.#directory = new Uint32Array(memory.buffer, GROUNDING_DIRECTORY, DOCUMENTS_MAX);
  }

  /** Bytes that indexes ever took from the heap; freed indexes are reused first. */
  get indexBytes(): number {
    return Atomics.load(this.#header, NUMBERS_BLOCK_BYTES >> 2);
  }

  /**
   * Installs weights and idf; `undefined` leaves the shipped ones. Not while another thread scores.
   */
  installNumbersAndWeights(
    numbers?: GroundingNumbers,
    weights?: Iterable<readonly [number, number]>,
  ): void {
    installNumbers(this.#memory, numbers ?? readGroundingNumbers());
    installWeights(this.#exports, weights ?? readStemWeights());
  }

  /**
   * Builds an index in place; returns its address, for `publish`.
   * @throws RangeError when memory is full.
   */
  build(text: string, leaves = ""): number {
    return this.#builder.build(text, leaves);
  }

  /** Builds and publishes in place; returns the document's number. */
  buildAndPublish(text: string, leaves = ""): number {
    return this.publish(this.build(text, leaves));
  }

  /**
   * Makes a built index visible; returns its number.
   * @throws RangeError when there is none left.
   */
  publish(document: number): number {
    const number = this.reserveNumber();
    this.#exports.publishDocument(number, document);
    return number;
  }

  /**
   * Reserves a number without an index; returns it.
   * @throws RangeError when there is none left.
   */
  reserveNumber(): number {
    const number = this.#freeNumbers.pop() ?? this.#nextNumber++;
    if (number >= DOCUMENTS_MAX) throw new RangeError("the directory of indexes is full");
    return number;
  }

  /** Frees an index that was never published; false to be called again. */
  tryDiscard(document: number): boolean {
    return this.#builder.tryDiscard(document);
  }

  /** Frees an index that no slot names and no reader can hold; false to be called again. */
  tryRelease(number: number): boolean {
    const document = this.#directory[number]!;
    if (document !== 0 && !this.tryDiscard(document)) return false;
    this.#exports.publishDocument(number, 0);
    this.#freeNumbers.push(number);
    return true;
  }
}
