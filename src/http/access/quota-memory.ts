// Monthly quotas in shared memory: the main thread writes limit and use of each tenant, every HTTP thread reads
// them before a paid read. No messages, no locks.
import { TENANT_LENGTH_MAX } from "../../contract/limits.ts";

/*
 * Slots of 96 bytes; the first is the header. A tenant keeps its slot as long as the process lives.
 *
 *   0               8               16      20      24                              88      96
 *   +---------------+---------------+-------+-------+-------------------------------+-------+
 *   | limit f64     | used f64      |length | zero  | tenant, UTF-8 (64)            | zero  |
 *   +---------------+---------------+-------+-------+-------------------------------+-------+
 *
 *   header: | slots in use i32, zero | end of the month, epoch ms f64 | zero
 */
const SLOT_BYTES = 96;
const SLOT_DOUBLES = SLOT_BYTES / 8;
const SLOT_WORDS = SLOT_BYTES / 4;
const USED_AT = 1;
const LENGTH_AT = 4;
const NAME_AT = 24;
/** Of a tenant whose quota was taken away. */
const NO_QUOTA = -1;
/** Tenants that have had a quota since the start. */
export const QUOTAS_MAX = 10_000;

export function createQuotaMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer((QUOTAS_MAX + 1) * SLOT_BYTES);
}

/** Writer's side. */
export class QuotaWriter {
  readonly #words: Int32Array;
  readonly #doubles: Float64Array;
  readonly #bytes: Uint8Array;
  readonly #slots = new Map<string, number>();

  constructor(memory: SharedArrayBuffer) {
    this.#words = new Int32Array(memory);
    this.#doubles = new Float64Array(memory);
    this.#bytes = new Uint8Array(memory);
  }

  /** Whether one more tenant may have a quota. */
  hasCapacityFor(tenant: string): boolean {
    return this.#slots.has(tenant) || this.#slots.size < QUOTAS_MAX;
  }

  /** Epoch ms at which the month of all `used` ends. */
  set monthEndMs(timeMs: number) {
    this.#doubles[USED_AT] = timeMs;
  }

  /** A tenant's quota, undefined for none, and what it has used of it. */
  write(tenant: string, limit: number | undefined, used: number): void {
    const slot = this.#slots.get(tenant);
    const at = (slot ?? this.#slots.size + 1) * SLOT_DOUBLES;
    this.#doubles[at + USED_AT] = used;
    this.#doubles[at] = limit ?? NO_QUOTA;
    if (slot === undefined) this.#allocateSlot(tenant);
  }

  #allocateSlot(tenant: string): void {
    const slot = this.#slots.size + 1;
    const name = Buffer.from(tenant).subarray(0, TENANT_LENGTH_MAX);
    this.#bytes.set(name, slot * SLOT_BYTES + NAME_AT);
    this.#words[slot * SLOT_WORDS + LENGTH_AT] = name.byteLength;
    this.#slots.set(tenant, slot);
    // Readers look at no slot before it is counted.
    Atomics.store(this.#words, 0, slot);
  }
}

/** Reader's side. */
export class QuotaReader {
  readonly #words: Int32Array;
  readonly #doubles: Float64Array;
  readonly #bytes: Uint8Array;
  readonly #slots = new Map<string, number>();

  constructor(memory: SharedArrayBuffer) {
    this.#words = new Int32Array(memory);
    this.#doubles = new Float64Array(memory);
    this.#bytes = new Uint8Array(memory);
  }

  get monthEndMs(): number {
    return this.#doubles[USED_AT]!;
  }

  /** Slot of a tenant that has a quota now. */
  findSlot(tenant: string): number | undefined {
    const count = Atomics.load(this.#words, 0);
    if (count === 0) return undefined;
    while (this.#slots.size < count) this.#loadSlot(this.#slots.size + 1);
    const slot = this.#slots.get(tenant);
    return slot === undefined || this.readLimit(slot) === NO_QUOTA ? undefined : slot;
  }

  readLimit(slot: number): number {
    return this.#doubles[slot * SLOT_DOUBLES]!;
  }

  readUsed(slot: number): number {
    return this.#doubles[slot * SLOT_DOUBLES + USED_AT]!;
  }

  #loadSlot(slot: number): void {
    const from = slot * SLOT_BYTES + NAME_AT;
    const length = this.#words[slot * SLOT_WORDS + LENGTH_AT]!;
    // A view of shared memory is no text yet.
    this.#slots.set(Buffer.from(this.#bytes.slice(from, from + length)).toString(), slot);
  }
}
