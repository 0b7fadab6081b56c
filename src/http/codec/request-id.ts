// Identity of a request: a UUIDv7 of our own, never the caller's, under which another tenant's decision
// may lie already. `X-Request-Id` is echoed when it is safe to.
import { randomFillSync } from "node:crypto";
import { isToken } from "../../contract/identifiers.ts";
import { UuidV7Generator } from "../../platform/uuid.ts";

/** By byte: a table of all 16-bit words needs fewer look-ups and misses the cache with each. */
const HEX_BY_BYTE = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

const ID_BYTES = 36;
/** Where the two bytes that count begin in the text, and before them the two that they carry to. */
const LOW_OFFSET = 32;
const HIGH_OFFSET = 28;
const HEX_DIGITS = Buffer.from("0123456789abcdef", "latin1");
/** The id made last on this thread, and its text as bytes. */
let lastId = "";
let lastBytes = new Uint8Array(ID_BYTES);

/**
 * Writes an id, ASCII, into `bytes` at `at` and returns its length. The one made last, which is
 * nearly always the one asked for, is at hand as bytes: its string is laid out flat for nobody.
 */
export function writeRequestId(id: string, bytes: Buffer, at: number): number {
  if (id !== lastId) return bytes.write(id, at, "latin1");
  bytes.set(lastBytes, at);
  return ID_BYTES;
}

/**
 * Makes UUIDv7 strings that grow: the random bits are drawn anew each millisecond and counted up
 * within it (RFC 9562 §6.2, method 2), so that of all but the last two bytes the text is kept.
 */
export class RequestIdGenerator {
  readonly #drawn = new UuidV7Generator(randomFillSync);
  readonly #now: () => number;
  #nowMs = -1;
  /** The text up to the last two bytes, and what these count. */
  #prefix = "";
  #low = 0;
  #fixed = "";
  #high = 0;
  readonly #bytes = new Uint8Array(ID_BYTES);

  constructor(now: () => number) {
    this.#now = now;
  }

  /** A new UUIDv7 (RFC 9562 §5.7). */
  next(): string {
    const nowMs = this.#now();
    // A clock set back goes on counting in the millisecond it had reached.
    if (nowMs > this.#nowMs) this.#draw(nowMs);
    else if (this.#low === 0xffff) this.#carry();
    else this.#low += 1;
    lastId = this.#prefix + HEX_BY_BYTE[this.#low >>> 8]! + HEX_BY_BYTE[this.#low & 0xff]!;
    this.#setBytes();
    return lastId;
  }

  /** A new millisecond: an id drawn anew, the top bit of those that count cleared. */
  #draw(nowMs: number): void {
    const id = this.#drawn.next(Math.trunc(nowMs));
    this.#fixed = id.slice(0, HIGH_OFFSET);
    this.#high = Number.parseInt(id.slice(HIGH_OFFSET, LOW_OFFSET), 16) & 0x7fff;
    this.#low = Number.parseInt(id.slice(LOW_OFFSET), 16);
    this.#nowMs = nowMs;
    this.#setPrefix();
  }

  /** 65,536 ids in one millisecond, at most. */
  #carry(): void {
    this.#low = 0;
    this.#high += 1;
    this.#setPrefix();
  }

  #setBytes(): void {
    const [bytes, low] = [this.#bytes, this.#low];
    bytes[LOW_OFFSET] = HEX_DIGITS[low >>> 12]!;
    bytes[LOW_OFFSET + 1] = HEX_DIGITS[(low >>> 8) & 0xf]!;
    bytes[LOW_OFFSET + 2] = HEX_DIGITS[(low >>> 4) & 0xf]!;
    bytes[LOW_OFFSET + 3] = HEX_DIGITS[low & 0xf]!;
    lastBytes = bytes;
  }

  #setPrefix(): void {
    const text = this.#fixed + this.#high.toString(16).padStart(4, "0");
    // In one piece: it is part of every id of its millisecond.
    this.#prefix = Buffer.from(text).toString();
    this.#bytes.set(Buffer.from(text));
  }
}

/** What the reply's `X-Request-Id` is: the caller's when it is safe to echo, else our own. */
export function selectEchoedRequestId(header: string | undefined, ownId: string): string {
  return header !== undefined && isToken(header) ? header : ownId;
}
