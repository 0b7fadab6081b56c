// UUIDs in the journal's form: 16 bytes there and text everywhere else.
import assert from "node:assert/strict";
import { v7 } from "uuid";

const ID_BYTES = 16;
/** Value of a lower-case hex digit by its code; any other code has a high bit. */
const NIBBLES = new Uint8Array(256).fill(0x80);
for (let value = 0; value < 16; value++) NIBBLES[value.toString(16).charCodeAt(0)] = value;
const UUID_LENGTH = 36;
const DASH = 0x2d;

/** A UUID's text form from its 16 bytes. */
export function formatUuid(bytes: Buffer): string {
  const hex = bytes.toString("hex");
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return `${parts.join("-")}-${hex.slice(20)}`;
}

/** Writes a lower-case UUID as its 16 bytes. */
export function writeUuid(bytes: Buffer, at: number, uuid: string): void {
  let digits = 0;
  let seen = 0;
  let high = 0;
  for (let index = 0; index < uuid.length; index++) {
    const code = uuid.charCodeAt(index);
    if (code === DASH) continue;
    const value = NIBBLES[code & 0xff]! | (code & 0xff00);
    seen |= value;
    if ((digits & 1) === 0) high = value << 4;
    else bytes[at + (digits >> 1)] = high | value;
    digits += 1;
  }
  const isWhole = uuid.length === UUID_LENGTH && digits === 2 * ID_BYTES && seen < 16;
  assert(isWhole, "an outcome id is a lower-case UUID");
}

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
