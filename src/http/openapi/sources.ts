// JSON Schemas of the evidence vault's messages (contract/evidence.ts and evidence-labels.ts).
import { EVIDENCE_STATES, TITLE_LENGTH_MAX, VISIBILITIES } from "../../contract/sources.ts";
import { TEXT_LABELS } from "../../contract/text-labels.ts";
import {
  BATCH_ITEMS_MAX,
  CITED_SOURCES_MAX,
  CONTENT_TYPE_LENGTH_MAX,
  SOURCE_ID_LENGTH_MAX,
} from "../../contract/limits.ts";
import {
  flag,
  integer,
  list,
  number,
  object,
  oneOf,
  ref,
  type Schema,
  text,
  time,
} from "./parts.ts";

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

const citedSources: Schema = { ...list(sourceId), minItems: 1, maxItems: CITED_SOURCES_MAX };
const shareOrNull: Schema = { type: ["number", "null"] };
const threshold = {
  kind: text,
  doubt_at: number,
  hallucinated_at: number,
  from: oneOf(["shipped", "tenant"]),
  alpha_doubt: shareOrNull,
  alpha_hallucinated: shareOrNull,
  supported: integer,
  unsupported: integer,
  needed: integer,
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
    merkle: object({
      root: digest,
      tree_size: integer,
      leaf: digest,
      path: list(digest),
      jws: text,
    }),
  }),
  SignedRoot: object({
    root: digest,
    tree_size: integer,
    chain_hash: digest,
    signed_at: time,
    jws: text,
    jwk: object({
      kty: oneOf(["OKP"]),
      crv: oneOf(["Ed25519"]),
      x: text,
      kid: text,
      alg: oneOf(["EdDSA"]),
      use: oneOf(["sig"]),
    }),
  }),
  TextLabel: object(
    { content: text, cited_sources: citedSources, label: oneOf(TEXT_LABELS) },
    { question: text, content_type: { type: "string", maxLength: CONTENT_TYPE_LENGTH_MAX } },
  ),
  TextLabels: object({
    items: { ...list(ref("TextLabel")), minItems: 1, maxItems: BATCH_ITEMS_MAX },
  }),
  KindThreshold: object(threshold),
  ThresholdList: object({ model: text, thresholds: list(ref("KindThreshold")) }),
  LabelResult: object({
    model: text,
    thresholds: list(ref("KindThreshold")),
    items: list(object({ counted: flag }, { kind: text, risk: number })),
  }),
  EvidenceList: object({ root: digest, tree_size: integer, records: list(ref("EvidenceRecord")) }),
  EvidenceBatchResult: object({ records: list(ref("EvidenceRecord")) }),
};
