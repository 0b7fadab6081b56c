// Writer's side of the vault's shared memory: makes versions of sources visible to readers, and frees
// the memory of old ones when the last guard that could see them is gone.
import { Catalogue, isTaintingState, NOT_FOUND } from "./sources/catalogue.ts";
import { encodeTenantWord } from "./sources/catalogue-keys.ts";
import type { SourceEvent } from "./sources/events.ts";
import { GroundingWriter } from "./grounding/grounding.ts";
import { INDEX_INLINE_UNITS_MAX, splitIntoParts, prepareText } from "./grounding/indexing.ts";
import type { TextPreparer, PreparedText, TextToIndex } from "./grounding/indexing.ts";
import { IndexBacklog } from "./grounding/index-backlog.ts";
import { TaintedTexts } from "./grounding/minhash.ts";
import { EpochReclaimer } from "./sources/epochs.ts";
import type { VaultMemory } from "./memory.ts";

/** A published version, as far as its successor needs it. */
export interface PublishedVersion {
  readonly number: number;
  readonly isSameContent: boolean;
}

export class SourcePublisher {
  readonly #writer: GroundingWriter;
  readonly #catalogue: Catalogue;
  readonly #tainted: TaintedTexts;
  readonly #retirement: EpochReclaimer;
  readonly #backlog: IndexBacklog;

  constructor(memory: VaultMemory) {
    this.#writer = new GroundingWriter(memory.grounding);
    this.#writer.installNumbersAndWeights();
    this.#catalogue = new Catalogue(memory.catalogue);
    this.#tainted = new TaintedTexts(memory.tainted);
    this.#retirement = new EpochReclaimer(memory.epochs);
    this.#backlog = new IndexBacklog(memory.indexBacklog, memory.grounding);
  }

  /** Bytes of indexes, those waiting for reuse included. */
  get indexBytes(): number {
    return this.#writer.indexBytes;
  }

  /** Texts that are not indexed yet. */
  get backlogCount(): number {
    return this.#backlog.remainingCount;
  }

  /** Prepares a text in place. */
  prepareText(text: TextToIndex): PreparedText {
    return prepareText(text, (flat, leaves) => this.#writer.build(flat, leaves));
  }

  /** Prepares texts: in place while that is quick, else on another thread. */
  async prepareTexts(
    texts: readonly TextToIndex[],
    later: TextPreparer | undefined,
  ): Promise<PreparedText[]> {
    const units = texts.reduce((sum, { text }) => sum + text.length, 0);
    if (later === undefined || units <= INDEX_INLINE_UNITS_MAX) {
      return texts.map((text) => this.prepareText(text));
    }
    const ready: PreparedText[] = [];
    try {
      for (const part of splitIntoParts(texts, ({ text }) => text.length)) {
        ready.push(...(await later(part)));
      }
    } catch (error) {
      // What was prepared before a later part failed is not needed.
      for (const each of ready) this.discardPrepared(each);
      throw error;
    }
    return ready;
  }

  /** Frees a prepared text that is not needed. */
  discardPrepared(ready: PreparedText | undefined): void {
    if (ready === undefined || ready.document === 0) return;
    this.#retirement.retire(() => this.#writer.tryDiscard(ready.document));
  }

  /** Forgets a source: its entry is used again once no reader can hold it. */
  removeSource(number: number): void {
    if (number === NOT_FOUND) return;
    this.#catalogue.removeNames(number);
    this.#releaseIndex(this.#catalogue.dropDocument(number));
    this.#retirement.retire(() => {
      this.#catalogue.releaseEntry(number);
      return true;
    });
  }

  /** Whether the entry of a replaced version stays in use: its content is listed as tainted. */
  isContentListed(number: number): boolean {
    return number !== NOT_FOUND && this.#catalogue.isListed(number);
  }

  /**
   * Publishes an event: a state, or a version with its prepared text. Returns the number of its
   * entry; NOT_FOUND when there was none left for it.
   */
  publishEvent(
    event: SourceEvent,
    before: PublishedVersion | undefined,
    ready: PreparedText | undefined,
  ): number {
    this.#retirement.runDueReleases();
    this.#addTaint(event, ready);
    const isPlaced = before !== undefined && before.number !== NOT_FOUND;
    if (isPlaced && before.isSameContent && !this.#hasMissingIndex(ready, before.number)) {
      this.#catalogue.setState(before.number, event.state);
      if (event.state !== "active") this.#dropText(before.number);
      this.discardPrepared(ready);
      return before.number;
    }
    const number = this.#catalogue.add({
      tenant: event.visibility === "public" ? "" : event.tenant,
      sourceId: event.source_id,
      sha256: event.sha256,
      state: event.state,
      document: this.#publishIndex(ready),
      isStructured: ready?.isStructured ?? false,
      registeredAtSec: Math.floor(event.registered_at / 1000),
    });
    // The previous version no longer answers for the id, and its text supports nothing.
    if (before !== undefined && before.number !== NOT_FOUND) this.#retireVersion(before);
    return number;
  }

  /** Whether a text has an index and the published version has none. */
  #hasMissingIndex(ready: PreparedText | undefined, number: number): boolean {
    if (ready === undefined || (ready.document === 0 && ready.deferred === undefined)) return false;
    return this.#catalogue.readDocument(number) < 0;
  }

  #publishIndex(ready: PreparedText | undefined): number {
    try {
      if (ready?.deferred !== undefined) return this.#deferIndex(ready.deferred);
      return ready === undefined || ready.document === 0
        ? -1
        : this.#writer.publish(ready.document);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.discardPrepared(ready);
      return -1;
    }
  }

  #deferIndex({ place, bytes }: NonNullable<PreparedText["deferred"]>): number {
    const number = this.#writer.reserveNumber();
    this.#backlog.add(number, place, bytes);
    return number;
  }

  #addTaint(event: SourceEvent, ready: PreparedText | undefined): void {
    if (ready?.signature === undefined || !isTaintingState(event.state)) return;
    const owner = event.visibility === "public" ? 0 : encodeTenantWord(event.tenant);
    this.#tainted.add(ready.signature, owner);
  }

  /**
   * No slot names the previous version any more. A reader that found it still answers with the
   * state of a moment ago, text and all: so nothing of it changes until no such reader is left.
   */
  #retireVersion({ number, isSameContent }: PublishedVersion): void {
    // Other content that was recorded as false stays so, whatever its id answers now.
    const isTaintOver = isSameContent && isTaintingState(this.#catalogue.readState(number));
    if (isTaintOver) this.#catalogue.setState(number, "revoked");
    const document = this.#catalogue.readDocument(number);
    this.#releaseIndex(document);
    this.#retirement.retire(() => {
      this.#catalogue.releaseEntry(number);
      return true;
    });
  }

  /** Drops the text of a source that stays: readers read its document before its state. */
  #dropText(number: number): void {
    this.#releaseIndex(this.#catalogue.dropDocument(number));
  }

  #releaseIndex(document: number): void {
    if (document < 0) return;
    const release = () => this.#retirement.retire(() => this.#writer.tryRelease(document));
    if (this.#backlog.readRecordBytes(document) === 0) {
      release();
      return;
    }
    // Readers of this version may still index it. Once they are gone no new build can begin, and
    // once the builds under way have ended its number is free.
    this.#retirement.retire(() => {
      this.#backlog.remove(document);
      release();
      return true;
    });
  }
}
