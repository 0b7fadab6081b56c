// One webhook endpoint: reads events from their sources into its outbox, sends them, stores its cursors. No
// endpoint waits for another. State is saved after sending: a crash repeats up to a second of events and loses none.
import { isDeepStrictEqual } from "node:util";
import type { Webhook, WebhookTested } from "../contract/schemas/webhooks.ts";
import {
  WEBHOOK_TEST_EVENT,
  type WebhookPause,
  WEBHOOK_DEAD_MAX,
} from "../contract/webhooks/events.ts";
import {
  serializeEvent,
  type WebhookEventSource,
  type SourceCursor,
  type OutgoingWebhookEvent,
} from "./event.ts";
import type { DeadLetter, AttemptRecord, StoredEndpoint, WebhookFiles } from "./files.ts";
import { INITIAL_HEALTH, Outbox, OUTBOX_EVENTS_MAX, type PendingDelivery } from "./outbox.ts";
import {
  describeEndpoint,
  type EndpointMetrics,
  collectEndpointMetrics,
} from "./endpoint-status.ts";
import type { DeliveryAttempt, WebhookSender } from "./sender.ts";
import { buildSignedHeaders } from "./signature.ts";

/** Attempts kept for people to see. */
const KEPT_ATTEMPTS_MAX = 50;
/** Longest time, ms, between a delivery and the file that knows of it; and where only a cursor moved. */
const SAVE_INTERVAL_MS = 1000;
const CURSOR_SAVE_INTERVAL_MS = 60_000;
/** Ids of events read that are remembered, to send none twice. */
const SEEN_IDS_MAX = 4096;
/** Reads of one source in one turn: other endpoints have theirs between. */
const READS_PER_TICK = 8;
const STATE_FAILURE_KEY = "state";

export interface WebhookEndpointOptions {
  readonly files: WebhookFiles;
  readonly sources: readonly WebhookEventSource[];
  readonly post: WebhookSender;
  /** Epoch ms. */
  readonly clock: () => number;
  /** In [0, 1). */
  readonly chance: () => number;
  readonly log: (event: string, detail: string) => void;
  /** Called after every attempt. */
  readonly onAttempt: (isDelivered: boolean) => void;
  /** Called when it stops itself; to be written down. */
  readonly onPause: (id: string, by: WebhookPause) => void;
}

export class WebhookEndpoint {
  stored: StoredEndpoint;
  readonly #options: WebhookEndpointOptions;
  readonly #outbox: Outbox;
  #cursors: Record<string, SourceCursor>;
  #attempts: AttemptRecord[];
  #dead: DeadLetter[];
  #savedMs: number;
  #isDirty = false;
  #hasMoved = false;
  #hasNewDead = false;
  #isClosed = false;
  /** Ids of events that were read; a crash forgets them, and the receiver knows repeats by their id. */
  readonly #known = new Set<string>();
  /** Names of sources that could not be read, and of the state where it could not be written. */
  readonly #broken = new Set<string>();

  /** @throws FileUnusable when what it keeps cannot be read. */
  constructor(stored: StoredEndpoint, options: WebhookEndpointOptions) {
    this.stored = stored;
    this.#options = options;
    const { files, chance, clock } = options;
    const state = files.readState(stored.id);
    this.#outbox = new Outbox(chance, state?.health ?? INITIAL_HEALTH, state?.waiting ?? []);
    this.#cursors = { ...state?.cursors };
    this.#attempts = [...(state?.attempts ?? [])];
    this.#dead = files.readDead(stored.id);
    this.#savedMs = clock();
    this.follow();
  }

