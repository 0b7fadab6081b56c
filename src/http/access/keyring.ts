// Keyring: API keys in memory and in keys.json, and the authentication of every request. Secrets
// are never stored, only SHA-256 digests compared in constant time.
import { timingSafeEqual } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { ServiceFault } from "../../contract/faults.ts";
import { type Principal, stillRevoked } from "../../contract/principal.ts";
import { SerialQueue } from "../../concurrency/serial-queue.ts";
import type { KeyDescription } from "../../contract/schemas/service.ts";
import {
  type KeyChange,
  type NewKey,
  newStoredKey,
  withChange,
  withSecret,
} from "./key-changes.ts";
import { INSTALLED_KEY_ID, installedHolder, type InstalledHolder } from "./installed-key.ts";
import { describe, readKeys, type StoredKey, withKey, writeKeys } from "./key-file.ts";
import { afterScheme, makeKey, makeSecret, parseKey } from "./key-format.ts";
import type { AppendKey, KeyringOptions, RotatedKey } from "./keyring-options.ts";
import {
  digestOf,
  type Entry,
  entryOf,
  isValidAt,
  type Proof,
  renew,
  secretOf,
} from "./key-holder.ts";

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
  return new Keyring(options, await readKeys(options.dataDir));
}

export class Keyring {
  readonly #options: KeyringOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #proved = new Map<string, Proof>();
  #installed: InstalledHolder | undefined = undefined;
  #append: AppendKey | undefined;
  /** Of changes: two writers of one file would lose a key. */
  readonly #changes = new SerialQueue();

  constructor(options: KeyringOptions, keys: readonly StoredKey[]) {
    this.#options = options;
    for (const stored of keys) this.adopt(stored);
  }

