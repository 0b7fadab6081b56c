// Admission limit: bounds the tasks that run at one time by count and by bytes; one too many is rejected at once.
import { ServiceFault } from "../contract/faults.ts";

export interface AdmissionLimitOptions {
  /** Tasks at one time. */
  readonly countMax: number;
  /** Bytes that all tasks hold together; unbounded if not given. */
  readonly bytesMax?: number;
  /** Detail of the rejection, for the caller: what there is too much of. */
  readonly detail: string;
}

export class AdmissionLimit {
  /** Tasks that run now. */
  count = 0;
  /** Bytes that they hold. */
  bytes = 0;
  readonly #countMax: number;
  readonly #bytesMax: number;
  readonly #detail: string;

  constructor({ countMax, bytesMax = Number.POSITIVE_INFINITY, detail }: AdmissionLimitOptions) {
    this.#countMax = countMax;
    this.#bytesMax = bytesMax;
    this.#detail = detail;
  }

  /**
   * Runs `task`, which holds `bytes` until it settles. A task that would run alone is always admitted.
   * @throws ServiceFault `overloaded`, before `task` begins, when a bound would be exceeded.
   */
  async run<T>(task: () => Promise<T>, bytes = 0): Promise<T> {
    const isOver = this.count >= this.#countMax || this.bytes + bytes > this.#bytesMax;
    if (isOver && this.count > 0) throw new ServiceFault("overloaded", this.#detail);
    this.count += 1;
    this.bytes += bytes;
    try {
      return await task();
    } finally {
      this.count -= 1;
      this.bytes -= bytes;
    }
  }
}
