// Effect of a change on the whole cluster: on how many of its nodes it is in force by now.
import { PendingCalls } from "../../concurrency/calls.ts";
import type { Effective } from "../../contract/schemas/service.ts";
import { COUNT_TIMEOUT_MS } from "../../stream/applied-nodes.ts";
import type { PropagationQuery } from "../../threads/stream.ts";

/** Beyond the time that nodes have for their answer: the stream thread's own. */
const GRACE_MS = 500;

export class ChangePropagation {
  readonly #ask: (question: PropagationQuery) => void;
  /** Nodes that told of themselves lately, this one among them. */
  readonly #known: () => number;
  readonly #calls = new PendingCalls();

  /** `ask` reaches the stream thread, whose answers come to `take`. */
  constructor(ask: (question: PropagationQuery) => void, known: () => number) {
    this.#ask = ask;
    this.#known = known;
  }

  /** Of what is in force here. Takes at most a second and a half, and never rejects. */
  async now(): Promise<Effective> {
    const of = Math.max(1, this.#known());
    const nodes = await this.#calls.start<number>((id) => {
      setTimeout(() => this.#calls.resolve(id, 0), COUNT_TIMEOUT_MS + GRACE_MS).unref();
      this.#ask({ id, of });
    });
    return { nodes: Math.max(1, nodes), of: Math.max(of, nodes) };
  }

  take({ id, nodes }: { readonly id: number; readonly nodes: number }): void {
    this.#calls.resolve(id, nodes);
  }
}
