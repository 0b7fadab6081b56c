// Token buckets per key and class of work. Unlimited unless the operator sets a limit: a gateway in
// front of every request of an enterprise must not meet a number we guessed (SPEC §8.5 gives none).
import type { Principal } from "../contract/messages.ts";

export type RateClass = "score" | "outcomes";

/** `perSecond` tokens flow in, `burst` fit; each request takes one, a batch one per item. */
export interface RateLimit {
  perSecond: number;
  burst: number;
}

export type RateLimits = Partial<Record<RateClass, RateLimit>>;

/** What a limited caller is told: headers for every reply and, when refused, how long to wait. */
export interface RateStanding {
  headers: readonly string[];
  retryAfterSec: number | undefined;
}

interface Bucket {
  tokens: number;
  filledAtMs: number;
}

export class RateLimiter {
  readonly #limits: RateLimits;
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();
  readonly isUnlimited: boolean;

  constructor(limits: RateLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
    this.isUnlimited = Object.values(limits).every((limit) => limit === undefined);
    for (const limit of Object.values(limits)) {
      if (limit !== undefined && !(limit.perSecond > 0 && limit.burst >= 1)) {
        throw new Error("a rate limit needs a positive rate and a burst of one or more");
      }
    }
  }

  /**
   * Takes `cost` tokens when at least one is there, else refuses. A batch may drive the bucket
   * below zero: it is served whole and the key waits the debt out. Undefined: no limit for this
   * class.
   */
  take(principal: Principal, rateClass: RateClass, cost: number): RateStanding | undefined {
    const limit = this.#limits[rateClass];
    if (limit === undefined) return undefined;
    const bucket = this.#bucket(`${rateClass} ${principal.keyId}`, limit);
    const isRefused = bucket.tokens < 1;
    if (!isRefused) bucket.tokens -= cost;
    const waitSec = Math.max(1, Math.ceil((1 - bucket.tokens) / limit.perSecond));
    const remaining = Math.max(0, Math.floor(bucket.tokens));
    const windowSec = Math.max(1, Math.ceil(limit.burst / limit.perSecond));
    // draft-ietf-httpapi-ratelimit-headers: quota and window of the policy, what is left of it.
    const headers = [
      "RateLimit-Policy",
      `"${rateClass}";q=${limit.burst};w=${windowSec}`,
      "RateLimit",
      `"${rateClass}";r=${remaining};t=${waitSec}`,
    ];
    return { headers, retryAfterSec: isRefused ? waitSec : undefined };
  }

  /** Takes what a batch costs beyond the token its request already paid. */
  charge(principal: Principal, rateClass: RateClass, cost: number): void {
    const limit = this.#limits[rateClass];
    if (limit === undefined || cost <= 0) return;
    this.#bucket(`${rateClass} ${principal.keyId}`, limit).tokens -= cost;
  }

  /** The bucket, filled up to now. One per key and class: bounded by the keys that exist. */
  #bucket(name: string, limit: RateLimit): Bucket {
    const nowMs = this.#now();
    let bucket = this.#buckets.get(name);
    if (bucket === undefined) {
      bucket = { tokens: limit.burst, filledAtMs: nowMs };
      this.#buckets.set(name, bucket);
    }
    const elapsedSec = Math.max(0, nowMs - bucket.filledAtMs) / 1000;
    bucket.tokens = Math.min(limit.burst, bucket.tokens + elapsedSec * limit.perSecond);
    bucket.filledAtMs = nowMs;
    return bucket;
  }
}
