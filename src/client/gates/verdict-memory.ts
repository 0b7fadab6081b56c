// Memory of verdicts by tool call: frameworks run a policy a second time after a person approved or
// a session was restored. One paid read per call, and a later answer can only be as strict or
// stricter.
import { VERDICT_TTL_MS } from "../../contract/limits.ts";
import { DECISIONS } from "../../contract/vocabulary.ts";
import type { CheckVerdict, HandshakeVerdict } from "../client.ts";
import { monotonicClock } from "../runtime.ts";

type AnyVerdict = CheckVerdict | HandshakeVerdict;

interface Remembered {
  /** Rejections too: a call once denied for a fault stays denied. */
  readonly answer: Promise<AnyVerdict>;
  readonly askedMs: number;
}

/** Calls remembered; parked ones may wait for a person for days. */
const CALLS_MAX = 10_000;

export class VerdictMemory {
  readonly #calls = new Map<string, Remembered>();
  readonly #monotonic: () => number;

  constructor(monotonic = monotonicClock) {
    this.#monotonic = monotonic;
  }

  /**
   * The verdict for `callId` and the inputs of the question. Within the five minutes that a verdict
   * lives (SPEC §8.3) the same one; later a new one, or the old one if the new is milder. A call
   * without an id shares the verdict of its question for as long as that lives, faults apart: some
   * frameworks ask about one call twice and name it neither time.
   */
  recall(
    callId: string | undefined,
    dependsOn: string,
    read: () => Promise<AnyVerdict>,
  ): Promise<AnyVerdict> {
    const key = JSON.stringify([callId ?? null, dependsOn]);
    const nowMs = this.#monotonic();
    const before = this.#calls.get(key);
    if (before !== undefined && nowMs - before.askedMs < VERDICT_TTL_MS) return before.answer;
    const isFirst = before === undefined || callId === undefined;
    const answer = isFirst ? read() : stricterOf(before.answer, read);
    if (callId === undefined) {
      answer.catch(() => {
        if (this.#calls.get(key)?.answer === answer) this.#calls.delete(key);
      });
    }
    this.#calls.delete(key);
    this.#calls.set(key, { answer, askedMs: nowMs });
    if (this.#calls.size > CALLS_MAX) this.#forgetOldest();
    return answer;
  }

  #forgetOldest(): void {
    for (const key of this.#calls.keys()) {
      this.#calls.delete(key);
      return;
    }
  }
}

async function stricterOf(
  before: Promise<AnyVerdict>,
  read: () => Promise<AnyVerdict>,
): Promise<AnyVerdict> {
  const old = await before;
  const fresh = await read();
  const isMilder = DECISIONS.indexOf(fresh.decision) < DECISIONS.indexOf(old.decision);
  return isMilder ? old : fresh;
}
