// Cache of verdicts by tool call: frameworks run a policy again after an approval or a restored session.
// Entries expire with the verdict, because some models repeat call ids across conversations.
import { VERDICT_TTL_MS } from "../../contract/limits.ts";
import { putBounded } from "../bounded-map.ts";
import type { HandshakeVerdict } from "../client.ts";
import { readMonotonicMs } from "../runtime.ts";
import type { ActionVerdict } from "./action-verdict.ts";

type ConnectionVerdict = ActionVerdict | HandshakeVerdict;

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
    putBounded(this.#entries, question, { answer, askedMs: nowMs }, QUESTIONS_MAX);
    return answer;
  }
}
