// Index of the vault in shared memory: the facts that a verify needs of a source, found by (tenant,
// id) or by tainted content in a few hundred nanoseconds, on any thread. Shared rather than copied
// into each thread: every HTTP and pool thread sees an acknowledged registration at once, and
// nothing has to be replayed into a thread that starts late. One writer.
//
// INVARIANT (publication): an entry is complete before a slot names it. State and document are the
// only words that change while it is named, each by one atomic store. An entry that no slot names
// any more is reused only once no reader holds a guard (epochs.ts), so look-ups happen under a
// guard. Slots move only when a source is forgotten (slots.ts): a miss counts if none moved meanwhile.
import { EVIDENCE_STATES } from "../../contract/vocabulary.ts";
import type { EvidenceState } from "../../contract/vocabulary.ts";
import { isLookupConclusive, readMoveCount, removeSlot } from "./slots.ts";
import {
  parseDigestWord,
  KEY_WORDS,
  encodeSourceKey,
  cachedKeyWords,
  encodeTenantWords,
} from "./catalogue-keys.ts";

/*
 * Entry, 72 bytes:
 *
 *   0               16              48      52      56      60      64      68      72
 *   +---------------+---------------+-------+-------+-------+-------+-------+-------+
 *   | key (16)      | sha256 (32)   | state |document| flags| tenant (8)    |seconds|
 *   +---------------+---------------+-------+-------+-------+-------+-------+-------+
 *
 * The key is half a SHA-256 of the id, the tenant a quarter of one of its name, zero for a public
 * source. `document` is the grounding index + 1, 0 for none; `seconds` since 1970 of registration.
 *
 * Slot, 8 bytes: | first word of what is looked for | number of the entry + 1, 0 for empty |, so
 * that a miss reads slots alone.
 */
const ENTRY_WORDS = 18;
const DIGEST_AT = 4;
const DIGEST_WORDS = 8;
const STATE_AT = 12;
const DOCUMENT_AT = 13;
const FLAGS_AT = 14;
const TENANT_AT = 15;
const SECONDS_AT = 17;
const FLAG_STRUCTURED = 1;
/** Its content is listed: the entry is never reused. */
const FLAG_LISTED = 2;

/** Entries of one bureau; their memory is touched only as they are used. */
const ENTRIES_MAX = 262_144;
/** Entries kept free for versions that readers still hold. */
const SPARE_ENTRIES = 1024;
/** Most sources of one bureau, and by default of one tenant. */
export const SOURCES_MAX = ENTRIES_MAX - SPARE_ENTRIES;
export const SOURCES_PER_TENANT_DEFAULT = 65_536;
const SLOTS = ENTRIES_MAX * 2;
const SLOT_MASK = SLOTS - 1;
export const NOT_FOUND = -1;

// Header words.
const COUNT_AT = 0;
const LISTED_AT = 1;
const HEADER_BYTES = 64;

/** Shared part: pass it to other threads unchanged. */
export interface CatalogueMemory {
  /** Counts, then entries. */
  entries: SharedArrayBuffer;
  bySource: SharedArrayBuffer;
  /** Content that is or was retracted or recorded as false; no other content is looked up. */
  byContent: SharedArrayBuffer;
}

export function createCatalogueMemory(): CatalogueMemory {
  return {
    entries: new SharedArrayBuffer(HEADER_BYTES + ENTRIES_MAX * ENTRY_WORDS * 4),
    bySource: new SharedArrayBuffer(SLOTS * 8),
    byContent: new SharedArrayBuffer(SLOTS * 8),
  };
}

/** Stored facts of a source. */
export interface CatalogueEntry {
  /** Empty for a public source. */
  tenant: string;
  sourceId: string;
  /** 64 hex digits. */
  sha256: string;
  state: EvidenceState;
  /** Number of the grounding index, -1 without text. */
  document: number;
  isStructured: boolean;
  /** Seconds since 1970. */
  registeredAtSec: number;
}

/** States that taint equal content. */
export function isTaintingState(state: EvidenceState): boolean {
  return state === "retracted" || state === "recorded_false";
}

export class Catalogue {
  readonly #header: Uint32Array;
  readonly #entries: Uint32Array;
  readonly #bySource: Uint32Array;
  readonly #byContent: Uint32Array;
  /** Writer: entries for reuse. */
  readonly #freeEntries: number[] = [];

  constructor(memory: CatalogueMemory) {
    this.#header = new Uint32Array(memory.entries, 0, HEADER_BYTES / 4);
    this.#entries = new Uint32Array(memory.entries, HEADER_BYTES);
    this.#bySource = new Uint32Array(memory.bySource);
    this.#byContent = new Uint32Array(memory.byContent);
  }

