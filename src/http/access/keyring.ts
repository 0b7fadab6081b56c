// Keyring: API keys in memory and in keys.json, and the authentication of every request. Secrets
// are never stored, only SHA-256 digests compared in constant time.
import { hash, timingSafeEqual } from "node:crypto";
import { ServiceFault } from "../../contract/faults.ts";
import type { Principal } from "../../contract/principal.ts";
import { MINIMUM_SCORES_DEFAULT } from "../../contract/policy.ts";
import { type Scope, TOOL_LEVELS, type ToolLevel } from "../../contract/vocabulary.ts";
import type { KeyDescription } from "../../contract/schemas/service.ts";
import { voiceOf } from "../../contract/voices.ts";
import { describe, readKeys, type StoredKey, writeKeys } from "./key-file.ts";
import { makeKey, parseKey } from "./key-format.ts";

const BEARER = /^bearer +/i;
const HEADER_LENGTH_MAX = 512;
const INSTALLED_SECRET_LENGTH_MIN = 32;
const DEFAULT_ENVIRONMENT = "live";
const ENVIRONMENT = /^[a-z]{2,8}$/;
/** Key id of the operator's own key from the environment; no generated id has a hyphen. */
const INSTALLED_KEY_ID = "installed-admin";
const INSTALLED_TENANT = "operator";
const NO_DIGEST = Buffer.alloc(32);
const PROVED_HEADERS_MAX = 1024;

export interface KeyringOptions {
  dataDir: string;
  now: () => number;
  /** The `<env>` part of new keys: 2 to 8 lower-case letters. */
  environment?: string;
  /** Runs once per key that was made or revoked, ahead of the answer to its caller. */
  onChange?: (stored: StoredKey) => void;
}

export interface NewKey {
  tenant: string;
  scopes: readonly Scope[];
  minimumScores?: Partial<Record<ToolLevel, number>> | undefined;
  isShadow?: boolean | undefined;
  isFirstParty?: boolean | undefined;
  label?: string | undefined;
  expiresAtMs?: number | undefined;
}

/** Holder of an API key. The operator's own key is never stored. */
interface Holder {
  stored?: StoredKey;
  digest: Buffer;
  principal: Principal;
}

interface Entry extends Holder {
  stored: StoredKey;
  /** Counted from 1 in order of creation. */
  number: number;
}

/** Opens the keyring of a data directory; the directory must exist. */
export async function openKeyring(options: KeyringOptions): Promise<Keyring> {
  const { environment = DEFAULT_ENVIRONMENT } = options;
  if (!ENVIRONMENT.test(environment)) {
    throw new Error(`key environment \`${environment}\` must be 2 to 8 lower-case letters`);
  }
  return new Keyring(options, await readKeys(options.dataDir));
}

export class Keyring {
  readonly #options: KeyringOptions;
  readonly #entries = new Map<string, Entry>();
  /** In order of creation, as they were first known. */
  readonly #stored: StoredKey[] = [];
  readonly #proved = new Map<string, Holder>();
  #installed: Holder | undefined = undefined;
  /** Changes run one after the other: two writers of one file would lose a key. */
  #lastChange: Promise<unknown> = Promise.resolve();

  constructor(options: KeyringOptions, keys: readonly StoredKey[]) {
    this.#options = options;
    for (const stored of keys) this.adopt(stored);
  }

