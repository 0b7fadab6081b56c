// Identity of a request: `X-Request-Id` taken when it is safe to echo, else a UUIDv7; `traceparent`
// taken when it is exactly what W3C Trace Context level 1 allows, else ignored as that text
// demands.
import { randomFillSync } from "node:crypto";
import { isToken } from "../contract/identifiers.ts";

const RANDOM_BYTES_PER_ID = 10;
const POOL_BYTES = 4096 - (4096 % RANDOM_BYTES_PER_ID);
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
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
    const variant = 0x80 | (this.#byte(at + 2) & 0x3f);
    return (
      `${this.#prefix}-7${this.#hex(at).slice(1)}${this.#hex(at + 1)}-` +
      `${HEX[variant]}${this.#hex(at + 3)}-${this.#hex(at + 4)}${this.#hex(at + 5)}` +
      `${this.#hex(at + 6)}${this.#hex(at + 7)}${this.#hex(at + 8)}${this.#hex(at + 9)}`
    );
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

  #byte(index: number): number {
    return this.#pool[index] as number;
  }

  #hex(index: number): string {
    return HEX[this.#byte(index)] as string;
  }
}

/** The header when it is a valid version 00 traceparent, else undefined. */
export function parseTraceparent(header: string | undefined): string | undefined {
  return header !== undefined && TRACEPARENT.test(header) ? header : undefined;
}