  /** Entries ever used: zero while nothing was ever registered. */
  get size(): number {
    return Atomics.load(this.#header, COUNT_AT);
  }

  /** Writer: adds a source, or the next version of one. Returns its number; -1 when full. */
  add(entry: CatalogueEntry): number {
    const number = this.#freeEntries.pop() ?? this.size;
    if (number >= ENTRIES_MAX) return NOT_FOUND;
    const at = number * ENTRY_WORDS;
    const key = encodeSourceKey(entry.sourceId);
    const [low, high] = encodeTenantWords(entry.tenant);
    for (let word = 0; word < KEY_WORDS; word++)
      this.#entries[at + word] = cachedKeyWords[key + word]!;
    for (let word = 0; word < DIGEST_WORDS; word++) {
      this.#entries[at + DIGEST_AT + word] = parseDigestWord(entry.sha256, word);
    }
    this.#entries[at + STATE_AT] = EVIDENCE_STATES.indexOf(entry.state);
    this.#entries[at + DOCUMENT_AT] = entry.document + 1;
    this.#entries[at + FLAGS_AT] = entry.isStructured ? FLAG_STRUCTURED : 0;
    this.#entries[at + TENANT_AT] = low;
    this.#entries[at + TENANT_AT + 1] = high;
    this.#entries[at + SECONDS_AT] = entry.registeredAtSec;
    if (number === this.size) Atomics.store(this.#header, COUNT_AT, number + 1);
    // A later version takes the slot of the earlier.
    this.#nameSource(key, low, high, number);
    if (isTaintingState(entry.state)) this.#listContent(number);
    return number;
  }

  /** The source as visible to this tenant: its own first, else the public one. -1 when unknown. */
  find(tenant: string, sourceId: string): number {
    if (this.size === 0) return NOT_FOUND;
    const key = encodeSourceKey(sourceId);
    const [low, high] = encodeTenantWords(tenant);
    for (let looks = 0; ; looks++) {
      const moves = readMoveCount(this.#header);
      const number = this.#probeSource(key, low, high);
      if (this.#isOwn(number, low, high) || isLookupConclusive(this.#header, moves, looks))
        return number;
    }
  }

  #isOwn(number: number, low: number, high: number): boolean {
    if (number < 0) return false;
    const at = number * ENTRY_WORDS + TENANT_AT;
    return this.#entries[at] === low && this.#entries[at + 1] === high;
  }

  #probeSource(key: number, low: number, high: number): number {
    let open = NOT_FOUND;
    const first = cachedKeyWords[key]!;
    for (let slot = first & SLOT_MASK; ; slot = (slot + 1) & SLOT_MASK) {
      const number = Atomics.load(this.#bySource, slot * 2 + 1) - 1;
      if (number < 0) return open;
      if (this.#bySource[slot * 2] !== first) continue;
      const at = number * ENTRY_WORDS;
      if (!this.#hasKey(at, key)) continue;
      const owner = this.#entries[at + TENANT_AT];
      const ownerHigh = this.#entries[at + TENANT_AT + 1];
      if (owner === low && ownerHigh === high) return number;
      if (owner === 0 && ownerHigh === 0) open = number;
    }
  }

  /**
   * The most suspect state of any source with this content that was ever tainted and that the
   * tenant may see; undefined when there is none. `sha256` is 64 hex digits.
   */
  findContentState(tenant: string, sha256: string): EvidenceState | undefined {
    if (Atomics.load(this.#header, LISTED_AT) === 0) return undefined;
    for (let looks = 0; ; looks++) {
      const moves = readMoveCount(this.#header);
      const state = this.#findWorstContentState(tenant, sha256);
      if (isLookupConclusive(this.#header, moves, looks)) return state;
    }
  }

  #findWorstContentState(tenant: string, sha256: string): EvidenceState | undefined {
    const first = parseDigestWord(sha256, 0);
    let worst = -1;
    for (let slot = first & SLOT_MASK; ; slot = (slot + 1) & SLOT_MASK) {
      const number = Atomics.load(this.#byContent, slot * 2 + 1) - 1;
      if (number < 0) return worst < 0 ? undefined : EVIDENCE_STATES[worst];
      if (this.#byContent[slot * 2] !== first) continue;
      const at = number * ENTRY_WORDS;
      if (!this.#isVisible(at, tenant) || !this.#hasContent(at, sha256)) continue;
      worst = Math.max(worst, Atomics.load(this.#entries, at + STATE_AT));
    }
  }

  readState(number: number): EvidenceState {
    const state = Atomics.load(this.#entries, number * ENTRY_WORDS + STATE_AT);
    return EVIDENCE_STATES[state]!;
  }

  /** Number of the grounding index, -1 without text. */
  readDocument(number: number): number {
    return Atomics.load(this.#entries, number * ENTRY_WORDS + DOCUMENT_AT) - 1;
  }

  isStructured(number: number): boolean {
    return (this.#entries[number * ENTRY_WORDS + FLAGS_AT]! & FLAG_STRUCTURED) !== 0;
  }

  /** Registration time of this version, in seconds since 1970. */
  readRegisteredAtSec(number: number): number {
    return this.#entries[number * ENTRY_WORDS + SECONDS_AT]!;
  }

  /** Writer. */
  setState(number: number, state: EvidenceState): void {
    const at = number * ENTRY_WORDS + STATE_AT;
    Atomics.store(this.#entries, at, EVIDENCE_STATES.indexOf(state));
    if (isTaintingState(state)) this.#listContent(number);
  }

  /** Writer: detaches the text of a source. Returns the number of its index, -1 for none. */
  dropDocument(number: number): number {
    return Atomics.exchange(this.#entries, number * ENTRY_WORDS + DOCUMENT_AT, 0) - 1;
  }

  /** Writer: whether the content of an entry is listed: replaced by another, it stays. */
  isListed(number: number): boolean {
    return (this.#entries[number * ENTRY_WORDS + FLAGS_AT]! & FLAG_LISTED) !== 0;
  }

  /** Writer: takes every name from an entry; a reader that holds it may go on. */
  removeNames(number: number): void {
    const at = number * ENTRY_WORDS;
    removeSlot(this.#header, this.#bySource, this.#entries[at]!, number);
    if (!this.isListed(number)) return;
    removeSlot(this.#header, this.#byContent, this.#entries[at + DIGEST_AT]!, number);
    this.#entries[at + FLAGS_AT]! &= ~FLAG_LISTED;
    Atomics.sub(this.#header, LISTED_AT, 1);
  }

  /** Writer: releases an entry that no slot names and no reader can hold. */
  releaseEntry(number: number): void {
    const flags = this.#entries[number * ENTRY_WORDS + FLAGS_AT]!;
    if ((flags & FLAG_LISTED) === 0) this.#freeEntries.push(number);
  }

  #nameSource(key: number, low: number, high: number, number: number): void {
    const first = cachedKeyWords[key]!;
    for (let slot = first & SLOT_MASK; ; slot = (slot + 1) & SLOT_MASK) {
      const named = this.#bySource[slot * 2 + 1]! - 1;
      const at = named * ENTRY_WORDS;
      const isSame =
        named >= 0 &&
        this.#hasKey(at, key) &&
        this.#entries[at + TENANT_AT] === low &&
        this.#entries[at + TENANT_AT + 1] === high;
      if (named >= 0 && !isSame) continue;
      this.#bySource[slot * 2] = first;
      Atomics.store(this.#bySource, slot * 2 + 1, number + 1);
      return;
    }
  }

  #listContent(number: number): void {
    const at = number * ENTRY_WORDS;
    if ((this.#entries[at + FLAGS_AT]! & FLAG_LISTED) !== 0) return;
    this.#entries[at + FLAGS_AT]! |= FLAG_LISTED;
    const first = this.#entries[at + DIGEST_AT]!;
    let slot = first & SLOT_MASK;
    while (this.#byContent[slot * 2 + 1] !== 0) slot = (slot + 1) & SLOT_MASK;
    this.#byContent[slot * 2] = first;
    Atomics.store(this.#byContent, slot * 2 + 1, number + 1);
    Atomics.add(this.#header, LISTED_AT, 1);
  }

  #hasKey(at: number, key: number): boolean {
    for (let word = 0; word < KEY_WORDS; word++) {
      if (this.#entries[at + word] !== cachedKeyWords[key + word]) return false;
    }
    return true;
  }

  #isVisible(at: number, tenant: string): boolean {
    const low = this.#entries[at + TENANT_AT];
    const high = this.#entries[at + TENANT_AT + 1];
    if (low === 0 && high === 0) return true;
    const owner = encodeTenantWords(tenant);
    return owner[0] === low && owner[1] === high;
  }

  /** Whether this version of a source has the content of a digest, 64 hex digits. */
  hasContent(number: number, sha256: string): boolean {
    return this.#hasContent(number * ENTRY_WORDS, sha256);
  }

  #hasContent(at: number, sha256: string): boolean {
    for (let word = 0; word < DIGEST_WORDS; word++) {
      if (this.#entries[at + DIGEST_AT + word] !== parseDigestWord(sha256, word)) return false;
    }
    return true;
  }
}
