// Source that remembers its last answer until the next tick: endpoints that have caught up stand at the
// same place, and one read serves them all.
import type { WebhookEventType } from "../contract/webhooks/events.ts";
import type { WebhookEventSource, SourceCursor } from "./event.ts";

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
