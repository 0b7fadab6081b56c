// Identity of a request: `X-Request-Id` taken when it is safe to echo, else a UUIDv7; `traceparent`
// taken when it is exactly what W3C Trace Context level 1 allows, else ignored as that text
// demands.
import { randomFillSync } from "node:crypto";
import { isToken } from "../contract/identifiers.ts";

/** Five words of 16 bits carry the 74 random bits of a UUIDv7. */
const WORDS_PER_ID = 5;
const POOL_WORDS = 2048 - (2048 % WORDS_PER_ID);
/** Every 16-bit word as four digits: five look-ups instead of ten and their joins. */
const HEX = Array.from({ length: 65_536 }, (_, word) => word.toString(16).padStart(4, "0"));
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Makes UUIDv7 strings; the random bytes are drawn a pool at a time, the time prefix once a ms. */
export class RequestIds {
  readonly #pool = new Uint16Array(POOL_WORDS);
  readonly #now: () => number;
  #offset = POOL_WORDS;
  #prefixMs = -1;
  #prefix = "";

  constructor(now: () => number) {
    this.#now = now;
  }

  /** A new UUIDv7 (RFC 9562 §5.7). */
  next(): string {
    const nowMs = this.#now();
    if (nowMs !== this.#prefixMs) this.#setPrefix(nowMs);
    if (this.#offset === POOL_WORDS) {
      randomFillSync(this.#pool);
      this.#offset = 0;
    }
    const at = this.#offset;
    this.#offset += WORDS_PER_ID;
    const pool = this.#pool;
    const versioned = HEX[0x7000 | (pool[at]! & 0x0fff)]!;
    const variant = HEX[0x8000 | (pool[at + 1]! & 0x3fff)]!;
    const rest = HEX[pool[at + 2]!]! + HEX[pool[at + 3]!]! + HEX[pool[at + 4]!]!;
    return `${this.#prefix}-${versioned}-${variant}-${rest}`;
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
