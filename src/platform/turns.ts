// Turns of work that must not overlap: one piece after the other, each on the state left by the one before it.

export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Settles as the work does; a piece that fails holds up none behind it. */
  take<T>(work: () => Promise<T> | T): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }

  /** Resolves once what was begun until now has ended. */
  async ended(): Promise<void> {
    await this.#last;
  }
}