  /** The stored keys, in order of creation: input of another thread's keyring. */
  storedKeys(): StoredKey[] {
    return [...this.#entries.values()].map((entry) => entry.stored);
  }

  /** Applies a key created or revoked by another keyring over the same file. */
  adopt(stored: StoredKey): void {
    const entry = this.#entries.get(stored.keyId);
    if (entry !== undefined) entry.stored = stored;
    else {
      this.#stored.push(stored);
      this.#entries.set(stored.keyId, entryOf(stored, this.#stored.length));
    }
  }

  /** A key in its stored form, in any state; undefined when unknown. */
  stored(keyId: string): StoredKey | undefined {
    return this.#entries.get(keyId)?.stored;
  }

  /** A small number for each key, the same in every keyring over the same file. */
  numberOf(keyId: string): number {
    return this.#entries.get(keyId)?.number ?? 0;
  }

  /** The key of a number that `numberOf` gave; 0 is the operator's own. */
  accountOf(number: number): { keyId: string; tenant: string } | undefined {
    if (number === 0) return { keyId: INSTALLED_KEY_ID, tenant: INSTALLED_TENANT };
    return this.#stored[number - 1];
  }

  /**
   * The holder of the key in an `Authorization` header, or undefined: not Bearer, wrong checksum,
   * unknown, revoked, expired and wrong secret are indistinguishable. The Principal is the same
   * object on every call, so callers may use its `keyId` as a key of their own maps.
   */
  authenticate(header: string | undefined): Principal | undefined {
    if (header === undefined || header.length > HEADER_LENGTH_MAX) return undefined;
    const proved = this.#proved.get(header);
    if (proved !== undefined) return this.#ifValid(proved);
    return this.#prove(header);
  }

  #prove(header: string): Principal | undefined {
    const token = header.startsWith("Bearer ") ? header.slice(7) : afterScheme(header);
    if (token === undefined) return undefined;
    const parsed = parseKey(token);
    if (parsed === undefined) return this.#authenticateInstalled(token, header);
    const entry = this.#entries.get(parsed.keyId);
    // An unknown id costs the same comparison as a known one.
    const isMatch = timingSafeEqual(digestOf(parsed.secret), entry?.digest ?? NO_DIGEST);
    if (entry === undefined) return this.#authenticateInstalled(token, header);
    if (!isMatch) return undefined;
    this.#remember(header, entry);
    return this.#ifValid(entry);
  }

  /** Revocation and expiry are checked on every request, remembered or not. */
  #ifValid(entry: Holder): Principal | undefined {
    const { stored } = entry;
    if (stored === undefined) return entry.principal;
    if (stored.revokedAtMs !== null) return undefined;
    const { expiresAtMs } = stored;
    if (expiresAtMs !== null && expiresAtMs <= this.#options.now()) return undefined;
    return entry.principal;
  }

  /**
   * Remembers a header whose secret was proved, so that the next request of the same caller is
   * spared the digest (0.8 us of some 14). Only valid headers are kept and looked up whole: a guess
   * is hashed and compared as before and learns nothing from its timing.
   */
  #remember(header: string, entry: Holder): void {
    if (this.#proved.size >= PROVED_HEADERS_MAX) this.#proved.clear();
    this.#proved.set(header, entry);
  }

