// Routes of operators: API keys, usage. They refuse unknown members (contract/parse/requests.ts).
import { BODY_BYTES_MAX } from "../../contract/limits.ts";
import { invalidRequest, ServiceFault } from "../../contract/faults.ts";
import { parseKeyPatch, parseKeyRequest, parseKeyRotation } from "../../contract/parse/requests.ts";
import type { KeyDescription, KeyPatch, KeyRequest } from "../../contract/schemas/service.ts";
import type { Exchange } from "../exchange.ts";
import { CLUSTER_CHANGE_DEADLINE_MS, confirmMissing } from "../access/missing-ids.ts";
import { listPrivilegeErrors, type KeyChange, type NewKey } from "../access/key-changes.ts";
import type { StoredKey } from "../access/key-file.ts";
import type { Route } from "../route.ts";
import type { Reply } from "../server/port.ts";
import {
  computeLastUsePeriod,
  addLastUses,
  collectLastUses,
  describeTenants,
} from "../access/last-uses.ts";
import {
  type ProcessUsage,
  loadUsageRows,
  parseUsageQuery,
  buildUsageReport,
} from "../access/usage-report.ts";
import { selectVisibleTenant } from "./decisions.ts";

const KEY_ID = { description: "`key_id` of the key", example: "k3yid00001" };

export const ADMIN_ROUTES: readonly Route[] = [
  {
    name: "create_key",
    method: "POST",
    path: "/v1/keys",
    summary: "Makes an API key; its text is in this answer and nowhere else",
    access: "admin",
    body: { kind: "document", bytesMax: BODY_BYTES_MAX, schema: "KeyRequest" },
    responses: { 201: { description: "The key, shown once", schema: "KeyCreated" } },
    deadlineMs: CLUSTER_CHANGE_DEADLINE_MS,
    handle: createKey,
  },
  {
    name: "list_keys",
    method: "GET",
    path: "/v1/keys",
    summary: "Every key ever made with its last use, without secrets",
    access: "admin",
    responses: { 200: { description: "The keys", schema: "KeyList" } },
    handle: listKeys,
  },
  {
    name: "list_tenants",
    method: "GET",
    path: "/v1/tenants",
    summary: "Every tenant that has a key, a quota or a use, with its sums of 90 days",
    access: "admin",
    responses: { 200: { description: "The tenants, by name", schema: "TenantList" } },
    handle: listTenants,
  },
  {
    name: "change_key",
    method: "PATCH",
    path: "/v1/keys/{id}",
    parameter: KEY_ID,
    summary: "Changes a key's label, scopes, expiry or minimum scores; its secret stays",
    access: "admin",
    body: { kind: "document", bytesMax: BODY_BYTES_MAX, schema: "KeyPatch" },
    responses: { 200: { description: "The key as it is now", schema: "KeyDescription" } },
    ...confirmMissing(changeKey),
  },
  {
    name: "rotate_key",
    method: "POST",
    path: "/v1/keys/{id}/rotate",
    parameter: KEY_ID,
    summary: "Gives a key a new secret; the present one works until the overlap ends",
    access: "admin",
    body: { kind: "document", bytesMax: BODY_BYTES_MAX, schema: "KeyRotation" },
    responses: { 200: { description: "The key, its new text shown once", schema: "KeyCreated" } },
    ...confirmMissing(rotateKey),
  },
  {
    name: "revoke_key",
    method: "DELETE",
    path: "/v1/keys/{id}",
    parameter: KEY_ID,
    summary: "Revokes a key at once and for good",
    access: "admin",
    responses: { 200: { description: "The revoked key", schema: "KeyRevoked" } },
    ...confirmMissing(revokeKey),
  },
  {
    name: "usage",
    method: "GET",
    path: "/v1/usage",
    summary: "Paid reads and free reports of the tenant's keys; of all keys for an administrator",
    access: "key",
    query: {
      from: "First day, UTC, as `2026-01-31`; the first of the month of `to` by default",
      to: "Last day, UTC; today by default",
      group_by: {
        description: "What `rows` are told apart by: `day` (the default), `month`, `tenant`, `key`",
        example: "day,key",
      },
    },
    responses: { 200: { description: "The sums", schema: "UsageReport" } },
    handle: handleUsage,
  },
];

async function listKeys(exchange: Exchange): Promise<Reply> {
  const { keyring, clock } = exchange.services;
  const book = selectProcessUsage(exchange);
  let isWhole = true;
  const rows = await loadUsageRows(
    selectUsageStore(exchange),
    book,
    computeLastUsePeriod(clock()),
    undefined,
  ).catch((error: unknown) => {
    // Keys must be listed, and revoked, whatever the store does.
    if (!(error instanceof ServiceFault)) throw error;
    isWhole = false;
    return book.rows();
  });
  const keys = addLastUses(keyring.list(), collectLastUses(rows, book), isWhole);
  return exchange.document(200, { keys });
}

async function listTenants(exchange: Exchange): Promise<Reply> {
  const { keyring, clock, quotas } = exchange.services;
  const book = selectProcessUsage(exchange);
  const days = computeLastUsePeriod(clock());
  const rows = await loadUsageRows(selectUsageStore(exchange), book, days, undefined);
  const uses = collectLastUses(rows, book);
  const records = { keys: keyring.list(), rows, uses, quotas: quotas?.list() ?? [] };
  const tenants = describeTenants(records, clock());
  return exchange.document(200, { since: `${days.from}T00:00:00.000Z`, tenants });
}

