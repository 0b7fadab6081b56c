// Webhooks' port: what the service tells people's own servers, and what an operator may ask of the
// endpoints that are told (messages: schemas/webhooks.ts).
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
} from "../schemas/webhooks.ts";

/** Every call throws ServiceFault `not_found` for an id that no endpoint has. */
export interface Webhooks {
  /** @throws ServiceFault `invalid_request` for a URL that may not be told, `webhooks_full`. */
  create(request: WebhookRequest): Promise<WebhookCreated>;
  list(): Promise<WebhookList>;
  read(id: string): Promise<Webhook>;
  change(id: string, patch: WebhookPatch): Promise<Webhook>;
  /** Takes it away with all that waits for it; resolves with the endpoint as it was. */
  remove(id: string): Promise<Webhook>;
  /** Makes another secret; the former one signs beside it for a day. */
  renewSecret(id: string): Promise<WebhookCreated>;
  /** Sends one `webhook.test` at once, whether the endpoint is paused or not. */
  test(id: string): Promise<WebhookTested>;
  /** The newest attempts, newest first. */
  deliveries(id: string): Promise<WebhookDeliveries>;
  /** Events that were tried for a day, oldest first. */
  dead(id: string): Promise<WebhookDead>;
  /** Sends dead letters again: all, or those with these ids. */
  redeliver(id: string, ids: readonly string[] | undefined): Promise<WebhookRedelivery>;
}
