// Table of recorded replay identities, so that a repeated outcome gets its first receipt and a
// changed one is refused. Bounded: entries leave by age, and the oldest go first when the table is
// full. An outcome repeated after its entry left is recorded again; the window is longer than the
// age at which the API refuses an outcome, so that happens only if the cap is exceeded.
import { hash } from "node:crypto";
import { OUTCOME_AGE_MS_MAX } from "../contract/limits.ts";
import { CLOCK_CONFIRM_MS, LONG_STOP_MS_MIN } from "../platform/steady-clock.ts";
import { formatUuid } from "../platform/uuid.ts";

/** Time that an identity is remembered, from the time the outcome was recorded. */
export const REPLAY_WINDOW_MS = OUTCOME_AGE_MS_MAX + 86_400_000;
/**
 * 64 bytes each, plus 16 MiB of index: 144 MiB at most. At 10,000 signed outcomes a second it is
 * more than three minutes. It must never be less than the clock skew that is allowed, or every new
 * signature would have to be looked up in the store.
 */
export const REPLAY_ENTRIES_MAX = 2_000_000;

/*
 * One entry, 64 bytes, little-endian; entries stand in a ring in order of recording.
 *
 *   0               16              32              48      56      64
 *   +---------------+---------------+---------------+-------+-------+
 *   | identity hash | content hash  | outcome id    |lsn f64|ms f64 |
 *   +---------------+---------------+---------------+-------+-------+
 */
const ENTRY_BYTES = 64;
const CONTENT_AT = 16;
const ID_AT = 32;
const LSN_AT = 48;
const RECORDED_MS_AT = 56;
const HASH_BYTES = 16;
const ENTRIES_MIN = 1024;
/** Entries lie in chunks of one MiB, so that the table grows without a pause to copy it. */
const CHUNK_LOG2 = 14;
const CHUNK_ENTRIES = 1 << CHUNK_LOG2;
const CHUNK_BYTES = CHUNK_ENTRIES * ENTRY_BYTES;

/**
 * Key of an entry: hashes of the identity (tenant and key) and of the content, 16 bytes each, as
 * Latin-1 text. A hash as text costs a quarter of one as a Buffer, and there are two for every
 * outcome.
 */
export interface ReplayIdentity {
  identity: string;
  content: string;
}

export interface FirstReceipt {
  lsn: number;
  recordedAtMs: number;
  outcomeId: string;
  isSameContent: boolean;
}

/** Truncated SHA-256 of the identity and of the content. */
export function hashReplayIdentity(parts: {
  tenant: Buffer;
  key: Buffer;
  content: Buffer;
}): ReplayIdentity {
  const { tenant, key, content } = parts;
  const identity = Buffer.allocUnsafe(tenant.byteLength + 1 + key.byteLength);
  tenant.copy(identity);
  identity[tenant.byteLength] = 0;
  key.copy(identity, tenant.byteLength + 1);
  return { identity: computeShortHash(identity), content: computeShortHash(content) };
}

function computeShortHash(bytes: Buffer): string {
  return hash("sha256", bytes, "binary").slice(0, HASH_BYTES);
}

/** The first four bytes as a word, like `readUInt32LE` of the stored ones. */
function readHashWord(hashed: string): number {
  let word = 0;
  for (let index = 3; index >= 0; index--) word = (word << 8) | hashed.charCodeAt(index);
  return word;
}

/** Byte offset of a slot's entry in its chunk. */
function computeEntryOffset(slot: number): number {
  return (slot & (CHUNK_ENTRIES - 1)) * ENTRY_BYTES;
}

/** Whether the hash stands at this offset. */
function isHashAt(chunk: Buffer, offset: number, hashed: string): boolean {
  for (let index = 0; index < HASH_BYTES; index++) {
    if (chunk[offset + index] !== hashed.charCodeAt(index)) return false;
  }
  return true;
}

