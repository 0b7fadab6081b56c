// Webhook endpoints of one service: registration, and the tick of each. The list of endpoints is on disk before a
// change is answered.
import { invalidRequest, ServiceFault } from "../contract/faults.ts";
import type {
  Webhook,
  WebhookCreated,
  WebhookDead,
  WebhookDeliveries,
  WebhookList,
  WebhookPatch,
  WebhookRedelivery,
  WebhookRequest,
  WebhookTested,
} from "../contract/schemas/webhooks.ts";
import {
  isTenantEvent,
  TENANT_WEBHOOK_EVENTS,
  WEBHOOK_ENDPOINTS_MAX,
  WEBHOOK_EVENTS,
  type WebhookEventType,
  type WebhookPause,
} from "../contract/webhooks/events.ts";
import type { Webhooks } from "../contract/webhooks/port.ts";
import type { AllowedNetworks } from "./address.ts";
import { WebhookEndpoint, type WebhookEndpointOptions } from "./endpoint.ts";
import { serializeEvent, type WebhookEventSource, CachedEventSource } from "./event.ts";
import { sumEndpointMetrics, type WebhookMetrics } from "./endpoint-status.ts";
import { type StoredEndpoint, WebhookFiles } from "./files.ts";
import type { WebhookSender } from "./sender.ts";
import { WEBHOOK_SECRET_BYTES, formatSecret } from "./signature.ts";
import { findUrlFault } from "./target.ts";

/** A replaced secret goes on signing for this long. */
const SECRET_OVERLAP_MS = 24 * 3_600_000;
const ID_BYTES = 10;
/** An end waits so long, ms, for deliveries under way; they are sent again otherwise. */
const CLOSE_WAIT_MS = 500;
const CLOSE_POLL_MS = 20;

export interface WebhookServiceOptions {
  readonly dataDir: string;
  readonly serviceId: string;
  readonly sources: readonly WebhookEventSource[];
  readonly post: WebhookSender;
  readonly allowed: AllowedNetworks;
  /** Epoch ms. */
  readonly clock: () => number;
  readonly chance: () => number;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly log: (event: string, detail: string) => void;
}

export class WebhookService implements Webhooks {
  readonly #options: WebhookServiceOptions;
  readonly #files: WebhookFiles;
  readonly #endpoints = new Map<string, WebhookEndpoint>();
  readonly #sources: CachedEventSource[];
  /** Since the start. */
  readonly #attempts = { delivered: 0, failed: 0 };

  /** @throws FileUnusable when the list or what an endpoint keeps cannot be read. */
  constructor(options: WebhookServiceOptions) {
    this.#options = options;
    this.#files = new WebhookFiles(options.dataDir);
    this.#sources = options.sources.map((source) => new CachedEventSource(source));
    const { serviceId, endpoints } = this.#files.readList();
    // A copy of a directory under another name must not tell the endpoints of the original.
    const isCopy = serviceId !== undefined && serviceId !== options.serviceId;
    for (const stored of endpoints) {
      const own = isCopy ? { ...stored, pausedBy: "restored" as const } : stored;
      this.#endpoints.set(stored.id, this.#open(own));
    }
    if (!isCopy) return;
    this.#saveList();
    options.log("webhook_paused", `all ${endpoints.length}: the directory is a restored copy`);
  }

