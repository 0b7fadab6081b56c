// Serial queue: tasks run one after another in the order in which they were added.

export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `task` after all tasks added before it, whether they failed or not. Settles as the task does. */
  run<T>(task: () => Promise<T> | T): Promise<T> {
    const result = this.#last.then(task);
    this.#last = result.catch(() => undefined);
    return result;
  }

  /** Resolves once every task added until now has ended. Never rejects. */
  async drained(): Promise<void> {
    await this.#last;
  }
}