/** The table. Positions must be given in ascending order. */
export class ReplayTable {
  readonly #entriesMax: number;
  readonly #windowMs: number;
  /** By chunk of the ring; a chunk without entries is undefined. */
  readonly #chunks: (Buffer | undefined)[] = [];
  readonly #spareChunks: Buffer[] = [];
  /**
   * Open addressing over ring slots; 0 is free, else slot + 1. A power of 2, at least twice the
   * number of entries there can ever be: hashing them all anew would hold up every outcome for as
   * long.
   */
  readonly #index: Uint32Array;
  #oldestSlot = 0;
  #count = 0;
  #forgottenBeforeMs = 0;
  #evictionPausedUntilMs = 0;

  constructor(entriesMax = REPLAY_ENTRIES_MAX, windowMs = REPLAY_WINDOW_MS) {
    this.#entriesMax = Math.max(entriesMax, ENTRIES_MIN);
    this.#windowMs = windowMs;
    this.#index = new Uint32Array(2 ** Math.ceil(Math.log2(this.#entriesMax * 2)));
  }

  /** Every identity recorded since then (epoch ms) is remembered; 0 while none was forgotten. */
  get rememberedSinceMs(): number {
    return this.#forgottenBeforeMs;
  }

  /** After a long stop, or where the clock was set, nothing leaves by age for an hour. */
  pauseEvictionAfterLongStop(nowMs: number, lastRecordMs = nowMs): void {
    if (nowMs - lastRecordMs > LONG_STOP_MS_MIN)
      this.#evictionPausedUntilMs = nowMs + CLOCK_CONFIRM_MS;
  }

  get size(): number {
    return this.#count;
  }

  /** The receipt of the first outcome with this identity, if it is remembered. */
  find(identity: ReplayIdentity): FirstReceipt | undefined {
    const slot = this.#findSlot(identity.identity);
    if (slot < 0) return undefined;
    const chunk = this.#getChunk(slot);
    const at = computeEntryOffset(slot);
    return {
      lsn: chunk.readDoubleLE(at + LSN_AT),
      recordedAtMs: chunk.readDoubleLE(at + RECORDED_MS_AT),
      outcomeId: formatUuid(chunk.subarray(at + ID_AT, at + ID_AT + HASH_BYTES)),
      isSameContent: isHashAt(chunk, at + CONTENT_AT, identity.content),
    };
  }

