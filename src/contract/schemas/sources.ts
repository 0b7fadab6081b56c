// Messages of the evidence vault: sources and the texts that people labelled. Documents go in and
// are indexed; their text never comes out again.
import { CONTENT_TYPE_LENGTH_MAX, TITLE_LENGTH_MAX } from "../limits.ts";
import { EVIDENCE_STATES, TEXT_LABELS, VISIBILITIES } from "../vocabulary.ts";
import * as kind from "./kinds.ts";
import {
  defaulted,
  list,
  message,
  type MessageOf,
  object,
  oneOf,
  optional,
  STRICT,
} from "./schema.ts";
import { batchOf } from "./scores.ts";

const { flag, integer, number, sourceId, text, time } = kind;
const digest = kind.contentHash;
const contentType = kind.plainText(CONTENT_TYPE_LENGTH_MAX);

const given = {
  /** Digest of the original bytes; left out, that of `text` as UTF-8. */
  sha256: optional(digest),
  /** Media type: `application/json` and `text/html` are flattened before they are indexed. */
  kind: defaulted(contentType, "text/plain"),
  title: defaulted(kind.plainText(TITLE_LENGTH_MAX), ""),
  /** Without it the source can be verified by digest, but no text is checked against it. */
  text: optional(text),
  visibility: defaulted(oneOf(VISIBILITIES), "tenant"),
  /** `retracted` and `recorded_false` register what must not be repeated. */
  state: defaulted(oneOf(EVIDENCE_STATES.filter((state) => state !== "revoked")), "active"),
};

const HAS_CONTENT = {
  ...STRICT,
  "~refine": [
    {
      check: (item: Record<string, unknown>) =>
        item["sha256"] !== undefined || item["text"] !== undefined,
      error: () => "required /sha256 is required without `text`",
    },
  ],
};

/** `PUT /v1/evidence/{source_id}`. */
export const EvidenceRequest = message("EvidenceRequest", given, HAS_CONTENT);
export type EvidenceRequest = MessageOf<typeof EvidenceRequest>;

export const EvidenceItem = message("EvidenceItem", { source_id: sourceId, ...given }, HAS_CONTENT);
export type EvidenceItem = MessageOf<typeof EvidenceItem>;

/** Body of `POST /v1/evidence`. All or nothing. */
export const EvidenceBatch = message("EvidenceBatch", { items: batchOf(EvidenceItem) });

/** A registered source: never its text. */
export const EvidenceRecord = message("EvidenceRecord", {
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
  /** Place in the chain of records, from 0. */
  index: integer,
  /** Chain before this record and with it. */
  prev_hash: digest,
  chain_hash: digest,
});
export type EvidenceRecord = MessageOf<typeof EvidenceRecord>;

/** The record, and the proof that the chain's root holds it. */
export const EvidenceProof = message("EvidenceProof", {
  ...EvidenceRecord.properties,
  /** `jws` is that of `GET /v1/vault/root` at this size: proof and signed root in one answer. */
  merkle: object({ root: digest, tree_size: integer, leaf: digest, path: list(digest), jws: text }),
});
export type EvidenceProof = MessageOf<typeof EvidenceProof>;

/** `GET /v1/vault/root`: the tree head of all records, signed by the bureau's own key. */
export const SignedRoot = message("SignedRoot", {
  root: digest,
  tree_size: integer,
  chain_hash: digest,
  signed_at: time,
  /** Compact JWS of `{root, tree_size, chain_hash, iat}`, `typ` `vault-root+jws`. */
  jws: text,
  jwk: object({
    kty: oneOf(["OKP"]),
    crv: oneOf(["Ed25519"]),
    x: text,
    kid: text,
    alg: oneOf(["EdDSA"]),
    use: oneOf(["sig"]),
  }),
});
export type SignedRoot = MessageOf<typeof SignedRoot>;

export const EvidenceList = message("EvidenceList", {
  root: digest,
  tree_size: integer,
  records: list(EvidenceRecord),
});
export type EvidenceList = MessageOf<typeof EvidenceList>;

export const EvidenceBatchResult = message("EvidenceBatchResult", {
  records: list(EvidenceRecord),
});

/** A context as verify takes it, and what a person found of it. */
export const TextLabel = message(
  "TextLabel",
  {
    content: text,
    cited_sources: kind.citedSourcesOfText,
    question: optional(text),
    content_type: optional(contentType),
    label: oneOf(TEXT_LABELS),
  },
  STRICT,
);
export type TextLabel = MessageOf<typeof TextLabel>;

/** Body of `POST /v1/vault/labels`. All or nothing. */
export const TextLabels = message("TextLabels", { items: batchOf(TextLabel) });

/** How texts of one kind are judged for this tenant. */
export const KindThreshold = message("KindThreshold", {
  kind: text,
  /** From here on the text is doubted; from there on it is called hallucinated. */
  doubt_at: number,
  hallucinated_at: number,
  from: oneOf(["shipped", "tenant"]),
  /** Bounds on the share of supported texts that each threshold flags; null for a default. */
  alpha_doubt: kind.numberOrNull,
  alpha_hallucinated: kind.numberOrNull,
  supported: integer,
  unsupported: integer,
  /** Supported texts of one's own that replace the shipped thresholds. */
  needed: integer,
});
export type KindThreshold = MessageOf<typeof KindThreshold>;

export const ThresholdList = message("ThresholdList", {
  /** The model whose scores these are: labels of another one no longer count. */
  model: text,
  thresholds: list(KindThreshold),
});
export type ThresholdList = MessageOf<typeof ThresholdList>;

export const LabelResult = message("LabelResult", {
  ...ThresholdList.properties,
  items: list(
    object({
      /** False when no cited source has a text, or the content says nothing to check. */
      counted: flag,
      kind: optional(text),
      /** The score that was kept, in the unit of the thresholds. */
      risk: optional(number),
    }),
  ),
});
export type LabelResult = MessageOf<typeof LabelResult>;
export type LabelledItem = LabelResult["items"][number];
