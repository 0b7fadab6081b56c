// Names of sources and tenants as words for the catalogue's tables, and digests as words.
import { hash } from "node:crypto";

/** Ids asked for lately: a digest costs more than all the rest of a look-up. */
const KEPT_MAX = 8192;
const kept = new Map<string, Uint32Array>();
const owners = new Map<string, readonly [number, number]>([["", [0, 0]]]);

/** Key of a source id: half its SHA-256, so that no id can be made to pass for another. */
export function keyOf(sourceId: string): Uint32Array {
  const known = kept.get(sourceId);
  if (known !== undefined) return known;
  const key = firstWords(sourceId, 4);
  if (kept.size >= KEPT_MAX) kept.clear();
  kept.set(sourceId, key);
  return key;
}

/** A tenant in two words; both are zero for everyone's. */
export function ownerOf(tenant: string): readonly [number, number] {
  const known = owners.get(tenant);
  if (known !== undefined) return known;
  const [low, high] = firstWords(tenant, 2) as unknown as [number, number];
  const owner = [low === 0 && high === 0 ? 1 : low, high] as const;
  if (owners.size >= KEPT_MAX) {
    owners.clear();
    owners.set("", [0, 0]);
  }
  owners.set(tenant, owner);
  return owner;
}

/** A tenant in one word, for what only raises doubt: 0 is everyone's. */
export function tenantWord(tenant: string): number {
  return tenant === "" ? 0 : ownerOf(tenant)[0] || 1;
}

/** Word `at` of a digest of 64 hex digits, the first digit the highest. */
export function digestWord(sha256: string, at: number): number {
  let word = 0;
  for (let place = at * 8; place < at * 8 + 8; place++) {
    const code = sha256.charCodeAt(place);
    word = (word << 4) | (code < 0x3a ? code - 0x30 : (code | 0x20) - 0x57);
  }
  return word >>> 0;
}

function firstWords(text: string, count: number): Uint32Array {
  const digest = hash("sha256", text, "buffer");
  return new Uint32Array(digest.buffer.slice(digest.byteOffset, digest.byteOffset + count * 4));
}
