// Spread of what is in the log: which nodes have a place in force, asked of all of them at once.
import type { StreamMetrics } from "./metrics.ts";
import { pause } from "./retries.ts";

/** Questions to every node that is connected. */
export interface NodePolling {
  /** Replies that came in time, at most `countMax` of them. */
  collectReplies(question: string, countMax: number, ms: number): Promise<readonly string[]>;
  /** Answers the questions of others, and own ones; no reply where there is none. */
  serveReplies(reply: (question: string) => Promise<string | undefined>): void;
}

/**
 * Longest time in ms that a question is waited for. Not less than the age up to which a node says of a key that there is
 * none (`UNKNOWN_KEY_LAG_MS_MAX` of http): a key that was made is not refused elsewhere after its maker was told of it.
 */
export const COUNT_TIMEOUT_MS = 2000;
const POLL_INTERVAL_MS = 5;
/** More replies than there are nodes. */
const REPLIES_MAX = 1_000_000;

/** Names of nodes. */
export interface AppliedNodes {
  readonly applied: readonly string[];
  /** Living, and did not say so in time. */
  readonly missing: readonly string[];
  /** Whether the register of nodes could be read: otherwise others may live that are not named. */
  readonly isWhole: boolean;
}

export class AppliedNodeCounter {
  readonly #polling: NodePolling;
  readonly #node: string;
  readonly #figures: Pick<StreamMetrics, "applied" | "known">;

  constructor(
    polling: NodePolling,
    figures: Pick<StreamMetrics, "applied" | "known">,
    node: string,
  ) {
    this.#polling = polling;
    this.#figures = figures;
    this.#node = node;
    polling.serveReplies(async (question) => {
      const seq = Number(question);
      return Number.isSafeInteger(seq) && (await this.#waitUntilApplied(seq)) ? node : undefined;
    });
  }

  /**
   * Asks which nodes have in force everything that this node knows to be in the log now. Waits for the whole time where
   * `isWhole` is false: there may be living nodes that are not known here.
   */
  async askNodes(living: readonly string[], isWhole = true): Promise<AppliedNodes> {
    const known = new Set([...living, this.#node]);
    const question = String(this.#figures.known);
    const countMax = isWhole ? known.size : REPLIES_MAX;
    const replies = await this.#polling.collectReplies(question, countMax, COUNT_TIMEOUT_MS);
    const applied = new Set([...replies, this.#node]);
    const missing = [...known].filter((node) => !applied.has(node)).toSorted();
    return { applied: [...applied].toSorted(), missing, isWhole };
  }

  async #waitUntilApplied(seq: number): Promise<boolean> {
    for (let left = COUNT_TIMEOUT_MS; this.#figures.applied < seq; left -= POLL_INTERVAL_MS) {
      if (left <= 0) return false;
      await pause(POLL_INTERVAL_MS);
    }
    return true;
  }
}
