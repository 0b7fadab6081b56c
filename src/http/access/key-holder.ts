// Holder of an API key in memory: its principal and the digests of its secrets, of which the earlier
// ones work for a while after a rotation.
import { hash, timingSafeEqual } from "node:crypto";
import type { Principal } from "../../contract/principal.ts";
import { hashTenantToVoice } from "../../contract/voices.ts";
import type { StoredKey } from "./key-file.ts";
import type { Scope } from "../../contract/vocabulary.ts";
import { MINIMUM_SCORES_DEFAULT } from "../../contract/policy.ts";

const NO_DIGEST = Buffer.alloc(32);

/** The operator's own key is never stored. */
export interface KeyHolder {
  stored?: StoredKey;
  principal: Principal;
}

interface SecretDigest {
  readonly digest: Buffer;
  /** Epoch ms; null: as long as the key. */
  readonly untilMs: number | null;
}

export interface KeyringEntry extends KeyHolder {
  stored: StoredKey;
  /** The present one first. */
  secrets: readonly SecretDigest[];
  /** Counted from 1 in order of creation. */
  keyNumber: number;
}

/** A holder whose secret was proved. */
export interface KeyAuthentication {
  readonly holder: KeyHolder;
  /** When the secret ends, epoch ms; null: with its key. */
  readonly untilMs: number | null;
}

export function createKeyringEntry(stored: StoredKey, number: number): KeyringEntry {
  return {
    stored,
    principal: createPrincipal(stored),
    secrets: listSecretDigests(stored),
    keyNumber: number,
  };
}

/** Puts the key's new state into `entry`, which stays the same object. */
export function updateKeyringEntry(entry: KeyringEntry, stored: StoredKey): void {
  Object.assign(entry, createKeyringEntry(stored, entry.keyNumber));
}

/**
 * The secret of `entry` whose text is `secret`. An unknown key costs a comparison too; which of the
 * key's secrets it is shows in no timing.
 */
export function findMatchingSecret(
  entry: KeyringEntry | undefined,
  secret: string,
): SecretDigest | undefined {
  const digest = hashSecret(secret);
  if (entry === undefined) {
    timingSafeEqual(digest, NO_DIGEST);
    return undefined;
  }
  let found: SecretDigest | undefined;
  for (const each of entry.secrets) {
    if (timingSafeEqual(digest, each.digest)) found = each;
  }
  return found;
}

/** Whether a proved secret opens the door at this time: revocation, expiry, end of an overlap. */
export function isAuthenticationValid(
  { holder, untilMs }: KeyAuthentication,
  now: () => number,
): boolean {
  const { stored } = holder;
  if (stored === undefined) return true;
  if (stored.revokedAtMs !== null) return false;
  const { expiresAtMs } = stored;
  if (expiresAtMs === null && untilMs === null) return true;
  const nowMs = now();
  return (expiresAtMs === null || nowMs < expiresAtMs) && (untilMs === null || nowMs < untilMs);
}

function createPrincipal(stored: StoredKey): Principal {
  return {
    keyId: stored.keyId,
    tenant: stored.tenant,
    scopes: new Set(stored.scopes),
    minimumScores: stored.minimumScores,
    isShadow: stored.isShadow,
    isFirstParty: stored.isFirstParty ?? false,
    voice: hashTenantToVoice(stored.tenant),
    ...(stored.assertsProperties === true && { assertsProperties: true }),
    ...(stored.querySecondsMax != null && { querySecondsMax: stored.querySecondsMax }),
  };
}

function listSecretDigests({ secretHash, earlierSecrets = [] }: StoredKey): SecretDigest[] {
  const earlier = earlierSecrets.map((secret) => ({
    digest: Buffer.from(secret.secretHash, "hex"),
    untilMs: secret.untilMs,
  }));
  return [{ digest: Buffer.from(secretHash, "hex"), untilMs: null }, ...earlier];
}

export function hashSecret(secret: string): Buffer {
  return hash("sha256", secret, "buffer");
}

// Admin key from the environment: only its digest is held, for the life of the process. It cannot be changed,
// rotated or revoked here.
const SECRET_LENGTH_MIN = 32;
/** Key id of the operator's own key; no generated id has a hyphen. */
export const INSTALLED_KEY_ID = "installed-admin";

export interface InstalledKeyHolder extends KeyHolder {
  readonly digest: Buffer;
}

/** @throws Error when the string is too weak, or longer than `lengthMax`. */
export function createInstalledKeyHolder(secret: string, lengthMax: number): InstalledKeyHolder {
  if (secret.length < SECRET_LENGTH_MIN || /[^\x21-\x7e]/.test(secret)) {
    const length = SECRET_LENGTH_MIN;
    throw new Error(`an admin key needs ${length} or more visible ASCII characters`);
  }
  if (secret.length > lengthMax) {
    throw new Error("an admin key this long does not fit in a header");
  }
  const principal: Principal = {
    keyId: INSTALLED_KEY_ID,
    tenant: "operator",
    scopes: new Set<Scope>(["admin"]),
    minimumScores: { ...MINIMUM_SCORES_DEFAULT },
    isShadow: false,
    isFirstParty: true,
    voice: hashTenantToVoice("operator"),
  };
  return { digest: hashSecret(secret), principal };
}
