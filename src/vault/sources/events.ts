// Journal format of the vault's events (frames of kind `evidence`): one JSON object per event, a
// source's text included, so that a replay rebuilds records, chain, indexes and thresholds.
// Canonical bytes of a record leave the text out: the digest replaces it.
import { hash } from "node:crypto";

import { EVIDENCE_STATES, VISIBILITIES } from "../../contract/vocabulary.ts";
import type { EvidenceState, Visibility } from "../../contract/vocabulary.ts";
import type { LabelEvent } from "../calibration/labels.ts";

/** One event: the new state of a source. A change of state repeats the record without text. */
export interface SourceEvent {
  source_id: string;
  /** 64 hex digits. */
  sha256: string;
  size: number;
  kind: string;
  title: string;
  tenant: string;
  visibility: Visibility;
  state: EvidenceState;
  /** Epoch milliseconds. */
  registered_at: number;
  registrar: string;
  text?: string;
}

const VERSION = 1;
/** First byte of a payload of kind `evidence`: its type. 1 is a signed batch of outcomes. */
const TYPE_SOURCE = 2;
const TYPE_LABELS = 3;

/** Payload of the journal's frame for a source. */
export function encodeSourceEvent(event: SourceEvent): Buffer {
  return encodeVersioned(TYPE_SOURCE, event);
}

/** Payload of the journal's frame for labels. */
export function encodeLabels(event: LabelEvent): Buffer {
  return encodeVersioned(TYPE_LABELS, event);
}

function encodeVersioned(type: number, event: object): Buffer {
  return Buffer.from(`${String.fromCharCode(type)}${JSON.stringify({ v: VERSION, ...event })}`);
}

/** Whether a payload of kind `evidence` is a source. */
export function isSourceEvent(payload: Uint8Array): boolean {
  return payload[0] === TYPE_SOURCE;
}

/** Whether it is any event of the vault: a source, or labels. */
export function isVaultEvent(payload: Uint8Array): boolean {
  return isSourceEvent(payload) || payload[0] === TYPE_LABELS;
}

/** The labels of a frame's payload; undefined for any other payload. */
export function decodeLabels(payload: Uint8Array): LabelEvent | undefined {
  if (payload[0] !== TYPE_LABELS) return undefined;
  const event = JSON.parse(Buffer.from(payload.subarray(1)).toString("utf8")) as LabelEvent & {
    v: number;
  };
  if (event.v !== VERSION) throw createUnknownVersionError();
  return event;
}

/**
 * The event of a frame's payload.
 * @throws Error when the version or a value is unknown.
 */
export function decodeSourceEvent(payload: Uint8Array): SourceEvent {
  const text = Buffer.from(payload.subarray(1)).toString("utf8");
  const event = JSON.parse(text) as SourceEvent & { v: number };
  if (!isKnownEvent(event)) throw createUnknownVersionError();
  return event;
}

function isKnownEvent({ v, state, visibility }: SourceEvent & { v: number }): boolean {
  return v === VERSION && EVIDENCE_STATES.includes(state) && VISIBILITIES.includes(visibility);
}

const TEXT_KEY = Buffer.from(',"text":"');

/**
 * The event of a payload with its text replaced by an empty one. Undefined when the whole has to be
 * read.
 */
export function decodeSourceEventWithoutText(payload: Uint8Array): SourceEvent | undefined {
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  // A quote within a string is escaped: these bytes occur only at the beginning of the member.
  const at = bytes.indexOf(TEXT_KEY);
  if (bytes[0] !== TYPE_SOURCE || at < 0) return undefined;
  const event = JSON.parse(`${bytes.toString("utf8", 1, at)}}`) as SourceEvent & { v: number };
  const isWhole = isKnownEvent(event) && "registrar" in event;
  return isWhole ? { ...event, text: "" } : undefined;
}

function createUnknownVersionError(): Error {
  return new Error("an evidence record of the journal is not known to this version");
}

/** The bytes that chain and tree commit to: members in fixed order, text by its digest. */
export function encodeCanonicalRecord(event: SourceEvent, previousHash: string): Buffer {
  const { source_id, sha256, size, kind, title, tenant, visibility, state } = event;
  const { registered_at, registrar } = event;
  const members = [source_id, sha256, size, kind, title, tenant, visibility, state];
  return Buffer.from(JSON.stringify([...members, registered_at, registrar, previousHash]));
}

/** chain_i = SHA-256(chain_{i-1} || canonical(record_i)), hex. */
export function computeChainHash(previousHash: string, canonical: Buffer): string {
  return hash("sha256", Buffer.concat([Buffer.from(previousHash, "hex"), canonical]), "hex");
}

/** The chain before the first record. */
export const INITIAL_CHAIN_HASH = "0".repeat(64);
