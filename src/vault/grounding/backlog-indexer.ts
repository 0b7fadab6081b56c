// Builds the indexes that a start deferred, on any thread: reads the text from the journal, builds,
// and publishes the index. The caller holds its epoch guard for as long as it builds.
import { decodeEvent } from "../sources/events.ts";
import { flattenDocument } from "./flatten.ts";
import { IndexBuilder } from "./grounding.ts";
import { IndexBacklog } from "./index-backlog.ts";
import type { TextPlace } from "./index-backlog.ts";
import type { VaultMemory } from "../memory.ts";

/**
 * Payload of the record at a place.
 * @throws Error when it does not verify.
 */
export type ReadRecord = (place: TextPlace) => Uint8Array;

export class BacklogIndexer {
  readonly texts: IndexBacklog;
  readonly #read: ReadRecord | undefined;
  readonly #builder: IndexBuilder | undefined;

  /**
   * An indexer of this thread, or undefined when the backlog is empty: it never grows later.
   * Without `read` it only counts the missing work.
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

  /** Builds the missing indexes of these documents. */
  makeAll(documents: readonly { readonly document: number }[]): void {
    if (this.texts.left === 0) return;
    for (const { document } of documents) this.make(document);
  }

  /**
   * Builds one index if it is in the backlog. A text that cannot be read or does not fit stays
   * without an index: verified, never scored. Does not throw.
   * @param isLast removes it from the backlog in any case: there is no further attempt.
   * @returns the error, undefined on success.
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
    // The other thread's index is as good. A free list in use by another thread is tried again.
    while (!builder.discard(made));
  }
}
