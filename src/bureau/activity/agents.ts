// Slots of agents in the activity memory: counts of calls and new actions, and unsettled stakes. Counts are plain
// additions, and may miss one where two threads meet; stakes change by compare-and-swap.
import { HOUR_MS, MINUTE_MS, DAY_MS } from "../../contract/units.ts";
import {
  AGENT_SLOT_BYTES,
  AGENT_SLOTS,
  CALLS,
  CALLS_BEFORE,
  computeFade,
  DAY,
  DAY_BEFORE,
  HEADER_BYTES,
  HOUR,
  KEY_HIGH,
  KEY_LOW,
  LOCK,
  MARKS,
  MARKS_DAY,
  MADE_AT_BYTES,
  MINUTE,
  NEW_ACTIONS,
  NEW_ACTIONS_BEFORE,
  SKETCH_BITS,
  SKETCH_WORDS,
  SLOTS_PER_BUCKET,
  TODAY,
  UNSETTLED,
} from "./layout.ts";
import type { HashKey } from "./text-hash.ts";

const WORDS = AGENT_SLOT_BYTES / 4;
const DOUBLES = AGENT_SLOT_BYTES / 8;
const BUCKETS = AGENT_SLOTS / SLOTS_PER_BUCKET;
const BITS_PER_WORD = 32;
/** Turns at a lock after which its holder is taken to be gone. */
const LOCK_TURNS = 20;
const LOCK_WAIT_MS = 2;
/** Stakes, in the unit of account, below which nothing is held. */
const STAKES_MIN = 1e-9;

/** Key in two halves, stakes in the unit of account, time in epoch ms. */
export type HeldVisitor = (low: number, high: number, amount: number, timeMs: number) => void;

/** One double as its bits. */
const scratchDoubles = new Float64Array(1);
const scratchBits = new BigInt64Array(scratchDoubles.buffer);

export class AgentSlots {
  readonly #words: Int32Array;
  readonly #doubles: Float64Array;
  readonly #bits: BigInt64Array;
  readonly #madeMs: number;
  // What follows from the time of the last count: within a millisecond there are many.
  #timeMs = Number.NaN;
  #hour = 0;
  #minute = 0;
  /** Of the hour before: how much of it is less than an hour ago. */
  #shareBefore = 0;

  constructor(memory: SharedArrayBuffer) {
    this.#madeMs = new Float64Array(memory, MADE_AT_BYTES, 1)[0]!;
    this.#bits = new BigInt64Array(memory, HEADER_BYTES, AGENT_SLOTS * DOUBLES);
    this.#words = new Int32Array(memory, HEADER_BYTES, AGENT_SLOTS * WORDS);
    this.#doubles = new Float64Array(memory, HEADER_BYTES, AGENT_SLOTS * DOUBLES);
  }

  /** Number of the agent's slot; -1: it has none. */
  find({ low, high }: HashKey): number {
    const first = (low & (BUCKETS - 1)) * SLOTS_PER_BUCKET;
    for (let slot = first; slot < first + SLOTS_PER_BUCKET; slot += 1) {
      const at = slot * WORDS;
      if (this.#words[at + KEY_LOW] === low && this.#words[at + KEY_HIGH] === high) return slot;
    }
    return -1;
  }

  /**
   * The agent's slot. A new agent takes that of its bucket with the least unsettled stakes, of equal ones that used longest
   * ago: names with smaller stakes cannot displace larger ones.
   */
  claim(key: HashKey, nowMs: number): number {
    const found = this.find(key);
    if (found >= 0) return found;
    const words = this.#words;
    const first = (key.low & (BUCKETS - 1)) * SLOTS_PER_BUCKET;
    let chosen = first;
    for (let slot = first + 1; slot < first + SLOTS_PER_BUCKET; slot += 1) {
      if (this.#isBefore(slot, chosen)) chosen = slot;
    }
    const at = chosen * WORDS;
    this.#lock(at);
    if (words[at + KEY_LOW] === key.low && words[at + KEY_HIGH] === key.high) {
      this.#unlock(at);
      return chosen;
    }
    words.fill(0, at + MINUTE, at + WORDS);
    words[at + KEY_LOW] = key.low;
    words[at + KEY_HIGH] = key.high;
    words[at + MINUTE] = Math.floor(nowMs / MINUTE_MS);
    this.#unlock(at);
    return chosen;
  }

  /** Whether a slot is given away before another one. */
  #isBefore(slot: number, other: number): boolean {
    const held = this.#doubles[slot * DOUBLES + UNSETTLED]!;
    const otherHeld = this.#doubles[other * DOUBLES + UNSETTLED]!;
    if (held !== otherHeld) return held < otherHeld;
    return this.#words[slot * WORDS + MINUTE]! < this.#words[other * WORDS + MINUTE]!;
  }

  /** Counts a call; `bit` (0 to 511) is that of its action. */
  count(slot: number, bit: number, nowMs: number): void {
    const words = this.#words;
    const at = slot * WORDS;
    if (nowMs !== this.#timeMs) this.#setTime(nowMs);
    if (words[at + HOUR] !== this.#hour) this.#beginHour(at, this.#hour);
    words[at + MINUTE] = this.#minute;
    words[at + CALLS]! += 1;
    const word = at + (bit >>> 5);
    const mask = 1 << (bit & (BITS_PER_WORD - 1));
    if ((words[word + TODAY]! & mask) !== 0) return;
    const isNew = (words[word + DAY_BEFORE]! & mask) === 0;
    Atomics.or(words, word + TODAY, mask);
    if (isNew) words[at + NEW_ACTIONS]! += 1;
  }

  #setTime(nowMs: number): void {
    this.#timeMs = nowMs;
    this.#hour = Math.floor(nowMs / HOUR_MS);
    this.#minute = Math.floor(nowMs / MINUTE_MS);
    this.#shareBefore = 1 - (nowMs - this.#hour * HOUR_MS) / HOUR_MS;
  }

  #beginHour(at: number, hour: number): void {
    const words = this.#words;
    const isNext = words[at + HOUR] === hour - 1;
    words[at + CALLS_BEFORE] = isNext ? words[at + CALLS]! : 0;
    words[at + NEW_ACTIONS_BEFORE] = isNext ? words[at + NEW_ACTIONS]! : 0;
    words[at + CALLS] = 0;
    words[at + NEW_ACTIONS] = 0;
    words[at + HOUR] = hour;
    const day = Math.floor((hour * HOUR_MS) / DAY_MS);
    if (words[at + DAY] === day) return;
    const isNextDay = words[at + DAY] === day - 1;
    for (let i = 0; i < SKETCH_WORDS; i += 1) {
      words[at + DAY_BEFORE + i] = isNextDay ? words[at + TODAY + i]! : 0;
      words[at + TODAY + i] = 0;
    }
    words[at + DAY] = day;
  }

  /**
   * Calls within the hour before the last count: those of this hour, and of the one before the share that is not over
   * an hour ago.
   */
  readCalls(slot: number): number {
    return this.#readLastHour(slot * WORDS + CALLS);
  }

  /** Likewise the actions that were new. Of more than 512 actions a day the bits are shared, so that fewer count. */
  readNewActions(slot: number): number {
    return this.#readLastHour(slot * WORDS + NEW_ACTIONS);
  }

  #readLastHour(at: number): number {
    const before = this.#words[at + 1]!;
    return before === 0
      ? this.#words[at]!
      : this.#words[at]! + Math.floor(before * this.#shareBefore);
  }

