// Records of sources: made from requests, held as the newest version of each with its place in the
// chain, and returned in answers. Held without their text.
import { createHash } from "node:crypto";

import { invalidRequest, ServiceFault } from "../../contract/faults.ts";
import type { EvidenceItem, EvidenceRecord } from "../../contract/schemas/sources.ts";
import type { EvidenceRegistrar } from "../../contract/sources.ts";
import type { TextToIndex } from "../grounding/indexing.ts";
import type { SourceEvent } from "./events.ts";

export interface SourceVersion extends Omit<SourceEvent, "text"> {
  /** Entry of the catalogue. */
  number: number;
  /** Place in the chain of records. */
  index: number;
  previousHash: string;
  chainHash: string;
  hasText: boolean;
}

const sha256Hex = (text: string) => createHash("sha256").update(text, "utf8").digest("hex");

/** Key of a source among those of its tenant, or of the public ones. */
export const buildSourceKey = (tenant: string, visibility: string, id: string) =>
  `${visibility === "public" ? "" : tenant}\n${id}`;

export const buildEventSourceKey = ({ tenant, visibility, source_id }: SourceEvent): string =>
  buildSourceKey(tenant, visibility, source_id);

/** The text of an event, as it is indexed. */
export function selectTextToIndex({ text, kind, state }: SourceEvent): TextToIndex | undefined {
  return text === undefined ? undefined : { text, kind, state };
}

/**
 * The event that registers an item at `now` (epoch ms). `at` is its place in a batch, -1 alone.
 * @throws ServiceFault `insufficient_scope` for a public source without `admin`, `invalid_request`
 *   when digest and text disagree.
 */
export function buildSourceEvent(
  item: EvidenceItem,
  by: EvidenceRegistrar,
  now: number,
  at: number,
): SourceEvent {
  if (item.visibility === "public" && !by.isAdmin) {
    throw new ServiceFault("insufficient_scope", "only `admin` registers public sources");
  }
  const { text } = item;
  const digest = text === undefined ? undefined : sha256Hex(text);
  const given = item.sha256?.slice("sha256:".length);
  // A flattened kind may come with the digest of its original bytes; plain text is its own.
  if (given !== undefined && digest !== undefined && given !== digest) {
    const pointer = at < 0 ? "/sha256" : `/items/${at}/sha256`;
    const detail = "is not the digest of `text` as UTF-8";
    throw invalidRequest([{ pointer, code: "mismatch", detail }]);
  }
  return {
    source_id: item.source_id,
    sha256: given ?? digest!,
    size: text === undefined ? 0 : Buffer.byteLength(text),
    kind: item.kind,
    title: item.title,
    tenant: by.tenant,
    visibility: item.visibility,
    state: item.state,
    registered_at: now,
    registrar: by.keyId,
    ...(text === undefined ? {} : { text }),
  };
}

export function hasSameContent(before: SourceVersion, event: SourceEvent): boolean {
  return before.sha256 === event.sha256 && before.kind === event.kind;
}

/** Whether an event repeats the record. */
export function isRepeatedEvent(
  before: SourceVersion | undefined,
  event: SourceEvent,
): before is SourceVersion {
  return (
    before !== undefined &&
    hasSameContent(before, event) &&
    before.state === event.state &&
    before.title === event.title &&
    (before.hasText || event.text === undefined)
  );
}

/** Whether a text can be compared with this source from now on: it came, or stayed active. */
export function hasTextAfter(before: SourceVersion | undefined, event: SourceEvent): boolean {
  if (event.text !== undefined) return true;
  if (before === undefined || !before.hasText || !hasSameContent(before, event)) return false;
  return before.state === "active" && event.state === "active";
}

/** The record as sent in answers. */
export function buildEvidenceRecord(held: SourceVersion): EvidenceRecord {
  const { source_id, sha256, size, kind, title, tenant, visibility, state, registrar } = held;
  return {
    source_id,
    sha256: `sha256:${sha256}`,
    size,
    kind,
    title,
    tenant,
    visibility,
    state,
    has_text: held.hasText,
    registered_at: new Date(held.registered_at).toISOString(),
    registrar,
    index: held.index,
    prev_hash: `sha256:${held.previousHash}`,
    chain_hash: `sha256:${held.chainHash}`,
  };
}