  /** Begins to follow the sources that its events come from, from now on; others are forgotten. */
  follow(isFromNow = false): void {
    const cursors: Record<string, SourceCursor> = {};
    for (const source of this.#sources()) {
      const known = isFromNow ? undefined : this.#cursors[source.name];
      cursors[source.name] = known ?? source.head();
    }
    if (isFromNow) this.#outbox.clear();
    if (!isFromNow && isDeepStrictEqual(cursors, this.#cursors)) return;
    this.#cursors = cursors;
    // What it is told begins here, whatever comes: written down before it is acknowledged.
    this.save();
  }

  /** Reads, sends and saves what is due. */
  tick(): void {
    const nowMs = this.#options.clock();
    if (this.stored.pausedBy === null) {
      this.#fill();
      this.#sendDue(nowMs);
    }
    const isDue = this.#isDirty && nowMs - this.#savedMs >= SAVE_INTERVAL_MS;
    if (isDue || (this.#hasMoved && nowMs - this.#savedMs >= CURSOR_SAVE_INTERVAL_MS))
      this.#trySave(nowMs);
  }

  /** As if nothing had failed yet: whatever waits is sent at once. */
  resume(): void {
    this.#outbox.resume(this.#options.clock());
  }

  figures(): EndpointMetrics {
    return collectEndpointMetrics(this.stored, this.#outbox, this.#dead.length);
  }

  get inFlight(): number {
    return this.#outbox.inFlight;
  }

  get dead(): readonly DeadLetter[] {
    return this.#dead;
  }

  /** Newest first. */
  get attempts(): readonly AttemptRecord[] {
    return this.#attempts.toReversed();
  }

  describe(): Webhook {
    return describeEndpoint(this.stored, this.#outbox, this.#dead.length);
  }

  /** Sends one event that stands in no log. */
  async test(id: string): Promise<WebhookTested> {
    const { clock } = this.#options;
    const atMs = clock();
    const { tenant } = this.stored;
    const data = { message: "a test: nothing has happened" };
    const event: OutgoingWebhookEvent = {
      id,
      type: WEBHOOK_TEST_EVENT,
      tenant,
      lane: "",
      atMs,
      data,
    };
    const { isDelivered, status, detail } = await this.#post(event, 1);
    if (isDelivered) this.resume();
    const elapsed_ms = clock() - atMs;
    return { webhook_id: id, delivered: isDelivered, status: status ?? null, detail, elapsed_ms };
  }

  /** Sends dead letters again, as new: all, or those with these ids. Returns how many fitted in. */
  redeliver(ids: ReadonlySet<string> | undefined): number {
    const room = OUTBOX_EVENTS_MAX - this.#outbox.size;
    const chosen = this.#dead.filter(({ event }) => ids?.has(event.id) ?? true).slice(0, room);
    if (chosen.length === 0) return 0;
    for (const { event } of chosen) this.#outbox.add(event);
    this.save();
    // Only now: a crash in between sends them twice.
    const taken = new Set(chosen);
    this.#dead = this.#dead.filter((letter) => !taken.has(letter));
    this.#options.files.writeDead(this.stored.id, this.#dead);
    return chosen.length;
  }

  /** @throws the error of the disk. */
  save(): void {
    const { files, clock } = this.#options;
    // Dead letters first: the state no longer has them among those that wait.
    if (this.#hasNewDead) files.writeDead(this.stored.id, this.#dead);
    this.#hasNewDead = false;
    files.writeState(this.stored.id, {
      cursors: this.#cursors,
      waiting: this.#outbox.list(),
      health: this.#outbox.health,
      attempts: this.#attempts,
    });
    this.#isDirty = false;
    this.#hasMoved = false;
    this.#savedMs = clock();
  }

  /** A disk that takes nothing now costs repeats after a crash, and no delivery. */
  #trySave(nowMs: number): void {
    const { log } = this.#options;
    try {
      this.save();
      this.#broken.delete(STATE_FAILURE_KEY);
    } catch (error) {
      this.#savedMs = nowMs;
      this.#tellOnce(STATE_FAILURE_KEY, error, (detail) => log("webhook_state_not_saved", detail));
    }
  }

  /** Told once, until it works again. */
  #tellOnce(what: string, error: unknown, tell: (detail: string) => void): void {
    if (this.#broken.has(what)) return;
    this.#broken.add(what);
    tell(`${what} of ${this.stored.id}: ${(error as Error).message}`);
  }

  /** Nothing is sent or written any more. */
  close(): void {
    this.#isClosed = true;
  }

  #sources(): WebhookEventSource[] {
    const { events } = this.stored;
    return this.#options.sources.filter(({ types }) => types.some((type) => events.includes(type)));
  }

  #fill(): void {
    const { log } = this.#options;
    for (const source of this.#sources()) {
      try {
        for (let reads = 0; reads < READS_PER_TICK && !this.#outbox.isFull; reads++) {
          if (!this.#readOnce(source)) break;
        }
        this.#broken.delete(source.name);
      } catch (error) {
        this.#tellOnce(source.name, error, (detail) => log("webhook_source_failed", detail));
      }
    }
  }

  /** True when there may be more. */
  #readOnce(source: WebhookEventSource): boolean {
    const from = this.#cursors[source.name];
    const { readings, next } = source.read(from);
    for (const reading of readings) {
      if (this.#outbox.isFull) return false;
      for (const event of reading.events) if (this.#isWanted(event)) this.#add(event);
      this.#cursors[source.name] = reading.next;
      this.#hasMoved = true;
    }
    if (isDeepStrictEqual(next, from)) return false;
    this.#cursors[source.name] = next;
    this.#hasMoved = true;
    return true;
  }

  #isWanted({ type, tenant }: OutgoingWebhookEvent): boolean {
    const { events, tenant: own } = this.stored;
    return (events as readonly string[]).includes(type) && (own === null || own === tenant);
  }

  /** Some events tell of one thing many times a day, under one id: the first is sent. */
  #add(event: OutgoingWebhookEvent): void {
    if (this.#known.has(event.id)) return;
    this.#known.add(event.id);
    const [oldest] = this.#known;
    if (this.#known.size > SEEN_IDS_MAX) this.#known.delete(oldest!);
    this.#outbox.add(event);
    this.#isDirty = true;
  }

  #sendDue(nowMs: number): void {
    for (let due = this.#outbox.take(nowMs); due !== undefined; due = this.#outbox.take(nowMs)) {
      void this.#send(due);
    }
  }

  async #send(waiting: PendingDelivery): Promise<void> {
    const attempt = await this.#post(waiting.event, waiting.attempts);
    if (this.#isClosed) return;
    const { clock, onAttempt, onPause } = this.#options;
    onAttempt(attempt.isDelivered);
    const nowMs = clock();
    this.#isDirty = true;
    if (attempt.isDelivered) this.#outbox.delivered(waiting, nowMs);
    else if (this.#outbox.failed(waiting, nowMs, attempt.retryAfterSec))
      this.#bury(waiting, attempt);
    const sinceMs = this.#outbox.health.failingSinceMs;
    const by = findPauseReason(attempt, this.#dead.length, sinceMs, nowMs);
    if (by !== undefined && this.stored.pausedBy === null) onPause(this.stored.id, by);
    if (this.stored.pausedBy === null) this.#sendDue(nowMs);
  }

  async #post(event: OutgoingWebhookEvent, number: number): Promise<DeliveryAttempt> {
    const { clock, post } = this.#options;
    const atMs = clock();
    const { url, secret, former } = this.stored;
    const secrets = former !== null && former.untilMs > atMs ? [secret, former.secret] : [secret];
    const body = serializeEvent(event);
    const attempt = await post(url, buildSignedHeaders(secrets, event.id, atMs, body), body);
    const { id, type } = event;
    const { isDelivered, status, detail } = attempt;
    const elapsedMs = Math.max(0, clock() - atMs);
    this.#attempts.push({
      id,
      type,
      atMs,
      attempt: number,
      isDelivered,
      status,
      detail,
      elapsedMs,
    });
    if (this.#attempts.length > KEPT_ATTEMPTS_MAX) this.#attempts.shift();
    return attempt;
  }

  #bury({ event, attempts }: PendingDelivery, { detail }: DeliveryAttempt): void {
    const { clock, log } = this.#options;
    this.#dead.push({ event, attempts, diedAtMs: clock(), detail });
    this.#hasNewDead = true;
    log("webhook_dead_letter", `${event.type} ${event.id} for ${this.stored.id}: ${detail}`);
  }
}

// Automatic pause, checked after each attempt.

/** An endpoint that has failed for this long is paused. */
const FAILING_MS_MAX = 72 * 3_600_000;
/** By the rules of Standard Webhooks: the receiver wants no more of it. */
const GONE = 410;

/**
 * Why an endpoint with so many dead letters, which has failed since then (epoch ms), stops after an
 * attempt; undefined: it continues.
 */
export function findPauseReason(
  { status }: DeliveryAttempt,
  dead: number,
  failingSinceMs: number | undefined,
  nowMs: number,
): WebhookPause | undefined {
  if (status === GONE) return "gone";
  if (dead >= WEBHOOK_DEAD_MAX) return "dead_full";
  return nowMs - (failingSinceMs ?? nowMs) >= FAILING_MS_MAX ? "failing" : undefined;
}
