// MinHash search for near-duplicates of texts recorded as false or retracted (provenance 4, H5):
// 5-word shingles, 16 bands of 8 rows to find candidates, confirmed at an estimated Jaccard of 0.8.
// In shared memory, written by one thread: signatures, and a table from band hashes to them.
import { hashWord } from "./tables.ts";

const HASHES = 128;
const BANDS = 16;
const ROWS = HASHES / BANDS;
const SHINGLE_WORDS = 5;
/** Longer texts are judged by their beginning: bounded work on the request's path. */
const WORDS_MAX = 4096;
/** Standard error at 0.8 is sqrt(0.8 * 0.2 / 128) = 0.035. */
const JACCARD_MIN = 0.8;
const SIGNATURES_MAX = 16_384;
const SLOTS = 1 << 20;
/** A signature and the tenant it concerns, 0 for all. */
const STRIDE = HASHES + 1;

const WORD = /[\p{L}\p{N}]+/gu;

/** Shared part: pass it to other threads unchanged. */
export interface MinHashMemory {
  /** Count, then STRIDE words per signature. */
  signatures: SharedArrayBuffer;
  /** Band hash, signature number + 1. */
  slots: SharedArrayBuffer;
}

export function createMinHashMemory(): MinHashMemory {
  return {
    signatures: new SharedArrayBuffer(4 + SIGNATURES_MAX * STRIDE * 4),
    slots: new SharedArrayBuffer(SLOTS * 8),
  };
}

/** Multipliers and offsets of the hash family: fixed, so that signatures keep their meaning. */
const HASH_FAMILY = Uint32Array.from(
  { length: HASHES * 2 },
  (_, at) => hashWord(`minhash ${at}`) | 1,
);

/** Signature of a text; undefined when it has fewer than five words. */
export function computeMinHash(text: string, signature = new Uint32Array(HASHES)) {
  const words = text.normalize("NFKC").toLowerCase().match(WORD);
  if (words === null || words.length < SHINGLE_WORDS) return undefined;
  const hashes = words.slice(0, WORDS_MAX).map(hashWord);
  signature.fill(0xffffffff);
  for (let at = 0; at + SHINGLE_WORDS <= hashes.length; at++) {
    let shingle = 0;
    for (let word = at; word < at + SHINGLE_WORDS; word++) {
      shingle = Math.imul(shingle ^ hashes[word]!, 0x9e3779b1) ^ (shingle >>> 15);
    }
    for (let each = 0; each < HASHES; each++) {
      const mixed = Math.imul(shingle ^ HASH_FAMILY[each + HASHES]!, HASH_FAMILY[each]!);
      const value = (mixed ^ (mixed >>> 15)) >>> 0;
      if (value < signature[each]!) signature[each] = value;
    }
  }
  return signature;
}

/** Share of equal rows: an unbiased estimate of the Jaccard similarity of the shingles. */
export function estimateSimilarity(left: Uint32Array, right: Uint32Array): number {
  let equal = 0;
  for (let at = 0; at < HASHES; at++) if (left[at] === right[at]) equal += 1;
  return equal / HASHES;
}

/** Set of tainted texts. One thread adds, any thread queries. */
export class TaintedTexts {
  readonly #count: Uint32Array;
  readonly #signatures: Uint32Array;
  readonly #slots: Uint32Array;
  readonly #queriedSignature = new Uint32Array(HASHES);

  constructor(memory: MinHashMemory) {
    this.#count = new Uint32Array(memory.signatures, 0, 1);
    this.#signatures = new Uint32Array(memory.signatures, 4);
    this.#slots = new Uint32Array(memory.slots);
  }

  get size(): number {
    return Atomics.load(this.#count, 0);
  }

  /** Adds a text by its signature; false when the set is full (exact hashes still hold then). */
  add(signature: Uint32Array, owner: number): boolean {
    const number = this.size;
    if (number >= SIGNATURES_MAX) return false;
    this.#signatures.set(signature, number * STRIDE);
    this.#signatures[number * STRIDE + HASHES] = owner;
    for (let band = 0; band < BANDS; band++)
      this.#insertBandSlot(hashBand(signature, band), number);
    Atomics.store(this.#count, 0, number + 1);
    return true;
  }

  /**
   * Whether a text is a near-duplicate of one that concerns `owner`. Free while the set is empty.
   */
  hasNearDuplicate(text: string, owner: number): boolean {
    const count = this.size;
    if (count === 0) return false;
    const signature = computeMinHash(text, this.#queriedSignature);
    if (signature === undefined) return false;
    for (let band = 0; band < BANDS; band++) {
      if (this.#hasNearDuplicateInBand(hashBand(signature, band), signature, count, owner))
        return true;
    }
    return false;
  }

  #insertBandSlot(hash: number, number: number): void {
    let slot = hash & (SLOTS - 1);
    while (this.#slots[slot * 2 + 1] !== 0) slot = (slot + 1) & (SLOTS - 1);
    this.#slots[slot * 2] = hash;
    Atomics.store(this.#slots, slot * 2 + 1, number + 1);
  }

  #hasNearDuplicateInBand(
    hash: number,
    signature: Uint32Array,
    count: number,
    owner: number,
  ): boolean {
    let slot = hash & (SLOTS - 1);
    for (;;) {
      const number = Atomics.load(this.#slots, slot * 2 + 1) - 1;
      if (number < 0) return false;
      if (this.#slots[slot * 2] === hash && number < count) {
        const at = number * STRIDE;
        const concerned = this.#signatures[at + HASHES]!;
        const other = this.#signatures.subarray(at, at + HASHES);
        const isConcerned = concerned === 0 || concerned === owner;
        if (isConcerned && estimateSimilarity(signature, other) >= JACCARD_MIN) return true;
      }
      slot = (slot + 1) & (SLOTS - 1);
    }
  }
}

function hashBand(signature: Uint32Array, band: number): number {
  let hash = 0x811c9dc5 ^ band;
  for (let row = band * ROWS; row < (band + 1) * ROWS; row++) {
    hash = Math.imul(hash ^ signature[row]!, 0x01000193);
    hash ^= hash >>> 13;
  }
  return hash >>> 0;
}
