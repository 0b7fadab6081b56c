// Events as they are sent, and as their sources give them. An event's id comes from its place in a
// durable log: whoever reads the place again, after a crash too, sends the same id.
import { createHash } from "node:crypto";
import type { WEBHOOK_TEST_EVENT, WebhookEventType } from "../contract/webhooks/events.ts";

export interface OutgoingWebhookEvent {
  /** Value of `webhook-id`; the same for every attempt and every endpoint. */
  readonly id: string;
  readonly type: WebhookEventType | typeof WEBHOOK_TEST_EVENT;
  /** Whose event it is; null: the service's own. */
  readonly tenant: string | null;
  /** Events of one lane are delivered in order: the agent, or empty. */
  readonly lane: string;
  /** When it happened, epoch ms. */
  readonly atMs: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A place in a source, as JSON; only the source reads it. */
export type SourceCursor = unknown;

/** What one record of a source gives, and the place behind it. */
export interface RecordEvents {
  readonly events: readonly OutgoingWebhookEvent[];
  readonly next: SourceCursor;
}

/** A durable log that events are read from. */
export interface WebhookEventSource {
  readonly name: string;
  /** Types that it gives. */
  readonly types: readonly WebhookEventType[];
  /** The place behind everything that is there now. */
  head(): SourceCursor;
  /**
   * What stands from a place on, in order, as much as one call takes. The same place gives the same
   * events again. `next` is the place behind all of it.
   * @throws the error of the disk.
   */
  read(from: SourceCursor): {
    readonly readings: readonly RecordEvents[];
    readonly next: SourceCursor;
  };
}

const ID_LENGTH = 32;

/** Id of the event at a place of a source. */
export function deriveEventId(
  serviceId: string,
  source: string,
  ...place: readonly unknown[]
): string {
  const text = JSON.stringify([serviceId, source, ...place]);
  return `evt_${createHash("sha256").update(text).digest("hex").slice(0, ID_LENGTH)}`;
}

/** The body that is signed and sent. */
export function serializeEvent(event: OutgoingWebhookEvent): string {
  const { type, tenant, atMs, data } = event;
  return JSON.stringify({ type, timestamp: new Date(atMs).toISOString(), tenant, data });
}

// Cache of a source's last read until the next tick: endpoints that have caught up share one read.

export class CachedEventSource implements WebhookEventSource {
  readonly name: string;
  readonly types: readonly WebhookEventType[];
  readonly #source: WebhookEventSource;
  readonly #read = new Map<string, ReturnType<WebhookEventSource["read"]>>();

  constructor(source: WebhookEventSource) {
    this.#source = source;
    this.name = source.name;
    this.types = source.types;
  }

  head(): SourceCursor {
    return this.#source.head();
  }

  read(from: SourceCursor): ReturnType<WebhookEventSource["read"]> {
    const key = JSON.stringify(from);
    const known = this.#read.get(key);
    if (known !== undefined) return known;
    const found = this.#source.read(from);
    // One is enough where all have caught up; more would keep a backlog in memory.
    this.#read.clear();
    this.#read.set(key, found);
    return found;
  }

  /** There may be more by now. */
  forget(): void {
    this.#read.clear();
  }
}
