// Token buckets per class of work: of paid reads per key, of outcomes per tenant. Reads are unlimited unless
// the operator sets a limit: a gateway in front of every request of an enterprise must not meet a number we guessed
// (SPEC §8.5 gives none). Outcomes have a default limit, because each one takes disk space for good.
import type { Principal } from "../../contract/principal.ts";

export const RATE_CLASSES = ["score", "outcomes"] as const;
export type RateClass = (typeof RATE_CLASSES)[number];

/**
 * Refill in tokens per second, and capacity; each request takes one token, a batch one per item.
 */
export interface RateLimit {
  perSecond: number;
  burst: number;
}

/** Default limit of a tenant's outcomes per second. */
const OUTCOMES_PER_SECOND_DEFAULT = 1000;
/** Default limit of a tenant's outcomes at once. */
const OUTCOMES_BURST_DEFAULT = 100_000;
export const OUTCOME_RATE_DEFAULT: RateLimit = {
  perSecond: OUTCOMES_PER_SECOND_DEFAULT,
  burst: OUTCOMES_BURST_DEFAULT,
};

export type RateLimits = Partial<Record<RateClass, RateLimit | undefined>>;

/** Status for a limited caller: headers for every reply and, when refused, the seconds to wait. */
export interface RateStatus {
  headers: readonly string[];
  retryAfterSec: number | undefined;
}

/** Buckets shared by several threads, so that a limit is one limit. */
export interface RateBuckets {
  /** From `createBucketMemory`. */
  memory: SharedArrayBuffer;
  /** The number of a key, the same on every thread. */
  findKeyNumber: (keyId: string) => number;
}

/** Keys, and tenants, with a bucket of their own; one with a higher number shares the bucket of a lower one. */
const KEYS_MAX = 65_536;
/** A bucket: tokens spent and the time of that reckoning, then a lock. Zeros are a full bucket. */
const BUCKET_BYTES = 24;
const BUCKET_DOUBLES = BUCKET_BYTES / 8;
const BUCKET_WORDS = BUCKET_BYTES / 4;
const SPENT_INDEX = 0;
const UPDATED_AT_MS_INDEX = 1;
const LOCK_INDEX = 4;

/** Untouched pages of it take no memory. */
export function createBucketMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(KEYS_MAX * RATE_CLASSES.length * BUCKET_BYTES);
}

export class RateLimiter {
  readonly #limits: RateLimits;
  readonly #now: () => number;
  readonly #numbers: Float64Array;
  readonly #locks: Int32Array;
  readonly #findKeyNumber: (keyId: string) => number;
  readonly isUnlimited: boolean;

  constructor(limits: RateLimits, now: () => number, buckets?: RateBuckets) {
    this.#limits = limits;
    this.#now = now;
    this.isUnlimited = Object.values(limits).every((limit) => limit === undefined);
    for (const limit of Object.values(limits)) {
      if (limit !== undefined && !(limit.perSecond > 0 && limit.burst >= 1)) {
        throw new Error("a rate limit needs a positive rate and a burst of one or more");
      }
    }
    const { memory, findKeyNumber } = this.isUnlimited
      ? NO_BUCKETS
      : (buckets ?? createOwnBuckets());
    this.#numbers = new Float64Array(memory);
    this.#locks = new Int32Array(memory);
    this.#findKeyNumber = findKeyNumber;
  }

  /**
   * Takes `cost` tokens when at least one is there, else refuses. A batch may drive the bucket
   * below zero: it is served whole and the key waits the debt out.
   * @returns undefined when the caller has no limit in this class.
   */
  take(principal: Principal, rateClass: RateClass, cost: number): RateStatus | undefined {
    const limit = this.#findLimit(principal, rateClass);
    if (limit === undefined) return undefined;
    const bucket = this.#lockBucket(principal, rateClass);
    let tokens = limit.burst - this.#computeSpent(bucket, limit);
    const isRefused = tokens < 1;
    if (!isRefused) tokens -= cost;
    this.#storeAndUnlock(bucket, limit.burst - tokens);
    const waitSec = Math.max(1, Math.ceil((1 - tokens) / limit.perSecond));
    const remaining = Math.max(0, Math.floor(tokens));
    const windowSec = Math.max(1, Math.ceil(limit.burst / limit.perSecond));
    // draft-ietf-httpapi-ratelimit-headers: quota and window of the policy, and the remainder.
    const headers = [
      "RateLimit-Policy",
      `"${rateClass}";q=${limit.burst};w=${windowSec}`,
      "RateLimit",
      `"${rateClass}";r=${remaining};t=${waitSec}`,
    ];
    return { headers, retryAfterSec: isRefused ? waitSec : undefined };
  }

  /** Takes the cost of a batch beyond the token that its request already paid. */
  charge(principal: Principal, rateClass: RateClass, cost: number): void {
    const limit = this.#findLimit(principal, rateClass);
    if (limit === undefined || cost <= 0) return;
    const bucket = this.#lockBucket(principal, rateClass);
    this.#storeAndUnlock(bucket, this.#computeSpent(bucket, limit) + cost);
  }

  /** The operator vouches for what a first-party key or an administrator sends: their outcomes have no limit. */
  #findLimit(principal: Principal, rateClass: RateClass): RateLimit | undefined {
    const limit = this.#limits[rateClass];
    if (limit === undefined || rateClass !== "outcomes") return limit;
    return principal.isFirstParty || principal.scopes.has("admin") ? undefined : limit;
  }

  /**
   * Locks a bucket and returns its number. A lock is held only while two numbers are read and
   * written, so a thread that meets a lock tries again at once.
   */
  #lockBucket(principal: Principal, rateClass: RateClass): number {
    const holder =
      rateClass === "outcomes" ? principal.voice : this.#findKeyNumber(principal.keyId);
    const bucket = (holder % KEYS_MAX) * RATE_CLASSES.length + RATE_CLASSES.indexOf(rateClass);
    const lock = bucket * BUCKET_WORDS + LOCK_INDEX;
    while (Atomics.compareExchange(this.#locks, lock, 0, 1) !== 0);
    return bucket;
  }

  /** Tokens spent of a locked bucket, reckoned up to now. */
  #computeSpent(bucket: number, limit: RateLimit): number {
    const at = bucket * BUCKET_DOUBLES;
    const nowMs = this.#now();
    const reckonedMs = this.#numbers[at + UPDATED_AT_MS_INDEX]!;
    this.#numbers[at + UPDATED_AT_MS_INDEX] = nowMs;
    // A clock that went back refills nothing.
    const elapsedSec = Math.max(0, nowMs - reckonedMs) / 1000;
    return Math.max(0, this.#numbers[at + SPENT_INDEX]! - elapsedSec * limit.perSecond);
  }

  #storeAndUnlock(bucket: number, spent: number): void {
    this.#numbers[bucket * BUCKET_DOUBLES + SPENT_INDEX] = spent;
    Atomics.store(this.#locks, bucket * BUCKET_WORDS + LOCK_INDEX, 0);
  }
}

const NO_BUCKETS: RateBuckets = { memory: new SharedArrayBuffer(0), findKeyNumber: () => 0 };

/** Buckets of a single thread; keys are numbered as they come. */
function createOwnBuckets(): RateBuckets {
  const numbers = new Map<string, number>();
  return {
    memory: createBucketMemory(),
    findKeyNumber: (keyId) => {
      let number = numbers.get(keyId);
      if (number === undefined) numbers.set(keyId, (number = numbers.size));
      return number;
    },
  };
}
