// Routes of namespaces, for operators: which tenant owns which. The namespace is percent-encoded in
// the path.
import { parseNamespace } from "../../contract/identifiers.ts";
import { BODY_BYTES_MAX } from "../../contract/limits.ts";
import { readTimeParameterMs } from "../../contract/parse/decision-query.ts";
import { parseNamespaceGrant, parseNamespaceTransfer } from "../../contract/parse/requests.ts";
import { confirmMissing } from "../access/missing-ids.ts";
import type { Exchange } from "../exchange.ts";
import type { Route } from "../route.ts";
import type { Reply } from "../server/port.ts";

export const NAMESPACE_ROUTES: readonly Route[] = [
  {
    name: "list_namespaces",
    method: "GET",
    path: "/v1/namespaces",
    summary: "Every namespace that has an owner; the inherited ones wait to be confirmed",
    access: "admin",
    responses: { 200: { description: "The namespaces, by name", schema: "NamespaceList" } },
    isSynchronous: true,
    handle: (exchange) =>
      exchange.document(200, { namespaces: exchange.require("namespaces").list() }),
  },
  {
    name: "grant_namespace",
    method: "PUT",
    path: "/v1/namespaces/{namespace}",
    summary: "Makes a tenant the owner of a namespace, or confirms an inherited one",
    access: "admin",
    body: { kind: "document", bytesMax: BODY_BYTES_MAX, schema: "NamespaceGrant" },
    responses: { 200: { description: "The namespace as it is now", schema: "Namespace" } },
    handle: handleNamespaceGrant,
  },
  {
    name: "transfer_namespace",
    method: "POST",
    path: "/v1/namespaces/{namespace}/transfer",
    summary: "Gives a namespace to another tenant; keys of the former owner retire at once",
    access: "admin",
    body: { kind: "document", bytesMax: BODY_BYTES_MAX, schema: "NamespaceTransfer" },
    responses: { 200: { description: "The namespace as it is now", schema: "Namespace" } },
    ...confirmMissing(handleNamespaceTransfer),
  },
  {
    name: "revoke_namespace",
    method: "DELETE",
    path: "/v1/namespaces/{namespace}",
    summary: "Takes a namespace back; keys of its owner retire at once",
    access: "admin",
    query: {
      discount_since:
        "What its reporters signed and the service recorded since then counts no more: a date, an " +
        "RFC 3339 date-time or epoch ms; left out, all that is on record counts on",
    },
    responses: { 200: { description: "The namespace as it was", schema: "Namespace" } },
    ...confirmMissing(handleNamespaceRevocation),
  },
];

/** One that has an owner can be taken back, even if its name would not be granted any more. */
function parseOwnedNamespace(exchange: Exchange): string {
  const name = exchange.decodedParameter();
  const owned = exchange.require("namespaces").list();
  return owned.some(({ namespace }) => namespace === name) ? name : parseNamespace(name);
}

async function handleNamespaceGrant(exchange: Exchange): Promise<Reply> {
  const namespace = parseNamespace(exchange.decodedParameter());
  const grant = parseNamespaceGrant(exchange.readDocument());
  const { tenant, vouched: isVouched, mediator: isMediator } = grant;
  const to = { tenant, isVouched, isMediator };
  const owned = await exchange.require("namespaces").grant(namespace, to, exchange.principal);
  return exchange.document(200, owned);
}

async function handleNamespaceTransfer(exchange: Exchange): Promise<Reply> {
  const namespace = parseNamespace(exchange.decodedParameter());
  const { tenant, keep_keys: keepsKeys } = parseNamespaceTransfer(exchange.readDocument());
  const to = { tenant, keepsKeys };
  const owned = await exchange.require("namespaces").transfer(namespace, to, exchange.principal);
  return exchange.document(200, owned);
}

async function handleNamespaceRevocation(exchange: Exchange): Promise<Reply> {
  const namespace = parseOwnedNamespace(exchange);
  const discountSinceMs = readTimeParameterMs(exchange.query, "discount_since");
  const { principal } = exchange;
  const namespaces = exchange.require("namespaces");
  return exchange.document(200, await namespaces.revoke(namespace, { discountSinceMs }, principal));
}
