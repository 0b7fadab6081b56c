// Budget of the decision log in bytes of records per day: buckets in shared memory for all deciding threads, and
// the sampling probability that their levels allow. The probability depends on earlier records only, never on the
// decision that is sampled by it, so that weights are unbiased under any arrival pattern.
import { DAY_MS } from "../../contract/units.ts";

/** Largest exponent of a sampling probability: at least one decision in 65,536 is kept. */
export const SAMPLE_EXPONENT_MAX = 16;
/** The buckets count in units of this many bytes. */
const UNIT_BYTES = 16;
const LARGEST_INT32 = 2 ** 31 - 1;
/** Share of a day's budget that can be saved up, for bursts. */
const SAVED_SHARE_OF_DAY = 1 / 4;
/** Largest budget: what can be saved up must fit the counters. 2,800 decisions a second, all day long. */
export const DECISIONS_MEBIBYTES_PER_DAY_MAX = 131_071;
/** Share of the budget that decisions kept first leave to the others: else these would have no sample at all. */
const OTHERS_SHARE = 1 / 4;
/** Shares of a bucket between which the probability falls from 1 to the smallest. */
const COMMON_LADDER_OF_OTHERS = [1 / 2, 1 / 4] as const;
const COMMON_LADDER_OF_FIRST = [1 / 4, 0] as const;
const OTHERS_LADDER = [3 / 4, 0] as const;
/**
 * Bytes a second that the others may take, some 2,100 records, and how many seconds of them can be saved up: at 80,000
 * verdicts a second whole records cost a quarter of a verdict's CPU.
 */
const SPEED_BYTES_PER_SECOND = 1.2 * 1024 * 1024;
const SPEED_SECONDS_SAVED = 4;
const SPEED_LADDER = [1 / 2, 0] as const;
/** So many of the others in a millisecond share a look at the buckets. */
const SELECTIONS_PER_LOOK = 64;
/** A clock that is behind by less has not been set back. */
const CLOCK_LAG_SECONDS = 3600;

/** Buckets: one for all decisions, and two for the others alone, of which one bounds their speed. */
const COMMON = 0;
const OTHERS = 1;
const REFILLED_SECOND = 2;
const SPEED = 3;
type Bucket = typeof COMMON | typeof OTHERS | typeof SPEED;
const BYTES_PER_DAY = 2;
const STARTED_MS = 3;
const BUDGET_BYTES = 32;

/** Full buckets for all threads. `bytesPerDay`: above 0; `nowMs`: epoch ms. */
export function createDecisionBudget(bytesPerDay: number, nowMs: number): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(BUDGET_BYTES);
  const settings = new Float64Array(memory);
  settings[BYTES_PER_DAY] = bytesPerDay;
  settings[STARTED_MS] = nowMs;
  const counters = new Int32Array(memory);
  counters.set(computeCapacities(bytesPerDay), COMMON);
  counters[SPEED] = SPEED_CAPACITY_UNITS;
  return memory;
}

const SPEED_UNITS_PER_SECOND = SPEED_BYTES_PER_SECOND / UNIT_BYTES;
const SPEED_CAPACITY_UNITS = SPEED_UNITS_PER_SECOND * SPEED_SECONDS_SAVED;

/** Units of each bucket of the day's budget. */
function computeCapacities(bytesPerDay: number): readonly [common: number, others: number] {
  const units = Math.min(LARGEST_INT32, (bytesPerDay * SAVED_SHARE_OF_DAY) / UNIT_BYTES);
  return [Math.ceil(units * (1 - OTHERS_SHARE)), Math.ceil(units * OTHERS_SHARE)];
}

/** One thread's access to the buckets. */
export class DecisionBudget {
  readonly #counters: Int32Array;
  readonly #capacities: readonly [common: number, others: number];
  readonly #unitsPerSecond: number;
  readonly #startedMs: number;
  /** That the last selection was made by. */
  #bucket: Bucket = COMMON;
  #isOther = false;
  /** Of the last look for the others: its time (epoch ms), how often it was used, and what it said. */
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #lookUses = 0;
  #othersExponent = 0;
  #othersBucket: Bucket = COMMON;

  constructor(memory: SharedArrayBuffer) {
    const settings = new Float64Array(memory);
    const bytesPerDay = settings[BYTES_PER_DAY]!;
    this.#counters = new Int32Array(memory);
    this.#capacities = computeCapacities(bytesPerDay);
    this.#unitsPerSecond = (bytesPerDay * 1000) / DAY_MS / UNIT_BYTES;
    this.#startedMs = settings[STARTED_MS]!;
  }

