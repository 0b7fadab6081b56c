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

const url = t.defineTextOfLength(
  { minLength: 1, maxLength: WEBHOOK_URL_LENGTH_MAX },
  ({ length }) => length > 0 && length <= WEBHOOK_URL_LENGTH_MAX,
  `must be 1 to ${WEBHOOK_URL_LENGTH_MAX} characters`,
);
const events = t.defineList(t.defineChoice(WEBHOOK_EVENTS), {
  minItems: 1,
  maxItems: WEBHOOK_EVENTS.length,
  "~noun": "events",
});
const description = t.definePlainText(WEBHOOK_DESCRIPTION_BYTES_MAX);

/** `POST /v1/webhooks`. */
export const WebhookRequest = t.defineStrictMessage("WebhookRequest", {
  url,
  events: t.makeOptional(t.withDescription(events, "left out: all that the endpoint may be told")),
  tenant: t.makeOptional(
    t.withDescription(
      t.definePlainText(TENANT_LENGTH_MAX),
      "only this tenant's events; left out: those of every tenant and of the service itself",
    ),
  ),
  description: t.makeOptional(description),
});
export type WebhookRequest = t.MessageOf<typeof WebhookRequest>;

/** `PATCH /v1/webhooks/{id}`: what is left out stays. */
export const WebhookPatch = t.defineStrictMessage("WebhookPatch", {
  url: t.makeOptional(url),
  events: t.makeOptional(events),
  description: t.makeOptional(description),
  enabled: t.makeOptional(
    t.withDescription(t.flag, "true resumes delivery where the endpoint had stopped"),
  ),
  skip_backlog: t.makeOptional(
    t.withDescription(
      t.flag,
      "true gives up all that waits: the endpoint is told of what comes from now on",
    ),
  ),
});
export type WebhookPatch = t.MessageOf<typeof WebhookPatch>;

export const Webhook = t.defineMessage("Webhook", {
  id: t.text,
  url: t.text,
  events: t.defineList(t.defineChoice(WEBHOOK_EVENTS)),
  tenant: t.withDescription(t.textOrNull, "null: every tenant, and the service itself"),
  description: t.textOrNull,
  enabled: t.flag,
  paused_by: t.withDescription(
    t.defineNullableAnswer(t.defineChoice(WEBHOOK_PAUSES)),
    "why it is told nothing: an operator, days of failure, its answer 410, a restored copy, " +
      "a full list of dead letters",
  ),
  created_at: t.time,
  waiting: t.withDescription(t.integer, "events read and not delivered; more may wait in the logs"),
  delivered: t.withDescription(t.integer, "events delivered so far"),
  dead: t.withDescription(t.integer, "dead letters"),
  failing_since: t.withDescription(t.timeOrNull, "first failure since the last success"),
  last_success_at: t.timeOrNull,
  former_secret_until: t.withDescription(
    t.timeOrNull,
    "until then the secret before this one signs, too",
  ),
});
export type Webhook = t.MessageOf<typeof Webhook>;

export const WebhookCreated = t.defineMessage("WebhookCreated", {
  secret: t.withDescription(t.text, "`whsec_` and base64; in this answer and nowhere else"),
  ...Webhook.properties,
});
export type WebhookCreated = t.MessageOf<typeof WebhookCreated>;

export const WebhookList = t.defineMessage("WebhookList", { webhooks: t.defineList(Webhook) });
export type WebhookList = t.MessageOf<typeof WebhookList>;

/** `POST /v1/webhooks/{id}/test`. */
export const WebhookTested = t.defineMessage("WebhookTested", {
  webhook_id: t.withDescription(t.text, "the `webhook-id` that was sent"),
  delivered: t.flag,
  status: t.withDescription(t.integerOrNull, "of the endpoint's answer; null without one"),
  detail: t.withDescription(t.text, "what went wrong; empty when it was delivered"),
  elapsed_ms: t.number,
});
export type WebhookTested = t.MessageOf<typeof WebhookTested>;

export const WebhookDelivery = t.defineMessage("WebhookDelivery", {
  webhook_id: t.text,
  type: t.text,
  at: t.time,
  attempt: t.withDescription(t.integer, "1 for the first"),
  delivered: t.flag,
  status: t.integerOrNull,
  detail: t.text,
  elapsed_ms: t.number,
});
export type WebhookDelivery = t.MessageOf<typeof WebhookDelivery>;

export const WebhookDeliveries = t.defineMessage("WebhookDeliveries", {
  deliveries: t.defineList(WebhookDelivery),
});
export type WebhookDeliveries = t.MessageOf<typeof WebhookDeliveries>;

export const WebhookDeadLetter = t.defineMessage("WebhookDeadLetter", {
  webhook_id: t.text,
  type: t.text,
  died_at: t.withDescription(t.time, "after a day of attempts"),
  attempts: t.integer,
  detail: t.withDescription(t.text, "what became of the last attempt"),
  body: t.withDescription(t.anObject, "as it is sent"),
});

/** `GET /v1/webhooks/{id}/dead`. */
export const WebhookDead = t.defineMessage("WebhookDead", {
  dead: t.defineList(WebhookDeadLetter),
});
export type WebhookDead = t.MessageOf<typeof WebhookDead>;

/** `POST /v1/webhooks/{id}/dead/redeliver`. */
export const WebhookRedeliveryRequest = t.defineStrictMessage("WebhookRedeliveryRequest", {
  webhook_ids: t.makeOptional(
    t.withDescription(
      t.defineList(t.defineToken(WEBHOOK_ID_LENGTH_MAX), {
        minItems: 1,
        maxItems: WEBHOOK_DEAD_MAX,
        "~noun": "ids",
      }),
      "left out: all",
    ),
  ),
});

export const WebhookRedelivery = t.defineMessage("WebhookRedelivery", {
  redelivered: t.withDescription(
    t.integer,
    "dead letters that wait for delivery again, as many as fit in",
  ),
  dead: t.withDescription(t.integer, "those that are left"),
});
export type WebhookRedelivery = t.MessageOf<typeof WebhookRedelivery>;
