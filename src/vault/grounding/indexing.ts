// Preparation of a text for look-up: flattened and indexed, or, where it taints, its signature. The
// same on every thread; nothing is visible before the writer publishes it.
import type { EvidenceState } from "../../contract/vocabulary.ts";
import { isTaint } from "../sources/catalogue.ts";
import { decodeWithoutText } from "../sources/events.ts";
import type { SourceEvent } from "../sources/events.ts";
import { flattenDocument, isJsonKind } from "./flatten.ts";
import type { TextPlace } from "./index-backlog.ts";
import { computeMinHash } from "./minhash.ts";

/**
 * Most units of one request's texts that are indexed in place: a third of a millisecond at the 21
 * ns a unit that bench:grounding measures. Larger texts are prepared on another thread.
 */
export const INDEX_INLINE_UNITS_MAX = 16_384;

/** Most units of one task elsewhere: the longest wait of an assessment with a deadline. */
export const TASK_UNITS_MAX = 65_536;

/** Items in order, in parts of about TASK_UNITS_MAX units. */
export function* inParts<Item>(
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

export interface ReadyText {
  /** Address of an unpublished index; 0 for none. */
  readonly document: number;
  readonly isStructured: boolean;
  /** Record of a text whose index is built later; `document` is 0 then. */
  readonly deferred?: { readonly place: TextPlace; readonly bytes: number };
  /** Of a text that taints; undefined too where it is too short for one. */
  readonly signature: Uint32Array | undefined;
}

/** Prepares texts on another thread. Rejects when it cannot be done. */
export type IndexLater = (texts: readonly TextToIndex[]) => Promise<ReadyText[]>;

/**
 * Prepares one text; `build` returns an index's address and throws RangeError when memory is full.
 */
export function makeReady(
  { text, kind, state }: TextToIndex,
  build: (text: string, leaves: string) => number,
): ReadyText {
  if (isTaint(state)) {
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
export function leaveForLater(
  payload: Uint8Array,
  place: TextPlace,
): { event: SourceEvent; ready: ReadyText } | undefined {
  const event = decodeWithoutText(payload);
  if (event?.state !== "active" || isJsonKind(event.kind)) return undefined;
  const deferred = { place, bytes: payload.byteLength };
  return { event, ready: { document: 0, isStructured: false, signature: undefined, deferred } };
}
