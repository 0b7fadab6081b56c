// Slots of calls in the activity memory whose stakes no outcome has settled. A bucket that is full loses its oldest
// call: what that holds for the agent then ends only by fading.
import type { HeldVisitor } from "./agents.ts";
import { OFFSET_STAKES, SLOTS_PER_BUCKET, STAKES_SLOT_BYTES, STAKES_SLOTS } from "./layout.ts";
import type { HashKey } from "./text-hash.ts";

const WORDS = STAKES_SLOT_BYTES / 4;
const DOUBLES = STAKES_SLOT_BYTES / 8;
const BUCKETS = STAKES_SLOTS / SLOTS_PER_BUCKET;
const AMOUNT = 1;
const TIME = 2;

export class StakesSlots {
  readonly #words: Int32Array;
  readonly #doubles: Float64Array;

  constructor(memory: SharedArrayBuffer) {
    this.#words = new Int32Array(memory, OFFSET_STAKES, STAKES_SLOTS * WORDS);
    this.#doubles = new Float64Array(memory, OFFSET_STAKES, STAKES_SLOTS * DOUBLES);
  }

  /** Keeps the stakes of a call, in the unit of account. */
  put({ low, high }: HashKey, amount: number, timeMs: number): void {
    const doubles = this.#doubles;
    const first = (low & (BUCKETS - 1)) * SLOTS_PER_BUCKET;
    let chosen = first;
    for (let slot = first; slot < first + SLOTS_PER_BUCKET; slot += 1) {
      if (doubles[slot * DOUBLES + AMOUNT] === 0) {
        chosen = slot;
        break;
      }
      if (doubles[slot * DOUBLES + TIME]! < doubles[chosen * DOUBLES + TIME]!) chosen = slot;
    }
    this.#words[chosen * WORDS] = low;
    this.#words[chosen * WORDS + 1] = high;
    doubles[chosen * DOUBLES + TIME] = timeMs;
    doubles[chosen * DOUBLES + AMOUNT] = amount;
  }

  /** Takes a call's stakes away, and gives them with their time; undefined: there are none. Of two takers one gets them. */
  take({ low, high }: HashKey): { readonly amount: number; readonly timeMs: number } | undefined {
    const words = this.#words;
    const first = (low & (BUCKETS - 1)) * SLOTS_PER_BUCKET;
    for (let slot = first; slot < first + SLOTS_PER_BUCKET; slot += 1) {
      const at = slot * WORDS;
      const amount = this.#doubles[slot * DOUBLES + AMOUNT]!;
      if (amount === 0 || words[at] !== low || words[at + 1] !== high) continue;
      const timeMs = this.#doubles[slot * DOUBLES + TIME]!;
      // The other half of the key is what a second taker would look for.
      if (Atomics.compareExchange(words, at + 1, high, ~high) !== high) return undefined;
      this.#doubles[slot * DOUBLES + AMOUNT] = 0;
      return { amount, timeMs };
    }
    return undefined;
  }

  /** Calls `visit` with the stakes of every call. */
  visitHeld(visit: HeldVisitor): void {
    for (let slot = 0; slot < STAKES_SLOTS; slot += 1) {
      const amount = this.#doubles[slot * DOUBLES + AMOUNT]!;
      if (amount === 0) continue;
      const timeMs = this.#doubles[slot * DOUBLES + TIME]!;
      visit(this.#words[slot * WORDS]!, this.#words[slot * WORDS + 1]!, amount, timeMs);
    }
  }
}
