// Yields to the event loop, one waiter per iteration: a long reply is computed in slices, and other requests are
// answered between two of them.

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
