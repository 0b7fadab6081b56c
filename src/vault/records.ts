// Records as the vault holds and tells them: the newest of every source, with its place in the
// chain. Their text is not among what is kept here.
import type { EvidenceRecord } from "../contract/evidence.ts";
import type { EvidenceEvent } from "./evidence-log.ts";

export interface Held extends Omit<EvidenceEvent, "text"> {
  /** Entry of the catalogue. */
  number: number;
  /** Place in the chain of records. */
  index: number;
  previousHash: string;
  chainHash: string;
  hasText: boolean;
}

/** Name of a source for whoever may cite it. */
export const nameOf = (tenant: string, visibility: string, id: string) =>
  `${visibility === "public" ? "" : tenant}\n${id}`;

export function isSameContent(before: Held, event: EvidenceEvent): boolean {
  return before.sha256 === event.sha256 && before.kind === event.kind;
}

/** Whether an event says what the record says already. */
export function isRepeat(before: Held, event: EvidenceEvent): boolean {
  return (
    isSameContent(before, event) &&
    before.state === event.state &&
    before.title === event.title &&
    (before.hasText || event.text === undefined)
  );
}

/** Whether a text can be compared with this source from now on: it came, or stayed active. */
export function keepsText(before: Held | undefined, event: EvidenceEvent): boolean {
  if (event.text !== undefined) return true;
  if (before === undefined || !before.hasText || !isSameContent(before, event)) return false;
  return before.state === "active" && event.state === "active";
}

/** The record as it goes out. */
export function recordOf(held: Held): EvidenceRecord {
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