  /** Makes a key; `key` is its text, shown this once. Resolves when the key is durable. */
  create(request: NewKey): Promise<{ key: string; description: KeyDescription }> {
    return this.#change(async () => {
      const made = makeKey(this.#options.environment ?? DEFAULT_ENVIRONMENT);
      const stored: StoredKey = {
        keyId: made.keyId,
        secretHash: digestOf(made.secret).toString("hex"),
        tenant: request.tenant,
        scopes: [...new Set(request.scopes)],
        minimumScores: minimumScores(request.minimumScores),
        isShadow: request.isShadow ?? false,
        isFirstParty: request.isFirstParty ?? false,
        label: request.label ?? null,
        createdAtMs: this.#options.now(),
        expiresAtMs: request.expiresAtMs ?? null,
        revokedAtMs: null,
      };
      await this.#persist(stored);
      return { key: made.text, description: describe(stored) };
    });
  }

  /** Every key ever made, in order of creation, revoked ones included. */
  list(): KeyDescription[] {
    return [...this.#entries.values()].map((entry) => describe(entry.stored));
  }

  /** True when an unrevoked, unexpired key (or an installed one) has the scope `admin`. */
  hasAdmin(): boolean {
    if (this.#installed !== undefined) return true;
    const nowMs = this.#options.now();
    return [...this.#entries.values()].some(
      ({ stored }) =>
        stored.scopes.includes("admin") &&
        stored.revokedAtMs === null &&
        (stored.expiresAtMs === null || stored.expiresAtMs > nowMs),
    );
  }

  /**
   * Revokes at once and for good; repeating it changes nothing. Rejects with ServiceFault
   * `not_found`.
   */
  revoke(keyId: string): Promise<KeyDescription> {
    return this.#change(async () => {
      const entry = this.#entries.get(keyId);
      if (entry === undefined) throw new ServiceFault("not_found", "no key has this id");
      if (entry.stored.revokedAtMs !== null) return describe(entry.stored);
      const stored: StoredKey = { ...entry.stored, revokedAtMs: this.#options.now() };
      await this.#persist(stored);
      return describe(stored);
    });
  }

  /**
   * Accepts the operator's own string as an admin key for the life of this process; only its hash
   * is held. It is not written to keys.json: the environment it came from stays its only source.
   */
  installAdminKey(secret: string): void {
    if (secret.length < INSTALLED_SECRET_LENGTH_MIN || /[^\x21-\x7e]/.test(secret)) {
      const length = INSTALLED_SECRET_LENGTH_MIN;
      throw new Error(`an admin key needs ${length} or more visible ASCII characters`);
    }
    if (secret.length > HEADER_LENGTH_MAX - "Bearer ".length) {
      throw new Error("an admin key this long does not fit in a header");
    }
    const principal: Principal = {
      keyId: INSTALLED_KEY_ID,
      tenant: INSTALLED_TENANT,
      scopes: new Set<Scope>(["admin"]),
      minimumScores: minimumScores(undefined),
      isShadow: false,
      isFirstParty: true,
      voice: voiceOf(INSTALLED_KEY_ID),
    };
    this.#proved.clear();
    this.#installed = { digest: digestOf(secret), principal };
  }

  #authenticateInstalled(token: string, header: string): Principal | undefined {
    const installed = this.#installed;
    if (installed === undefined) return undefined;
    if (!timingSafeEqual(digestOf(token), installed.digest)) return undefined;
    this.#remember(header, installed);
    return installed.principal;
  }

  async #persist(changed: StoredKey): Promise<void> {
    const kept = [...this.#entries.values()]
      .map((entry) => entry.stored)
      .filter((stored) => stored.keyId !== changed.keyId);
    const keys = [...kept, changed].toSorted((a, b) => a.createdAtMs - b.createdAtMs);
    await writeKeys(this.#options.dataDir, keys);
    this.adopt(changed);
    this.#options.onChange?.(changed);
  }

  #change<T>(run: () => Promise<T>): Promise<T> {
    const result = this.#lastChange.then(run);
    this.#lastChange = result.catch(() => undefined);
    return result;
  }
}

function entryOf(stored: StoredKey, number: number): Entry {
  const principal: Principal = {
    keyId: stored.keyId,
    tenant: stored.tenant,
    scopes: new Set(stored.scopes),
    minimumScores: stored.minimumScores,
    isShadow: stored.isShadow,
    isFirstParty: stored.isFirstParty ?? false,
    voice: voiceOf(stored.keyId),
  };
  return { stored, digest: Buffer.from(stored.secretHash, "hex"), principal, number };
}

function minimumScores(given: Partial<Record<ToolLevel, number>> | undefined) {
  const entries = TOOL_LEVELS.map((level) => [
    level,
    given?.[level] ?? MINIMUM_SCORES_DEFAULT[level],
  ]);
  return Object.fromEntries(entries) as Record<ToolLevel, number>;
}

function afterScheme(header: string): string | undefined {
  const found = BEARER.exec(header);
  return found === null ? undefined : header.slice(found[0].length);
}

function digestOf(secret: string): Buffer {
  return hash("sha256", secret, "buffer");
}
