// Messages of webhooks: endpoints that the service tells of events, and what came of telling them.
import {
  WEBHOOK_DEAD_MAX,
  WEBHOOK_DESCRIPTION_BYTES_MAX,
  WEBHOOK_EVENTS,
  WEBHOOK_ID_LENGTH_MAX,
  WEBHOOK_PAUSES,
  WEBHOOK_URL_LENGTH_MAX,
} from "../webhooks/events.ts";
import { TENANT_LENGTH_MAX } from "../limits.ts";
import * as t from "./schema.ts";

const url = t.textOfLength(
  { minLength: 1, maxLength: WEBHOOK_URL_LENGTH_MAX },
  ({ length }) => length > 0 && length <= WEBHOOK_URL_LENGTH_MAX,
  `must be 1 to ${WEBHOOK_URL_LENGTH_MAX} characters`,
);
const events = t.list(t.defineChoice(WEBHOOK_EVENTS), {
  minItems: 1,
  maxItems: WEBHOOK_EVENTS.length,
  "~noun": "events",
});
const description = t.plainText(WEBHOOK_DESCRIPTION_BYTES_MAX);

/** `POST /v1/webhooks`. */
export const WebhookRequest = t.strict("WebhookRequest", {
  url,
  events: t.optional(t.said(events, "left out: all that the endpoint may be told")),
  tenant: t.optional(
    t.said(
      t.plainText(TENANT_LENGTH_MAX),
      "only this tenant's events; left out: those of every tenant and of the service itself",
    ),
  ),
  description: t.optional(description),
});
export type WebhookRequest = t.MessageOf<typeof WebhookRequest>;

/** `PATCH /v1/webhooks/{id}`: what is left out stays. */
export const WebhookPatch = t.strict("WebhookPatch", {
  url: t.optional(url),
  events: t.optional(events),
  description: t.optional(description),
  enabled: t.optional(t.said(t.flag, "true goes on where the endpoint had stopped")),
  skip_backlog: t.optional(
    t.said(t.flag, "true gives up all that waits: the endpoint is told of what comes from now on"),
  ),
});
export type WebhookPatch = t.MessageOf<typeof WebhookPatch>;

export const Webhook = t.message("Webhook", {
  id: t.text,
  url: t.text,
  events: t.list(t.defineChoice(WEBHOOK_EVENTS)),
  tenant: t.said(t.textOrNull, "null: every tenant, and the service itself"),
  description: t.textOrNull,
  enabled: t.flag,
  paused_by: t.said(
    t.orNull(t.defineChoice(WEBHOOK_PAUSES)),
    "why it is told nothing: an operator, days of failure, its answer 410, a restored copy, " +
      "a full list of dead letters",
  ),
  created_at: t.time,
  waiting: t.said(t.integer, "events read and not delivered; more may wait in the logs"),
  delivered: t.said(t.integer, "events delivered so far"),
  dead: t.said(t.integer, "dead letters"),
  failing_since: t.said(t.timeOrNull, "first failure since the last success"),
  last_success_at: t.timeOrNull,
  former_secret_until: t.said(t.timeOrNull, "until then the secret before this one signs, too"),
});
export type Webhook = t.MessageOf<typeof Webhook>;

export const WebhookCreated = t.message("WebhookCreated", {
  secret: t.said(t.text, "`whsec_` and base64; in this answer and nowhere else"),
  ...Webhook.properties,
});
export type WebhookCreated = t.MessageOf<typeof WebhookCreated>;

export const WebhookList = t.message("WebhookList", { webhooks: t.list(Webhook) });
export type WebhookList = t.MessageOf<typeof WebhookList>;

/** `POST /v1/webhooks/{id}/test`. */
export const WebhookTested = t.message("WebhookTested", {
  webhook_id: t.said(t.text, "the `webhook-id` that was sent"),
  delivered: t.flag,
  status: t.said(t.integerOrNull, "of the endpoint's answer; null without one"),
  detail: t.said(t.text, "what went wrong; empty when it was delivered"),
  elapsed_ms: t.number,
});
export type WebhookTested = t.MessageOf<typeof WebhookTested>;

export const WebhookDelivery = t.message("WebhookDelivery", {
  webhook_id: t.text,
  type: t.text,
  at: t.time,
  attempt: t.said(t.integer, "1 for the first"),
  delivered: t.flag,
  status: t.integerOrNull,
  detail: t.text,
  elapsed_ms: t.number,
});
export type WebhookDelivery = t.MessageOf<typeof WebhookDelivery>;

export const WebhookDeliveries = t.message("WebhookDeliveries", {
  deliveries: t.list(WebhookDelivery),
});
export type WebhookDeliveries = t.MessageOf<typeof WebhookDeliveries>;

export const WebhookDeadLetter = t.message("WebhookDeadLetter", {
  webhook_id: t.text,
  type: t.text,
  died_at: t.said(t.time, "after a day of attempts"),
  attempts: t.integer,
  detail: t.said(t.text, "what became of the last attempt"),
  body: t.said(t.anObject, "as it is sent"),
});

/** `GET /v1/webhooks/{id}/dead`. */
export const WebhookDead = t.message("WebhookDead", { dead: t.list(WebhookDeadLetter) });
export type WebhookDead = t.MessageOf<typeof WebhookDead>;

/** `POST /v1/webhooks/{id}/dead/redeliver`. */
export const WebhookRedeliveryRequest = t.strict("WebhookRedeliveryRequest", {
  webhook_ids: t.optional(
    t.said(
      t.list(t.token(WEBHOOK_ID_LENGTH_MAX), {
        minItems: 1,
        maxItems: WEBHOOK_DEAD_MAX,
        "~noun": "ids",
      }),
      "left out: all",
    ),
  ),
});

export const WebhookRedelivery = t.message("WebhookRedelivery", {
  redelivered: t.said(t.integer, "dead letters that wait for delivery again, as many as fit in"),
  dead: t.said(t.integer, "those that are left"),
});
export type WebhookRedelivery = t.MessageOf<typeof WebhookRedelivery>;
