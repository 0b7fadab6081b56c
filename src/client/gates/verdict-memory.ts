// Memory of verdicts by tool call: frameworks run a policy a second time after a person approved or
// a session was restored. One paid read per call for as long as a verdict lives, and no longer:
// some models give every conversation's first call the same name.
import { VERDICT_TTL_MS } from "../../contract/limits.ts";
import type { CheckVerdict, HandshakeVerdict } from "../client.ts";
import { monotonicClock } from "../runtime.ts";

type AnyVerdict = CheckVerdict | HandshakeVerdict;

interface Remembered {
  readonly answer: Promise<AnyVerdict>;
  readonly askedMs: number;
}

/** Questions remembered. */
const QUESTIONS_MAX = 10_000;

export class VerdictMemory {
  readonly #questions = new Map<string, Remembered>();
  readonly #monotonic: () => number;

  constructor(monotonic = monotonicClock) {
    this.#monotonic = monotonic;
  }

  /**
   * The verdict on `question`, which names the call as far as the framework does and holds the
   * inputs of the answer. The same one for the five minutes that a verdict lives (SPEC §8.3), then
   * a new one. A fault is no verdict and is forgotten at once: an outage denies while it lasts.
   */
  recall(question: string, read: () => Promise<AnyVerdict>): Promise<AnyVerdict> {
    const nowMs = this.#monotonic();
    const before = this.#questions.get(question);
    if (before !== undefined && nowMs - before.askedMs < VERDICT_TTL_MS) return before.answer;
    const answer = read();
    answer.catch(() => {
      if (this.#questions.get(question)?.answer === answer) this.#questions.delete(question);
    });
    this.#questions.delete(question);
    this.#questions.set(question, { answer, askedMs: nowMs });
    if (this.#questions.size > QUESTIONS_MAX) this.#forgetOldest();
    return answer;
  }

  #forgetOldest(): void {
    for (const question of this.#questions.keys()) {
      this.#questions.delete(question);
      return;
    }
  }
}
