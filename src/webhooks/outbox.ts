// Outbox of one endpoint: the events read for it and not delivered, in lanes of one agent each. Of a
// lane only the first is under way, so order holds; a lane that fails holds back no other. When all
// fail, the endpoint is down: one event is tried now and then, and the rest waits unharmed.
import type { OutgoingWebhookEvent } from "./event.ts";

// Times between attempts: exponential with jitter, for a day. Then an event is a dead letter.
const FIRST_DELAY_MS = 5000;
const GROWTH_FACTOR = 3;
const LONGEST_DELAY_MS = 3_600_000;
/** Attempts of one event go on for so long after its first. */
export const RETRY_PERIOD_MS = 24 * 3_600_000;
/** While an endpoint fails altogether it is asked this often at least: a day's backlog should not wait. */
const PROBE_DELAY_MS = 900_000;
/** Share of a delay that chance takes off, so that endpoints which failed together do not return so. */
const JITTER_SHARE = 0.5;

/** Delay after the `failures`-th failure of an event (from 1). `chance` is in [0, 1). */
export function computeRetryDelayMs(failures: number, chance: number): number {
  return applyJitter(
    Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * GROWTH_FACTOR ** Math.min(failures - 1, 20)),
    chance,
  );
}

/** Delay before an endpoint that fails altogether is asked again. */
export function computeProbeDelayMs(failures: number, chance: number): number {
  return Math.min(PROBE_DELAY_MS, computeRetryDelayMs(failures, chance));
}

/** What a receiver asks for with `Retry-After`, within reason. */
export function clampRetryAfterMs(retryAfterSec: number | undefined): number {
  return Math.min(LONGEST_DELAY_MS, (retryAfterSec ?? 0) * 1000);
}

function applyJitter(ms: number, chance: number): number {
  return Math.round(ms * (1 - JITTER_SHARE * chance));
}

/** Events in memory and in the endpoint's file; the rest waits in the logs that they come from. */
export const OUTBOX_EVENTS_MAX = 512;
/** Deliveries of one endpoint at a time. */
export const DELIVERIES_IN_FLIGHT_MAX = 4;
/** Failures in a row, over all lanes, that make an endpoint one that is down. */
const DOWN_FAILURES_MIN = 8;

/** One event and what became of it so far. */
export interface PendingDelivery {
  readonly event: OutgoingWebhookEvent;
  attempts: number;
  /** Of the first attempt, epoch ms; undefined before it. */
  firstMs: number | undefined;
  /** Not before then. */
  nextMs: number;
}

/** How the endpoint as a whole fares; kept with its file. */
export interface DeliveryHealth {
  /** Failures since the last success. */
  failures: number;
  failingSinceMs: number | undefined;
  lastSuccessMs: number | undefined;
  delivered: number;
}

export const INITIAL_HEALTH: DeliveryHealth = {
  failures: 0,
  failingSinceMs: undefined,
  lastSuccessMs: undefined,
  delivered: 0,
};

export class Outbox {
  readonly health: DeliveryHealth;
  readonly #chance: () => number;
  /** By lane; the first is the oldest. None is empty. */
  readonly #lanes = new Map<string, PendingDelivery[]>();
  readonly #inFlight = new Set<PendingDelivery>();
  #size = 0;
  /** While the endpoint is down: not before then. */
  #restUntilMs = 0;

  constructor(
    chance: () => number,
    health: DeliveryHealth = INITIAL_HEALTH,
    waiting: readonly PendingDelivery[] = [],
  ) {
    this.#chance = chance;
    this.health = { ...health };
    for (const each of waiting) this.#put(each);
  }