  /** k of the probability 2^-k with which the next decision is to be kept. `nowMs`: epoch ms. */
  selectExponent(isKeptFirst: boolean, nowMs: number): number {
    this.#isOther = !isKeptFirst;
    if (isKeptFirst) {
      this.#refill(nowMs);
      this.#bucket = COMMON;
      return computeLadderExponent(this.#computeCommonLevel(), COMMON_LADDER_OF_FIRST);
    }
    this.#lookUses += 1;
    if (nowMs !== this.#lookedAtMs || this.#lookUses > SELECTIONS_PER_LOOK)
      this.#lookForOthers(nowMs);
    this.#bucket = this.#othersBucket;
    return this.#othersExponent;
  }

  #lookForOthers(nowMs: number): void {
    this.#refill(nowMs);
    this.#lookedAtMs = nowMs;
    this.#lookUses = 1;
    this.#othersBucket = COMMON;
    const speed = Atomics.load(this.#counters, SPEED) / SPEED_CAPACITY_UNITS;
    this.#othersExponent = computeLadderExponent(speed, SPEED_LADDER);
    const ofCommon = computeLadderExponent(this.#computeCommonLevel(), COMMON_LADDER_OF_OTHERS);
    if (ofCommon === 0) return;
    const others = Atomics.load(this.#counters, OTHERS) / this.#capacities[OTHERS];
    const ofOthers = computeLadderExponent(others, OTHERS_LADDER);
    if (ofOthers < ofCommon) this.#othersBucket = OTHERS;
    this.#othersExponent = Math.max(this.#othersExponent, Math.min(ofCommon, ofOthers));
  }

  /** 0 to 1: how full the common bucket is. */
  #computeCommonLevel(): number {
    return Atomics.load(this.#counters, COMMON) / this.#capacities[COMMON];
  }

  /** Charges a record of that many bytes to the bucket of the last selection. */
  charge(bytes: number): void {
    const units = Math.ceil(bytes / UNIT_BYTES);
    this.#take(this.#bucket, units);
    if (this.#isOther) this.#take(SPEED, units);
  }

  #take(bucket: Bucket, units: number): void {
    const before = Atomics.sub(this.#counters, bucket, units);
    // An empty bucket owes nothing: the smallest probability may exceed the budget.
    if (before < units) Atomics.add(this.#counters, bucket, units - Math.max(0, before));
  }

  /** Returns bytes that were charged and are not stored, of denials counted in another's record. */
  refund(bytes: number): void {
    this.#add(COMMON, Math.trunc(bytes / UNIT_BYTES));
  }

  #refill(nowMs: number): void {
    const second = Math.floor((nowMs - this.#startedMs) / 1000);
    const last = Atomics.load(this.#counters, REFILLED_SECOND);
    // Threads look at the clock at slightly different times; one that was set back for long begins anew.
    if (second <= last && second > last - CLOCK_LAG_SECONDS) return;
    // One thread refills for a second.
    if (Atomics.compareExchange(this.#counters, REFILLED_SECOND, last, second) !== last) return;
    const rate = this.#unitsPerSecond;
    const ofOthers =
      Math.floor(second * rate * OTHERS_SHARE) - Math.floor(last * rate * OTHERS_SHARE);
    this.#add(OTHERS, ofOthers);
    this.#add(COMMON, Math.floor(second * rate) - Math.floor(last * rate) - ofOthers);
    this.#add(SPEED, Math.min(SPEED_SECONDS_SAVED, second - last) * SPEED_UNITS_PER_SECOND);
  }

  #add(bucket: Bucket, units: number): void {
    const capacity = bucket === SPEED ? SPEED_CAPACITY_UNITS : this.#capacities[bucket];
    const room = capacity - Atomics.load(this.#counters, bucket);
    if (room > 0 && units > 0) Atomics.add(this.#counters, bucket, Math.min(units, room));
  }
}

/** 0 while `level` is at least `from`, then in equal steps up to `exponentMax` at `to`. */
export function computeLadderExponent(
  level: number,
  [from, to]: readonly [from: number, to: number],
  exponentMax = SAMPLE_EXPONENT_MAX,
): number {
  if (level >= from) return 0;
  const steps = 1 + Math.floor(((from - level) / (from - to)) * exponentMax);
  return Math.min(exponentMax, steps);
}
