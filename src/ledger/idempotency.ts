// Remembers which replay identities were recorded, so that a repeated outcome gets its first
// receipt and a changed one is refused. Bounded: entries leave by age, and the oldest go first
// when the table is full. An outcome repeated after its entry left is recorded again; the window is
// longer than the age at which the API refuses an outcome, so that takes the cap to be exceeded.
import { hash } from "node:crypto";
import { OUTCOME_AGE_MS_MAX } from "../contract/limits.ts";
import { formatUuid } from "./journal-uuid.ts";

/** How long an identity is remembered, by the time the outcome was recorded. */
export const REPLAY_WINDOW_MS = OUTCOME_AGE_MS_MAX + 86_400_000;
/**
 * 64 bytes each, plus 8 of index: 144 MiB at most. At 10,000 signed outcomes a second it is more
 * than three minutes; what it must never be is less than the skew that clocks are allowed, or every
 * new signature had to be looked up in the store.
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
const RECORDED_AT = 56;
const HASH_BYTES = 16;
const ENTRIES_MIN = 1024;

/**
 * Who says it (tenant and key) and what is said (the content): 16 bytes each, as Latin-1 text. A
 * hash as text costs a quarter of one as a Buffer, and there are two for every outcome.
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
export function replayIdentity(parts: {
  tenant: Buffer;
  key: Buffer;
  content: Buffer;
}): ReplayIdentity {
  const { tenant, key, content } = parts;
  const identity = Buffer.allocUnsafe(tenant.byteLength + 1 + key.byteLength);
  tenant.copy(identity);
  identity[tenant.byteLength] = 0;
  key.copy(identity, tenant.byteLength + 1);
  return { identity: shortHash(identity), content: shortHash(content) };
}

function shortHash(bytes: Buffer): string {
  return hash("sha256", bytes, "binary").slice(0, HASH_BYTES);
}

/** The first four bytes as a word, like `readUInt32LE` of the stored ones. */
function homeWord(hashed: string): number {
  let word = 0;
  for (let index = 3; index >= 0; index--) word = (word << 8) | hashed.charCodeAt(index);
  return word;
}

/** The table. Positions must be given in ascending order. */
export class ReplayTable {
  private readonly entriesMax: number;
  private readonly windowMs: number;
  private entries = Buffer.alloc(ENTRIES_MIN * ENTRY_BYTES);
  private capacity = ENTRIES_MIN;
  /** Open addressing over ring slots; 0 is free, else slot + 1. Twice the entries, power of 2. */
  private index = new Uint32Array(ENTRIES_MIN * 2);
  private oldest = 0;
  private count = 0;
  private forgottenMs = 0;

  constructor(entriesMax = REPLAY_ENTRIES_MAX, windowMs = REPLAY_WINDOW_MS) {
    this.entriesMax = Math.max(entriesMax, ENTRIES_MIN);
    this.windowMs = windowMs;
  }

  /** Whatever was recorded since is remembered; 0 while nothing was forgotten. */
  get rememberedSinceMs(): number {
    return this.forgottenMs;
  }

  get size(): number {
    return this.count;
  }

  /** The receipt of the first outcome with this identity, if it is remembered. */
  find(identity: ReplayIdentity): FirstReceipt | undefined {
    const slot = this.slotOf(identity.identity);
    if (slot < 0) return undefined;
    const at = slot * ENTRY_BYTES;
    return {
      lsn: this.entries.readDoubleLE(at + LSN_AT),
      recordedAtMs: this.entries.readDoubleLE(at + RECORDED_AT),
      outcomeId: formatUuid(this.entries.subarray(at + ID_AT, at + ID_AT + HASH_BYTES)),
      isSameContent: this.isAt(at + CONTENT_AT, identity.content),
    };
  }

  /** Remembers an outcome that is durable. Evicts what is too old, and the oldest when full. */
  add(identity: ReplayIdentity, lsn: number, recordedAtMs: number, outcomeId: Buffer): void {
    this.evictBefore(recordedAtMs - this.windowMs);
    if (this.count === this.capacity) this.makeRoom();
    const slot = (this.oldest + this.count) % this.capacity;
    const at = slot * ENTRY_BYTES;
    this.entries.write(identity.identity, at, "latin1");
    this.entries.write(identity.content, at + CONTENT_AT, "latin1");
    this.entries.set(outcomeId, at + ID_AT);
    this.entries.writeDoubleLE(lsn, at + LSN_AT);
    this.entries.writeDoubleLE(recordedAtMs, at + RECORDED_AT);
    this.count++;
    this.link(slot);
  }