/** Of all threads; of this one where it is alone. */
function selectProcessUsage({ services }: Exchange): ProcessUsage {
  const { usageBook, usage: meter } = services;
  const rows = () => meter.rows("own");
  return usageBook ?? { meter: "own", since: 0, rows, lastUses: () => new Map() };
}

/** A thread that is alone journals no usage: its store has none. */
function selectUsageStore({ services }: Exchange) {
  return services.usageBook === undefined ? undefined : services.store;
}

async function handleUsage(exchange: Exchange): Promise<Reply> {
  const question = parseUsageQuery(exchange.head.query, exchange.services.clock());
  const tenant = selectVisibleTenant(exchange);
  const quota = exchange.services.quotas?.find(exchange.principal.tenant);
  const rows = await loadUsageRows(
    selectUsageStore(exchange),
    selectProcessUsage(exchange),
    question,
    tenant,
  );
  return exchange.document(200, buildUsageReport(exchange.principal, question, rows, quota));
}

async function createKey(exchange: Exchange): Promise<Reply> {
  const request = parseKeyRequest(exchange.readDocument());
  const { keyring } = exchange.services;
  const { scopes, expires_at: expiresAtMs = null } = request;
  const granted = { scopes, expiresAtMs };
  const excess = listPrivilegeErrors(exchange.principal, findCallerExpiryMs(exchange), granted);
  if (excess.length > 0) throw invalidRequest(excess);
  const { key, description } = await keyring.create(convertKeyRequest(request));
  try {
    await auditKeyChange(exchange, "api_key.created", description);
  } catch (error) {
    // Nobody has seen its text: a key without a record must not exist.
    await keyring.revoke(description.key_id);
    throw error;
  }
  const effective = await exchange.services.effect?.();
  return exchange.document(201, { key, ...description, ...(effective && { effective }) });
}

/** In force before it is on record, as a revocation is. */
async function changeKey(exchange: Exchange): Promise<Reply> {
  const patch = parseKeyPatch(exchange.readDocument());
  const { keyring, clock, effect } = exchange.services;
  if (typeof patch.expires_at === "number" && patch.expires_at <= clock()) {
    const detail = "must lie ahead: to end a key now, revoke it";
    throw invalidRequest([{ pointer: "/expires_at", code: "range", detail }]);
  }
  const { principal } = exchange;
  const expiryMs = findCallerExpiryMs(exchange);
  const { before, description } = await keyring.change(
    exchange.decodedParameter(),
    convertKeyPatch(patch),
    (changed, was) => {
      const excess = listPrivilegeErrors(principal, expiryMs, changed, was);
      if (excess.length > 0) throw invalidRequest(excess);
    },
  );
  await auditKeyChange(exchange, "api_key.changed", { ...description, before });
  const effective = await effect?.();
  return exchange.document(200, { ...description, ...(effective && { effective }) });
}

async function rotateKey(exchange: Exchange): Promise<Reply> {
  const { overlap_sec: overlapSec } = parseKeyRotation(exchange.readDocument());
  const { principal, services } = exchange;
  const expiryMs = findCallerExpiryMs(exchange);
  const check = (stored: StoredKey) => {
    // The new secret is told to the key that asks.
    if (listPrivilegeErrors(principal, expiryMs, stored).length === 0) return;
    const detail = "a key with `admin` is not rotated by one that expires before it";
    throw new ServiceFault("insufficient_scope", detail);
  };
  const id = exchange.decodedParameter();
  const rotated = await services.keyring.rotate(id, overlapSec * 1000, check);
  const { key, description } = rotated;
  try {
    await auditKeyChange(exchange, "api_key.rotated", description);
  } catch (error) {
    // Nobody has seen the new text: the present secret must not end for it.
    await rotated.undo();
    throw error;
  }
  const effective = await services.effect?.();
  return exchange.document(200, { key, ...description, ...(effective && { effective }) });
}

/** Null: the key that asks never expires. */
function findCallerExpiryMs({ principal, services }: Exchange): number | null {
  return services.keyring.findStoredKey(principal.keyId)?.expiresAtMs ?? null;
}

/** In force before it is on record; a caller that gets an error asks again, and it is recorded. */
async function revokeKey(exchange: Exchange): Promise<Reply> {
  const description = await exchange.services.keyring.revoke(exchange.decodedParameter());
  await auditKeyChange(exchange, "api_key.revoked", description);
  const effective = await exchange.services.effect?.();
  return exchange.document(200, { ...description, ...(effective && { effective }) });
}

/** Event of `audit_events`, durable before the change is answered. */
function auditKeyChange(
  exchange: Exchange,
  event: string,
  detail: KeyDescription & { readonly before?: KeyDescription },
): Promise<void> {
  return exchange.recordAuditEvent(event, detail.tenant, detail);
}

function convertKeyRequest(request: KeyRequest): NewKey {
  return {
    tenant: request.tenant,
    scopes: request.scopes,
    minimumScores: request.minimum_scores,
    isShadow: request.is_shadow,
    isFirstParty: request.first_party,
    assertsProperties: request.asserts_properties,
    label: request.label,
    expiresAtMs: request.expires_at,
    querySecondsMax: request.query_seconds_max,
  };
}

function convertKeyPatch(patch: KeyPatch): KeyChange {
  return {
    label: patch.label,
    scopes: patch.scopes,
    expiresAtMs: patch.expires_at,
    minimumScores: patch.minimum_scores,
    querySecondsMax: patch.query_seconds_max,
  };
}
