// Routes of the evidence vault: sources are registered, read and revoked, never downloaded. Writing
// takes the scope `evidence:write`; reading any key, which sees its tenant's sources and public
// ones. Writes are answered once durable.
import { invalidRequest } from "../../contract/faults.ts";
import { EVIDENCE_BODY_BYTES_MAX } from "../../contract/limits.ts";
import { listFieldErrors } from "../../contract/parse/faults-of.ts";
import { parseLimit, readChoice, throwInvalidParameter } from "../../contract/parse/parameters.ts";
import {
  parseEvidenceBatch,
  parseEvidenceRequest,
  parseTextLabels,
} from "../../contract/parse/requests.ts";
import { sourceId } from "../../contract/schemas/schema.ts";
import type { EvidenceQuery, EvidenceRegistrar } from "../../contract/sources.ts";
import { EVIDENCE_STATES } from "../../contract/vocabulary.ts";
import { resolveNamedTenant } from "./decisions.ts";
import { confirmMissing } from "../access/missing-ids.ts";
import type { Exchange } from "../exchange.ts";
import type { Route } from "../route.ts";
import type { Reply } from "../server/port.ts";

/** A label holds a whole text: as much as a batch of verdicts may hold. */
const LABELS_DEADLINE_MS = 30_000;

const PREFIX_LENGTH_MAX = 512;

const EVIDENCE_TENANT_QUERY = {
  tenant: "For an administrator: whose sources; one's own when left out",
} as const;

export const EVIDENCE_ROUTES: readonly Route[] = [
  {
    name: "register_evidence_batch",
    method: "POST",
    path: "/v1/evidence",
    summary: "Registers up to 1,000 sources, all or none by validity",
    access: "evidence:write",
    body: { kind: "document", bytesMax: EVIDENCE_BODY_BYTES_MAX, schema: "EvidenceBatch" },
    responses: { 200: { description: "The records, in order", schema: "EvidenceBatchResult" } },
    deadlineMs: 30_000,
    handle: handleEvidenceBatch,
  },
  {
    name: "list_evidence",
    method: "GET",
    path: "/v1/evidence",
    summary: "Sources that the key's tenant may cite, newest first, and the root of all records",
    access: "key",
    query: {
      prefix: { description: "Beginning of an id or a title, in any case", example: "invoice" },
      state: { description: "Only those in this state", values: EVIDENCE_STATES },
      before: { description: "`next_before` of the page before", example: "1000" },
      limit: "At most so many records, 1 to 1000; 1000 when left out",
      ...EVIDENCE_TENANT_QUERY,
    },
    responses: { 200: { description: "The records", schema: "EvidenceList" } },
    isSynchronous: true,
    handle: (exchange) => {
      const tenant = resolveNamedTenant(exchange);
      const filter = parseEvidenceListQuery(exchange.query);
      return exchange.document(200, exchange.require("vault").list(tenant, filter));
    },
  },
  {
    name: "register_evidence",
    method: "PUT",
    path: "/v1/evidence/{source_id}",
    summary: "Registers a source by digest, text or both; a repeat changes nothing",
    access: "evidence:write",
    body: { kind: "document", bytesMax: EVIDENCE_BODY_BYTES_MAX, schema: "EvidenceRequest" },
    responses: {
      201: { description: "Registered", schema: "EvidenceRecord" },
      200: { description: "A repeat, or a new version", schema: "EvidenceRecord" },
    },
    handle: handleEvidenceRegistration,
  },
  {
    name: "read_evidence",
    method: "GET",
    path: "/v1/evidence/{source_id}",
    summary: "A source's record and the proof that the root holds it; never its text",
    access: "key",
    query: EVIDENCE_TENANT_QUERY,
    responses: { 200: { description: "The record", schema: "EvidenceProof" } },
    isSynchronous: true,
    handle: (exchange) => {
      const id = parseSourceIdParameter(exchange);
      const tenant = resolveNamedTenant(exchange);
      return exchange.document(200, exchange.require("vault").read(id, tenant));
    },
  },
  {
    name: "revoke_evidence",
    method: "DELETE",
    path: "/v1/evidence/{source_id}",
    summary: "Revokes a source: from now on citing it verifies nothing",
    access: "evidence:write",
    query: EVIDENCE_TENANT_QUERY,
    responses: { 200: { description: "The revoked record", schema: "EvidenceRecord" } },
    ...confirmMissing(handleEvidenceRevocation),
  },
  {
    name: "read_vault_root",
    method: "GET",
    path: "/v1/vault/root",
    summary: "The root of all records, signed by the bureau's own key",
    access: "key",
    responses: { 200: { description: "The signed root", schema: "SignedRoot" } },
    isSynchronous: true,
    handle: (exchange) => exchange.document(200, exchange.require("vault").readSignedRoot()),
  },
  {
    name: "label_texts",
    method: "POST",
    path: "/v1/vault/labels",
    summary: "What people found of up to 1,000 texts: calibrates the tenant's own thresholds",
    access: "evidence:write",
    body: { kind: "document", bytesMax: EVIDENCE_BODY_BYTES_MAX, schema: "TextLabels" },
    responses: { 200: { description: "Scores and thresholds", schema: "LabelResult" } },
    deadlineMs: LABELS_DEADLINE_MS,
    handle: async (exchange) => {
      const { items } = parseTextLabels(exchange.readDocument());
      const registrar = createRegistrar(exchange);
      return exchange.document(200, await exchange.require("vault").recordLabels(items, registrar));
    },
  },
  {
    name: "list_thresholds",
    method: "GET",
    path: "/v1/vault/thresholds",
    summary: "Where texts of each kind are doubted and called hallucinated, for the key's tenant",
    access: "key",
    query: EVIDENCE_TENANT_QUERY,
    responses: { 200: { description: "The thresholds", schema: "ThresholdList" } },
    isSynchronous: true,
    handle: (exchange) => {
      const tenant = resolveNamedTenant(exchange);
      return exchange.document(200, exchange.require("vault").listThresholds(tenant));
    },
  },
];

