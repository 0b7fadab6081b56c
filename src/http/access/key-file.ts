// File keys.json in the data directory: the stored form of each API key, without its secret.
// A crash leaves the old list or the new one.
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { isObject } from "../../contract/parse/json-object.ts";
import { FORMER_MINIMUM_SCORES, MINIMUM_SCORES_DEFAULT } from "../../contract/policy.ts";
import type { KeyDescription } from "../../contract/schemas/service.ts";
import { type Scope, SCOPES, TOOL_LEVELS, type ToolLevel } from "../../contract/vocabulary.ts";
import { replaceFileAsync } from "../../platform/files.ts";

const FILE_NAME = "keys.json";
const FORMAT = 1;

/**
 * Earlier secrets that are kept with a key. A rotation needs one; the others are for a rotation
 * whose answer was lost, and to tell the holder of a replaced secret from a guesser.
 */
export const EARLIER_SECRETS_MAX = 4;

/** One stored key. */
export interface StoredKey {
  keyId: string;
  /** SHA-256 of the secret, hex: the secret has 256 bits, so no slow hash is needed. */
  secretHash: string;
  tenant: string;
  scopes: Scope[];
  minimumScores: Record<ToolLevel, number>;
  /** True where the request named any: what stands there is meant. Left out: false. */
  areMinimumsChosen?: boolean;
  isShadow: boolean;
  /** Left out by files from before it: false. */
  isFirstParty?: boolean;
  /** Left out: false. */
  assertsProperties?: boolean;
  label: string | null;
  /** Longest work of one of its queries, in seconds. Null or left out: it has no such limit. */
  querySecondsMax?: number | null;
  createdAtMs: number;
  expiresAtMs: number | null;
  revokedAtMs: number | null;
  /** Of the present secret; null or left out: the first one. */
  rotatedAtMs?: number | null;
  /** Secrets before the present one, the oldest first; some may have ended. Left out: none. */
  earlierSecrets?: readonly EarlierSecret[];
}

interface EarlierSecret {
  secretHash: string;
  /** Epoch ms; works before it. */
  untilMs: number;
}

const DIGEST = /^[0-9a-f]{64}$/;

/** Where the file is missing and the journal is not empty. */
export const KEY_FILE_MISSING_WARNING =
  "`keys.json` is missing beside a journal: API keys made before are unknown, and answered 401; stop the " +
  "service and put the file back from a backup, or make keys anew by `trustrank keys create`";

/** The file is there and cannot be used; the message says what helps. */
export class KeyFileUnusable extends Error {
  constructor(file: string, reason: string) {
    const advice =
      "put it back from a backup, or move it away and make keys anew by `trustrank keys create`; a node of a cluster rebuilds it at its start";
    super(`\`${file}\` cannot be used, ${reason}: ${advice}`);
    this.name = "KeyFileUnusable";
  }
}

/** Whether the data directory has the file. */
export function hasKeyFile(dataDir: string): boolean {
  return existsSync(path.join(dataDir, FILE_NAME));
}

/**
 * The stored keys; an absent file is an empty list.
 * @throws KeyFileUnusable when the file is not a key list.
 */
export async function readKeyFile(dataDir: string): Promise<StoredKey[]> {
  const file = path.join(dataDir, FILE_NAME);
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
  const document = parseJsonOrUndefined(text);
  if (!isObject(document) || document["format"] !== FORMAT || !Array.isArray(document["keys"])) {
    throw new KeyFileUnusable(file, `it is no list of API keys of format ${FORMAT}`);
  }
  const keys: unknown[] = document["keys"];
  for (const [index, key] of keys.entries()) {
    if (!isStoredKey(key)) throw new KeyFileUnusable(file, `its key at index ${index} is damaged`);
  }
  return (keys as StoredKey[]).map(migrateOldMinimums);
}

/** Minimum of every level of a key that named none, before levels had defaults of their own. */
const OLD_MINIMUM_DEFAULT = 575;

/** A level of a key that was left at an old default names no minimum. */
function migrateOldMinimums(key: StoredKey): StoredKey {
  if (key.areMinimumsChosen === true) return key;
  const isOld = TOOL_LEVELS.every((level) => key.minimumScores[level] === OLD_MINIMUM_DEFAULT);
  const named = TOOL_LEVELS.filter(
    (level) => !isOld && key.minimumScores[level] !== FORMER_MINIMUM_SCORES[level],
  );
  const minimums = named.map((level) => [level, key.minimumScores[level]] as const);
  return {
    ...key,
    minimumScores: { ...MINIMUM_SCORES_DEFAULT, ...Object.fromEntries(minimums) },
  };
}

