// Events that webhooks tell of, whose they are, and the bounds of telling them.

/** Events of one tenant: its decisions, its reviews, its keys. */
export const TENANT_WEBHOOK_EVENTS = [
  "decision.denied",
  "review.opened",
  "agent.fraud_flagged",
  "key.revoked",
] as const;

/** Events of the service itself: no tenant's endpoint is told of them. */
export const SERVICE_WEBHOOK_EVENTS = [
  "kaizen.promoted",
  "kaizen.rolled_back",
  "journal.damaged",
  "store.lagging",
  "finding.raised",
] as const;

export const WEBHOOK_EVENTS = [...TENANT_WEBHOOK_EVENTS, ...SERVICE_WEBHOOK_EVENTS] as const;
export type WebhookEventType = (typeof WEBHOOK_EVENTS)[number];

/** Sent when an operator asks for it, whatever the endpoint is subscribed to. */
export const WEBHOOK_TEST_EVENT = "webhook.test";

/** Whether an endpoint of one tenant may be told of it. */
export function isTenantEvent(type: WebhookEventType): boolean {
  return (TENANT_WEBHOOK_EVENTS as readonly string[]).includes(type);
}

/** Why an endpoint is told nothing. */
export const WEBHOOK_PAUSES = ["operator", "failing", "gone", "restored", "dead_full"] as const;
export type WebhookPause = (typeof WEBHOOK_PAUSES)[number];

/** Endpoints of one service. */
export const WEBHOOK_ENDPOINTS_MAX = 64;
export const WEBHOOK_URL_LENGTH_MAX = 2048;
export const WEBHOOK_DESCRIPTION_BYTES_MAX = 256;
/** Of `webhook-id`. */
export const WEBHOOK_ID_LENGTH_MAX = 64;
/** Dead letters of one endpoint; a full list pauses it, so that none is dropped. */
export const WEBHOOK_DEAD_MAX = 1000;
