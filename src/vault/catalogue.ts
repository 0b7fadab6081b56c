// The vault's index in shared memory: what a verify needs of a source, found by (tenant, id) or by
// content digest in a few hundred nanoseconds, on any thread. Shared rather than copied into each
// thread: a registration that was acknowledged is seen by every HTTP and pool thread at once, and
// nothing has to be replayed into a thread that starts late. One writer; entries never move.
//
// INVARIANT (publication): an entry is complete before a slot names it. State and document are the
// only words that change later, each by one atomic store.
import { hash } from "node:crypto";

import { EVIDENCE_STATES } from "../contract/evidence.ts";
import type { EvidenceState } from "../contract/evidence.ts";

/*
 * Entry, 64 bytes:
 *
 *   0               16              48      52      56      60      64
 *   +---------------+---------------+-------+-------+-------+-------+
 *   | key (16)      | sha256 (32)   | state |document| flags| tenant|
 *   +---------------+---------------+-------+-------+-------+-------+
 *
 * The key is half a SHA-256 of tenant and id. `document` is the grounding index + 1, 0 for none.
 */
const ENTRY_WORDS = 16;
const KEY_WORDS = 4;
const DIGEST_AT = 4;
const DIGEST_WORDS = 8;
const STATE_AT = 12;
const DOCUMENT_AT = 13;
const FLAGS_AT = 14;
const TENANT_AT = 15;
const FLAG_STRUCTURED = 1;

/** Sources that one bureau keeps; at 64 bytes each, touched only as they are used. */
export const SOURCES_MAX = 262_144;
const SLOTS = SOURCES_MAX * 2;
export const NOT_FOUND = -1;

/** The shared part: hand it to other threads as it is. */
export interface CatalogueMemory {
  /** Count, then entries. */
  entries: SharedArrayBuffer;
  bySource: SharedArrayBuffer;
  byContent: SharedArrayBuffer;
}

export function createCatalogueMemory(): CatalogueMemory {
  return {
    entries: new SharedArrayBuffer(64 + SOURCES_MAX * ENTRY_WORDS * 4),
    bySource: new SharedArrayBuffer(SLOTS * 4),
    byContent: new SharedArrayBuffer(SLOTS * 4),
  };
}

/** What is stored of a source. */
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
}

/** Keys of ids asked for lately, by tenant: a digest costs more than all the rest of a look-up. */
const KEPT_KEYS_MAX = 4096;
const keptKeys = new Map<string, Map<string, Uint32Array>>();
let keptCount = 0;

function keyOf(tenant: string, sourceId: string): Uint32Array {
  const kept = keptKeys.get(tenant)?.get(sourceId);
  if (kept !== undefined) return kept;
  const key = makeKey(tenant, sourceId);
  if (keptCount >= KEPT_KEYS_MAX) {
    keptKeys.clear();
    keptCount = 0;
  }
  let ofTenant = keptKeys.get(tenant);
  if (ofTenant === undefined) keptKeys.set(tenant, (ofTenant = new Map()));
  ofTenant.set(sourceId, key);
  keptCount += 1;
  return key;
}

function makeKey(tenant: string, sourceId: string): Uint32Array {
  // Tenants hold no line break, so no id can reach into another tenant.
  const digest = hash("sha256", `${tenant}\n${sourceId}`, "buffer");
  return new Uint32Array(digest.buffer.slice(digest.byteOffset, digest.byteOffset + 16));
}

function digestWords(sha256: string): Uint32Array {
  const bytes = Buffer.from(sha256, "hex");
  return new Uint32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + 32));
}

/** A name of a tenant in one word: 0 is everyone's. */
export function tenantWord(tenant: string): number {
  return tenant === "" ? 0 : keyOf(tenant, "")[0]! || 1;
}

export class Catalogue {
  readonly #count: Uint32Array;
  readonly #entries: Uint32Array;
  readonly #bySource: Uint32Array;
  readonly #byContent: Uint32Array;

  constructor(memory: CatalogueMemory) {
    this.#count = new Uint32Array(memory.entries, 0, 1);
    this.#entries = new Uint32Array(memory.entries, 64);
    this.#bySource = new Uint32Array(memory.bySource);
    this.#byContent = new Uint32Array(memory.byContent);
  }