  /** Whether the agent had no mark of this number (0 to 31) on the UTC day; sets it. */
  markOncePerDay(slot: number, number: number, nowMs: number): boolean {
    const words = this.#words;
    const at = slot * WORDS;
    const day = Math.floor(nowMs / DAY_MS);
    if (words[at + MARKS_DAY] !== day) {
      words[at + MARKS_DAY] = day;
      words[at + MARKS] = 0;
    }
    const bit = 1 << number;
    return (words[at + MARKS]! & bit) === 0 && (Atomics.or(words, at + MARKS, bit) & bit) === 0;
  }

  /** Adds to the unsettled stakes, in the unit of account; not below 0. Returns what they were before. */
  addUnsettled(slot: number, amount: number, nowMs: number): number {
    const at = slot * DOUBLES + UNSETTLED;
    const growth = this.#computeGrowth(nowMs);
    for (;;) {
      const bits = Atomics.load(this.#bits, at);
      scratchBits[0] = bits;
      const before = scratchDoubles[0]! / growth;
      const after = before + amount;
      scratchDoubles[0] = after > STAKES_MIN ? after * growth : 0;
      if (Atomics.compareExchange(this.#bits, at, bits, scratchBits[0]) !== bits) continue;
      return before > STAKES_MIN ? before : 0;
    }
  }

  readUnsettled(slot: number, nowMs: number): number {
    const grown = this.#doubles[slot * DOUBLES + UNSETTLED]!;
    return grown === 0 ? 0 : grown / this.#computeGrowth(nowMs);
  }

  /**
   * Stakes are kept as what they would have grown to since the memory was made, at the rate at which they fade: so
   * stakes of different times add up in one word, without a lock.
   */
  #computeGrowth(nowMs: number): number {
    return 1 / computeFade(nowMs - this.#madeMs);
  }

  /**
   * Waits a moment for another thread that gives the slot to a new agent; one that is gone is not waited for.
   */
  #lock(at: number): void {
    for (let turn = 0; turn < LOCK_TURNS; turn += 1) {
      if (Atomics.compareExchange(this.#words, at + LOCK, 0, 1) === 0) return;
      Atomics.wait(this.#words, at + LOCK, 1, LOCK_WAIT_MS);
    }
  }

  #unlock(at: number): void {
    Atomics.store(this.#words, at + LOCK, 0);
    Atomics.notify(this.#words, at + LOCK);
  }

  /** Calls `visit` with what every agent holds. */
  visitHeld(nowMs: number, visit: HeldVisitor): void {
    const growth = this.#computeGrowth(nowMs);
    for (let slot = 0; slot < AGENT_SLOTS; slot += 1) {
      const amount = this.#doubles[slot * DOUBLES + UNSETTLED]! / growth;
      if (amount <= STAKES_MIN) continue;
      visit(this.#words[slot * WORDS]!, this.#words[slot * WORDS + KEY_HIGH]!, amount, nowMs);
    }
  }

  /** Puts back what `visitHeld` gave. */
  restore(key: HashKey, amount: number, timeMs: number): void {
    this.addUnsettled(this.claim(key, timeMs), amount, timeMs);
  }
}

/** Bit of an action in a day's sketch. */
export function selectActionBit({ low }: HashKey): number {
  return low & (SKETCH_BITS - 1);
}
