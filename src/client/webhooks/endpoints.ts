// Endpoints of webhooks as an operator manages them, with an administrator's key: registered, changed,
// tested, what came of telling them, and what is sent again.
import type { RequestOptions } from "../options.ts";
import {
  type CallKind,
  type JsonReply,
  createMalformedReplyError,
  type HttpMethod,
} from "../transport.ts";
import type {
  Webhook,
  WebhookCreated,
  WebhookDeadLetter,
  WebhookDelivery,
  WebhookPatch,
  WebhookRedelivery,
  WebhookRequest,
  WebhookTested,
} from "./messages.ts";

/** Sends JSON text, or nothing, within the client's limits. */
// oxlint-disable-next-line max-params -- in the published types of the constructor
type SendWebhookRequest = (
  method: HttpMethod,
  path: string,
  body: string | undefined,
  options: RequestOptions,
  kind: CallKind,
) => Promise<JsonReply>;

const PATH = "/v1/webhooks";
/** A test waits for the endpoint, which has 15 s. */
const TEST_MS = 20_000;

/**
 * `client.webhooks`: who is told of events. Every method takes an administrator's key and rejects with
 * a TrustRankError, `not_found` where there is no such endpoint.
 */
export class WebhookEndpoints {
  readonly #send: SendWebhookRequest;

  constructor(send: SendWebhookRequest) {
    this.#send = send;
  }

  /** Registers an endpoint. Keep its `secret`: it is in this answer and nowhere else. */
  async create(request: WebhookRequest, options: RequestOptions = {}): Promise<WebhookCreated> {
    return requireCreatedWebhook(await this.#request("POST", PATH, request, options));
  }

  /** Every endpoint, without secrets. */
  async list(options: RequestOptions = {}): Promise<Webhook[]> {
    return requireListMember(
      await this.#request("GET", PATH, undefined, options),
      "webhooks",
    ) as Webhook[];
  }

  /** One endpoint: what it is told, and how it fares. */
  async read(id: string, options: RequestOptions = {}): Promise<Webhook> {
    return requireWebhook(await this.#request("GET", buildEndpointPath(id), undefined, options));
  }

  /** Changes URL, events or description; stops it (`enabled: false`) or lets it go on. */
  async update(id: string, patch: WebhookPatch, options: RequestOptions = {}): Promise<Webhook> {
    return requireWebhook(await this.#request("PATCH", buildEndpointPath(id), patch, options));
  }

  /** Takes it away with all that waits for it; resolves with what it was. */
  async delete(id: string, options: RequestOptions = {}): Promise<Webhook> {
    return requireWebhook(await this.#request("DELETE", buildEndpointPath(id), undefined, options));
  }

  /** Makes another secret. For a day the former one signs beside it. */
  async rotateSecret(id: string, options: RequestOptions = {}): Promise<WebhookCreated> {
    return requireCreatedWebhook(
      await this.#request("POST", buildEndpointPath(id, "/secret"), undefined, options),
    );
  }

  /** Sends one `webhook.test` now and says what came of it. */
  async test(id: string, options: RequestOptions = {}): Promise<WebhookTested> {
    const limits = { timeoutMs: TEST_MS, ...options };
    const value = await this.#request("POST", buildEndpointPath(id, "/test"), undefined, limits);
    return requireMember<WebhookTested>(value, "delivered", "boolean");
  }

  /** The newest attempts to tell it, newest first. */
  async deliveries(id: string, options: RequestOptions = {}): Promise<WebhookDelivery[]> {
    const value = await this.#request(
      "GET",
      buildEndpointPath(id, "/deliveries"),
      undefined,
      options,
    );
    return requireListMember(value, "deliveries") as WebhookDelivery[];
  }

  /** Events that were tried for a day in vain, oldest first. */
  async deadLetters(id: string, options: RequestOptions = {}): Promise<WebhookDeadLetter[]> {
    const value = await this.#request("GET", buildEndpointPath(id, "/dead"), undefined, options);
    return requireListMember(value, "dead") as WebhookDeadLetter[];
  }

  /** Sends dead letters again, as new: those named by `webhook_id`, or all. */
  async redeliver(
    id: string,
    webhookIds?: readonly string[],
    options: RequestOptions = {},
  ): Promise<WebhookRedelivery> {
    const body = webhookIds === undefined ? {} : { webhook_ids: webhookIds };
    const value = await this.#request(
      "POST",
      buildEndpointPath(id, "/dead/redeliver"),
      body,
      options,
    );
    return requireMember<WebhookRedelivery>(value, "redelivered", "number");
  }

  async #request(
    method: HttpMethod,
    path: string,
    body: object | undefined,
    options: RequestOptions,
  ): Promise<unknown> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const kind = method === "GET" ? "read" : "write";
    return (await this.#send(method, path, text, options, kind)).value;
  }
}

const buildEndpointPath = (id: string, rest = "") => `${PATH}/${encodeURIComponent(id)}${rest}`;
const requireWebhook = (value: unknown) => requireMember<Webhook>(value, "id", "string");
const requireCreatedWebhook = (value: unknown) =>
  requireMember<WebhookCreated>(requireWebhook(value), "secret", "string");

function requireMember<Message>(value: unknown, name: string, type: string): Message {
  const found: unknown =
    typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
  if (typeof found !== type) throw createMalformedReplyError(`\`${name}\` is not a ${type}`);
  return value as Message;
}

function requireListMember(value: unknown, name: string): unknown[] {
  const found: unknown = Reflect.get(requireMember<object>(value, name, "object"), name);
  if (!Array.isArray(found)) throw createMalformedReplyError(`\`${name}\` is not a list`);
  return found as unknown[];
}
