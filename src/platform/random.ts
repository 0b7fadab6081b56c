// Draws from the system's random bytes, taken in blocks: a draw costs some nanoseconds.

/** A block of 4,096 draws takes some 4 us to fill, one of 256 nearly 2. */
const DRAWS_PER_BLOCK = 4096;
const UINT32_VALUES = 2 ** 32;

export class RandomDraws {
  readonly #fillRandom: (bytes: Uint32Array) => void;
  readonly #block = new Uint32Array(DRAWS_PER_BLOCK);
  #next = DRAWS_PER_BLOCK;

  constructor(fillRandom: (bytes: Uint32Array) => void) {
    this.#fillRandom = fillRandom;
  }

  /** From 0 (inclusive) to 1 (exclusive), all multiples of 2^-32 equally likely. */
  next(): number {
    if (this.#next === DRAWS_PER_BLOCK) {
      this.#fillRandom(this.#block);
      this.#next = 0;
    }
    return this.#block[this.#next++]! / UINT32_VALUES;
  }
}
