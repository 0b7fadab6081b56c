// Bounded line of callers: so many wait or run at one time, the next is refused at once.
import { ServiceFault } from "../contract/faults.ts";

export class Line {
  readonly #max: number;
  readonly #detail: string;
  readonly #bytesMax: number;
  #count = 0;
  #bytes = 0;

  /** `detail` tells a caller who is refused what there is too much of. */
  constructor(max: number, detail: string, bytesMax = Number.POSITIVE_INFINITY) {
    this.#max = max;
    this.#detail = detail;
    this.#bytesMax = bytesMax;
  }

  /**
   * Runs work that holds so many bytes while it waits; one alone is always let in.
   * @throws ServiceFault `overloaded` when `max` callers are in the line, or too many bytes.
   */
  async run<T>(work: () => Promise<T>, bytes = 0): Promise<T> {
    const isOver = this.#count >= this.#max || this.#bytes + bytes > this.#bytesMax;
    if (isOver && this.#count > 0) throw new ServiceFault("overloaded", this.#detail);
    this.#count += 1;
    this.#bytes += bytes;
    try {
      return await work();
    } finally {
      this.#count -= 1;
      this.#bytes -= bytes;
    }
  }
}
