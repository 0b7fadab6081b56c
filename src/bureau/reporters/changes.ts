// Serial queue of changes to the reporters' registry: keys and namespaces change one after another, so
// that no right is judged by a registry that another change is about to alter.

export class Changes {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs a change after those before it, whether they failed or not. Rejects as `change`. */
  run<T>(change: () => Promise<T>): Promise<T> {
    const result = this.#last.then(change);
    this.#last = result.catch(() => undefined);
    return result;
  }
}
