// Bound on calls that run or wait at one time: more are refused at once.
import { ServiceFault } from "../contract/faults.ts";

export class Bounded {
  readonly #countMax: number;
  readonly #detail: string;
  #count = 0;

  /** `detail` completes the fault. */
  constructor(countMax: number, detail: string) {
    this.#countMax = countMax;
    this.#detail = detail;
  }

  /** @throws ServiceFault `overloaded`; the errors of `work`. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#count >= this.#countMax) throw new ServiceFault("overloaded", this.#detail);
    this.#count++;
    try {
      return await work();
    } finally {
      this.#count--;
    }
  }
}
