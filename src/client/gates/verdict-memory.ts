// Memory of verdicts by tool call: frameworks run a policy a second time after a person approved or
// a session was restored. One paid read per call for as long as a verdict lives, and no longer:
// some models give every conversation's first call the same name.
import { VERDICT_TTL_MS } from "../../contract/limits.ts";
import type { CheckVerdict, HandshakeVerdict } from "../client.ts";
import { readMonotonicMs } from "../runtime.ts";

type ConnectionVerdict = CheckVerdict | HandshakeVerdict;

interface CachedToolVerdict {
  readonly answer: Promise<ConnectionVerdict>;
  readonly askedMs: number;
}

/** Questions remembered. */
const QUESTIONS_MAX = 10_000;

export class ToolVerdictCache {
  readonly #entries = new Map<string, CachedToolVerdict>();
  readonly #monotonic: () => number;

  constructor(monotonic = readMonotonicMs) {
    this.#monotonic = monotonic;
  }

  /**
   * The verdict on `question`, which names the call as far as the framework does and holds the
   * inputs of the answer. The same one for the five minutes that a verdict lives (SPEC §8.3), then
   * a new one. A fault is no verdict and is forgotten at once: an outage denies while it lasts.
   */
  findOrRead(question: string, read: () => Promise<ConnectionVerdict>): Promise<ConnectionVerdict> {
    const nowMs = this.#monotonic();
    const before = this.#entries.get(question);
    if (before !== undefined && nowMs - before.askedMs < VERDICT_TTL_MS) return before.answer;
    const answer = read();
    answer.catch(() => {
      if (this.#entries.get(question)?.answer === answer) this.#entries.delete(question);
    });
    this.#entries.delete(question);
    this.#entries.set(question, { answer, askedMs: nowMs });
    if (this.#entries.size > QUESTIONS_MAX) this.#forgetOldest();
    return answer;
  }

  #forgetOldest(): void {
    for (const question of this.#entries.keys()) {
      this.#entries.delete(question);
      return;
    }
  }
}
