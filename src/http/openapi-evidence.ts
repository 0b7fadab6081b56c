// JSON Schemas of the evidence vault's messages (contract/evidence.ts).
import { EVIDENCE_STATES, TITLE_LENGTH_MAX, VISIBILITIES } from "../contract/evidence.ts";
import {
  BATCH_ITEMS_MAX,
  CONTENT_TYPE_LENGTH_MAX,
  SOURCE_ID_LENGTH_MAX,
} from "../contract/limits.ts";
import {
  flag,
  integer,
  list,
  object,
  oneOf,
  ref,
  type Schema,
  text,
  time,
} from "./openapi-parts.ts";

const digest: Schema = { type: "string", pattern: "^sha256:[0-9a-f]{64}$" };
const sourceId: Schema = { type: "string", minLength: 1, maxLength: SOURCE_ID_LENGTH_MAX };

const given = {
  sha256: digest,
  kind: { type: "string", minLength: 1, maxLength: CONTENT_TYPE_LENGTH_MAX },
  title: { type: "string", minLength: 1, maxLength: TITLE_LENGTH_MAX },
  text,
  visibility: oneOf(VISIBILITIES),
  state: oneOf(EVIDENCE_STATES.filter((state) => state !== "revoked")),
} satisfies Record<string, Schema>;

const record = {
  source_id: sourceId,
  sha256: digest,
  size: integer,
  kind: text,
  title: text,
  tenant: text,
  visibility: oneOf(VISIBILITIES),
  state: oneOf(EVIDENCE_STATES),
  has_text: flag,
  registered_at: time,
  registrar: text,
  index: integer,
  prev_hash: digest,
  chain_hash: digest,
};

export const EVIDENCE_SCHEMAS: Record<string, Schema> = {
  EvidenceRequest: object({}, given),
  EvidenceItem: object({ source_id: sourceId }, given),
  EvidenceBatch: object({
    items: { ...list(ref("EvidenceItem")), minItems: 1, maxItems: BATCH_ITEMS_MAX },
  }),
  EvidenceRecord: object(record),
  EvidenceProof: object({
    ...record,
    merkle: object({ root: digest, tree_size: integer, leaf: digest, path: list(digest) }),
  }),
  EvidenceList: object({ root: digest, tree_size: integer, records: list(ref("EvidenceRecord")) }),
  EvidenceBatchResult: object({ records: list(ref("EvidenceRecord")) }),
};
