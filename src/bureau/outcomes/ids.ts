// Outcome identifiers: UUIDv7 (RFC 9562), so that they sort by the time of recording. Random bytes
// are drawn in blocks from the injected source: one call per outcome would dominate an import.

const RANDOM_BYTES_PER_ID = 10;
const BLOCK_BYTES = 400 * RANDOM_BYTES_PER_ID;

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) =>
  byte.toString(16).padStart(2, "0"),
);

/** Generates ids; one per bureau, not shared between threads. */
export class OutcomeIds {
  readonly #fillRandom: (bytes: Uint8Array) => void;
  readonly #block = new Uint8Array(BLOCK_BYTES);
  #offset = BLOCK_BYTES;
  /** Prefix common to the ids of one millisecond: a batch has one time. */
  #stampMs = Number.NaN;
  #stamp = "";

  constructor(fillRandom: (bytes: Uint8Array) => void) {
    this.#fillRandom = fillRandom;
  }

  /** The next id, stamped with `nowMs` (epoch ms). */
  next(nowMs: number): string {
    if (this.#offset === BLOCK_BYTES) {
      this.#fillRandom(this.#block);
      this.#offset = 0;
    }
    const random = this.#block;
    const at = this.#offset;
    this.#offset += RANDOM_BYTES_PER_ID;

    if (nowMs !== this.#stampMs) {
      const time = nowMs.toString(16).padStart(12, "0");
      this.#stamp = `${time.slice(0, 8)}-${time.slice(8)}-`;
      this.#stampMs = nowMs;
    }
    const version = HEX[0x70 | (random[at]! & 0x0f)]! + HEX[random[at + 1]!]!;
    const variant = HEX[0x80 | (random[at + 2]! & 0x3f)]! + HEX[random[at + 3]!]!;
    let node = "";
    for (let i = 4; i < RANDOM_BYTES_PER_ID; i += 1) node += HEX[random[at + i]!]!;
    return `${this.#stamp}${version}-${variant}-${node}`;
  }
}
