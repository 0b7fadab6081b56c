// Turns of the event loop, given out one at a time: a long answer is worked on in slices, and between
// two of them everybody else is answered, however many long answers there are.

export class EventLoopYield {
  readonly #waiting: (() => void)[] = [];
  #isDue = false;

  /** Resolves in a later turn of the event loop, for one caller in each. In order. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      this.#waiting.shift()?.();
      if (this.#waiting.length > 0) this.#schedule();
    });
  }
}
