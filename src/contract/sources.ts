// The evidence vault on the wire: registering, reading and revoking sources (contract: "evidence
// vault"). Documents go in and are indexed; their text never comes out again.
import {
  asBody,
  broken,
  contentHashFault,
  enumFault,
  type FieldErrors,
  invalidRequest,
  isObject,
  note,
  plainTextFault,
  typeFault,
  batchItems,
  unknownMembers,
} from "./parse/field-rules.ts";
import type { LabelResult, TextLabel, ThresholdList } from "./text-labels.ts";
import { CONTENT_TYPE_LENGTH_MAX, SOURCE_ID_LENGTH_MAX } from "./limits.ts";

/** From least to most suspect. Only `active` verifies; the last two taint equal content. */
export const EVIDENCE_STATES = ["active", "revoked", "retracted", "recorded_false"] as const;
export type EvidenceState = (typeof EVIDENCE_STATES)[number];

/** Who may cite a source: its own tenant, or everyone (registered by an administrator). */
export const VISIBILITIES = ["tenant", "public"] as const;
export type Visibility = (typeof VISIBILITIES)[number];

export const EVIDENCE_BODY_BYTES_MAX = 1024 * 1024;
export const TITLE_LENGTH_MAX = 512;

/** `PUT /v1/evidence/{source_id}`; with `source_id` also an item of the batch. */
export interface EvidenceRequest {
  /** Digest of the original bytes; left out, that of `text` as UTF-8. */
  sha256?: string;
  /** Media type: `application/json` and `text/html` are flattened before they are indexed. */
  kind: string;
  title: string;
  /** Without it the source can be verified by digest, but no text is checked against it. */
  text?: string;
  visibility: Visibility;
  /** `retracted` and `recorded_false` register what must not be repeated. */
  state: Exclude<EvidenceState, "revoked">;
}

export interface EvidenceItem extends EvidenceRequest {
  source_id: string;
}

/** A registered source: never its text. */
export interface EvidenceRecord {
  source_id: string;
  sha256: string;
  size: number;
  kind: string;
  title: string;
  tenant: string;
  visibility: Visibility;
  state: EvidenceState;
  has_text: boolean;
  registered_at: string;
  registrar: string;
  /** Place in the chain of records, from 0. */
  index: number;
  /** Chain before this record and with it; `sha256:` and hex. */
  prev_hash: string;
  chain_hash: string;
}

/** `GET /v1/evidence/{source_id}`: the record, and the proof that the chain's root holds it. */
export interface EvidenceProof extends EvidenceRecord {
  /** `jws` is that of `GET /v1/vault/root` at this size: proof and signed root in one answer. */
  merkle: { root: string; tree_size: number; leaf: string; path: string[]; jws: string };
}

/** `GET /v1/vault/root`: the tree head of all records, signed by the bureau's own key. */
export interface SignedRoot {
  root: string;
  tree_size: number;
  chain_hash: string;
  signed_at: string;
  /** Compact JWS of `{root, tree_size, chain_hash, iat}`, `typ` `vault-root+jws`. */
  jws: string;
  jwk: { kty: "OKP"; crv: "Ed25519"; x: string; kid: string; alg: "EdDSA"; use: "sig" };
}

export interface EvidenceList {
  root: string;
  tree_size: number;
  records: EvidenceRecord[];
}

/** Who writes: tenant and key of the call. */
export interface EvidenceRegistrar {
  readonly tenant: string;
  readonly keyId: string;
  /** Only administrators register what everyone may cite. */
  readonly isAdmin: boolean;
}

/** The vault as its routes use it. Writes resolve once durable; faults are ServiceFaults. */
export interface EvidenceVault {
  register(
    items: readonly EvidenceItem[],
    by: EvidenceRegistrar,
  ): Promise<{ record: EvidenceRecord; isNew: boolean }[]>;
  revoke(sourceId: string, by: EvidenceRegistrar): Promise<EvidenceRecord>;
  read(sourceId: string, tenant: string): EvidenceProof;
  list(tenant: string): EvidenceList;
  root(): SignedRoot;
  label(items: readonly TextLabel[], by: EvidenceRegistrar): Promise<LabelResult>;
  thresholds(tenant: string): ThresholdList;
}

const MEMBERS = ["sha256", "kind", "title", "text", "visibility", "state"];
const STATES_GIVEN = EVIDENCE_STATES.filter((state) => state !== "revoked");

/** Body of `PUT /v1/evidence/{source_id}`. Throws ServiceFault listing every fault. */
export function parseEvidenceRequest(value: unknown): EvidenceRequest {
  const members = asBody(value);
  const errors = memberFaults(members, "", MEMBERS);
  if (errors !== undefined) throw invalidRequest(errors);
  return requestOf(members);
}

/** Body of `POST /v1/evidence`: `{items: [...]}`, each with its `source_id`. All or nothing. */
export function parseEvidenceBatch(value: unknown): EvidenceItem[] {
  const items = batchItems(value, itemFaults);
  return (items as Record<string, unknown>[]).map((item) =>
    Object.assign({ source_id: item["source_id"] as string }, requestOf(item)),
  );
}

/** A source id outside bodies; the same rule as `cited_sources`. */
export function sourceIdFault(id: string): FieldErrors {
  return note(undefined, plainTextFault("/source_id", id, SOURCE_ID_LENGTH_MAX));
}

function itemFaults(found: FieldErrors, item: unknown, at: string): FieldErrors {
  if (!isObject(item)) return note(found, broken(at, "type", "must be an object"));
  const fault = plainTextFault(`${at}/source_id`, item["source_id"], SOURCE_ID_LENGTH_MAX);
  let errors = note(found, fault);
  for (const error of memberFaults(item, at, [...MEMBERS, "source_id"]) ?? []) {
    errors = note(errors, error);
  }
  return errors;
}

function memberFaults(
  members: Record<string, unknown>,
  at: string,
  known: readonly string[],
): FieldErrors {
  const { sha256, kind, title, text, visibility, state } = members;
  let errors = unknownMembers(members, known, at);
  if (sha256 !== undefined) errors = note(errors, contentHashFault(`${at}/sha256`, sha256));
  if (text !== undefined) errors = note(errors, typeFault(`${at}/text`, text, "string"));
  if (sha256 === undefined && text === undefined) {
    errors = note(errors, broken(`${at}/sha256`, "required", "is required without `text`"));
  }
  if (kind !== undefined) {
    errors = note(errors, plainTextFault(`${at}/kind`, kind, CONTENT_TYPE_LENGTH_MAX));
  }
  if (title !== undefined) {
    errors = note(errors, plainTextFault(`${at}/title`, title, TITLE_LENGTH_MAX));
  }
  if (visibility !== undefined) {
    errors = note(errors, enumFault(`${at}/visibility`, visibility, VISIBILITIES));
  }
  if (state !== undefined) errors = note(errors, enumFault(`${at}/state`, state, STATES_GIVEN));
  return errors;
}

function requestOf(members: Record<string, unknown>): EvidenceRequest {
  const { sha256, kind, title, text, visibility, state } = members as Partial<EvidenceRequest>;
  const request: EvidenceRequest = {
    kind: kind ?? "text/plain",
    title: title ?? "",
    visibility: visibility ?? "tenant",
    state: state ?? "active",
  };
  if (sha256 !== undefined) request.sha256 = sha256;
  if (text !== undefined) request.text = text;
  return request;
}
