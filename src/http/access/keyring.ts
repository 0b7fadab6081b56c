// Keyring: API keys in memory and in keys.json, and the authentication of every request. Secrets
// are never stored, only SHA-256 digests compared in constant time.
import { timingSafeEqual } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { ServiceFault } from "../../contract/faults.ts";
import { type Principal, keepRevocation } from "../../contract/principal.ts";
import { SerialQueue } from "../../concurrency/serial-queue.ts";
import type { KeyDescription } from "../../contract/schemas/service.ts";
import {
  type KeyChange,
  type NewKey,
  createStoredKey,
  applyKeyChange,
  replaceSecret,
} from "./key-changes.ts";
import {
  INSTALLED_KEY_ID,
  createInstalledKeyHolder,
  type InstalledKeyHolder,
  hashSecret,
  type KeyringEntry,
  createKeyringEntry,
  isAuthenticationValid,
  type KeyAuthentication,
  updateKeyringEntry,
  findMatchingSecret,
} from "./key-holder.ts";
import { describeKey, readKeyFile, type StoredKey, upsertKey, writeKeyFile } from "./key-file.ts";
import { readBearerToken, generateApiKey, generateKeySecret, parseApiKey } from "./key-format.ts";

/** Puts the stored form of a key on record for every node; resolves once it is durable. */
export type KeyAppender = (stored: StoredKey) => Promise<unknown>;

export interface KeyringOptions {
  dataDir: string;
  now: () => number;
  /** The `<env>` part of new keys: 2 to 8 lower-case letters. */
  environment?: string;
  /** Runs once per key that was made, changed or revoked, ahead of the answer to its caller. */
  onChange?: (stored: StoredKey) => void;
}

/** A key with another secret. */
export interface RotatedKey {
  /** Its text, shown this once. */
  key: string;
  description: KeyDescription;
  undo: () => Promise<void>;
}

const HEADER_LENGTH_MAX = 512;
const DEFAULT_ENVIRONMENT = "live";
const ENVIRONMENT = /^[a-z]{2,8}$/;
const PROVED_HEADERS_MAX = 1024;

/** Opens the keyring of a data directory; the directory must exist. */
export async function openKeyring(options: KeyringOptions): Promise<Keyring> {
  const { environment = DEFAULT_ENVIRONMENT } = options;
  if (!ENVIRONMENT.test(environment)) {
    throw new Error(`key environment \`${environment}\` must be 2 to 8 lower-case letters`);
  }
  return new Keyring(options, await readKeyFile(options.dataDir));
}

export class Keyring {
  readonly #options: KeyringOptions;
  readonly #entries = new Map<string, KeyringEntry>();
  readonly #authenticationsByHeader = new Map<string, KeyAuthentication>();
  #installedHolder: InstalledKeyHolder | undefined = undefined;
  #appendKey: KeyAppender | undefined;
  /** Of changes: two writers of one file would lose a key. */
  readonly #changes = new SerialQueue();

  constructor(options: KeyringOptions, keys: readonly StoredKey[]) {
    this.#options = options;
    for (const stored of keys) this.applyStoredKey(stored);
  }

