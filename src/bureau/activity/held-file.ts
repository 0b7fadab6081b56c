// Bytes of the file that carries unsettled stakes over a restart. Keys are hashes by the seed in it.
//
//   | magic u32 | version u32 | seed u32 x 4 | agents u32 | calls u32 | records | crc32 u32 |
//   record | key u32 x 2 | stakes f64 | time, epoch ms f64 |
import { crc32 } from "node:zlib";
import { AGENT_SLOTS, SEED_WORDS, STAKES_SLOTS } from "./layout.ts";
import type { HashKey } from "./text-hash.ts";

const MAGIC = 0x31564341;
const VERSION = 1;
const OFFSET_SEED = 8;
const OFFSET_AGENT_COUNT = 24;
const OFFSET_STAKES_COUNT = 28;
const HEADER_BYTES = 32;
const RECORD_BYTES = 24;
const CRC_BYTES = 4;

export interface HeldRecord {
  readonly key: HashKey;
  /** In the unit of account. */
  readonly amount: number;
  /** As of which the amount is; epoch ms. */
  readonly timeMs: number;
}

export interface HeldContents {
  readonly seed: readonly number[];
  readonly agents: readonly HeldRecord[];
  readonly stakes: readonly HeldRecord[];
}

/** Writes agents, then calls, by views of the whole: a full file is 160,000 records, made on a thread that serves. */
export class HeldEncoder {
  readonly #buffer = new ArrayBuffer(
    HEADER_BYTES + (AGENT_SLOTS + STAKES_SLOTS) * RECORD_BYTES + CRC_BYTES,
  );
  readonly #words = new Int32Array(this.#buffer);
  readonly #doubles = new Float64Array(this.#buffer, 0, Math.floor(this.#buffer.byteLength / 8));
  #count = 0;
  #agentCount = 0;

  constructor(seed: Uint32Array) {
    this.#words.set([MAGIC, VERSION, ...seed]);
  }

  readonly add = (low: number, high: number, amount: number, timeMs: number): void => {
    const at = HEADER_BYTES + this.#count * RECORD_BYTES;
    this.#words[at / 4] = low;
    this.#words[at / 4 + 1] = high;
    this.#doubles[at / 8 + 1] = amount;
    this.#doubles[at / 8 + 2] = timeMs;
    this.#count += 1;
  };

  beginStakes(): void {
    this.#agentCount = this.#count;
  }

  finish(): Buffer {
    const end = HEADER_BYTES + this.#count * RECORD_BYTES;
    const bytes = Buffer.from(this.#buffer, 0, end + CRC_BYTES);
    bytes.writeUInt32LE(this.#agentCount, OFFSET_AGENT_COUNT);
    bytes.writeUInt32LE(this.#count - this.#agentCount, OFFSET_STAKES_COUNT);
    bytes.writeUInt32LE(crc32(bytes.subarray(0, end)), end);
    return bytes;
  }
}

/** What the bytes of a file hold; undefined where they are damaged or of another version. */
export function decodeHeld(bytes: Buffer): HeldContents | undefined {
  const end = bytes.length - CRC_BYTES;
  if (end < HEADER_BYTES || bytes.readUInt32LE(0) !== MAGIC) return undefined;
  if (bytes.readUInt32LE(4) !== VERSION) return undefined;
  if (crc32(bytes.subarray(0, end)) !== bytes.readUInt32LE(end)) return undefined;
  const agentCount = bytes.readUInt32LE(OFFSET_AGENT_COUNT);
  const count = agentCount + bytes.readUInt32LE(OFFSET_STAKES_COUNT);
  if (HEADER_BYTES + count * RECORD_BYTES !== end) return undefined;
  const records = Array.from({ length: count }, (_, index) =>
    decodeRecord(bytes, HEADER_BYTES + index * RECORD_BYTES),
  );
  const seed = Array.from({ length: SEED_WORDS }, (_, i) =>
    bytes.readUInt32LE(OFFSET_SEED + 4 * i),
  );
  return { seed, agents: records.slice(0, agentCount), stakes: records.slice(agentCount) };
}

function decodeRecord(bytes: Buffer, at: number): HeldRecord {
  const key = { low: bytes.readInt32LE(at), high: bytes.readInt32LE(at + 4) };
  return { key, amount: bytes.readDoubleLE(at + 8), timeMs: bytes.readDoubleLE(at + 16) };
}
