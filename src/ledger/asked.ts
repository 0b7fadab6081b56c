// Questions to the ledger thread that it has not answered yet. It answers in order.

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export class Asked {
  readonly #waiting: Waiting[] = [];
  readonly #errorOf: (refusal: string) => Error;

  constructor(errorOf: (refusal: string) => Error) {
    this.#errorOf = errorOf;
  }

  /** Settles with the next answer that nobody before has waited for. */
  wait(): Promise<void> {
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  /** The oldest question is answered; `refusal` says why it is refused. */
  settle(refusal: string | undefined): void {
    const oldest = this.#waiting.shift();
    if (refusal === undefined) oldest?.resolve();
    else oldest?.reject(this.#errorOf(refusal));
  }

  rejectAll(error: Error): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}
