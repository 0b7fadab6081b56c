// Hash keys of the catalogue: names of sources and tenants as words, and digests as words.
import { hash } from "node:crypto";

/** Words of a key: half a SHA-256, so that no id can be forged to match another. */
export const KEY_WORDS = 4;

/**
 * Keys of recent ids, each in the one place that its id may take: a digest costs more than the rest
 * of a look-up, and a map with eviction would cost more than the digest.
 */
const CACHE_SLOTS = 8192;
const cachedIds: (string | undefined)[] = Array.from({ length: CACHE_SLOTS }, () => undefined);
export const cachedKeyWords = new Uint32Array(CACHE_SLOTS * KEY_WORDS);

/** Offset in `keyWords` of the key of a source id, valid until the next call. */
export function encodeSourceKey(sourceId: string): number {
  const place = computeCacheSlot(sourceId);
  const at = place * KEY_WORDS;
  if (cachedIds[place] === sourceId) return at;
  const digest = hash("sha256", sourceId, "hex");
  for (let word = 0; word < KEY_WORDS; word++)
    cachedKeyWords[at + word] = parseDigestWord(digest, word);
  cachedIds[place] = sourceId;
  return at;
}

/** By the end of an id, where ids differ. */
function computeCacheSlot(id: string): number {
  let sum = id.length;
  for (let at = Math.max(0, id.length - 24); at < id.length; at++) {
    sum = Math.imul(sum ^ id.charCodeAt(at), 0x01000193);
  }
  return (sum ^ (sum >>> 15)) & (CACHE_SLOTS - 1);
}

const CACHED_TENANTS_MAX = 8192;
const cachedTenantWords = new Map<string, readonly [number, number]>([["", [0, 0]]]);

/** A tenant in two words; both are zero for the public tenant. */
export function encodeTenantWords(tenant: string): readonly [number, number] {
  const known = cachedTenantWords.get(tenant);
  if (known !== undefined) return known;
  const digest = hash("sha256", tenant, "hex");
  const [low, high] = [parseDigestWord(digest, 0), parseDigestWord(digest, 1)];
  const owner = [low === 0 && high === 0 ? 1 : low, high] as const;
  if (cachedTenantWords.size >= CACHED_TENANTS_MAX) {
    cachedTenantWords.clear();
    cachedTenantWords.set("", [0, 0]);
  }
  cachedTenantWords.set(tenant, owner);
  return owner;
}

/** A tenant in one word, for checks that only raise doubt: 0 is public. */
export function encodeTenantWord(tenant: string): number {
  return tenant === "" ? 0 : encodeTenantWords(tenant)[0] || 1;
}

/** Word `at` of a digest of 64 hex digits, the first digit the highest. */
export function parseDigestWord(sha256: string, at: number): number {
  let word = 0;
  for (let place = at * 8; place < at * 8 + 8; place++) {
    const code = sha256.charCodeAt(place);
    word = (word << 4) | (code < 0x3a ? code - 0x30 : (code | 0x20) - 0x57);
  }
  return word >>> 0;
}