  /** Gives every endpoint its turn. */
  tick(): void {
    for (const source of this.#sources) source.forget();
    for (const endpoint of this.#endpoints.values()) endpoint.tick();
  }

  async create(request: WebhookRequest): Promise<WebhookCreated> {
    const { clock, randomBytes } = this.#options;
    if (this.#endpoints.size >= WEBHOOK_ENDPOINTS_MAX) {
      const detail = `there are ${WEBHOOK_ENDPOINTS_MAX} endpoints, remove one first`;
      throw new ServiceFault("webhooks_full", detail);
    }
    const tenant = request.tenant ?? null;
    const stored: StoredEndpoint = {
      id: `wh_${Buffer.from(randomBytes(ID_BYTES)).toString("hex")}`,
      url: this.#requireAllowedUrl(request.url),
      events: checkEventTypes(request.events, tenant),
      tenant,
      description: request.description ?? null,
      createdAtMs: clock(),
      pausedBy: null,
      secret: formatSecret(randomBytes(WEBHOOK_SECRET_BYTES)),
      former: null,
    };
    const endpoint = this.#open(stored);
    this.#endpoints.set(stored.id, endpoint);
    this.#saveList();
    return { secret: stored.secret, ...endpoint.describe() };
  }

  async list(): Promise<WebhookList> {
    return { webhooks: [...this.#endpoints.values()].map((each) => each.describe()) };
  }

  async read(id: string): Promise<Webhook> {
    return this.#find(id).describe();
  }

  async change(id: string, patch: WebhookPatch): Promise<Webhook> {
    const endpoint = this.#find(id);
    const { stored } = endpoint;
    const { enabled, events, url } = patch;
    const changed: StoredEndpoint = {
      ...stored,
      url: url === undefined ? stored.url : this.#requireAllowedUrl(url),
      events: events === undefined ? stored.events : checkEventTypes(events, stored.tenant),
      description: patch.description ?? stored.description,
      pausedBy: enabled === undefined ? stored.pausedBy : enabled ? null : "operator",
    };
    const isSkipping = patch.skip_backlog === true;
    endpoint.stored = changed;
    this.#saveList();
    endpoint.follow(isSkipping);
    // Whoever changes something expects it to be tried.
    if (changed.pausedBy === null) endpoint.resume();
    return endpoint.describe();
  }

  async remove(id: string): Promise<Webhook> {
    const endpoint = this.#find(id);
    const was = endpoint.describe();
    endpoint.close();
    this.#endpoints.delete(id);
    this.#saveList();
    this.#files.remove(id);
    return was;
  }

  async renewSecret(id: string): Promise<WebhookCreated> {
    const endpoint = this.#find(id);
    const { clock, randomBytes } = this.#options;
    const { stored } = endpoint;
    const secret = formatSecret(randomBytes(WEBHOOK_SECRET_BYTES));
    const former = { secret: stored.secret, untilMs: clock() + SECRET_OVERLAP_MS };
    endpoint.stored = { ...stored, secret, former };
    this.#saveList();
    return { secret, ...endpoint.describe() };
  }

  async test(id: string): Promise<WebhookTested> {
    const endpoint = this.#find(id);
    const random = Buffer.from(this.#options.randomBytes(ID_BYTES)).toString("hex");
    return endpoint.test(`evt_test_${random}`);
  }

  async deliveries(id: string): Promise<WebhookDeliveries> {
    const deliveries = this.#find(id).attempts.map((each) => ({
      webhook_id: each.id,
      type: each.type,
      at: new Date(each.atMs).toISOString(),
      attempt: each.attempt,
      delivered: each.isDelivered,
      status: each.status ?? null,
      detail: each.detail,
      elapsed_ms: each.elapsedMs,
    }));
    return { deliveries };
  }

  async dead(id: string): Promise<WebhookDead> {
    const letters = this.#find(id).dead.map(({ event, attempts, diedAtMs, detail }) => ({
      webhook_id: event.id,
      type: event.type,
      died_at: new Date(diedAtMs).toISOString(),
      attempts,
      detail,
      body: JSON.parse(serializeEvent(event)) as Record<string, unknown>,
    }));
    return { dead: letters };
  }

  async redeliver(id: string, ids: readonly string[] | undefined): Promise<WebhookRedelivery> {
    const endpoint = this.#find(id);
    const chosen = ids === undefined ? undefined : new Set(ids);
    return { redelivered: endpoint.redeliver(chosen), dead: endpoint.dead.length };
  }

  figures(): WebhookMetrics {
    const endpoints = [...this.#endpoints.values()].map((each) => each.figures());
    return sumEndpointMetrics(endpoints, { ...this.#attempts });
  }

  /** Waits a moment for deliveries under way, then writes everything down. */
  async close(): Promise<void> {
    const endpoints = [...this.#endpoints.values()];
    for (let waited = 0; waited < CLOSE_WAIT_MS; waited += CLOSE_POLL_MS) {
      if (endpoints.every(({ inFlight }) => inFlight === 0)) break;
      await new Promise((resolve) => setTimeout(resolve, CLOSE_POLL_MS));
    }
    for (const endpoint of endpoints) {
      endpoint.close();
      endpoint.save();
    }
  }

  #open(stored: StoredEndpoint): WebhookEndpoint {
    const { post, clock, chance, log } = this.#options;
    const onPause = (id: string, by: WebhookPause) => this.#pause(id, by);
    const onAttempt = (isDelivered: boolean) => {
      this.#attempts[isDelivered ? "delivered" : "failed"]++;
    };
    const sources = this.#sources;
    const options: WebhookEndpointOptions = {
      files: this.#files,
      sources,
      post,
      clock,
      chance,
      log,
      onAttempt,
      onPause,
    };
    return new WebhookEndpoint(stored, options);
  }

  #pause(id: string, by: WebhookPause): void {
    const endpoint = this.#endpoints.get(id);
    if (endpoint === undefined) return;
    endpoint.stored = { ...endpoint.stored, pausedBy: by };
    try {
      this.#saveList();
    } catch (error) {
      // Then it is paused again after the next start, when it fails again.
      this.#options.log("webhook_state_not_saved", `the list: ${(error as Error).message}`);
    }
    this.#options.log(
      "webhook_paused",
      `${id} by \`${by}\`: it is told nothing until it is enabled`,
    );
  }

  #saveList(): void {
    const endpoints = [...this.#endpoints.values()].map(({ stored }) => stored);
    this.#files.writeList(this.#options.serviceId, endpoints);
  }

  #find(id: string): WebhookEndpoint {
    const endpoint = this.#endpoints.get(id);
    if (endpoint === undefined) throw new ServiceFault("not_found", "no webhook has this id");
    return endpoint;
  }

  #requireAllowedUrl(url: string): string {
    const detail = findUrlFault(url, this.#options.allowed);
    if (detail === undefined) return url;
    throw invalidRequest([{ pointer: "/url", code: "format", detail }]);
  }
}

/** @throws ServiceFault `invalid_request` for an event that is not a tenant's. */
function checkEventTypes(
  events: readonly WebhookEventType[] | undefined,
  tenant: string | null,
): readonly WebhookEventType[] {
  if (events === undefined) return tenant === null ? WEBHOOK_EVENTS : TENANT_WEBHOOK_EVENTS;
  const faults = events.flatMap((type, index) => {
    if (tenant === null || isTenantEvent(type)) return [];
    const detail = "is the service's own: no endpoint of a tenant is told of it";
    return [{ pointer: `/events/${index}`, code: "enum" as const, detail }];
  });
  if (faults.length > 0) throw invalidRequest(faults);
  return [...new Set(events)];
}
