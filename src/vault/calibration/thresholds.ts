// Thresholds of tenants that labelled enough of their own texts, in shared memory: written by one
// thread, read by all. A kind without one is judged by the shipped numbers.
import { encodeTenantWords } from "../sources/catalogue-keys.ts";
import { TEXT_KINDS } from "../../contract/vocabulary.ts";
import type { TextKind } from "../../contract/vocabulary.ts";

/** Tenants with thresholds of their own; beyond them the shipped numbers hold. */
export const THRESHOLD_TENANTS_MAX = 1024;
/** Two words of the tenant's name, then per kind: the two thresholds, 1/1024, and whether set. */
const KIND_WORDS = 3;
const ENTRY_WORDS = 2 + TEXT_KINDS.length * KIND_WORDS;
const HEADER_WORDS = 1;

export function createThresholdMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer((HEADER_WORDS + THRESHOLD_TENANTS_MAX * ENTRY_WORDS) * 4);
}

export interface TenantKindThresholds {
  readonly tau_lo: number;
  readonly tau_hi: number;
}

export class TenantThresholds {
  readonly #words: Int32Array;
  readonly #offsetByTenant = new Map<string, number>();

  constructor(memory: SharedArrayBuffer) {
    this.#words = new Int32Array(memory);
  }

  /** The tenant's own thresholds of a kind; undefined while the shipped ones hold. */
  findThresholds(tenant: string, kind: TextKind): TenantKindThresholds | undefined {
    const place = this.#findOffset(tenant);
    if (place === undefined) return undefined;
    const at = place + 2 + TEXT_KINDS.indexOf(kind) * KIND_WORDS;
    if (Atomics.load(this.#words, at + 2) === 0) return undefined;
    return { tau_lo: this.#words[at]!, tau_hi: this.#words[at + 1]! };
  }

  /** Writer: sets the thresholds of a kind; undefined goes back to the shipped ones. */
  writeThresholds(tenant: string, kind: TextKind, taus: TenantKindThresholds | undefined): void {
    const place =
      this.#findOffset(tenant) ?? (taus === undefined ? undefined : this.#addTenant(tenant));
    if (place === undefined) return;
    const at = place + 2 + TEXT_KINDS.indexOf(kind) * KIND_WORDS;
    if (taus !== undefined) {
      Atomics.store(this.#words, at, taus.tau_lo);
      Atomics.store(this.#words, at + 1, taus.tau_hi);
    }
    Atomics.store(this.#words, at + 2, taus === undefined ? 0 : 1);
  }

  #findOffset(tenant: string): number | undefined {
    const count = Atomics.load(this.#words, 0);
    if (count === 0) return undefined;
    const known = this.#offsetByTenant.get(tenant);
    if (known !== undefined) return known;
    const [low, high] = encodeTenantWords(tenant);
    for (let place = HEADER_WORDS; place < HEADER_WORDS + count * ENTRY_WORDS;) {
      if (this.#words[place]! >>> 0 === low && this.#words[place + 1]! >>> 0 === high) {
        this.#offsetByTenant.set(tenant, place);
        return place;
      }
      place += ENTRY_WORDS;
    }
    return undefined;
  }

  #addTenant(tenant: string): number | undefined {
    const count = Atomics.load(this.#words, 0);
    if (count >= THRESHOLD_TENANTS_MAX) return undefined;
    const place = HEADER_WORDS + count * ENTRY_WORDS;
    const [low, high] = encodeTenantWords(tenant);
    this.#words[place] = low;
    this.#words[place + 1] = high;
    Atomics.store(this.#words, 0, count + 1);
    return place;
  }
}