  /** The stored keys, in order of creation: input of another thread's keyring. */
  listStoredKeys(): StoredKey[] {
    return [...this.#entries.values()].map((entry) => entry.stored);
  }

  /** Applies a key created, changed or revoked by another keyring. A revoked one stays so. */
  applyStoredKey(stored: StoredKey): void {
    const entry = this.#entries.get(stored.keyId);
    if (entry === undefined) {
      this.#entries.set(stored.keyId, createKeyringEntry(stored, this.#entries.size + 1));
      return;
    }
    updateKeyringEntry(entry, keepRevocation(entry.stored, stored));
    // A secret that was proved before may have an end now.
    for (const [header, { holder }] of this.#authenticationsByHeader) {
      if (holder === entry) this.#authenticationsByHeader.delete(header);
    }
  }

  /** A key in its stored form, in any state; undefined when unknown. */
  findStoredKey(keyId: string): StoredKey | undefined {
    return this.#entries.get(keyId)?.stored;
  }

  /** A small number for each key, the same in every keyring over the same file. */
  findKeyNumber(keyId: string): number {
    return this.#entries.get(keyId)?.keyNumber ?? 0;
  }

  /**
   * The holder of the key in an `Authorization` header, or undefined: not Bearer, wrong checksum,
   * unknown, revoked, expired and wrong secret are indistinguishable. The Principal is the same
   * object on every call, so callers may use its `keyId` as a key of their own maps.
   */
  authenticate(header: string | undefined): Principal | undefined {
    if (header === undefined || header.length > HEADER_LENGTH_MAX) return undefined;
    const proved = this.#authenticationsByHeader.get(header);
    if (proved === undefined) return this.#authenticateNewHeader(header);
    return isAuthenticationValid(proved, this.#options.now) ? proved.holder.principal : undefined;
  }

  /**
   * Whether a header is refused here that may be valid at another node of a cluster, where the key was made, rotated
   * or prolonged: it is well formed, and its key not revoked, which is final.
   */
  mayBeValidElsewhere(header: string | undefined): boolean {
    if (header === undefined || header.length > HEADER_LENGTH_MAX) return false;
    const parsed = parseApiKey(readBearerToken(header) ?? "");
    if (parsed === undefined || this.authenticate(header) !== undefined) return false;
    return (this.findStoredKey(parsed.keyId)?.revokedAtMs ?? null) === null;
  }

  /** The principal of a key that is valid now, by the key's id. */
  findValidPrincipal(keyId: string): Principal | undefined {
    const isInstalled = keyId === INSTALLED_KEY_ID;
    const holder = isInstalled ? this.#installedHolder : this.#entries.get(keyId);
    if (holder === undefined) return undefined;
    return isAuthenticationValid({ holder, untilMs: null }, this.#options.now)
      ? holder.principal
      : undefined;
  }

  #authenticateNewHeader(header: string): Principal | undefined {
    const token = header.startsWith("Bearer ") ? header.slice(7) : readBearerToken(header);
    if (token === undefined) return undefined;
    const parsed = parseApiKey(token);
    if (parsed === undefined) return this.#authenticateInstalled(token, header);
    const holder = this.#entries.get(parsed.keyId);
    const secret = findMatchingSecret(holder, parsed.secret);
    if (holder === undefined) return this.#authenticateInstalled(token, header);
    if (secret === undefined) return undefined;
    const proof = { holder, untilMs: secret.untilMs };
    this.#cacheAuthentication(header, proof);
    return isAuthenticationValid(proof, this.#options.now) ? holder.principal : undefined;
  }

  /**
   * Remembers a header whose secret was proved, so that the next request of the same caller is
   * spared the digest (0.8 us of some 14). Only valid headers are kept and looked up whole: a guess
   * is hashed and compared as before and learns nothing from its timing. Revocation, expiry and the
   * end of an overlap are checked on every request, remembered or not.
   */
  #cacheAuthentication(header: string, proof: KeyAuthentication): void {
    if (this.#authenticationsByHeader.size >= PROVED_HEADERS_MAX)
      this.#authenticationsByHeader.clear();
    this.#authenticationsByHeader.set(header, proof);
  }

  /** Makes a key; `key` is its text, shown this once. Resolves when the key is durable. */
  create(request: NewKey): Promise<{ key: string; description: KeyDescription }> {
    return this.#changes.run(async () => {
      const made = generateApiKey(this.#options.environment ?? DEFAULT_ENVIRONMENT);
      const stored = createStoredKey(request, made, this.#options.now());
      await this.#persist(stored);
      return { key: made.text, description: this.#describe(stored) };
    });
  }

  /**
   * Changes members of a key; its secret stays. In force on every thread once it resolves. Rejects
   * with ServiceFault `not_found` or `api_key_revoked`, or with what `check` throws at the result.
   */
  change(
    keyId: string,
    change: KeyChange,
    check: (changed: StoredKey, before: StoredKey) => void = () => undefined,
  ): Promise<{ before: KeyDescription; description: KeyDescription }> {
    return this.#changes.run(async () => {
      const before = this.#requireUnrevokedKey(keyId);
      const stored = applyKeyChange(before, change);
      check(stored, before);
      await this.#persist(stored);
      return { before: this.#describe(before), description: this.#describe(stored) };
    });
  }

  /**
   * Gives a key another secret, whose text is shown this once; the present one works for
   * `overlapMs` more. `undo` puts things back as they were, as far as nothing else has changed.
   * Rejects with ServiceFault `not_found`, `api_key_revoked` or `api_key_overlaps`, or with what
   * `check` throws at the key.
   */
  rotate(
    keyId: string,
    overlapMs: number,
    check: (stored: StoredKey) => void = () => undefined,
  ): Promise<RotatedKey> {
    return this.#changes.run(async () => {
      const before = this.#requireUnrevokedKey(keyId);
      check(before);
      const { secret, text } = generateKeySecret(
        this.#options.environment ?? DEFAULT_ENVIRONMENT,
        keyId,
      );
      const secretHash = hashSecret(secret).toString("hex");
      const stored = replaceSecret(before, secretHash, overlapMs, this.#options.now());
      await this.#persist(stored);
      const undo = () => this.#undoRotation(before, secretHash);
      return { key: text, description: this.#describe(stored), undo };
    });
  }

  #undoRotation(before: StoredKey, secretHash: string): Promise<void> {
    return this.#changes.run(async () => {
      const { stored } = this.#entries.get(before.keyId)!;
      if (stored.secretHash !== secretHash) return;
      const { rotatedAtMs, earlierSecrets } = before;
      await this.#persist({
        ...stored,
        secretHash: before.secretHash,
        ...(rotatedAtMs === undefined ? { rotatedAtMs: null } : { rotatedAtMs }),
        earlierSecrets: earlierSecrets ?? [],
      });
    });
  }

  /** @throws ServiceFault */
  #requireUnrevokedKey(keyId: string): StoredKey {
    const stored = this.#requireKey(keyId);
    if (stored.revokedAtMs === null) return stored;
    throw new ServiceFault("api_key_revoked", "a revoked key stays as it is: make another");
  }

  /** @throws ServiceFault */
  #requireKey(keyId: string): StoredKey {
    const stored = this.findStoredKey(keyId);
    if (stored !== undefined) return stored;
    const isInstalled = keyId === INSTALLED_KEY_ID;
    const detail = isInstalled ? "this key stands in the environment alone" : "no key has this id";
    throw new ServiceFault("not_found", detail);
  }

  #describe(stored: StoredKey): KeyDescription {
    return describeKey(stored, this.#options.now());
  }

  /** Every key ever made, in order of creation, revoked ones included. */
  list(): KeyDescription[] {
    return [...this.#entries.values()].map((entry) => this.#describe(entry.stored));
  }

  /** True when an unrevoked, unexpired key (or an installed one) has the scope `admin`. */
  hasAdmin(): boolean {
    if (this.#installedHolder !== undefined) return true;
    return [...this.#entries.keys()].some((id) => this.findValidPrincipal(id)?.scopes.has("admin"));
  }

  /**
   * Revokes at once and for good; repeating it changes nothing. Rejects with ServiceFault
   * `not_found`.
   */
  revoke(keyId: string): Promise<KeyDescription> {
    return this.#changes.run(async () => {
      const known = this.#requireKey(keyId);
      if (known.revokedAtMs !== null) return this.#describe(known);
      const stored: StoredKey = { ...known, revokedAtMs: this.#options.now() };
      await this.#persist(stored);
      return this.#describe(stored);
    });
  }

  /**
   * Accepts the operator's own string as an admin key for the life of this process; only its hash
   * is held. It is not written to keys.json: the environment it came from stays its only source.
   */
  installAdminKey(secret: string): void {
    const installed = createInstalledKeyHolder(secret, HEADER_LENGTH_MAX - "Bearer ".length);
    this.#authenticationsByHeader.clear();
    this.#installedHolder = installed;
  }

  #authenticateInstalled(token: string, header: string): Principal | undefined {
    const installed = this.#installedHolder;
    if (installed === undefined) return undefined;
    if (!timingSafeEqual(hashSecret(token), installed.digest)) return undefined;
    this.#cacheAuthentication(header, { holder: installed, untilMs: null });
    return installed.principal;
  }

  /** From now on a change is on the way to every node of a cluster before it is made here. */
  appendChangesTo(append: KeyAppender): void {
    this.#appendKey = append;
  }

  /**
   * A key as another node has put it on record: in force on every thread when this returns, for the
   * journal has it already. Resolves when the file has it too.
   */
  async applyReplicatedKey(stored: StoredKey): Promise<void> {
    if (isDeepStrictEqual(this.findStoredKey(stored.keyId), stored)) return;
    this.#applyAndNotify(stored);
    await this.#changes.run(() => this.#saveKeys(this.findStoredKey(stored.keyId)!));
  }

  /** Resolves once no change is under way. */
  async waitForChanges(): Promise<void> {
    await this.#changes.drained();
  }

  async #persist(changed: StoredKey): Promise<void> {
    await (this.#appendKey ?? this.#saveKeys)(changed);
    // In a cluster at its place among what is learnt: the file would be too late.
    this.#applyAndNotify(changed);
    if (this.#appendKey !== undefined) await this.#saveKeys(this.findStoredKey(changed.keyId)!);
  }

  readonly #saveKeys = (changed: StoredKey): Promise<void> =>
    writeKeyFile(this.#options.dataDir, upsertKey(this.listStoredKeys(), changed));

  #applyAndNotify(changed: StoredKey): void {
    this.applyStoredKey(changed);
    this.#options.onChange?.(changed);
  }
}
