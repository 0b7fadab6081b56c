// Builds the indexes that a start deferred, on any thread: reads the text from the journal, builds,
// and publishes the index. The caller holds its epoch guard for as long as it builds.
import { decodeSourceEvent } from "../sources/events.ts";
import { flattenDocument } from "./flatten.ts";
import { IndexBuilder } from "./grounding.ts";
import { IndexBacklog } from "./index-backlog.ts";
import type { TextLocation } from "./index-backlog.ts";
import type { VaultMemory } from "../memory.ts";

/**
 * Payload of the record at a place.
 * @throws Error when it does not verify.
 */
export type TextRecordReader = (place: TextLocation) => Uint8Array;

export class BacklogIndexer {
  readonly backlog: IndexBacklog;
  readonly #read: TextRecordReader | undefined;
  readonly #builder: IndexBuilder | undefined;

  /**
   * An indexer of this thread, or undefined when the backlog is empty: it never grows later.
   * Without `read` it only counts the missing work.
   */
  static open(memory: VaultMemory, read?: TextRecordReader): BacklogIndexer | undefined {
    const texts = new IndexBacklog(memory.indexBacklog, memory.grounding);
    return texts.remainingCount === 0 ? undefined : new BacklogIndexer(texts, memory, read);
  }

  private constructor(
    texts: IndexBacklog,
    memory: VaultMemory,
    read: TextRecordReader | undefined,
  ) {
    this.backlog = texts;
    this.#read = read;
    // Here, so that no request pays for the instance.
    this.#builder = read === undefined ? undefined : new IndexBuilder(memory.grounding);
  }

  /** Units to be indexed before these documents can be scored; 0 for none. */
  countMissingUnits(documents: readonly { readonly document: number }[]): number {
    if (this.backlog.remainingCount === 0) return 0;
    let work = 0;
    for (const { document } of documents) work += this.backlog.readRecordBytes(document);
    return this.#read === undefined && work > 0 ? Number.POSITIVE_INFINITY : work;
  }

  /** Builds the missing indexes of these documents. */
  buildAllMissing(documents: readonly { readonly document: number }[]): void {
    if (this.backlog.remainingCount === 0) return;
    for (const { document } of documents) this.buildIfMissing(document);
  }

  /**
   * Builds one index if it is in the backlog. A text that cannot be read or does not fit stays
   * without an index: verified, never scored. Does not throw.
   * @param isLast removes it from the backlog in any case: there is no further attempt.
   * @returns the error, undefined on success.
   */
  buildIfMissing(document: number, isLast = false): Error | undefined {
    const { backlog } = this;
    if (backlog.readRecordBytes(document) === 0 || this.#read === undefined) return undefined;
    try {
      this.#buildAndPublish(document, backlog.readLocation(document), this.#read);
    } catch (error) {
      if (isLast) backlog.remove(document);
      return error as Error;
    }
    backlog.remove(document);
    return undefined;
  }

  #buildAndPublish(document: number, place: TextLocation, read: TextRecordReader): void {
    const { text, kind } = decodeSourceEvent(read(place));
    const builder = this.#builder;
    if (text === undefined || builder === undefined) return;
    const flat = flattenDocument(text, kind);
    const made = builder.build(flat.text, flat.leaves);
    if (this.backlog.publish(document, made)) return;
    // The other thread's index is as good. A free list in use by another thread is tried again.
    while (!builder.tryDiscard(made));
  }
}
