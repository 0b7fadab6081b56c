// A text made ready to be looked up: flattened and indexed, or, where it taints, its signature. The
// same on every thread; nothing is visible before the writer publishes it.
import type { EvidenceState } from "../../contract/vocabulary.ts";
import { isTaint } from "../sources/catalogue.ts";
import { decodeWithoutText } from "../sources/events.ts";
import type { SourceEvent } from "../sources/events.ts";
import { flattenDocument, isJsonKind } from "./flatten.ts";
import type { TextPlace } from "./index-backlog.ts";
import { signatureOf } from "./minhash.ts";

/**
 * Units of one request's texts that are indexed in place: a third of a millisecond at the 21 ns a
 * unit that bench:grounding measures. What is larger is made ready on another thread.
 */
export const INDEX_INLINE_UNITS_MAX = 16_384;

/** Units of one task elsewhere: an assessment with a deadline waits behind no more than this. */
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
  /** Address of an index that nobody sees yet; 0 for none. */
  readonly document: number;
  readonly isStructured: boolean;
  /** Where the record of a text stands whose index is made later; `document` is 0 then. */
  readonly late?: { readonly place: TextPlace; readonly bytes: number };
  /** Of a text that taints; undefined too where it is too short for one. */
  readonly signature: Uint32Array | undefined;
}

/** Makes texts ready on another thread. Rejects when it cannot be done. */
export type IndexLater = (texts: readonly TextToIndex[]) => Promise<ReadyText[]>;

/** `build` returns an index's address and throws RangeError when memory is full. */
export function makeReady(
  { text, kind, state }: TextToIndex,
  build: (text: string, leaves: string) => number,
): ReadyText {
  if (isTaint(state)) {
    return { document: 0, isStructured: false, signature: signatureOf(text) };
  }
  const flat = flattenDocument(text, kind);
  const { isStructured } = flat;
  try {
    const document = build(flat.text, flat.leaves);
    return { document, isStructured, signature: undefined };
  } catch (error) {
    // A text that no longer fits is registered without an index: verified, never scored.
    if (!(error instanceof RangeError)) throw error;
    return { document: 0, isStructured, signature: undefined };
  }
}

/**
 * A recorded source whose text is left where it is, to be indexed later. Undefined for what has to
 * be read now: a text that taints, one whose structure shows only when it is read, none at all.
 */
export function leaveForLater(
  payload: Uint8Array,
  place: TextPlace,
): { event: SourceEvent; ready: ReadyText } | undefined {
  const event = decodeWithoutText(payload);
  if (event?.state !== "active" || isJsonKind(event.kind)) return undefined;
  const late = { place, bytes: payload.byteLength };
  return { event, ready: { document: 0, isStructured: false, signature: undefined, late } };
}