  /** Remembers a durable outcome. Evicts entries that are too old, and the oldest when full. */
  add(identity: ReplayIdentity, lsn: number, recordedAtMs: number, outcomeId: Buffer): void {
    if (recordedAtMs >= this.#evictionPausedUntilMs)
      this.#evictBefore(recordedAtMs - this.#windowMs);
    if (this.#count === this.#entriesMax) this.#evictOldest();
    const slot = (this.#oldestSlot + this.#count) % this.#entriesMax;
    const chunk = this.#getOrCreateChunk(slot);
    const at = computeEntryOffset(slot);
    chunk.write(identity.identity, at, "latin1");
    chunk.write(identity.content, at + CONTENT_AT, "latin1");
    chunk.set(outcomeId, at + ID_AT);
    chunk.writeDoubleLE(lsn, at + LSN_AT);
    chunk.writeDoubleLE(recordedAtMs, at + RECORDED_MS_AT);
    this.#count++;
    this.#addToIndex(slot);
  }

  /** Number of bytes that `copyEntries` gives now. */
  get byteCount(): number {
    return this.#count * ENTRY_BYTES;
  }

  /** Writes the entries, oldest first, to the front of `target`. */
  copyEntries(target: Uint8Array): void {
    let to = 0;
    for (let done = 0; done < this.#count;) {
      const slot = (this.#oldestSlot + done) % this.#entriesMax;
      const count = Math.min(this.#count - done, this.#countContiguousSlots(slot));
      const at = computeEntryOffset(slot);
      target.set(this.#getChunk(slot).subarray(at, at + count * ENTRY_BYTES), to);
      to += count * ENTRY_BYTES;
      done += count;
    }
  }

  /** Fills an empty table with copied entries, the newest that fit. */
  restore(entries: Buffer): void {
    const all = Math.floor(entries.byteLength / ENTRY_BYTES);
    const count = Math.min(all, this.#entriesMax);
    let from = (all - count) * ENTRY_BYTES;
    for (let slot = 0; slot < count; slot += CHUNK_ENTRIES) {
      from += entries.copy(this.#getOrCreateChunk(slot), 0, from, from + CHUNK_BYTES);
    }
    this.#oldestSlot = 0;
    this.#count = count;
    for (let slot = 0; slot < count; slot++) this.#addToIndex(slot);
    // A full table has forgotten entries; the copied ones do not show up to which time.
    if (count === this.#entriesMax)
      this.#forgottenBeforeMs = this.#getChunk(0).readDoubleLE(RECORDED_MS_AT);
  }

  /** The chunk of a slot in use. */
  #getChunk(slot: number): Buffer {
    return this.#chunks[slot >>> CHUNK_LOG2]!;
  }

  /** The chunk of a slot about to be used. */
  #getOrCreateChunk(slot: number): Buffer {
    const number = slot >>> CHUNK_LOG2;
    return (this.#chunks[number] ??=
      this.#spareChunks.pop() ?? Buffer.allocUnsafeSlow(CHUNK_BYTES));
  }

  /** Slots from here to the end of the chunk or of the ring. */
  #countContiguousSlots(slot: number): number {
    const end = ((slot >>> CHUNK_LOG2) + 1) << CHUNK_LOG2;
    return Math.min(end, this.#entriesMax) - slot;
  }

  #evictBefore(recordedAtMs: number): void {
    while (this.#count > 0) {
      if (this.#readOldestRecordedMs() >= recordedAtMs) return;
      this.#evictOldest();
    }
  }

  #readOldestRecordedMs(): number {
    return this.#getChunk(this.#oldestSlot).readDoubleLE(
      computeEntryOffset(this.#oldestSlot) + RECORDED_MS_AT,
    );
  }

  #evictOldest(): void {
    this.#forgottenBeforeMs = Math.max(this.#forgottenBeforeMs, this.#readOldestRecordedMs() + 1);
    this.#removeFromIndex(this.#oldestSlot);
    const left = this.#oldestSlot >>> CHUNK_LOG2;
    this.#oldestSlot = (this.#oldestSlot + 1) % this.#entriesMax;
    this.#count--;
    const newest = (this.#oldestSlot + this.#count - 1) % this.#entriesMax;
    const isLeft = this.#oldestSlot >>> CHUNK_LOG2 !== left && newest >>> CHUNK_LOG2 !== left;
    if (isLeft || this.#count === 0) this.#recycleChunk(left);
  }

  /** Keeps one chunk for the next use: the ring goes round at a steady size. */
  #recycleChunk(number: number): void {
    const chunk = this.#chunks[number]!;
    this.#chunks[number] = undefined;
    if (this.#spareChunks.length === 0) this.#spareChunks.push(chunk);
  }

  /** The hash is SHA-256: its first word is as good an address as any. */
  #computeHomeIndex(slot: number): number {
    return this.#getChunk(slot).readUInt32LE(computeEntryOffset(slot)) & (this.#index.length - 1);
  }

  #findSlot(identity: string): number {
    const mask = this.#index.length - 1;
    let place = readHashWord(identity) & mask;
    for (;;) {
      const slot = (this.#index[place] as number) - 1;
      if (slot < 0) return -1;
      if (isHashAt(this.#getChunk(slot), computeEntryOffset(slot), identity)) return slot;
      place = (place + 1) & mask;
    }
  }

  #addToIndex(slot: number): void {
    const mask = this.#index.length - 1;
    let place = this.#computeHomeIndex(slot);
    while (this.#index[place] !== 0) place = (place + 1) & mask;
    this.#index[place] = slot + 1;
  }

  /** Removes a slot's place and closes the hole, so that no probe sequence is cut (Knuth 6.4 R). */
  #removeFromIndex(slot: number): void {
    const mask = this.#index.length - 1;
    let hole = this.#computeHomeIndex(slot);
    while (this.#index[hole] !== slot + 1) hole = (hole + 1) & mask;
    let place = hole;
    for (;;) {
      place = (place + 1) & mask;
      const other = this.#index[place] as number;
      if (other === 0) break;
      const home = this.#computeHomeIndex(other - 1);
      // Moving `other` into the hole is right unless its home lies behind the hole.
      if (((place - home) & mask) >= ((place - hole) & mask)) {
        this.#index[hole] = other;
        hole = place;
      }
    }
    this.#index[hole] = 0;
  }
}
