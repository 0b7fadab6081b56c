// Callers that wait for the store to reach a position of the journal, each for a bounded time.
import { ServiceFault } from "../contract/faults.ts";

/** Callers at one time. */
const WAITING_MAX = 10_000;

interface PositionWaiter {
  readonly position: number;
  readonly timer: NodeJS.Timeout | undefined;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export class PositionWaiters {
  readonly #waiters = new Set<PositionWaiter>();

  /**
   * Resolves once `reached` is called with `position` or more.
   * @param waitMsMax longest wait; undefined: as long as it takes.
   * @param reachedNow position for the error.
   * @throws ServiceFault `store_behind` or `overloaded`, and the error given to `end`.
   */
  waitFor(
    position: number,
    waitMsMax: number | undefined,
    reachedNow: () => number,
  ): Promise<void> {
    if (this.#waiters.size >= WAITING_MAX) {
      return Promise.reject(new ServiceFault("overloaded", "too many wait for the store"));
    }
    return new Promise((resolve, reject) => {
      const late = () => {
        this.#waiters.delete(waiter);
        const detail = `position ${position} is not in the rows yet, they are at ${reachedNow()}`;
        reject(new ServiceFault("store_behind", detail));
      };
      const timer = waitMsMax === undefined ? undefined : setTimeout(late, waitMsMax);
      const waiter = { position, timer, resolve, reject };
      this.#waiters.add(waiter);
    });
  }

  /** Lets those go that waited for `position` or less. */
  resolveUpTo(position: number): void {
    for (const waiter of this.#waiters) {
      if (waiter.position > position) continue;
      this.#waiters.delete(waiter);
      clearTimeout(waiter.timer);
      waiter.resolve();
    }
  }

  /** Sends all away. */
  rejectAll(error: Error): void {
    for (const { timer, reject } of this.#waiters) {
      clearTimeout(timer);
      reject(error);
    }
    this.#waiters.clear();
  }
}
