// UUIDs of version 7 (RFC 9562 §5.7), the ids that this service gives to requests and outcomes: in
// text they sort by their time. The client makes its own, without a dependency.
import { v7 } from "uuid";

const RANDOM_BYTES_PER_ID = 16;
const BLOCK_BYTES = 256 * RANDOM_BYTES_PER_ID;

/**
 * Makes ids from random bytes that are drawn in blocks: one call per id would dominate an import.
 * Ids of one millisecond have no order among themselves.
 */
export class UuidV7Generator {
  readonly #fillRandom: (bytes: Uint8Array) => unknown;
  readonly #block = new Uint8Array(BLOCK_BYTES);
  #offset = BLOCK_BYTES;

  constructor(fillRandom: (bytes: Uint8Array) => unknown) {
    this.#fillRandom = fillRandom;
  }

  /** A new id stamped with `nowMs`, whole epoch ms; lower-case hex. */
  next(nowMs: number): string {
    if (this.#offset === BLOCK_BYTES) {
      this.#fillRandom(this.#block);
      this.#offset = 0;
    }
    const random = this.#block.subarray(this.#offset, this.#offset + RANDOM_BYTES_PER_ID);
    this.#offset += RANDOM_BYTES_PER_ID;
    return v7({ msecs: nowMs, random });
  }
}