  get size(): number {
    return Atomics.load(this.#count, 0);
  }

  /** Writer: adds a source, or the next version of one. Returns its number; -1 when full. */
  add(entry: CatalogueEntry): number {
    const number = this.size;
    if (number >= SOURCES_MAX) return NOT_FOUND;
    const at = number * ENTRY_WORDS;
    const key = keyOf(entry.tenant, entry.sourceId);
    const digest = digestWords(entry.sha256);
    this.#entries.set(key, at);
    this.#entries.set(digest, at + DIGEST_AT);
    this.#entries[at + STATE_AT] = EVIDENCE_STATES.indexOf(entry.state);
    this.#entries[at + DOCUMENT_AT] = entry.document + 1;
    this.#entries[at + FLAGS_AT] = entry.isStructured ? FLAG_STRUCTURED : 0;
    this.#entries[at + TENANT_AT] = tenantWord(entry.tenant);
    Atomics.store(this.#count, 0, number + 1);
    // A later version takes the slot of the earlier; equal content is listed once per record.
    const slot = this.#slotOfSource(key);
    Atomics.store(this.#bySource, slot, number + 1);
    this.#listContent(digest, number);
    return number;
  }

  /** The source as this tenant sees it: its own first, else the public one. -1 when unknown. */
  find(tenant: string, sourceId: string): number {
    if (this.size === 0) return NOT_FOUND;
    const own = this.#findKey(keyOf(tenant, sourceId));
    return own === NOT_FOUND ? this.#findKey(keyOf("", sourceId)) : own;
  }

  /**
   * The most suspect state of any source with this content that the tenant may see; undefined when
   * there is none. `sha256` is 64 hex digits.
   */
  stateOfContent(tenant: string, sha256: string): EvidenceState | undefined {
    const digest = digestWords(sha256);
    const owner = tenantWord(tenant);
    let worst = -1;
    for (let slot = digest[0]! % SLOTS; ; slot = (slot + 1) % SLOTS) {
      const number = Atomics.load(this.#byContent, slot) - 1;
      if (number < 0) return worst < 0 ? undefined : EVIDENCE_STATES[worst];
      const at = number * ENTRY_WORDS;
      const entryOwner = this.#entries[at + TENANT_AT];
      if (entryOwner !== 0 && entryOwner !== owner) continue;
      if (!this.#isEqual(at + DIGEST_AT, digest, DIGEST_WORDS)) continue;
      worst = Math.max(worst, Atomics.load(this.#entries, at + STATE_AT));
    }
  }

  stateOf(number: number): EvidenceState {
    const state = Atomics.load(this.#entries, number * ENTRY_WORDS + STATE_AT);
    return EVIDENCE_STATES[state]!;
  }

  /** Number of the grounding index, -1 without text. */
  documentOf(number: number): number {
    return Atomics.load(this.#entries, number * ENTRY_WORDS + DOCUMENT_AT) - 1;
  }

  isStructured(number: number): boolean {
    return (this.#entries[number * ENTRY_WORDS + FLAGS_AT]! & FLAG_STRUCTURED) !== 0;
  }

  /** Writer. */
  setState(number: number, state: EvidenceState): void {
    const at = number * ENTRY_WORDS + STATE_AT;
    Atomics.store(this.#entries, at, EVIDENCE_STATES.indexOf(state));
  }

  #findKey(key: Uint32Array): number {
    return Atomics.load(this.#bySource, this.#slotOfSource(key)) - 1;
  }

  /** The slot that names this key's newest version, or the empty one where it would be. */
  #slotOfSource(key: Uint32Array): number {
    for (let slot = key[0]! % SLOTS; ; slot = (slot + 1) % SLOTS) {
      const number = Atomics.load(this.#bySource, slot) - 1;
      if (number < 0 || this.#isEqual(number * ENTRY_WORDS, key, KEY_WORDS)) return slot;
    }
  }

  #listContent(digest: Uint32Array, number: number): void {
    let slot = digest[0]! % SLOTS;
    while (Atomics.load(this.#byContent, slot) !== 0) slot = (slot + 1) % SLOTS;
    Atomics.store(this.#byContent, slot, number + 1);
  }

  #isEqual(at: number, words: Uint32Array, count: number): boolean {
    for (let word = 0; word < count; word++) {
      if (this.#entries[at + word] !== words[word]) return false;
    }
    return true;
  }
}
