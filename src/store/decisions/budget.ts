// Budget of the decision log in bytes of records per day: one bucket in shared memory for all deciding threads, and
// the sampling probability that its level allows. The probability depends on earlier records only, never on the id
// that is sampled by it, so that weights are unbiased under any arrival pattern.
import { DAY_MS } from "../../contract/units.ts";

/** Largest exponent of a sampling probability: at least one decision in 65,536 is kept. */
export const SAMPLE_EXPONENT_MAX = 16;
/** The bucket counts in units of this many bytes. */
const UNIT_BYTES = 16;
const UNITS_MAX = 2 ** 31 - 1;
/** Share of a day's budget that can be saved up, for bursts. */
const SAVED_SHARE_OF_DAY = 1 / 4;
/** Largest budget: what refills in a second must fit the counter. 2,500 decisions a second. */
export const DECISIONS_MEBIBYTES_PER_DAY_MAX = 131_071;
/** Shares of the bucket between which the probability falls, of other decisions and of those kept first. */
const OTHERS_FROM = 1 / 2;
const OTHERS_TO = 1 / 8;

/** A clock that is behind by less has not been set back. */
const CLOCK_BACK_SECONDS_MAX = 3600;

const LEVEL = 0;
const REFILLED_SECOND = 1;
const BYTES_PER_DAY = 1;
const STARTED_MS = 2;
const BUDGET_BYTES = 24;

/** A full bucket for all threads. `bytesPerDay`: above 0; `nowMs`: epoch ms. */
export function createDecisionBudget(bytesPerDay: number, nowMs: number): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(BUDGET_BYTES);
  const settings = new Float64Array(memory);
  settings[BYTES_PER_DAY] = bytesPerDay;
  settings[STARTED_MS] = nowMs;
  new Int32Array(memory)[LEVEL] = computeCapacityUnits(bytesPerDay);
  return memory;
}

function computeCapacityUnits(bytesPerDay: number): number {
  const units = Math.ceil((bytesPerDay * SAVED_SHARE_OF_DAY) / UNIT_BYTES);
  return Math.min(UNITS_MAX, units);
}

/** One thread's access to the bucket. */
export class DecisionBudget {
  readonly #counters: Int32Array;
  readonly #capacity: number;
  readonly #unitsPerSecond: number;
  readonly #startedMs: number;

  constructor(memory: SharedArrayBuffer) {
    const settings = new Float64Array(memory);
    const bytesPerDay = settings[BYTES_PER_DAY]!;
    this.#counters = new Int32Array(memory);
    this.#capacity = computeCapacityUnits(bytesPerDay);
    this.#unitsPerSecond = (bytesPerDay * 1000) / DAY_MS / UNIT_BYTES;
    this.#startedMs = settings[STARTED_MS]!;
  }

  /** k of the probability 2^-k with which the next decision is to be kept. `nowMs`: epoch ms. */
  selectExponent(isKeptFirst: boolean, nowMs: number): number {
    this.#refill(nowMs);
    const level = Atomics.load(this.#counters, LEVEL) / this.#capacity;
    return isKeptFirst
      ? computeLadderExponent(level, OTHERS_TO, 0)
      : computeLadderExponent(level, OTHERS_FROM, OTHERS_TO);
  }

  /** Charges a record of that many bytes. */
  charge(bytes: number): void {
    const units = Math.ceil(bytes / UNIT_BYTES);
    const before = Atomics.sub(this.#counters, LEVEL, units);
    // An empty bucket owes nothing: the smallest probability may exceed the budget.
    if (before < units) Atomics.add(this.#counters, LEVEL, units - Math.max(0, before));
  }

  /** Returns bytes that were charged and are not stored, of denials counted in another's record. */
  refund(bytes: number): void {
    this.#add(Math.trunc(bytes / UNIT_BYTES));
  }

  #refill(nowMs: number): void {
    const second = Math.floor((nowMs - this.#startedMs) / 1000);
    const last = Atomics.load(this.#counters, REFILLED_SECOND);
    // Threads look at the clock at slightly different times; one that was set back for long begins anew.
    if (second <= last && second > last - CLOCK_BACK_SECONDS_MAX) return;
    // One thread refills for a second.
    if (Atomics.compareExchange(this.#counters, REFILLED_SECOND, last, second) !== last) return;
    const rate = this.#unitsPerSecond;
    const units = Math.floor(second * rate) - Math.floor(last * rate);
    if (units > 0) this.#add(Math.min(units, this.#capacity));
  }

  #add(units: number): void {
    const room = this.#capacity - Atomics.load(this.#counters, LEVEL);
    if (room > 0) Atomics.add(this.#counters, LEVEL, Math.min(units, room));
  }
}

/** 0 while `level` is at least `from`, then in equal steps up to the largest exponent at `to`. */
export function computeLadderExponent(level: number, from: number, to: number): number {
  if (level >= from) return 0;
  const steps = 1 + Math.floor(((from - level) / (from - to)) * SAMPLE_EXPONENT_MAX);
  return Math.min(SAMPLE_EXPONENT_MAX, steps);
}

/**
 * Whether a decision is kept with probability 2^-`exponent`, by a hash of its id: both legs of a handshake are, and
 * whatever a larger exponent keeps a smaller one keeps. Independent of the audit sample, another hash of the id.
 */
export function isInDecisionSample(requestId: string, exponent: number): boolean {
  let hash = 0x9747b28c;
  for (let index = 0; index < requestId.length; index += 1) {
    hash = Math.imul(hash ^ requestId.charCodeAt(index), 0x5bd1e995);
    hash ^= hash >>> 15;
  }
  // The mixing steps of MurmurHash3: the upper bits depend on every character.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return exponent === 0 || (hash ^ (hash >>> 16)) >>> (32 - exponent) === 0;
}
