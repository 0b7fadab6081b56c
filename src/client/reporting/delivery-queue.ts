// Delivery queue for reports: bounded, never makes its caller wait and never throws. Sends waiting
// items together, drops and counts items that do not fit, and retries items after transient
// failures. A lost item is passed to `onDrop`, or logged once as a warning.
import { convertToTrustRankError, describeError, type TrustRankError } from "../errors.ts";
import { callSafely } from "../outage-alert.ts";
import { pause } from "../runtime.ts";
import { LossWarnings } from "./loss-warnings.ts";

export interface DeliveryOptions<Item> {
  /** An item in words, for warnings: `an outcome`. */
  readonly itemName: string;
  /**
   * Sends a few items together; one result each, in order: undefined when accepted, else the
   * reason. A rejection is the result of them all.
   */
  readonly send: (
    items: readonly Item[],
    signal: AbortSignal,
  ) => Promise<readonly (TrustRankError | undefined)[]>;
  /** Most items sent together. */
  readonly togetherMax: number;
  /** Items waiting; the next one is dropped. Default 1,000. */
  readonly queuedMax?: number | undefined;
  /** Attempts per item; default 5. */
  readonly attemptsMax?: number | undefined;
  /** First pause between attempts, doubled each time, milliseconds; default 200. */
  readonly pauseMs?: number | undefined;
  /** Called for every dropped item, in place of the warnings. */
  readonly onDrop?: ((drop: DroppedItem<Item>) => void) | undefined;
}

/** A dropped item, with the reason. */
export interface DroppedItem<Item> {
  readonly item: Item;
  readonly why: "queue_full" | "refused" | "attempts_used_up" | "no_time_left";
  /** Result of the last attempt; absent when there was none. */
  readonly error?: TrustRankError;
}

const DROP_REASONS: Readonly<Record<DroppedItem<unknown>["why"], string>> = {
  queue_full: "the queue is full",
  refused: "the service refused it",
  attempts_used_up: "all attempts failed",
  no_time_left: "the flush ran out of time",
};
const QUEUED_MAX = 1000;
const ATTEMPTS_MAX = 5;
const PAUSE_MS = 200;
const PAUSE_MS_MAX = 10_000;

export class DeliveryQueue<Item> {
  /** Since the start; every item offered ends in `sent` or `dropped`. */
  readonly counts = { offered: 0, sent: 0, dropped: 0, retried: 0 };
  readonly #options: DeliveryOptions<Item>;
  readonly #waiting: Item[] = [];
  #worker: Promise<void> | undefined;
  #stop = new AbortController();
  readonly #warnings = new LossWarnings();

  constructor(delivery: DeliveryOptions<Item>) {
    this.#options = delivery;
  }

  /** Items neither sent nor dropped yet. */
  get pendingCount(): number {
    return this.counts.offered - this.counts.sent - this.counts.dropped;
  }

  /** Takes an item; returns at once, and never throws. */
  offer(item: Item): void {
    this.counts.offered += 1;
    if (this.#waiting.length >= (this.#options.queuedMax ?? QUEUED_MAX)) {
      this.#drop({ item, why: "queue_full" });
      return;
    }
    this.#waiting.push(item);
    this.#worker ??= this.#deliverQueued();
  }

  /** Resolves when the queue is empty, or after `timeoutMs`; the rest is dropped then. */
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

  async #deliverQueued(): Promise<void> {
    // Begins in a turn of its own: offering must cost the caller nothing.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      await this.#deliverWithRetries(this.#waiting.splice(0, this.#options.togetherMax));
    }
    this.#worker = undefined;
  }

  async #deliverWithRetries(items: readonly Item[]): Promise<void> {
    const { signal } = this.#stop;
    const attemptsMax = this.#options.attemptsMax ?? ATTEMPTS_MAX;
    let pauseMs = this.#options.pauseMs ?? PAUSE_MS;
    let left = items.map((item): FailedItem<Item> => ({ item, error: undefined }));
    for (let attempt = 1; ; attempt += 1) {
      if (!signal.aborted) left = await this.#sendOnce(left, signal);
      if (left.length === 0) return;
      if (signal.aborted) return this.#dropAll(left, "no_time_left");
      if (attempt >= attemptsMax) return this.#dropAll(left, "attempts_used_up");
      this.counts.retried += left.length;
      const advisedMs = Math.max(...left.map(({ error }) => error?.retryAfterMs ?? 0));
      await pause(Math.max(pauseMs, advisedMs), signal);
      pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX);
    }
  }

  /** Sends items once; returns those to retry. */
  async #sendOnce(
    items: readonly FailedItem<Item>[],
    signal: AbortSignal,
  ): Promise<FailedItem<Item>[]> {
    const results = await this.#sendAndCatch(
      items.map(({ item }) => item),
      signal,
    );
    const again: FailedItem<Item>[] = [];
    for (const [index, { item }] of items.entries()) {
      const error = results[index];
      if (error === undefined) {
        this.counts.sent += 1;
        this.#warnings.recordSuccess();
      } else if (error.isTransient || error.code === "aborted") again.push({ item, error });
      else this.#drop({ item, why: "refused", error });
    }
    return again;
  }

  async #sendAndCatch(
    items: readonly Item[],
    signal: AbortSignal,
  ): Promise<readonly (TrustRankError | undefined)[]> {
    try {
      return await this.#options.send(items, signal);
    } catch (thrown) {
      const error = convertToTrustRankError(thrown);
      return items.map(() => error);
    }
  }

  #dropAll(items: readonly FailedItem<Item>[], why: DroppedItem<Item>["why"]): void {
    for (const { item, error } of items) {
      this.#drop(error === undefined ? { item, why } : { item, why, error });
    }
  }

  #drop(drop: DroppedItem<Item>): void {
    this.counts.dropped += 1;
    const { onDrop, itemName } = this.#options;
    if (onDrop !== undefined) return callSafely(onDrop, drop);
    const { why, error } = drop;
    const detail = error === undefined ? "" : ` (${describeError(error)})`;
    const text = `${itemName} was not delivered: ${DROP_REASONS[why]}${detail}; more of the same are only counted`;
    this.#warnings.warn(`${why} ${error?.code ?? ""}`, text);
  }
}

interface FailedItem<Item> {
  readonly item: Item;
  readonly error: TrustRankError | undefined;
}
