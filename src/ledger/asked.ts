// Questions to the ledger thread that it has not answered yet. It answers in order.

interface PendingReply {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export class PendingReplies {
  readonly #pending: PendingReply[] = [];
  readonly #buildError: (refusal: string) => Error;

  constructor(errorOf: (refusal: string) => Error) {
    this.#buildError = errorOf;
  }

  /** Settles with the next answer that nobody before has waited for. */
  wait(): Promise<void> {
    return new Promise((resolve, reject) => this.#pending.push({ resolve, reject }));
  }

  /** The oldest question is answered; `refusal` says why it is refused. */
  settleOldest(refusal: string | undefined): void {
    const oldest = this.#pending.shift();
    if (refusal === undefined) oldest?.resolve();
    else oldest?.reject(this.#buildError(refusal));
  }

  rejectAll(error: Error): void {
    for (const { reject } of this.#pending.splice(0)) reject(error);
  }
}
