// Holder of an API key in memory: its principal and the digests of its secrets, of which the earlier
// ones work for a while after a rotation.
import { hash, timingSafeEqual } from "node:crypto";
import type { Principal } from "../../contract/principal.ts";
import { voiceOf } from "../../contract/voices.ts";
import type { StoredKey } from "./key-file.ts";

const NO_DIGEST = Buffer.alloc(32);

/** The operator's own key is never stored. */
export interface Holder {
  stored?: StoredKey;
  principal: Principal;
}

interface Secret {
  readonly digest: Buffer;
  /** Epoch ms; null: as long as the key. */
  readonly untilMs: number | null;
}

export interface Entry extends Holder {
  stored: StoredKey;
  /** The present one first. */
  secrets: readonly Secret[];
  /** Counted from 1 in order of creation. */
  number: number;
}

/** A holder whose secret was proved. */
export interface Proof {
  readonly holder: Holder;
  /** When the secret ends, epoch ms; null: with its key. */
  readonly untilMs: number | null;
}

export function entryOf(stored: StoredKey, number: number): Entry {
  return { stored, principal: principalOf(stored), secrets: secretsOf(stored), number };
}

/** Puts the key's new state into `entry`, which stays the same object. */
export function renew(entry: Entry, stored: StoredKey): void {
  Object.assign(entry, entryOf(stored, entry.number));
}

/**
 * The secret of `entry` whose text is `secret`. An unknown key costs a comparison too; which of the
 * key's secrets it is shows in no timing.
 */
export function secretOf(entry: Entry | undefined, secret: string): Secret | undefined {
  const digest = digestOf(secret);
  if (entry === undefined) {
    timingSafeEqual(digest, NO_DIGEST);
    return undefined;
  }
  let found: Secret | undefined;
  for (const each of entry.secrets) {
    if (timingSafeEqual(digest, each.digest)) found = each;
  }
  return found;
}

/** Whether a proved secret opens the door at this time: revocation, expiry, end of an overlap. */
export function isValidAt({ holder, untilMs }: Proof, now: () => number): boolean {
  const { stored } = holder;
  if (stored === undefined) return true;
  if (stored.revokedAtMs !== null) return false;
  const { expiresAtMs } = stored;
  if (expiresAtMs === null && untilMs === null) return true;
  const nowMs = now();
  return (expiresAtMs === null || nowMs < expiresAtMs) && (untilMs === null || nowMs < untilMs);
}

function principalOf(stored: StoredKey): Principal {
  return {
    keyId: stored.keyId,
    tenant: stored.tenant,
    scopes: new Set(stored.scopes),
    minimumScores: stored.minimumScores,
    isShadow: stored.isShadow,
    isFirstParty: stored.isFirstParty ?? false,
    voice: voiceOf(stored.keyId),
  };
}

function secretsOf({ secretHash, earlierSecrets = [] }: StoredKey): Secret[] {
  const earlier = earlierSecrets.map((secret) => ({
    digest: Buffer.from(secret.secretHash, "hex"),
    untilMs: secret.untilMs,
  }));
  return [{ digest: Buffer.from(secretHash, "hex"), untilMs: null }, ...earlier];
}

export function digestOf(secret: string): Buffer {
  return hash("sha256", secret, "buffer");
}
