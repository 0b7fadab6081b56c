// Queries that their callers can end, by the names that they were given. One that is ended is answered
// at once; what it has begun is interrupted, or keeps its place in the line until it comes to nothing.
import { ServiceFault } from "../../contract/faults.ts";
import { createQueryCancelledFault } from "../query/query.ts";

/** @throws ServiceFault of a query that was ended. */
export type CancellationCheck = () => void;

export class CancellableQueries {
  readonly #cancels = new Map<string, () => void>();

  /**
   * Runs `work`, until it is done or `cancel` is called with the name.
   * @throws ServiceFault `query_rejected` when it is ended, or another query of the name runs or waits;
   *   the errors of the work.
   */
  run<T>(name: string | undefined, work: (wanted: CancellationCheck) => Promise<T>): Promise<T> {
    if (name === undefined) return work(() => undefined);
    if (this.#cancels.has(name)) {
      return Promise.reject(
        new ServiceFault("query_rejected", "another query by this `query_id` runs or waits"),
      );
    }
    return new Promise<T>((resolve, reject) => {
      let isWanted = true;
      this.#cancels.set(name, () => {
        isWanted = false;
        this.#cancels.delete(name);
        reject(createQueryCancelledFault());
      });
      const assertWanted = () => {
        if (!isWanted) throw createQueryCancelledFault();
      };
      const forget = () => {
        if (isWanted) this.#cancels.delete(name);
      };
      work(assertWanted).finally(forget).then(resolve, reject);
    });
  }

  /** False when no query of the name runs or waits. */
  cancel(name: string): boolean {
    const cancel = this.#cancels.get(name);
    cancel?.();
    return cancel !== undefined;
  }
}