  get size(): number {
    return this.#size;
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  get isFull(): boolean {
    return this.#size >= OUTBOX_EVENTS_MAX;
  }

  get isDown(): boolean {
    return this.health.failures >= DOWN_FAILURES_MIN;
  }

  add(event: OutgoingWebhookEvent): void {
    this.#put({ event, attempts: 0, firstMs: undefined, nextMs: 0 });
  }

  /** When the oldest event happened, epoch ms; undefined for an empty box. */
  oldestMs(): number | undefined {
    let oldest: number | undefined;
    for (const [first] of this.#lanes.values()) {
      const atMs = first?.event.atMs ?? Infinity;
      if (oldest === undefined || atMs < oldest) oldest = atMs;
    }
    return oldest;
  }

  /** All of them; lane by lane, in order. */
  list(): PendingDelivery[] {
    return [...this.#lanes.values()].flat();
  }

  /** The next event to send, now under way; undefined when none is due. */
  take(nowMs: number): PendingDelivery | undefined {
    const isDown = this.isDown;
    if (this.#inFlight.size >= (isDown ? 1 : DELIVERIES_IN_FLIGHT_MAX)) return undefined;
    if (isDown && nowMs < this.#restUntilMs) return undefined;
    let found: PendingDelivery | undefined;
    for (const [first] of this.#lanes.values()) {
      if (first === undefined || this.#inFlight.has(first)) continue;
      if (!isDown && first.nextMs > nowMs) continue;
      if (found === undefined || first.nextMs < found.nextMs) found = first;
    }
    if (found === undefined) return undefined;
    this.#inFlight.add(found);
    found.attempts++;
    found.firstMs ??= nowMs;
    return found;
  }

  delivered(waiting: PendingDelivery, nowMs: number): void {
    const { health } = this;
    const wasDown = this.isDown;
    this.#remove(waiting);
    health.failures = 0;
    health.failingSinceMs = undefined;
    health.lastSuccessMs = nowMs;
    health.delivered++;
    if (wasDown) this.#wake(nowMs);
  }

  /** True: it was tried for a day and is out of the box, a dead letter. */
  failed(waiting: PendingDelivery, nowMs: number, retryAfterSec: number | undefined): boolean {
    const { health } = this;
    // Given up meanwhile.
    if (!this.#inFlight.has(waiting)) return false;
    health.failures++;
    health.failingSinceMs ??= nowMs;
    this.#restUntilMs = nowMs + computeProbeDelayMs(health.failures, this.#chance());
    const endMs = (waiting.firstMs ?? nowMs) + RETRY_PERIOD_MS;
    if (nowMs >= endMs) {
      this.#remove(waiting);
      return true;
    }
    this.#inFlight.delete(waiting);
    const delayMs = computeRetryDelayMs(waiting.attempts, this.#chance());
    const nextMs = nowMs + Math.max(delayMs, clampRetryAfterMs(retryAfterSec));
    // The last attempt is at the end of the day, not after it.
    waiting.nextMs = Math.min(nextMs, Math.max(endMs, nowMs + 1));
    return false;
  }

  /** As if nothing had failed yet: somebody says that the endpoint answers again. */
  resume(nowMs: number): void {
    this.health.failures = 0;
    this.health.failingSinceMs = undefined;
    this.#wake(nowMs);
  }

  #wake(nowMs: number): void {
    this.#restUntilMs = 0;
    for (const lane of this.#lanes.values()) for (const each of lane) each.nextMs = nowMs;
  }

  /** Gives up all that waits. */
  clear(): void {
    this.#lanes.clear();
    this.#inFlight.clear();
    this.#size = 0;
  }

  #put(waiting: PendingDelivery): void {
    const { lane } = waiting.event;
    const found = this.#lanes.get(lane);
    if (found === undefined) this.#lanes.set(lane, [waiting]);
    else found.push(waiting);
    this.#size++;
  }

  /** Nothing, where the box was emptied meanwhile. */
  #remove(waiting: PendingDelivery): void {
    this.#inFlight.delete(waiting);
    const { lane } = waiting.event;
    const found = this.#lanes.get(lane);
    const at = found?.indexOf(waiting) ?? -1;
    if (found === undefined || at < 0) return;
    found.splice(at, 1);
    if (found.length === 0) this.#lanes.delete(lane);
    this.#size--;
  }
}
