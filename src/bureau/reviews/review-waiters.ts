// Readers that wait for reviews to be decided. Bounded; released when the service ends. Their time is
// looked at by whoever calls `sweep`, so that a thousand of them are one timer.
import { ServiceFault } from "../../contract/faults.ts";

/** Readers that may wait at one time. */
export const REVIEW_WAITERS_MAX = 2000;

interface ReviewWaiter {
  readonly id: string;
  readonly untilMs: number;
  readonly end: () => void;
}

export class ReviewWaiters {
  readonly #clock: () => number;
  readonly #byId = new Map<string, Set<ReviewWaiter>>();
  #count = 0;
  #isReleased = false;

  /** `clock`: epoch ms. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  get count(): number {
    return this.#count;
  }

  /** Readers that wait for one review. */
  countForReview(id: string): number {
    return this.#byId.get(id)?.size ?? 0;
  }

  /**
   * Resolves when the review is settled, after `waitMs`, or when all are released.
   * @throws ServiceFault `overloaded` when too many wait.
   */
  async waitForReview(id: string, waitMs: number): Promise<void> {
    if (this.#isReleased || waitMs <= 0) return;
    if (this.#count >= REVIEW_WAITERS_MAX) {
      throw new ServiceFault("overloaded", "too many wait for reviews: ask without `wait`");
    }
    await new Promise<void>((end) => {
      const waiters = this.#byId.get(id) ?? new Set();
      this.#byId.set(id, waiters.add({ id, untilMs: this.#clock() + waitMs, end }));
      this.#count += 1;
    });
  }

  /** Ends the wait for a review. */
  endForReview(id: string): void {
    for (const waiter of this.#byId.get(id) ?? []) this.#endWaiter(waiter);
  }

  /** Ends those whose time is over. Call it a few times a second. */
  endExpired(): void {
    const nowMs = this.#clock();
    for (const waiters of this.#byId.values()) {
      for (const waiter of waiters) if (waiter.untilMs <= nowMs) this.#endWaiter(waiter);
    }
  }

  /** Ends all, and lets nobody wait from now on. */
  endAll(): void {
    this.#isReleased = true;
    for (const id of this.#byId.keys()) this.endForReview(id);
  }

  #endWaiter(waiter: ReviewWaiter): void {
    const waiters = this.#byId.get(waiter.id);
    if (waiters?.delete(waiter) !== true) return;
    if (waiters.size === 0) this.#byId.delete(waiter.id);
    this.#count -= 1;
    waiter.end();
  }
}