/** The keys with one of them made or changed, in order of creation. */
export function upsertKey(keys: readonly StoredKey[], changed: StoredKey): StoredKey[] {
  const kept = keys.filter((stored) => stored.keyId !== changed.keyId);
  return [...kept, changed].toSorted((a, b) => a.createdAtMs - b.createdAtMs);
}

/** Replaces the file. Resolves when the new list is durable. */
export function writeKeyFile(dataDir: string, keys: readonly StoredKey[]): Promise<void> {
  const text = `${JSON.stringify({ format: FORMAT, keys }, null, 2)}\n`;
  return replaceFileAsync(path.join(dataDir, FILE_NAME), text);
}

/** Undefined when it is not JSON: the parser's own message would quote the file. */
function parseJsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function isStoredKey(value: unknown): value is StoredKey {
  if (!isObject(value)) return false;
  const { keyId, secretHash, tenant, scopes, minimumScores, isShadow, label } = value;
  return (
    typeof keyId === "string" &&
    typeof secretHash === "string" &&
    DIGEST.test(secretHash) &&
    typeof tenant === "string" &&
    Array.isArray(scopes) &&
    scopes.every((scope) => (SCOPES as readonly unknown[]).includes(scope)) &&
    isObject(minimumScores) &&
    TOOL_LEVELS.every((level) => typeof minimumScores[level] === "number") &&
    typeof isShadow === "boolean" &&
    ["undefined", "boolean"].includes(typeof value["isFirstParty"]) &&
    ["undefined", "boolean"].includes(typeof value["assertsProperties"]) &&
    (label === null || typeof label === "string") &&
    typeof value["createdAtMs"] === "number" &&
    isNumberOrNull(value["expiresAtMs"]) &&
    isNumberOrNull(value["revokedAtMs"]) &&
    isNumberOrNull(value["querySecondsMax"] ?? null) &&
    hasValidRotation(value)
  );
}

function hasValidRotation(value: Record<string, unknown>): boolean {
  const { rotatedAtMs = null, earlierSecrets = [], areMinimumsChosen = false } = value;
  return (
    isNumberOrNull(rotatedAtMs) &&
    typeof areMinimumsChosen === "boolean" &&
    Array.isArray(earlierSecrets) &&
    earlierSecrets.length <= EARLIER_SECRETS_MAX &&
    earlierSecrets.every(isEarlierSecret)
  );
}

function isEarlierSecret(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { secretHash, untilMs } = value;
  return typeof secretHash === "string" && DIGEST.test(secretHash) && typeof untilMs === "number";
}

function isNumberOrNull(value: unknown): boolean {
  return value === null || typeof value === "number";
}

/** When the last of a key's earlier secrets ends, epoch ms; null when none works at `nowMs`. */
function findOverlapEndMs({ earlierSecrets = [] }: StoredKey, nowMs: number): number | null {
  const lastMs = Math.max(0, ...earlierSecrets.map(({ untilMs }) => untilMs));
  return lastMs > nowMs ? lastMs : null;
}

/** Public description of a key, as it is at `nowMs`. */
export function describeKey(stored: StoredKey, nowMs: number): KeyDescription {
  return {
    key_id: stored.keyId,
    tenant: stored.tenant,
    scopes: [...stored.scopes],
    minimum_scores: { ...stored.minimumScores },
    is_shadow: stored.isShadow,
    first_party: stored.isFirstParty ?? false,
    asserts_properties: stored.assertsProperties ?? false,
    label: stored.label,
    query_seconds_max: stored.querySecondsMax ?? null,
    created_at: formatIsoTime(stored.createdAtMs),
    expires_at: formatIsoTimeOrNull(stored.expiresAtMs),
    revoked_at: formatIsoTimeOrNull(stored.revokedAtMs),
    rotated_at: formatIsoTimeOrNull(stored.rotatedAtMs ?? null),
    overlap_ends_at: formatIsoTimeOrNull(findOverlapEndMs(stored, nowMs)),
  };
}

function formatIsoTime(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

function formatIsoTimeOrNull(timeMs: number | null): string | null {
  return timeMs === null ? null : formatIsoTime(timeMs);
}
