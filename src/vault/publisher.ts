// Writer's side of the vault's shared memory: makes versions of sources visible to readers, and frees
// the memory of old ones when the last guard that could see them is gone.
import { Catalogue, isTaint, NOT_FOUND } from "./sources/catalogue.ts";
import { tenantWord } from "./sources/catalogue-keys.ts";
import type { SourceEvent } from "./sources/events.ts";
import { GroundingWriter } from "./grounding/grounding.ts";
import { INDEX_INLINE_UNITS_MAX, inParts, makeReady } from "./grounding/indexing.ts";
import type { IndexLater, ReadyText, TextToIndex } from "./grounding/indexing.ts";
import { IndexBacklog } from "./grounding/index-backlog.ts";
import { TaintedTexts } from "./grounding/minhash.ts";
import { Retirement } from "./sources/epochs.ts";
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
  readonly #retirement: Retirement;
  readonly #backlog: IndexBacklog;

  constructor(memory: VaultMemory) {
    this.#writer = new GroundingWriter(memory.grounding);
    this.#writer.install();
    this.#catalogue = new Catalogue(memory.catalogue);
    this.#tainted = new TaintedTexts(memory.tainted);
    this.#retirement = new Retirement(memory.epochs);
    this.#backlog = new IndexBacklog(memory.indexBacklog, memory.grounding);
  }

  /** Bytes of indexes, those waiting for reuse included. */
  get indexBytes(): number {
    return this.#writer.indexBytes;
  }

  /** Texts that are not indexed yet. */
  get backlogCount(): number {
    return this.#backlog.left;
  }

  /** Prepares a text in place. */
  makeReady(text: TextToIndex): ReadyText {
    return makeReady(text, (flat, leaves) => this.#writer.build(flat, leaves));
  }

  /** Prepares texts: in place while that is quick, else on another thread. */
  async makeAllReady(
    texts: readonly TextToIndex[],
    later: IndexLater | undefined,
  ): Promise<ReadyText[]> {
    const units = texts.reduce((sum, { text }) => sum + text.length, 0);
    if (later === undefined || units <= INDEX_INLINE_UNITS_MAX) {
      return texts.map((text) => this.makeReady(text));
    }
    const ready: ReadyText[] = [];
    try {
      for (const part of inParts(texts, ({ text }) => text.length)) {
        ready.push(...(await later(part)));
      }
    } catch (error) {
      // What was prepared before a later part failed is not needed.
      for (const each of ready) this.discard(each);
      throw error;
    }
    return ready;
  }

  /** Frees a prepared text that is not needed. */
  discard(ready: ReadyText | undefined): void {
    if (ready === undefined || ready.document === 0) return;
    this.#retirement.add(() => this.#writer.discard(ready.document));
  }

  /** Forgets a source: its entry is used again once no reader can hold it. */
  forget(number: number): void {
    if (number === NOT_FOUND) return;
    this.#catalogue.unname(number);
    this.#release(this.#catalogue.dropDocument(number));
    this.#retirement.add(() => {
      this.#catalogue.free(number);
      return true;
    });
  }

  /** Whether the entry of a replaced version stays in use: its content is listed as tainted. */
  staysListed(number: number): boolean {
    return number !== NOT_FOUND && this.#catalogue.isListed(number);
  }

  /**
   * Publishes an event: a state, or a version with its prepared text. Returns the number of its
   * entry; NOT_FOUND when there was none left for it.
   */
  put(
    event: SourceEvent,
    before: PublishedVersion | undefined,
    ready: ReadyText | undefined,
  ): number {
    this.#retirement.sweep();
    this.#taint(event, ready);
    const isPlaced = before !== undefined && before.number !== NOT_FOUND;
    if (isPlaced && before.isSameContent && !this.#isBetter(ready, before.number)) {
      this.#catalogue.setState(before.number, event.state);
      if (event.state !== "active") this.#withdraw(before.number);
      this.discard(ready);
      return before.number;
    }
    const number = this.#catalogue.add({
      tenant: event.visibility === "public" ? "" : event.tenant,
      sourceId: event.source_id,
      sha256: event.sha256,
      state: event.state,
      document: this.#publish(ready),
      isStructured: ready?.isStructured ?? false,
      registeredAt: Math.floor(event.registered_at / 1000),
    });
    // The previous version no longer answers for the id, and its text supports nothing.
    if (before !== undefined && before.number !== NOT_FOUND) this.#retire(before);
    return number;
  }

  /** Whether a text has an index and the published version has none. */
  #isBetter(ready: ReadyText | undefined, number: number): boolean {
    if (ready === undefined || (ready.document === 0 && ready.deferred === undefined)) return false;
    return this.#catalogue.documentOf(number) < 0;
  }

  #publish(ready: ReadyText | undefined): number {
    try {
      if (ready?.deferred !== undefined) return this.#reserve(ready.deferred);
      return ready === undefined || ready.document === 0
        ? -1
        : this.#writer.publish(ready.document);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.discard(ready);
      return -1;
    }
  }

  #reserve({ place, bytes }: NonNullable<ReadyText["deferred"]>): number {
    const number = this.#writer.reserve();
    this.#backlog.add(number, place, bytes);
    return number;
  }

  #taint(event: SourceEvent, ready: ReadyText | undefined): void {
    if (ready?.signature === undefined || !isTaint(event.state)) return;
    const owner = event.visibility === "public" ? 0 : tenantWord(event.tenant);
    this.#tainted.add(ready.signature, owner);
  }

  /**
   * No slot names the previous version any more. A reader that found it still answers with the
   * state of a moment ago, text and all: so nothing of it changes until no such reader is left.
   */
  #retire({ number, isSameContent }: PublishedVersion): void {
    // Other content that was recorded as false stays so, whatever its id answers now.
    const isTaintOver = isSameContent && isTaint(this.#catalogue.stateOf(number));
    if (isTaintOver) this.#catalogue.setState(number, "revoked");
    const document = this.#catalogue.documentOf(number);
    this.#release(document);
    this.#retirement.add(() => {
      this.#catalogue.free(number);
      return true;
    });
  }

  /** Drops the text of a source that stays: readers read its document before its state. */
  #withdraw(number: number): void {
    this.#release(this.#catalogue.dropDocument(number));
  }

  #release(document: number): void {
    if (document < 0) return;
    const release = () => this.#retirement.add(() => this.#writer.release(document));
    if (this.#backlog.bytesOf(document) === 0) {
      release();
      return;
    }
    // Readers of this version may still index it. Once they are gone no new build can begin, and
    // once the builds under way have ended its number is free.
    this.#retirement.add(() => {
      this.#backlog.strike(document);
      release();
      return true;
    });
  }
}
