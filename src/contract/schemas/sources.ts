// Messages of the evidence vault: sources and the texts that people labelled. Documents go in and
// are indexed; their text never comes out again.
import { CONTENT_TYPE_LENGTH_MAX, TITLE_LENGTH_MAX } from "../limits.ts";
import { EVIDENCE_STATES, TEXT_KINDS, TEXT_LABELS, VISIBILITIES } from "../vocabulary.ts";
import * as t from "./schema.ts";

/** In answers: one spelling. */
const digest = t.withKeywords(t.contentHash, { "~shown": { pattern: "^sha256:[0-9a-f]{64}$" } });
const contentType = t.definePlainText(CONTENT_TYPE_LENGTH_MAX);

const given = {
  /** Digest of the original bytes; left out, that of `text` as UTF-8. */
  sha256: t.makeOptional(t.contentHash),
  /** Without it the source can be verified by digest, but no text is checked against it. */
  text: t.makeOptional(t.text),
  /** Media type: `application/json` and `text/html` are flattened before they are indexed. */
  kind: t.withDefault(contentType, "text/plain"),
  title: t.withDefault(t.definePlainText(TITLE_LENGTH_MAX), ""),
  visibility: t.withDefault(t.defineChoice(VISIBILITIES), "tenant"),
  /** `retracted` and `recorded_false` register what must not be repeated. */
  state: t.withDefault(
    t.defineChoice(EVIDENCE_STATES.filter((state) => state !== "revoked")),
    "active",
  ),
};

const HAS_CONTENT = {
  ...t.STRICT,
  "~refine": [
    {
      check: (item: Record<string, unknown>) =>
        item["sha256"] !== undefined || item["text"] !== undefined,
      error: () => "required /sha256 is required without `text`",
    },
  ],
};

/** `PUT /v1/evidence/{source_id}`. */
export const EvidenceRequest = t.defineMessage("EvidenceRequest", given, HAS_CONTENT);
export type EvidenceRequest = t.MessageOf<typeof EvidenceRequest>;

export const EvidenceItem = t.defineMessage(
  "EvidenceItem",
  { source_id: t.sourceId, ...given },
  HAS_CONTENT,
);
export type EvidenceItem = t.MessageOf<typeof EvidenceItem>;

/** Body of `POST /v1/evidence`. All or nothing. */
export const EvidenceBatch = t.defineMessage("EvidenceBatch", {
  items: t.defineBatch(EvidenceItem),
});

/** A registered source: never its text. */
export const EvidenceRecord = t.defineMessage("EvidenceRecord", {
  source_id: t.sourceId,
  sha256: digest,
  size: t.integer,
  ...t.repeatSchema(t.text, "kind", "title", "tenant"),
  visibility: t.defineChoice(VISIBILITIES),
  state: t.defineChoice(EVIDENCE_STATES),
  has_text: t.flag,
  registered_at: t.time,
  registrar: t.text,
  /** Place in the chain of records, from 0. */
  index: t.integer,
  /** Chain before this record and with it. */
  prev_hash: digest,
  chain_hash: digest,
});
export type EvidenceRecord = t.MessageOf<typeof EvidenceRecord>;

/** The record, and the proof that the chain's root holds it. */
export const EvidenceProof = t.defineMessage("EvidenceProof", {
  ...EvidenceRecord.properties,
  /** `jws` is that of `GET /v1/vault/root` at this size: proof and signed root in one answer. */
  merkle: t.defineObject({
    root: digest,
    tree_size: t.integer,
    /** What the leaf is the hash of: the record's members in fixed order, as JSON. */
    leaf_text: t.text,
    leaf: digest,
    path: t.defineList(digest),
    jws: t.text,
  }),
});
export type EvidenceProof = t.MessageOf<typeof EvidenceProof>;

/** `GET /v1/vault/root`: the tree head of all records, signed by the bureau's own key. */
export const SignedRoot = t.defineMessage("SignedRoot", {
  root: digest,
  tree_size: t.integer,
  chain_hash: digest,
  signed_at: t.time,
  /** Compact JWS of `{root, tree_size, chain_hash, iat}`, `typ` `vault-root+jws`. */
  jws: t.text,
  jwk: t.defineObject({
    kty: t.defineChoice(["OKP"]),
    crv: t.defineChoice(["Ed25519"]),
    x: t.text,
    kid: t.text,
    alg: t.defineChoice(["EdDSA"]),
    use: t.defineChoice(["sig"]),
  }),
});
export type SignedRoot = t.MessageOf<typeof SignedRoot>;

export const EvidenceList = t.defineMessage("EvidenceList", {
  root: digest,
  tree_size: t.integer,
  records: t.defineList(EvidenceRecord),
  /** As `before` it gives the next page; left out on the last one. */
  next_before: t.makeOptional(t.integer),
});
export type EvidenceList = t.MessageOf<typeof EvidenceList>;

export const EvidenceBatchResult = t.defineMessage("EvidenceBatchResult", {
  records: t.defineList(EvidenceRecord),
});

/** A context as verify takes it, and what a person found of it. */
export const TextLabel = t.defineStrictMessage("TextLabel", {
  content: t.text,
  cited_sources: t.withKeywords(t.citedSources, { minItems: 1 }),
  question: t.makeOptional(t.text),
  content_type: t.makeOptional(contentType),
  label: t.defineChoice(TEXT_LABELS),
});
export type TextLabel = t.MessageOf<typeof TextLabel>;

/** Body of `POST /v1/vault/labels`. All or nothing. */
export const TextLabels = t.defineMessage("TextLabels", { items: t.defineBatch(TextLabel) });

/** How texts of one kind are judged for this tenant. */
export const KindThreshold = t.defineMessage("KindThreshold", {
  kind: t.defineChoice(TEXT_KINDS),
  /** From here on the text is doubted; from there on it is called hallucinated. */
  doubt_at: t.number,
  hallucinated_at: t.number,
  from: t.defineChoice(["shipped", "tenant"]),
  /** Bounds on the share of supported texts that each threshold flags; null for a default. */
  alpha_doubt: t.numberOrNull,
  alpha_hallucinated: t.numberOrNull,
  supported: t.integer,
  unsupported: t.integer,
  /** Supported texts of one's own that replace the shipped thresholds. */
  needed: t.integer,
});
export type KindThreshold = t.MessageOf<typeof KindThreshold>;

export const ThresholdList = t.defineMessage("ThresholdList", {
  /** The model whose scores these are: labels of another one no longer count. */
  model: t.text,
  thresholds: t.defineList(KindThreshold),
});
export type ThresholdList = t.MessageOf<typeof ThresholdList>;

export const LabelResult = t.defineMessage("LabelResult", {
  ...ThresholdList.properties,
  items: t.defineList(
    t.defineObject({
      /** False when no cited source has a text, or the content says nothing to check. */
      counted: t.flag,
      kind: t.makeOptional(t.defineChoice(TEXT_KINDS)),
      /** The score that was kept, in the unit of the thresholds. */
      risk: t.makeOptional(t.number),
    }),
  ),
});
export type LabelResult = t.MessageOf<typeof LabelResult>;
export type LabelledItem = LabelResult["items"][number];
