// Bounded line of callers: so many wait or run at one time, the next is refused at once.
import { ServiceFault } from "../contract/faults.ts";

export class Line {
  readonly #max: number;
  readonly #detail: string;
  #count = 0;

  /** `detail` tells a caller who is refused what there is too much of. */
  constructor(max: number, detail: string) {
    this.#max = max;
    this.#detail = detail;
  }

  /** @throws ServiceFault `overloaded` when `max` callers are in the line. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#count >= this.#max) throw new ServiceFault("overloaded", this.#detail);
    this.#count += 1;
    try {
      return await work();
    } finally {
      this.#count -= 1;
    }
  }
}
