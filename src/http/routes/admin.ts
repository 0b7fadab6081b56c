// Routes of operators: API keys, usage. They refuse unknown members (contract/parse/requests.ts).
import { BODY_BYTES_MAX } from "../../contract/limits.ts";
import { parseKeyRequest } from "../../contract/parse/requests.ts";
import type { KeyDescription, KeyRequest } from "../../contract/schemas/service.ts";
import type { Exchange } from "../exchange.ts";
import type { NewKey } from "../access/keyring.ts";
import type { Route } from "../route.ts";
import type { Reply } from "../server/port.ts";
import { type UsageAccount, usageReport } from "../access/usage.ts";

export const ADMIN_ROUTES: readonly Route[] = [
  {
    name: "create_key",
    method: "POST",
    path: "/v1/keys",
    summary: "Makes an API key; its text is in this answer and nowhere else",
    access: "admin",
    body: { kind: "document", bytesMax: BODY_BYTES_MAX, schema: "KeyRequest" },
    responses: { 201: { description: "The key, shown once", schema: "KeyCreated" } },
    isSynchronous: false,
    handle: createKey,
  },
  {
    name: "list_keys",
    method: "GET",
    path: "/v1/keys",
    summary: "Every key ever made, without secrets",
    access: "admin",
    responses: { 200: { description: "The keys", schema: "KeyList" } },
    isSynchronous: true,
    handle: (exchange) => exchange.document(200, { keys: exchange.services.keyring.list() }),
  },
  {
    name: "revoke_key",
    method: "DELETE",
    path: "/v1/keys/{id}",
    summary: "Revokes a key at once and for good",
    access: "admin",
    responses: { 200: { description: "The revoked key", schema: "KeyDescription" } },
    isSynchronous: false,
    handle: revokeKey,
  },
  {
    name: "usage",
    method: "GET",
    path: "/v1/usage",
    summary: "Paid reads and free reports of the key; of all keys for an administrator",
    access: "key",
    responses: { 200: { description: "The counters", schema: "UsageReport" } },
    isSynchronous: true,
    handle: usage,
  },
];

function usage(exchange: Exchange): Reply | Promise<Reply> {
  const { allCounts, usage: meter } = exchange.services;
  const report = (accounts: readonly UsageAccount[]) =>
    exchange.document(200, usageReport(exchange.principal, meter.sinceMs, accounts));
  if (allCounts === undefined) return report(meter.accounts());
  return allCounts().then((threads) => report(threads.flatMap((thread) => thread.usage)));
}

async function createKey(exchange: Exchange): Promise<Reply> {
  const request = parseKeyRequest(exchange.readDocument());
  const { key, description } = await exchange.services.keyring.create(newKeyOf(request));
  noteKeyChange(exchange, "api_key.created", description);
  return exchange.document(201, { key, ...description });
}

async function revokeKey(exchange: Exchange): Promise<Reply> {
  const description = await exchange.services.keyring.revoke(exchange.decodedParameter());
  noteKeyChange(exchange, "api_key.revoked", description);
  return exchange.document(200, description);
}

/**
 * Row of `audit_events`. The change is already in force: it neither waits for the store nor fails
 * with it.
 */
function noteKeyChange(exchange: Exchange, event: string, key: KeyDescription): void {
  const { store, clock, logger } = exchange.services;
  const { keyId: actor } = exchange.principal;
  const noted = store.note("audit_events", {
    recorded_at: clock(),
    event,
    tenant: key.tenant,
    actor,
    detail: key,
  });
  noted.catch((error: unknown) => {
    const fields = { request_id: exchange.requestId, event, error: String(error) };
    logger.error("a change of an API key was made and could not be noted", fields);
  });
}

function newKeyOf(request: KeyRequest): NewKey {
  return {
    tenant: request.tenant,
    scopes: request.scopes,
    minimumScores: request.minimum_scores,
    isShadow: request.is_shadow,
    isFirstParty: request.first_party,
    label: request.label,
    expiresAtMs: request.expires_at,
  };
}
