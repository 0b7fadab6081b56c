// Events of kaizen, read from its state file: the commit point of every promotion and rollback. A place is
// the time of the last event and, for events of one moment, its name.
import * as fs from "node:fs";
import { join } from "node:path";
import { isObject } from "../../contract/parse/json-object.ts";
import { KAIZEN_STATE_PATH, type Promotion } from "../../kaizen/service/files.ts";
import {
  type WebhookEventSource,
  deriveEventId,
  type RecordEvents,
  type OutgoingWebhookEvent,
} from "../../webhooks/event.ts";

const KAIZEN_SOURCE_NAME = "kaizen";

interface KaizenCursor {
  readonly atMs: number;
  readonly name: string;
}

const FIRST_KAIZEN_CURSOR: KaizenCursor = { atMs: 0, name: "" };

export class KaizenEvents implements WebhookEventSource {
  readonly name = KAIZEN_SOURCE_NAME;
  readonly types = ["kaizen.promoted", "kaizen.rolled_back"] as const;
  readonly #path: string;
  readonly #serviceId: string;
  #known: { readonly stamp: string; readonly readings: readonly RecordEvents[] } | undefined;

  constructor(dataDir: string, serviceId: string) {
    this.#path = join(dataDir, KAIZEN_STATE_PATH);
    this.#serviceId = serviceId;
  }

  head(): KaizenCursor {
    return (this.#all().at(-1)?.next as KaizenCursor | undefined) ?? FIRST_KAIZEN_CURSOR;
  }

  read(from: unknown): { readings: RecordEvents[]; next: KaizenCursor } {
    const after = parseKaizenPlace(from);
    const readings = this.#all().filter(({ next }) => isLater(next as KaizenCursor, after));
    const last = readings.at(-1)?.next as KaizenCursor | undefined;
    return { readings, next: last ?? after };
  }

  /** Every event that the file tells of, in order; read again when the file has changed. */
  #all(): readonly RecordEvents[] {
    const stat = fs.statSync(this.#path, { bigint: true, throwIfNoEntry: false });
    if (stat === undefined) return [];
    const stamp = `${stat.ino} ${stat.mtimeNs} ${stat.size}`;
    if (this.#known?.stamp === stamp) return this.#known.readings;
    const state = JSON.parse(fs.readFileSync(this.#path, "utf8")) as unknown;
    const promotions = isObject(state) ? (state["promotions"] as readonly Promotion[]) : [];
    const events = promotions.flatMap((promotion) => this.#buildEvents(promotion));
    const readings = events
      .map((event) => ({ events: [event], next: { atMs: event.atMs, name: event.id } }))
      .toSorted((left, right) => (isLater(left.next, right.next) ? 1 : -1));
    this.#known = { stamp, readings };
    return readings;
  }

  #buildEvents(promotion: Promotion): OutgoingWebhookEvent[] {
    const { run_id, version, parent, at_ms: atMs, kind = "full", rolled_back: back } = promotion;
    const common = { tenant: null, lane: "" } as const;
    const promoted: OutgoingWebhookEvent = {
      ...common,
      id: deriveEventId(this.#serviceId, KAIZEN_SOURCE_NAME, run_id, "promoted"),
      type: "kaizen.promoted",
      atMs,
      data: { run_id, kind, config_from: parent, config_to: version },
    };
    if (back === undefined) return [promoted];
    const { reason, left = parent } = back;
    const rolledBack: OutgoingWebhookEvent = {
      ...common,
      id: deriveEventId(this.#serviceId, KAIZEN_SOURCE_NAME, run_id, "rolled_back"),
      type: "kaizen.rolled_back",
      atMs: back.at_ms,
      data: { run_id, reason, config_from: version, config_to: left },
    };
    return [promoted, rolledBack];
  }
}

function parseKaizenPlace(value: unknown): KaizenCursor {
  if (!isObject(value) || typeof value["atMs"] !== "number") return FIRST_KAIZEN_CURSOR;
  return { atMs: value["atMs"], name: typeof value["name"] === "string" ? value["name"] : "" };
}

function isLater(left: KaizenCursor, right: KaizenCursor): boolean {
  return left.atMs === right.atMs ? left.name > right.name : left.atMs > right.atMs;
}
