// Spread of a change over the nodes of a cluster: where it is in force, who has not said so, and from when on no node
// acts against it.
import { PendingCalls } from "../../concurrency/calls.ts";
import type { Effective } from "../../contract/schemas/service.ts";
import { type AppliedNodes, COUNT_TIMEOUT_MS } from "../../stream/applied-nodes.ts";
import type { PropagationQuery } from "../../threads/stream.ts";

/** Beyond the time that nodes have for their answer: the stream thread's own. */
const GRACE_MS = 500;

export interface PropagationOptions {
  /** Reaches the stream thread, whose answers come to `take`. */
  readonly ask: (question: PropagationQuery) => void;
  /** This node. */
  readonly node: string;
  /** Nodes that have told of themselves, for a stream thread that does not answer. */
  readonly listOthers: () => readonly string[];
  /** Ms after which a node that does not hear of its cluster takes no key any more. */
  readonly boundMs: number;
  /** Epoch ms. */
  readonly clock: () => number;
}

export class ChangePropagation {
  readonly #options: PropagationOptions;
  readonly #calls = new PendingCalls();

  constructor(options: PropagationOptions) {
    this.#options = options;
  }

  /** Of what is in force here. Takes at most two and a half seconds, and never rejects. */
  async now(): Promise<Effective> {
    const { ask, node, listOthers, boundMs, clock } = this.#options;
    const certainMs = clock() + boundMs;
    const unanswered = (): AppliedNodes => {
      const missing = listOthers().filter((other) => other !== node);
      return { applied: [node], missing, isWhole: false };
    };
    const { applied, missing, isWhole } = await this.#calls.start<AppliedNodes>((id) => {
      const answer = () => this.#calls.resolve(id, unanswered());
      setTimeout(answer, COUNT_TIMEOUT_MS + GRACE_MS).unref();
      ask({ id });
    });
    return {
      nodes: applied.length,
      of: applied.length + missing.length,
      missing: [...missing],
      certain_at: new Date(isWhole && missing.length === 0 ? clock() : certainMs).toISOString(),
    };
  }

  take({ id, ...nodes }: { readonly id: number } & AppliedNodes): void {
    this.#calls.resolve(id, nodes);
  }
}
