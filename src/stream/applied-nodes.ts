// Spread of what is in the log: how many nodes have a place in force, asked of all of them at once.
import type { StreamMetrics } from "./metrics.ts";
import { pause } from "./retries.ts";

/** Questions to every node that is connected. */
export interface NodePolling {
  /** Replies that came in time, at most `countMax` of them. */
  collectReplies(question: string, countMax: number, ms: number): Promise<readonly string[]>;
  /** Answers the questions of others, and own ones; no reply where there is none. */
  serveReplies(reply: (question: string) => Promise<string | undefined>): void;
}

/** Longest time in ms that a question is waited for. */
export const COUNT_TIMEOUT_MS = 1000;
const POLL_INTERVAL_MS = 5;

export class AppliedNodeCounter {
  readonly #polling: NodePolling;
  readonly #figures: Pick<StreamMetrics, "applied" | "known">;

  constructor(
    polling: NodePolling,
    figures: Pick<StreamMetrics, "applied" | "known">,
    node: string,
  ) {
    this.#polling = polling;
    this.#figures = figures;
    polling.serveReplies(async (question) => {
      const seq = Number(question);
      return Number.isSafeInteger(seq) && (await this.#waitUntilApplied(seq)) ? node : undefined;
    });
  }

  /** Nodes with everything in force that this node knows to be in the log now; `of` are known. */
  async countNodes(of: number): Promise<number> {
    const replies = await this.#polling.collectReplies(
      String(this.#figures.known),
      of,
      COUNT_TIMEOUT_MS,
    );
    return new Set(replies).size;
  }

  async #waitUntilApplied(seq: number): Promise<boolean> {
    for (let left = COUNT_TIMEOUT_MS; this.#figures.applied < seq; left -= POLL_INTERVAL_MS) {
      if (left <= 0) return false;
      await pause(POLL_INTERVAL_MS);
    }
    return true;
  }
}
