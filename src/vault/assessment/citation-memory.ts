// Memory of cited sources by content digest, per tenant, to detect replay of content under other
// sources (provenance 4, H6). One table for all threads, of a fixed size, that forgets: a miss
// proves nothing, a hit is exact enough to ask for a second look. Threads may write the same entry
// at once; its check word then turns it into a miss.
import {
  parseDigestWord,
  encodeSourceKey,
  cachedKeyWords,
  encodeTenantWord,
} from "../sources/catalogue-keys.ts";

const ENTRIES = 1 << 16;
/**
 * Words: content, its sources, seconds since 1970 of its first sight with them, checksum of these.
 */
const ENTRY_WORDS = 4;
const GOLDEN = 0x9e3779b1;

/** One mebibyte, whatever the number of requests and threads. */
export function createCitationCacheMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(ENTRIES * ENTRY_WORDS * 4);
}

/**
 * Earlier sight of a content: whether its last sources were other ones, and since when it is known.
 */
export interface EarlierCitation {
  readonly isChanged: boolean;
  /** Seconds since 1970; undefined at the first sight. */
  readonly since: number | undefined;
}

export class CitationCache {
  readonly #table: Uint32Array;

  constructor(memory: SharedArrayBuffer) {
    this.#table = new Uint32Array(memory);
  }

  /** Remembers the sources of a content (64 hex digits); `now` in seconds since 1970. */
  recordCitation(
    tenant: string,
    digest: string,
    sources: readonly string[],
    now: number,
  ): EarlierCitation {
    const content = mixWords(parseDigestWord(digest, 1), encodeTenantWord(tenant));
    const cited = hashCitedSources(sources);
    const at = (parseDigestWord(digest, 0) & (ENTRIES - 1)) * ENTRY_WORDS;
    const table = this.#table;
    const since = table[at + 2]!;
    const before = table[at + 1]!;
    const isKnown =
      table[at] === content &&
      since !== 0 &&
      table[at + 3] === computeEntryCheck(content, before, since);
    const isChanged = isKnown && before !== cited;
    const first = isKnown ? since : now;
    table[at] = content;
    table[at + 1] = cited;
    table[at + 2] = first;
    table[at + 3] = computeEntryCheck(content, cited, first);
    return { isChanged, since: isKnown ? since : undefined };
  }
}

/** Order does not count. */
function hashCitedSources(sources: readonly string[]): number {
  let sum = sources.length;
  for (const id of sources)
    sum = (sum + mixWords(cachedKeyWords[encodeSourceKey(id) + 1]!, GOLDEN)) | 0;
  return sum >>> 0;
}

function mixWords(left: number, right: number): number {
  const product = Math.imul(left ^ right, GOLDEN);
  return (product ^ (product >>> 15)) >>> 0;
}

function computeEntryCheck(content: number, cited: number, since: number): number {
  return mixWords(mixWords(content, cited), since);
}
