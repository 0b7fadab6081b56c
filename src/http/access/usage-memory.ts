// Usage counters of one HTTP thread in shared memory, read by the main thread. One writer, one reader, no locks;
// the counts survive the thread.
import assert from "node:assert/strict";
import { USAGE_KINDS, type UsageCounts } from "../../contract/usage.ts";

/*
 * Slots of 192 bytes; the first is the header, whose first word counts the slots in use. A slot holds
 * the sums of one key on two days, an even and an odd one, so that yesterday's stay for a day.
 *
 *   0       4       8               16                      96                    176     192
 *   +-------+-------+---------------+-----------------------+---------------------+--------+
 *   |day i32|day i32| key's number  | counts of the even day| counts of the odd   | zero   |
 *   | even  | odd   | f64           | 10 f64                | 10 f64              |        |
 *   +-------+-------+---------------+-----------------------+---------------------+--------+
 */
const SLOT_BYTES = 192;
const SLOT_DOUBLES = SLOT_BYTES / 8;
const SLOT_WORDS = SLOT_BYTES / 4;
const NUMBER_AT = 1;
const COUNTS_AT = 2;
const KIND_COUNT = USAGE_KINDS.length;
assert(COUNTS_AT + 2 * KIND_COUNT <= SLOT_DOUBLES, "a slot of usage is too small for its counts");
/** Keys that one thread can count. Pages that are not touched take no memory. */
export const KEYS_COUNTED_MAX = 65_535;

export function createUsageMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer((KEYS_COUNTED_MAX + 1) * SLOT_BYTES);
}

/** Writer's side. */
export class UsageWriter {
  readonly #words: Int32Array;
  readonly #doubles: Float64Array;

  constructor(memory: SharedArrayBuffer) {
    this.#words = new Int32Array(memory);
    this.#doubles = new Float64Array(memory);
  }

  /** A new slot for a key, or undefined when all are taken. */
  allocateSlot(keyNumber: number): number | undefined {
    const slot = this.#words[0]! + 1;
    if (slot > KEYS_COUNTED_MAX) return undefined;
    this.#doubles[slot * SLOT_DOUBLES + NUMBER_AT] = keyNumber;
    // The reader looks at no slot before it is counted.
    Atomics.store(this.#words, 0, slot);
    return slot;
  }

  /** Adds to a count of that day (since 1970). */
  add(slot: number, day: number, kind: number, count: number): void {
    const half = day & 1;
    if (this.#words[slot * SLOT_WORDS + half] !== day) this.#resetDay(slot, half, day);
    const cell = slot * SLOT_DOUBLES + COUNTS_AT + half * KIND_COUNT + kind;
    this.#doubles[cell] = this.#doubles[cell]! + count;
  }

  /** INVARIANT (usage day): counts are zeroed while they have no day, so none gets another's sums. */
  #resetDay(slot: number, half: number, day: number): void {
    const word = slot * SLOT_WORDS + half;
    Atomics.store(this.#words, word, 0);
    const from = slot * SLOT_DOUBLES + COUNTS_AT + half * KIND_COUNT;
    this.#doubles.fill(0, from, from + KIND_COUNT);
    Atomics.store(this.#words, word, day);
  }
}

/** Receives the sums of a key on a day; `counts` is used again for the next. */
export type UsageVisitor = (keyNumber: number, day: number, counts: Readonly<UsageCounts>) => void;

/** Reader's side: gives all sums that the memory holds. */
export function visitUsage(memory: SharedArrayBuffer, take: UsageVisitor): void {
  const words = new Int32Array(memory);
  const doubles = new Float64Array(memory);
  const counts = {} as UsageCounts;
  const slots = Atomics.load(words, 0);
  assert(slots <= KEYS_COUNTED_MAX, "more slots of usage than there are");
  for (let slot = 1; slot <= slots; slot++) {
    for (const half of [0, 1]) {
      const day = Atomics.load(words, slot * SLOT_WORDS + half);
      if (day === 0) continue;
      const from = slot * SLOT_DOUBLES + COUNTS_AT + half * KIND_COUNT;
      for (const [kind, name] of USAGE_KINDS.entries()) counts[name] = doubles[from + kind]!;
      // Another day has begun in between: the old one's sums were read before.
      if (Atomics.load(words, slot * SLOT_WORDS + half) !== day) continue;
      take(doubles[slot * SLOT_DOUBLES + NUMBER_AT]!, day, counts);
    }
  }
}
