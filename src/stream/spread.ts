// Spread of what is in the log: how many nodes have a place in force, asked of all of them at once.
import type { StreamFigures } from "./figures.ts";
import { pause } from "./tries.ts";

/** Questions to every node that is connected. */
export interface Polling {
  /** Replies that came in time, at most `countMax` of them. */
  ask(question: string, countMax: number, ms: number): Promise<readonly string[]>;
  /** Answers the questions of others, and own ones; no reply where there is none. */
  answer(reply: (question: string) => Promise<string | undefined>): void;
}

/** Longest time in ms that a question is waited for. */
export const SPREAD_MS = 1000;
const LOOK_MS = 5;

export class Spread {
  readonly #polling: Polling;
  readonly #figures: Pick<StreamFigures, "applied" | "known">;

  constructor(polling: Polling, figures: Pick<StreamFigures, "applied" | "known">, node: string) {
    this.#polling = polling;
    this.#figures = figures;
    polling.answer(async (question) => {
      const seq = Number(question);
      return Number.isSafeInteger(seq) && (await this.#isApplied(seq)) ? node : undefined;
    });
  }

  /** Nodes with everything in force that this node knows to be in the log now; `of` are known. */
  async count(of: number): Promise<number> {
    const replies = await this.#polling.ask(String(this.#figures.known), of, SPREAD_MS);
    return new Set(replies).size;
  }

  async #isApplied(seq: number): Promise<boolean> {
    for (let left = SPREAD_MS; this.#figures.applied < seq; left -= LOOK_MS) {
      if (left <= 0) return false;
      await pause(LOOK_MS);
    }
    return true;
  }
}
