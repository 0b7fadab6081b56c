// Replay of content under other sources (provenance.md 4, H6): which sources a content digest came
// with last, per tenant. A fixed table that forgets: a miss proves nothing, a hit is exact enough
// to ask for a second look. Per thread, since it only ever raises a doubt.
import { hashWord } from "./grounding-tables.ts";

const ENTRIES = 1 << 16;

export class CitationMemory {
  /** Two words per entry: check of the content, hash of its sources (never 0). */
  readonly #table = new Uint32Array(ENTRIES * 2);

  /** Remembers the sources of a content; true when it last came with others. */
  isChanged(tenant: string, digest: string, sources: readonly string[]): boolean {
    const content = hashWord(`${tenant}\n${digest}`);
    const cited = (hashWord(sources.toSorted().join("\n")) | 1) >>> 0;
    const at = (Number.parseInt(digest.slice(0, 8), 16) & (ENTRIES - 1)) * 2;
    const isSameContent = this.#table[at] === content && this.#table[at + 1] !== 0;
    const isChanged = isSameContent && this.#table[at + 1] !== cited;
    this.#table[at] = content;
    this.#table[at + 1] = cited;
    return isChanged;
  }
}