  /** The stored keys, in order of creation: input of another thread's keyring. */
  storedKeys(): StoredKey[] {
    return [...this.#entries.values()].map((entry) => entry.stored);
  }

  /** Applies a key created, changed or revoked by another keyring. A revoked one stays so. */
  adopt(stored: StoredKey): void {
    const entry = this.#entries.get(stored.keyId);
    if (entry === undefined) {
      this.#entries.set(stored.keyId, entryOf(stored, this.#entries.size + 1));
      return;
    }
    renew(entry, stillRevoked(entry.stored, stored));
    // A secret that was proved before may have an end now.
    for (const [header, { holder }] of this.#proved) {
      if (holder === entry) this.#proved.delete(header);
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

  /**
   * The holder of the key in an `Authorization` header, or undefined: not Bearer, wrong checksum,
   * unknown, revoked, expired and wrong secret are indistinguishable. The Principal is the same
   * object on every call, so callers may use its `keyId` as a key of their own maps.
   */
  authenticate(header: string | undefined): Principal | undefined {
    if (header === undefined || header.length > HEADER_LENGTH_MAX) return undefined;
    const proved = this.#proved.get(header);
    if (proved === undefined) return this.#prove(header);
    return isValidAt(proved, this.#options.now) ? proved.holder.principal : undefined;
  }

  /** The principal of a key that is valid now, by the key's id. */
  principalOf(keyId: string): Principal | undefined {
    const isInstalled = keyId === INSTALLED_KEY_ID;
    const holder = isInstalled ? this.#installed : this.#entries.get(keyId);
    if (holder === undefined) return undefined;
    return isValidAt({ holder, untilMs: null }, this.#options.now) ? holder.principal : undefined;
  }

  #prove(header: string): Principal | undefined {
    const token = header.startsWith("Bearer ") ? header.slice(7) : afterScheme(header);
    if (token === undefined) return undefined;
    const parsed = parseKey(token);
    if (parsed === undefined) return this.#authenticateInstalled(token, header);
    const holder = this.#entries.get(parsed.keyId);
    const secret = secretOf(holder, parsed.secret);
    if (holder === undefined) return this.#authenticateInstalled(token, header);
    if (secret === undefined) return undefined;
    const proof = { holder, untilMs: secret.untilMs };
    this.#remember(header, proof);
    return isValidAt(proof, this.#options.now) ? holder.principal : undefined;
  }

  /**
   * Remembers a header whose secret was proved, so that the next request of the same caller is
   * spared the digest (0.8 us of some 14). Only valid headers are kept and looked up whole: a guess
   * is hashed and compared as before and learns nothing from its timing. Revocation, expiry and the
   * end of an overlap are checked on every request, remembered or not.
   */
  #remember(header: string, proof: Proof): void {
    if (this.#proved.size >= PROVED_HEADERS_MAX) this.#proved.clear();
    this.#proved.set(header, proof);
  }

  /** Makes a key; `key` is its text, shown this once. Resolves when the key is durable. */
  create(request: NewKey): Promise<{ key: string; description: KeyDescription }> {
    return this.#changes.run(async () => {
      const made = makeKey(this.#options.environment ?? DEFAULT_ENVIRONMENT);
      const stored = newStoredKey(request, made, this.#options.now());
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
      const before = this.#living(keyId);
      const stored = withChange(before, change);
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
      const before = this.#living(keyId);
      check(before);
      const { secret, text } = makeSecret(this.#options.environment ?? DEFAULT_ENVIRONMENT, keyId);
      const secretHash = digestOf(secret).toString("hex");
      const stored = withSecret(before, secretHash, overlapMs, this.#options.now());
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
  #living(keyId: string): StoredKey {
    const stored = this.#known(keyId);
    if (stored.revokedAtMs === null) return stored;
    throw new ServiceFault("api_key_revoked", "a revoked key stays as it is: make another");
  }

  /** @throws ServiceFault */
  #known(keyId: string): StoredKey {
    const stored = this.stored(keyId);
    if (stored !== undefined) return stored;
    const isInstalled = keyId === INSTALLED_KEY_ID;
    const detail = isInstalled ? "this key stands in the environment alone" : "no key has this id";
    throw new ServiceFault("not_found", detail);
  }

  #describe(stored: StoredKey): KeyDescription {
    return describe(stored, this.#options.now());
  }

  /** Every key ever made, in order of creation, revoked ones included. */
  list(): KeyDescription[] {
    return [...this.#entries.values()].map((entry) => this.#describe(entry.stored));
  }

  /** True when an unrevoked, unexpired key (or an installed one) has the scope `admin`. */
  hasAdmin(): boolean {
    if (this.#installed !== undefined) return true;
    return [...this.#entries.keys()].some((id) => this.principalOf(id)?.scopes.has("admin"));
  }

  /**
   * Revokes at once and for good; repeating it changes nothing. Rejects with ServiceFault
   * `not_found`.
   */
  revoke(keyId: string): Promise<KeyDescription> {
    return this.#changes.run(async () => {
      const known = this.#known(keyId);
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
    const installed = installedHolder(secret, HEADER_LENGTH_MAX - "Bearer ".length);
    this.#proved.clear();
    this.#installed = installed;
  }

  #authenticateInstalled(token: string, header: string): Principal | undefined {
    const installed = this.#installed;
    if (installed === undefined) return undefined;
    if (!timingSafeEqual(digestOf(token), installed.digest)) return undefined;
    this.#remember(header, { holder: installed, untilMs: null });
    return installed.principal;
  }

  /** From now on a change is on the way to every node of a cluster before it is made here. */
  follow(append: AppendKey): void {
    this.#append = append;
  }

  /**
   * A key as another node has put it on record: in force on every thread when this returns, for the
   * journal has it already. Resolves when the file has it too.
   */
  async learn(stored: StoredKey): Promise<void> {
    if (isDeepStrictEqual(this.stored(stored.keyId), stored)) return;
    this.#put(stored);
    await this.#changes.run(() => this.#write(this.stored(stored.keyId)!));
  }

  /** Resolves once no change is under way. */
  async settled(): Promise<void> {
    await this.#changes.drained();
  }

  async #persist(changed: StoredKey): Promise<void> {
    await (this.#append ?? this.#write)(changed);
    // In a cluster at its place among what is learnt: the file would be too late.
    this.#put(changed);
    if (this.#append !== undefined) await this.#write(this.stored(changed.keyId)!);
  }

  readonly #write = (changed: StoredKey): Promise<void> =>
    writeKeys(this.#options.dataDir, withKey(this.storedKeys(), changed));

  #put(changed: StoredKey): void {
    this.adopt(changed);
    this.#options.onChange?.(changed);
  }
}
