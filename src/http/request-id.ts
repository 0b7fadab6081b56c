// Identity of a request: `X-Request-Id` taken when it is safe to echo, else a UUIDv7; `traceparent`
// taken when it is exactly what W3C Trace Context level 1 allows, else ignored as that text
// demands.
import { randomFillSync } from "node:crypto";
import { isToken } from "../contract/identifiers.ts";

const RANDOM_BYTES_PER_ID = 10;
const POOL_BYTES = 4096 - (4096 % RANDOM_BYTES_PER_ID);
/** By byte: a table of all 16-bit words needs fewer look-ups and misses the cache with each. */
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
/** Version 7 and four random bits; variant and six. */
const VERSIONED = Array.from({ length: 16 }, (_, nibble) => `-7${nibble.toString(16)}`);
const VARIANT = Array.from({ length: 64 }, (_, bits) => `-${HEX[0x80 | bits]}`);
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Makes UUIDv7 strings; the random bytes are drawn a pool at a time, the time prefix once a ms. */
export class RequestIds {
  readonly #pool = new Uint8Array(POOL_BYTES);
  readonly #now: () => number;
  #offset = POOL_BYTES;
  #prefixMs = -1;
  #prefix = "";

  constructor(now: () => number) {
    this.#now = now;
  }

  /** A new UUIDv7 (RFC 9562 §5.7). */
  next(): string {
    const nowMs = this.#now();
    if (nowMs !== this.#prefixMs) this.#setPrefix(nowMs);
    if (this.#offset === POOL_BYTES) {
      randomFillSync(this.#pool);
      this.#offset = 0;
    }
    const at = this.#offset;
    this.#offset += RANDOM_BYTES_PER_ID;
    const pool = this.#pool;
    const versioned = VERSIONED[pool[at]! & 0xf]! + HEX[pool[at + 1]!]!;
    const variant = VARIANT[pool[at + 2]! & 0x3f]! + HEX[pool[at + 3]!]!;
    const high = HEX[pool[at + 4]!]! + HEX[pool[at + 5]!]! + HEX[pool[at + 6]!]!;
    const low = HEX[pool[at + 7]!]! + HEX[pool[at + 8]!]! + HEX[pool[at + 9]!]!;
    return `${this.#prefix}${versioned}${variant}-${high}${low}`;
  }

  /** The caller's id when it is safe to echo, else a new one. */
  take(header: string | undefined): string {
    return header !== undefined && isToken(header) ? header : this.next();
  }

  #setPrefix(nowMs: number): void {
    const hex = Math.trunc(nowMs).toString(16).padStart(12, "0");
    this.#prefix = `${hex.slice(0, 8)}-${hex.slice(8)}`;
    this.#prefixMs = nowMs;
  }
}

/** The header when it is a valid version 00 traceparent, else undefined. */
export function parseTraceparent(header: string | undefined): string | undefined {
  return header !== undefined && TRACEPARENT.test(header) ? header : undefined;
}
