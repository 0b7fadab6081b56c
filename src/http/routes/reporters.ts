// Routes of reporters' signing keys (evidence 1.5): a nonce to sign, registration, list and
// revocation. The agent identifier is percent-encoded in the path.
import { parseAgentId } from "../../contract/identifiers.ts";
import { BODY_BYTES_MAX } from "../../contract/limits.ts";
import {
  parseReporterKeyRequest,
  parseReporterKeyRevocation,
} from "../../contract/parse/requests.ts";
import { confirmMissing } from "../access/missing-ids.ts";
import type { Exchange } from "../exchange.ts";
import type { Route } from "../route.ts";
import type { Reply } from "../server/port.ts";

export const REPORTER_ROUTES: readonly Route[] = [
  {
    name: "register_reporter_key",
    method: "PUT",
    path: "/v1/agents/{id}/keys",
    summary: "Registers an agent's signing key, with proof that its owner holds it",
    access: "keys:write",
    body: { kind: "document", bytesMax: BODY_BYTES_MAX, schema: "ReporterKeyRequest" },
    responses: { 200: { description: "The key", schema: "ReporterKey" } },
    ...confirmMissing(handleReporterKeyRegistration),
  },
  {
    name: "list_reporter_keys",
    method: "GET",
    path: "/v1/agents/{id}/keys",
    summary: "An agent's signing keys, past ones included",
    access: "key",
    responses: { 200: { description: "The keys", schema: "ReporterKeyList" } },
    isSynchronous: true,
    handle: (exchange) => {
      const agent = parseKeyHolder(exchange);
      return exchange.document(200, {
        agent_id: agent,
        keys: exchange.require("reporters").list(agent),
      });
    },
  },
  {
    name: "reporter_key_nonce",
    method: "POST",
    path: "/v1/agents/{id}/keys/nonce",
    summary: "A nonce that the agent's next key must sign; good once and for five minutes",
    access: "keys:write",
    responses: { 201: { description: "The nonce", schema: "ReporterKeyNonce" } },
    handle: async (exchange) =>
      exchange.document(
        201,
        exchange
          .require("reporters")
          .issueNonce(parseAgentId(exchange.decodedParameter()), exchange.principal),
      ),
  },
  {
    name: "revoke_reporter_key",
    method: "POST",
    path: "/v1/agents/{id}/keys/revoke",
    summary: "Revokes a signing key for good; what it signed since it was compromised is undone",
    access: "keys:write",
    body: { kind: "document", bytesMax: BODY_BYTES_MAX, schema: "ReporterKeyRevocation" },
    responses: { 200: { description: "The revoked key", schema: "ReporterKey" } },
    ...confirmMissing(handleReporterKeyRevocation),
  },
];

/**
 * The agent of the path. Keys of a name without an agent's form, registered before it was refused, can
 * still be seen and revoked.
 * @throws ServiceFault `invalid_parameter`.
 */
function parseKeyHolder(exchange: Exchange): string {
  const agent = exchange.decodedParameter();
  const keys = exchange.services.reporters?.list(agent) ?? [];
  return keys.length > 0 ? agent : parseAgentId(agent);
}

async function handleReporterKeyRegistration(exchange: Exchange): Promise<Reply> {
  const agent = parseAgentId(exchange.decodedParameter());
  const request = parseReporterKeyRequest(exchange.readDocument());
  const key = await exchange.require("reporters").register(agent, request, exchange.principal);
  return exchange.document(200, key);
}

async function handleReporterKeyRevocation(exchange: Exchange): Promise<Reply> {
  const agent = parseKeyHolder(exchange);
  const request = parseReporterKeyRevocation(exchange.readDocument());
  const key = await exchange.require("reporters").revoke(agent, request, exchange.principal);
  return exchange.document(200, key);
}

// The service's own signing keys: the published JWK set, and rotation.

export const SIGNING_KEY_ROUTES: readonly Route[] = [
  {
    name: "signing_keys",
    method: "GET",
    path: "/.well-known/jwks.json",
    summary: "Public keys of the bureau, by which its signatures verify: the one in use first",
    access: "none",
    responses: { 200: { description: "A JWK set", schema: "SigningKeySet" } },
    isSynchronous: true,
    isFixedFormat: true,
    handle: (exchange) =>
      exchange.document(200, exchange.require("signingKeys").listPublishedKeys()),
  },
  {
    name: "rotate_signing_key",
    method: "POST",
    path: "/v1/signing-keys/rotate",
    summary: "Lets another key sign from now on; what the former signed verifies for ever",
    access: "admin",
    responses: { 200: { description: "The published set", schema: "SigningKeySet" } },
    handle: async (exchange) => {
      const keys = await exchange.require("signingKeys").rotate(exchange.principal.keyId);
      return exchange.document(200, keys);
    },
  },
];
