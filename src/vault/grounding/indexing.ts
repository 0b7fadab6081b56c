// Preparation of a text for look-up: flattened and indexed, or, where it taints, its signature. The
// same on every thread; nothing is visible before the writer publishes it.
import type { EvidenceState } from "../../contract/vocabulary.ts";
import { isTaintingState } from "../sources/catalogue.ts";
import { decodeSourceEventWithoutText } from "../sources/events.ts";
import type { SourceEvent } from "../sources/events.ts";
import { flattenDocument, isJsonMediaType } from "./flatten.ts";
import type { TextLocation } from "./index-backlog.ts";
import { computeMinHash } from "./minhash.ts";

/**
 * Most units of one request's texts that are indexed in place: a third of a millisecond at the 21
 * ns a unit that npm run bench -- grounding measures. Larger texts are prepared on another thread.
 */
export const INDEX_INLINE_UNITS_MAX = 16_384;

/** Most units of one task elsewhere: the longest wait of an assessment with a deadline. */
export const TASK_UNITS_MAX = 65_536;

/** Items in order, in parts of about TASK_UNITS_MAX units. */
export function* splitIntoParts<Item>(
  items: readonly Item[],
  unitsOf: (item: Item) => number,
): Generator<Item[]> {
  let part: Item[] = [];
  let units = 0;
  for (const item of items) {
    part.push(item);
    units += unitsOf(item);
    if (units < TASK_UNITS_MAX) continue;
    yield part;
    part = [];
    units = 0;
  }
  if (part.length > 0) yield part;
}

export interface TextToIndex {
  readonly text: string;
  /** Media type. */
  readonly kind: string;
  readonly state: EvidenceState;
}

export interface PreparedText {
  /** Address of an unpublished index; 0 for none. */
  readonly document: number;
  readonly isStructured: boolean;
  /** Record of a text whose index is built later; `document` is 0 then. */
  readonly deferred?: { readonly place: TextLocation; readonly bytes: number };
  /** Of a text that taints; undefined too where it is too short for one. */
  readonly signature: Uint32Array | undefined;
}

/** Prepares texts on another thread. Rejects when it cannot be done. */
export type TextPreparer = (texts: readonly TextToIndex[]) => Promise<PreparedText[]>;

/**
 * Prepares one text; `build` returns an index's address and throws RangeError when memory is full.
 */
export function prepareText(
  { text, kind, state }: TextToIndex,
  build: (text: string, leaves: string) => number,
): PreparedText {
  if (isTaintingState(state)) {
    return { document: 0, isStructured: false, signature: computeMinHash(text) };
  }
  const flat = flattenDocument(text, kind);
  const { isStructured } = flat;
  try {
    const document = build(flat.text, flat.leaves);
    return { document, isStructured, signature: undefined };
  } catch (error) {
    // A text that does not fit is registered without an index: verified, never scored.
    if (!(error instanceof RangeError)) throw error;
    return { document: 0, isStructured, signature: undefined };
  }
}

/**
 * A recorded source whose text stays in the journal, to be indexed later. Undefined when the text
 * must be read now: it taints, its structure shows only on reading, or there is none.
 */
export function deferIndexing(
  payload: Uint8Array,
  place: TextLocation,
): { event: SourceEvent; ready: PreparedText } | undefined {
  const event = decodeSourceEventWithoutText(payload);
  if (event?.state !== "active" || isJsonMediaType(event.kind)) return undefined;
  const deferred = { place, bytes: payload.byteLength };
  return { event, ready: { document: 0, isStructured: false, signature: undefined, deferred } };
}
