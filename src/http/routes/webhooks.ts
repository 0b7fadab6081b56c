// Routes of webhooks, for operators: endpoints that are told of events, and what came of telling them.
import { BODY_BYTES_MAX, WEBHOOK_IDS_BYTES_MAX } from "../../contract/limits.ts";
import {
  parseWebhookPatch,
  parseWebhookRedelivery,
  parseWebhookRequest,
} from "../../contract/parse/requests.ts";
import type { Webhooks } from "../../contract/webhooks/port.ts";
import type { Exchange } from "../exchange.ts";
import type { Route } from "../route.ts";

/** A test waits for the endpoint, which has 15 s. */
const TEST_MS = 20_000;
const SHARED = {
  access: "admin",
} as const;
const ID = {
  parameter: { description: "`id` of the endpoint", example: "wh_0123456789abcdef0123" },
};

/** Handler that answers 200 with the document that `call` resolves with; `id` is the path's parameter. */
function answerWith(
  call: (webhooks: Webhooks, id: string, exchange: Exchange) => Promise<object>,
): Route["handle"] {
  return async (exchange) => {
    const id = exchange.decodedParameter();
    return exchange.document(200, await call(exchange.require("webhooks"), id, exchange));
  };
}

export const WEBHOOK_ROUTES: readonly Route[] = [
  {
    ...SHARED,
    name: "create_webhook",
    method: "POST",
    path: "/v1/webhooks",
    summary: "Registers an endpoint; its secret is in this answer and nowhere else",
    body: { kind: "document", bytesMax: BODY_BYTES_MAX, schema: "WebhookRequest" },
    responses: { 201: { description: "The endpoint, told from now on", schema: "WebhookCreated" } },
    handle: async (exchange) => {
      const request = parseWebhookRequest(exchange.readDocument());
      return exchange.document(201, await exchange.require("webhooks").create(request));
    },
  },
  {
    ...SHARED,
    name: "list_webhooks",
    method: "GET",
    path: "/v1/webhooks",
    summary: "Every endpoint, without secrets",
    responses: { 200: { description: "The endpoints", schema: "WebhookList" } },
    handle: answerWith((webhooks) => webhooks.list()),
  },
  {
    ...SHARED,
    ...ID,
    name: "read_webhook",
    method: "GET",
    path: "/v1/webhooks/{id}",
    summary: "One endpoint: what it is told, and how it fares",
    responses: { 200: { description: "The endpoint", schema: "Webhook" } },
    handle: answerWith((webhooks, id) => webhooks.read(id)),
  },
  {
    ...SHARED,
    ...ID,
    name: "change_webhook",
    method: "PATCH",
    path: "/v1/webhooks/{id}",
    summary: "Changes URL, events or description; stops an endpoint or lets it go on",
    body: { kind: "document", bytesMax: BODY_BYTES_MAX, schema: "WebhookPatch" },
    responses: { 200: { description: "The endpoint as it is now", schema: "Webhook" } },
    handle: answerWith((webhooks, id, exchange) =>
      webhooks.change(id, parseWebhookPatch(exchange.readDocument())),
    ),
  },
  {
    ...SHARED,
    ...ID,
    name: "remove_webhook",
    method: "DELETE",
    path: "/v1/webhooks/{id}",
    summary: "Takes an endpoint away, with all that waits for it",
    responses: { 200: { description: "The endpoint as it was", schema: "Webhook" } },
    handle: answerWith((webhooks, id) => webhooks.remove(id)),
  },
  {
    ...SHARED,
    ...ID,
    name: "renew_webhook_secret",
    method: "POST",
    path: "/v1/webhooks/{id}/secret",
    summary: "Makes another secret; for a day the former one signs beside it",
    responses: { 200: { description: "The endpoint with its secret", schema: "WebhookCreated" } },
    handle: answerWith((webhooks, id) => webhooks.renewSecret(id)),
  },
  {
    ...SHARED,
    ...ID,
    name: "test_webhook",
    method: "POST",
    path: "/v1/webhooks/{id}/test",
    summary: "Sends one `webhook.test` now and says what came of it",
    responses: { 200: { description: "What came of it", schema: "WebhookTested" } },
    deadlineMs: TEST_MS,
    handle: answerWith((webhooks, id) => webhooks.test(id)),
  },
  {
    ...SHARED,
    ...ID,
    name: "webhook_deliveries",
    method: "GET",
    path: "/v1/webhooks/{id}/deliveries",
    summary: "The newest 50 attempts to tell an endpoint",
    responses: { 200: { description: "Attempts, newest first", schema: "WebhookDeliveries" } },
    handle: answerWith((webhooks, id) => webhooks.deliveries(id)),
  },
  {
    ...SHARED,
    ...ID,
    name: "webhook_dead_letters",
    method: "GET",
    path: "/v1/webhooks/{id}/dead",
    summary: "Events that were tried for a day in vain",
    responses: { 200: { description: "Dead letters, oldest first", schema: "WebhookDead" } },
    handle: answerWith((webhooks, id) => webhooks.dead(id)),
  },
  {
    ...SHARED,
    ...ID,
    name: "redeliver_webhook",
    method: "POST",
    path: "/v1/webhooks/{id}/dead/redeliver",
    summary: "Sends dead letters again, as new; all of them or those named",
    body: { kind: "document", bytesMax: WEBHOOK_IDS_BYTES_MAX, schema: "WebhookRedeliveryRequest" },
    responses: { 200: { description: "How many wait again", schema: "WebhookRedelivery" } },
    handle: answerWith((webhooks, id, exchange) =>
      webhooks.redeliver(id, parseWebhookRedelivery(exchange.readDocument()).webhook_ids),
    ),
  },
];
