// Webhook files: the list of endpoints with their secrets, and a state file for each endpoint. Each is replaced as
// a whole. Reading an older file repeats events and loses none.
import * as fs from "node:fs";
import { join } from "node:path";
import { isObject } from "../contract/parse/json-object.ts";
import { isPlainText } from "../contract/identifiers.ts";
import {
  WEBHOOK_EVENTS,
  WEBHOOK_PAUSES,
  type WebhookEventType,
  type WebhookPause,
} from "../contract/webhooks/events.ts";
import { FileUnusable } from "../journal/faults.ts";
import { diskFileLayer, replaceFile } from "../platform/files.ts";
import type { SourceCursor, OutgoingWebhookEvent } from "./event.ts";
import type { DeliveryHealth, PendingDelivery } from "./outbox.ts";

const WEBHOOK_DIRECTORY = "webhooks";
const LIST_FILE = "endpoints.json";
const FORMAT = 1;

/** An endpoint as it was registered. */
export interface StoredEndpoint {
  readonly id: string;
  readonly url: string;
  readonly events: readonly WebhookEventType[];
  /** Null: every tenant's events, and the service's own. */
  readonly tenant: string | null;
  readonly description: string | null;
  readonly createdAtMs: number;
  readonly pausedBy: WebhookPause | null;
  readonly secret: string;
  /** The secret before it, which signs too until that time, epoch ms. */
  readonly former: { readonly secret: string; readonly untilMs: number } | null;
}

/** An attempt, as it is kept for people. */
export interface AttemptRecord {
  readonly id: string;
  readonly type: string;
  readonly atMs: number;
  readonly attempt: number;
  readonly isDelivered: boolean;
  readonly status: number | undefined;
  readonly detail: string;
  readonly elapsedMs: number;
}

/** An event that was tried for a day. */
export interface DeadLetter {
  readonly event: OutgoingWebhookEvent;
  readonly attempts: number;
  readonly diedAtMs: number;
  /** What became of the last attempt. */
  readonly detail: string;
}

/** How far an endpoint was told. */
export interface EndpointState {
  /** By source: the place up to which events are in `waiting` or done with. */
  readonly cursors: Readonly<Record<string, SourceCursor>>;
  readonly waiting: readonly PendingDelivery[];
  readonly health: DeliveryHealth;
  readonly attempts: readonly AttemptRecord[];
}

/** Whether a data directory has endpoints: without any there is nothing to do at a start. */
export function hasWebhookEndpoints(dataDir: string): boolean {
  return fs.existsSync(join(dataDir, WEBHOOK_DIRECTORY, LIST_FILE));
}

export class WebhookFiles {
  readonly #root: string;

  constructor(dataDir: string) {
    this.#root = join(dataDir, WEBHOOK_DIRECTORY);
  }

  /**
   * The endpoints, and the service that they were registered with.
   * @throws FileUnusable when the list is there and is none.
   */
  readList(): { serviceId: string | undefined; endpoints: StoredEndpoint[] } {
    const list = this.#read(LIST_FILE);
    if (list === undefined) return { serviceId: undefined, endpoints: [] };
    const { format, service_id: serviceId, endpoints } = isObject(list) ? list : {};
    const isList = format === FORMAT && typeof serviceId === "string" && Array.isArray(endpoints);
    if (!isList || !endpoints.every(isStoredEndpoint)) {
      throw this.#unusable(LIST_FILE, "it is not a list of webhook endpoints");
    }
    return { serviceId, endpoints };
  }

  writeList(serviceId: string, endpoints: readonly StoredEndpoint[]): void {
    this.#replace(LIST_FILE, { format: FORMAT, service_id: serviceId, endpoints });
  }

  /** Undefined for an endpoint that was never told. @throws FileUnusable */
  readState(id: string): EndpointState | undefined {
    const state = this.#read(formatStateFileName(id));
    if (state === undefined) return undefined;
    if (!isEndpointState(state)) {
      throw this.#unusable(formatStateFileName(id), "it is not the state of an endpoint");
    }
    return state;
  }

  writeState(id: string, state: EndpointState): void {
    this.#replace(formatStateFileName(id), { format: FORMAT, ...state });
  }

  /** Dead letters, oldest first. @throws FileUnusable */
  readDead(id: string): DeadLetter[] {
    const dead = this.#read(formatDeadLetterFileName(id));
    if (dead === undefined) return [];
    const letters = isObject(dead) && dead["format"] === FORMAT ? dead["letters"] : undefined;
    if (!Array.isArray(letters) || !letters.every(hasWebhookEvent)) {
      throw this.#unusable(formatDeadLetterFileName(id), "it is not a list of dead letters");
    }
    return letters as DeadLetter[];
  }

  writeDead(id: string, letters: readonly DeadLetter[]): void {
    this.#replace(formatDeadLetterFileName(id), { format: FORMAT, letters });
  }

  /** Everything but its place in the list. */
  remove(id: string): void {
    for (const name of [formatStateFileName(id), formatDeadLetterFileName(id)]) {
      fs.rmSync(join(this.#root, name), { force: true });
    }
  }

  #read(name: string): unknown {
    const path = join(this.#root, name);
    let text: string;
    try {
      text = fs.readFileSync(path, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
    try {
      return JSON.parse(text) as unknown;
    } catch {
      // The parser's own message would quote the file, and it has secrets.
      throw this.#unusable(name, "it is not JSON");
    }
  }

  #unusable(name: string, reason: string): FileUnusable {
    const advice = "put it back from a backup, or move it away to start without";
    return new FileUnusable({ path: join(this.#root, name), reason, advice });
  }

  #replace(name: string, content: object): void {
    diskFileLayer.makeDirectory(this.#root);
    replaceFile(diskFileLayer, this.#root, name, Buffer.from(JSON.stringify(content)));
  }
}

function formatStateFileName(id: string): string {
  return `${id}.json`;
}

function formatDeadLetterFileName(id: string): string {
  return `${id}.dead.json`;
}

function isStoredEndpoint(value: unknown): value is StoredEndpoint {
  if (!isObject(value)) return false;
  const { id, url, events, tenant, pausedBy, createdAtMs, secret, former } = value;
  return (
    typeof id === "string" &&
    /^wh_[0-9a-z]+$/.test(id) &&
    typeof url === "string" &&
    Array.isArray(events) &&
    events.every((type) => (WEBHOOK_EVENTS as readonly unknown[]).includes(type)) &&
    (tenant === null || (typeof tenant === "string" && isPlainText(tenant, tenant.length))) &&
    (pausedBy === null || (WEBHOOK_PAUSES as readonly unknown[]).includes(pausedBy)) &&
    typeof createdAtMs === "number" &&
    typeof secret === "string" &&
    (former === null || isObject(former))
  );
}

function isEndpointState(value: unknown): value is EndpointState {
  if (!isObject(value)) return false;
  const { format, cursors, waiting, health, attempts } = value;
  return (
    format === FORMAT &&
    isObject(cursors) &&
    Array.isArray(waiting) &&
    waiting.every(hasWebhookEvent) &&
    isObject(health) &&
    typeof health["failures"] === "number" &&
    Array.isArray(attempts)
  );
}

function hasWebhookEvent(value: unknown): boolean {
  const event = isObject(value) ? value["event"] : undefined;
  return isObject(event) && typeof event["id"] === "string" && typeof event["lane"] === "string";
}
