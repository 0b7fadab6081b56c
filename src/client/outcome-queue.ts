// Outcomes on their way to the service: a bounded queue that never makes its caller wait and never
// throws. What does not fit is dropped and counted; what failed for the moment is tried again,
// which its id makes harmless.
import type { OutcomeRequest } from "../contract/messages.ts";
import type { TrustRankClient } from "./client.ts";
import { asTrustRankError, type TrustRankError } from "./errors.ts";
import { callSafely } from "./outage-alert.ts";
import { pause } from "./runtime.ts";

export interface OutcomeQueueOptions {
  readonly client: () => TrustRankClient;
  /** Outcomes waiting; the next one is dropped. Default 1,000. */
  readonly queuedMax?: number | undefined;
  /** Attempts per outcome; default 5. */
  readonly attemptsMax?: number | undefined;
  /** First pause between attempts, doubled each time, milliseconds; default 200. */
  readonly pauseMs?: number | undefined;
  /** Told of every outcome that was given up; for logs. */
  readonly onDrop?: ((drop: OutcomeDrop) => void | Promise<void>) | undefined;
}

export interface OutcomeDrop {
  readonly outcome: OutcomeRequest;
  readonly why: "queue_full" | "refused" | "attempts_used_up" | "no_time_left";
  readonly error?: TrustRankError;
}

const QUEUED_MAX = 1000;
const ATTEMPTS_MAX = 5;
const PAUSE_MS = 200;
const PAUSE_MS_MAX = 10_000;

export class OutcomeQueue {
  /** Since the start; every outcome offered ends in `sent` or `dropped`. */
  readonly counts = { offered: 0, sent: 0, dropped: 0, retried: 0 };
  readonly #options: OutcomeQueueOptions;
  readonly #waiting: OutcomeRequest[] = [];
  #worker: Promise<void> | undefined;
  #stop = new AbortController();

  constructor(options: OutcomeQueueOptions) {
    this.#options = options;
  }

  /** Outcomes not yet sent or given up. */
  get pendingCount(): number {
    return this.counts.offered - this.counts.sent - this.counts.dropped;
  }

  /** Takes an outcome; returns at once. */
  offer(outcome: OutcomeRequest): void {
    this.counts.offered += 1;
    if (this.#waiting.length >= (this.#options.queuedMax ?? QUEUED_MAX)) {
      this.#drop({ outcome, why: "queue_full" });
      return;
    }
    this.#waiting.push(outcome);
    this.#worker ??= this.#work();
  }

  /** Resolves when the queue is empty, or after `timeoutMs`, when what is left is dropped. */
  async flush(timeoutMs: number): Promise<void> {
    const finished = this.#worker;
    if (finished === undefined) return;
    const timer = new AbortController();
    await Promise.race([finished, pause(timeoutMs, timer.signal)]);
    timer.abort();
    if (this.#worker === undefined) return;
    this.#stop.abort();
    await this.#worker;
    this.#stop = new AbortController();
  }

  async #work(): Promise<void> {
    // Begins in a turn of its own: offering must cost the caller nothing.
    await Promise.resolve();
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      await this.#send(next);
    }
    this.#worker = undefined;
  }

  async #send(outcome: OutcomeRequest): Promise<void> {
    const { signal } = this.#stop;
    const attemptsMax = this.#options.attemptsMax ?? ATTEMPTS_MAX;
    let pauseMs = this.#options.pauseMs ?? PAUSE_MS;
    for (let attempt = 1; ; attempt += 1) {
      if (signal.aborted) return this.#drop({ outcome, why: "no_time_left" });
      try {
        await this.#options.client().reportOutcome(outcome, { signal });
        this.counts.sent += 1;
        return;
      } catch (thrown) {
        const error = asTrustRankError(thrown);
        if (signal.aborted) return this.#drop({ outcome, why: "no_time_left", error });
        if (!isTransient(error)) return this.#drop({ outcome, why: "refused", error });
        if (attempt >= attemptsMax) {
          return this.#drop({ outcome, why: "attempts_used_up", error });
        }
        this.counts.retried += 1;
        await pause(Math.max(pauseMs, error.retryAfterMs ?? 0), signal);
        pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX);
      }
    }
  }

  #drop(drop: OutcomeDrop): void {
    this.counts.dropped += 1;
    callSafely(this.#options.onDrop, drop);
  }
}

/** Worth another attempt: nobody answered, or the service said it cannot now. */
function isTransient(error: TrustRankError): boolean {
  if (error.code === "not_configured") return false;
  if (error.status === undefined) return true;
  return error.status === 429 || error.status >= 500;
}
