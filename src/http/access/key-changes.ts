// Stored form of a new API key, and changes of one: other members, a new secret beside the earlier ones. Pure: the
// keyring makes the result durable.
import { type FieldError, ServiceFault } from "../../contract/faults.ts";
import { MINIMUM_SCORES_DEFAULT } from "../../contract/policy.ts";
import type { Principal } from "../../contract/principal.ts";
import type { Scope, ToolLevel } from "../../contract/vocabulary.ts";
import type { ApiKeyParts } from "./key-format.ts";
import { hashSecret } from "./key-holder.ts";
import { EARLIER_SECRETS_MAX, type StoredKey } from "./key-file.ts";

export interface NewKey {
  tenant: string;
  scopes: readonly Scope[];
  minimumScores?: Partial<Record<ToolLevel, number>> | undefined;
  isShadow?: boolean | undefined;
  isFirstParty?: boolean | undefined;
  assertsProperties?: boolean | undefined;
  label?: string | undefined;
  expiresAtMs?: number | undefined;
  /** Seconds. */
  querySecondsMax?: number | undefined;
}

/** Members that are left out stay as they are. */
export interface KeyChange {
  /** Null: none. */
  label?: string | null | undefined;
  scopes?: readonly Scope[] | undefined;
  /** Epoch ms; null: never. */
  expiresAtMs?: number | null | undefined;
  /** Levels that are left out stay as they are. */
  minimumScores?: Partial<Record<ToolLevel, number>> | undefined;
  /** Seconds; null: no limit of its own. */
  querySecondsMax?: number | null | undefined;
}

export function createStoredKey(request: NewKey, made: ApiKeyParts, nowMs: number): StoredKey {
  return {
    keyId: made.keyId,
    secretHash: hashSecret(made.secret).toString("hex"),
    tenant: request.tenant,
    scopes: [...new Set(request.scopes)],
    minimumScores: { ...MINIMUM_SCORES_DEFAULT, ...request.minimumScores },
    areMinimumsChosen: request.minimumScores !== undefined,
    isShadow: request.isShadow ?? false,
    isFirstParty: request.isFirstParty ?? false,
    ...(request.assertsProperties === true && { assertsProperties: true }),
    label: request.label ?? null,
    ...(request.querySecondsMax !== undefined && { querySecondsMax: request.querySecondsMax }),
    createdAtMs: nowMs,
    expiresAtMs: request.expiresAtMs ?? null,
    revokedAtMs: null,
  };
}

/** `stored` with the change. */
export function applyKeyChange(stored: StoredKey, change: KeyChange): StoredKey {
  const { label, scopes, expiresAtMs, minimumScores, querySecondsMax } = change;
  const changed = { ...stored };
  if (label !== undefined) changed.label = label;
  if (scopes !== undefined) changed.scopes = [...new Set(scopes)];
  if (querySecondsMax !== undefined) changed.querySecondsMax = querySecondsMax;
  if (expiresAtMs !== undefined) changed.expiresAtMs = expiresAtMs;
  if (minimumScores !== undefined) {
    changed.minimumScores = { ...stored.minimumScores, ...minimumScores };
    changed.areMinimumsChosen = true;
  }
  return changed;
}

/**
 * `stored` with another secret. The present one works until `overlapMs` from now, earlier ones no
 * longer than that.
 * @throws ServiceFault `api_key_overlaps` when so many earlier ones still work that one would have to
 *   go before its time.
 */
export function replaceSecret(
  stored: StoredKey,
  secretHash: string,
  overlapMs: number,
  nowMs: number,
): StoredKey {
  const untilMs = nowMs + overlapMs;
  const earlier = (stored.earlierSecrets ?? []).map((secret) => ({
    ...secret,
    untilMs: Math.min(secret.untilMs, untilMs),
  }));
  // In order of rotation: the first is the oldest.
  const ended = earlier.find((secret) => secret.untilMs <= nowMs);
  if (earlier.length >= EARLIER_SECRETS_MAX) {
    if (ended === undefined) {
      throw new ServiceFault(
        "api_key_overlaps",
        `${EARLIER_SECRETS_MAX} earlier secrets of the key still work: wait, or rotate with an overlap of 0`,
      );
    }
    earlier.splice(earlier.indexOf(ended), 1);
  }
  earlier.push({ secretHash: stored.secretHash, untilMs });
  return { ...stored, secretHash, rotatedAtMs: nowMs, earlierSecrets: earlier };
}

/** The members of a key by which it may do more than another. */
type KeyPrivileges = Pick<StoredKey, "scopes" | "expiresAtMs">;

/**
 * By how much a key would be more than the one that gives it: no scope that the giver lacks, and no
 * `admin` that outlives the giver's own. Empty when nothing is.
 * @param giverExpiresAtMs epoch ms; null when the giver never expires.
 * @param before the key as it is; what it has already is not given to it.
 */
export function listPrivilegeErrors(
  giver: Pick<Principal, "scopes">,
  giverExpiresAtMs: number | null,
  given: KeyPrivileges,
  before?: KeyPrivileges,
): FieldError[] {
  const errors: FieldError[] = [];
  for (const [index, scope] of given.scopes.entries()) {
    const isHad = giver.scopes.has("admin") || giver.scopes.has(scope);
    if (isHad || before?.scopes.includes(scope)) continue;
    const detail = "is more than the key that asks has";
    errors.push({ pointer: `/scopes/${index}`, code: "insufficient_scope", detail });
  }
  const endMs = computeAdminExpiryMs(given);
  if (endMs > (giverExpiresAtMs ?? Infinity) && endMs > computeAdminExpiryMs(before)) {
    const detail = "a key with `admin` must not outlive the one that asks for it";
    errors.push({ pointer: "/expires_at", code: "range", detail });
  }
  return errors;
}

/** Until when a key is an administrator's, epoch ms. */
function computeAdminExpiryMs(key: KeyPrivileges | undefined): number {
  if (key === undefined || !key.scopes.includes("admin")) return 0;
  return key.expiresAtMs ?? Infinity;
}