  /** Bytes that `copyEntries` gives now. */
  get byteCount(): number {
    return this.count * ENTRY_BYTES;
  }

  /** Writes the entries, oldest first, to the front of `target`. */
  copyEntries(target: Uint8Array): void {
    const head = this.oldest * ENTRY_BYTES;
    const end = Math.min(head + this.byteCount, this.entries.byteLength);
    target.set(this.entries.subarray(head, end));
    target.set(this.entries.subarray(0, this.byteCount - (end - head)), end - head);
  }

  /** Fills an empty table with copied entries, the newest that fit. */
  restore(entries: Buffer): void {
    const all = Math.floor(entries.byteLength / ENTRY_BYTES);
    const count = Math.min(all, this.entriesMax);
    while (this.capacity < count) this.capacity = Math.min(this.capacity * 2, this.entriesMax);
    this.entries = Buffer.alloc(this.capacity * ENTRY_BYTES);
    entries.copy(this.entries, 0, (all - count) * ENTRY_BYTES);
    this.index = new Uint32Array(2 ** Math.ceil(Math.log2(this.capacity * 2)));
    this.oldest = 0;
    this.count = count;
    for (let slot = 0; slot < count; slot++) this.link(slot);
    // A full table has forgotten, and up to where is not among the copied entries.
    if (count === this.entriesMax) this.forgottenMs = this.entries.readDoubleLE(RECORDED_AT);
  }

  private evictBefore(recordedAtMs: number): void {
    while (this.count > 0) {
      const at = this.oldest * ENTRY_BYTES + RECORDED_AT;
      if (this.entries.readDoubleLE(at) >= recordedAtMs) return;
      this.evictOldest();
    }
  }

  private evictOldest(): void {
    const recordedAt = this.oldest * ENTRY_BYTES + RECORDED_AT;
    this.forgottenMs = Math.max(this.forgottenMs, this.entries.readDoubleLE(recordedAt) + 1);
    this.unlink(this.oldest);
    this.oldest = (this.oldest + 1) % this.capacity;
    this.count--;
  }

  private makeRoom(): void {
    if (this.capacity >= this.entriesMax) {
      this.evictOldest();
      return;
    }
    const capacity = Math.min(this.capacity * 2, this.entriesMax);
    const entries = Buffer.alloc(capacity * ENTRY_BYTES);
    const head = this.oldest * ENTRY_BYTES;
    this.entries.copy(entries, 0, head);
    this.entries.copy(entries, this.entries.byteLength - head, 0, head);
    this.entries = entries;
    this.capacity = capacity;
    this.oldest = 0;
    this.index = new Uint32Array(2 ** Math.ceil(Math.log2(capacity * 2)));
    for (let slot = 0; slot < this.count; slot++) this.link(slot);
  }

  /** The hash is SHA-256: its first word is as good an address as any. */
  private homeOf(slot: number): number {
    return this.entries.readUInt32LE(slot * ENTRY_BYTES) & (this.index.length - 1);
  }

  /** Whether the hash stands at this offset. */
  private isAt(offset: number, hashed: string): boolean {
    for (let index = 0; index < HASH_BYTES; index++) {
      if (this.entries[offset + index] !== hashed.charCodeAt(index)) return false;
    }
    return true;
  }

  private slotOf(identity: string): number {
    const mask = this.index.length - 1;
    let place = homeWord(identity) & mask;
    for (;;) {
      const slot = (this.index[place] as number) - 1;
      if (slot < 0) return -1;
      if (this.isAt(slot * ENTRY_BYTES, identity)) return slot;
      place = (place + 1) & mask;
    }
  }

  private link(slot: number): void {
    const mask = this.index.length - 1;
    let place = this.homeOf(slot);
    while (this.index[place] !== 0) place = (place + 1) & mask;
    this.index[place] = slot + 1;
  }

  /** Removes a slot's place and closes the hole, so that no probe sequence is cut (Knuth 6.4 R). */
  private unlink(slot: number): void {
    const mask = this.index.length - 1;
    let hole = this.homeOf(slot);
    while (this.index[hole] !== slot + 1) hole = (hole + 1) & mask;
    let place = hole;
    for (;;) {
      place = (place + 1) & mask;
      const other = this.index[place] as number;
      if (other === 0) break;
      const home = this.homeOf(other - 1);
      // Moving `other` into the hole is right unless its home lies behind the hole.
      if (((place - home) & mask) >= ((place - hole) & mask)) {
        this.index[hole] = other;
        hole = place;
      }
    }
    this.index[hole] = 0;
  }
}
