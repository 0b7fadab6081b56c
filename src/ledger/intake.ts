// Bound on one kind of work that waits, by count and by bytes: beyond it the caller is told to come
// again. A kind with a bound of its own cannot take the room of the others.
import { ServiceFault } from "../contract/faults.ts";

export class Intake {
  count = 0;
  bytes = 0;
  readonly #what: string;
  readonly #countMax: number;
  readonly #bytesMax: number;

  /** `what` is named in the refusal: `too many <what> are waiting`. */
  constructor(what: string, countMax: number, bytesMax: number) {
    this.#what = what;
    this.#countMax = countMax;
    this.#bytesMax = bytesMax;
  }

  /**
   * Runs work of so many bytes and counts it while it runs. One alone is always let in.
   * @throws ServiceFault `overloaded`, before `work` begins, when too much runs already.
   */
  async run<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    const isOver = this.count >= this.#countMax || this.bytes + bytes > this.#bytesMax;
    if (isOver && this.count > 0) {
      throw new ServiceFault("overloaded", `too many ${this.#what} are waiting`);
    }
    this.count += 1;
    this.bytes += bytes;
    try {
      return await work();
    } finally {
      this.count -= 1;
      this.bytes -= bytes;
    }
  }
}