async function handleEvidenceRegistration(exchange: Exchange): Promise<Reply> {
  const source_id = parseSourceIdParameter(exchange);
  const item = Object.assign({ source_id }, parseEvidenceRequest(exchange.readDocument()));
  const [made] = await exchange.require("vault").register([item], createRegistrar(exchange));
  return exchange.document(made!.isNew ? 201 : 200, made!.record);
}

async function handleEvidenceBatch(exchange: Exchange): Promise<Reply> {
  const { items } = parseEvidenceBatch(exchange.readDocument());
  const made = await exchange.require("vault").register(items, createRegistrar(exchange));
  return exchange.document(200, { records: made.map(({ record }) => record) });
}

function parseSourceIdParameter(exchange: Exchange): string {
  const id = exchange.decodedParameter();
  const errors = listFieldErrors(sourceId, id, "/source_id");
  if (errors.length > 0) throw invalidRequest(errors);
  return id;
}

/** @throws ServiceFault `invalid_parameter` */
function parseEvidenceListQuery(query: URLSearchParams): EvidenceQuery {
  const [prefix, before, limit] = [query.get("prefix"), query.get("before"), query.get("limit")];
  const state = readChoice(query, "state", EVIDENCE_STATES);
  if (prefix !== null && prefix.length > PREFIX_LENGTH_MAX) {
    throwInvalidParameter(`\`prefix\` has at most ${PREFIX_LENGTH_MAX} characters`);
  }
  if (before !== null && !/^\d{1,15}$/.test(before)) {
    throwInvalidParameter("`before` must be the `next_before` of a page");
  }
  return {
    ...(prefix === null ? {} : { prefix }),
    ...(state === undefined ? {} : { state }),
    ...(before === null ? {} : { before: Number(before) }),
    ...(limit === null ? {} : { limit: parseLimit(limit) }),
  };
}

/** In force before it is on record; a caller that gets an error asks again, and it is recorded. */
async function handleEvidenceRevocation(exchange: Exchange): Promise<Reply> {
  const id = parseSourceIdParameter(exchange);
  const tenant = resolveNamedTenant(exchange);
  const registrar = { ...createRegistrar(exchange), tenant };
  const record = await exchange.require("vault").revoke(id, registrar);
  await exchange.recordAuditEvent("evidence.revoked", tenant, { source_id: id });
  return exchange.document(200, record);
}

function createRegistrar({ principal }: Exchange): EvidenceRegistrar {
  const { tenant, keyId, scopes } = principal;
  return { tenant, keyId, isAdmin: scopes.has("admin") };
}
