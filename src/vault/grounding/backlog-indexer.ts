// Makes the indexes that a start has left for later, on any thread: reads the text from the
// journal, builds, and puts the index in its place. The caller is pinned for as long as it builds.
import { decodeEvent } from "../sources/events.ts";
import { flattenDocument } from "./flatten.ts";
import { IndexBuilder } from "./grounding.ts";
import { IndexBacklog } from "./index-backlog.ts";
import type { TextPlace } from "./index-backlog.ts";
import type { VaultMemory } from "../memory.ts";

/** The payload of the record at a place. Throws when it does not verify. */
export type ReadRecord = (place: TextPlace) => Uint8Array;

export class BacklogIndexer {
  readonly texts: IndexBacklog;
  readonly #read: ReadRecord | undefined;
  readonly #builder: IndexBuilder | undefined;

  /**
   * An indexer of this thread, or undefined when there is nothing to make: it never becomes more.
   * Without `read` it tells what is missing and makes nothing.
   */
  static open(memory: VaultMemory, read?: ReadRecord): BacklogIndexer | undefined {
    const texts = new IndexBacklog(memory.indexBacklog, memory.grounding);
    return texts.left === 0 ? undefined : new BacklogIndexer(texts, memory, read);
  }

  private constructor(texts: IndexBacklog, memory: VaultMemory, read: ReadRecord | undefined) {
    this.texts = texts;
    this.#read = read;
    // Here, so that no request pays for the instance.
    this.#builder = read === undefined ? undefined : new IndexBuilder(memory.grounding);
  }

  /** Units to be indexed before these documents can be scored; 0 for none. */
  workFor(documents: readonly { readonly document: number }[]): number {
    if (this.texts.left === 0) return 0;
    let work = 0;
    for (const { document } of documents) work += this.texts.bytesOf(document);
    return this.#read === undefined && work > 0 ? Number.POSITIVE_INFINITY : work;
  }

  /** Makes what is missing of these documents. */
  makeAll(documents: readonly { readonly document: number }[]): void {
    if (this.texts.left === 0) return;
    for (const { document } of documents) this.make(document);
  }

  /**
   * Makes one index if it is listed. What cannot be read or does not fit stays without: verified,
   * never scored. Throws nothing.
   * @param isLast struck from the list whatever comes of it: nobody tries again.
   * @returns what went wrong, undefined when nothing did.
   */
  make(document: number, isLast = false): Error | undefined {
    const { texts } = this;
    if (texts.bytesOf(document) === 0 || this.#read === undefined) return undefined;
    try {
      this.#build(document, texts.placeOf(document), this.#read);
    } catch (error) {
      if (isLast) texts.strike(document);
      return error as Error;
    }
    texts.strike(document);
    return undefined;
  }

  #build(document: number, place: TextPlace, read: ReadRecord): void {
    const { text, kind } = decodeEvent(read(place));
    const builder = this.#builder;
    if (text === undefined || builder === undefined) return;
    const flat = flattenDocument(text, kind);
    const made = builder.build(flat.text, flat.leaves);
    if (this.texts.publish(document, made)) return;
    // The other's is as good. A list that another thread is at just now is asked for again.
    while (!builder.discard(made));
  }
}
