// A bucket beside the log whose values carry seals: reports of nodes, leases, names. A value names the newest revision of
// the bucket that its writer knew. A reader that has seen a later one of the same key takes it for an old value that was
// written again.
import type { JetStreamClient } from "./nats-jetstream.ts";
import { Kvm } from "@nats-io/kv";
import { isStreamMissing } from "./retries.ts";
import { digest, type LogSeals, type SealedContent } from "./seal.ts";

interface StoredEntry {
  readonly operation: string;
  readonly revision: number;
  readonly created: Date;
  string(): string;
}

/** The part of a bucket that is needed. */
export interface Bucket {
  /** Rejects where the key is there. */
  create(key: string, value: string): Promise<number>;
  /** Rejects unless the key's newest revision is `revision`. */
  update(key: string, value: string, revision: number): Promise<number>;
  put(key: string, value: string): Promise<number>;
  delete(key: string, options: { previousSeq: number }): Promise<void>;
  get(key: string): Promise<StoredEntry | null>;
  keys(): Promise<AsyncIterable<string>>;
  status(): Promise<{ readonly streamInfo: { readonly state: { readonly last_seq: number } } }>;
}

export interface BucketEntry {
  /** Without the seal; an empty object where something else was written. */
  readonly value: Record<string, unknown>;
  /** Changes with every write. */
  readonly revision: number;
  /** When it was kept, epoch ms by the servers' clocks. */
  readonly keptMs: number;
  /** Whether it carries a valid seal, and is no old value written again. */
  readonly isSealed: boolean;
}

export interface SealedBucketOptions {
  /** Tells the values of one bucket from those of another. */
  readonly name: string;
  /** Left out: values carry no seals, and none is valid. */
  readonly seals: LogSeals | undefined;
  /** Whether only sealed values count. */
  readonly isSealDemanded: () => boolean;
}

interface BucketSettings extends SealedBucketOptions {
  readonly replicas: number;
  /** Ms after which an entry is gone. */
  readonly ttlMs: number;
  readonly mayCreate: boolean;
}

/** Undefined where there is none and none may be made. @throws the server's error. */
export async function openSealedBucket(
  client: JetStreamClient,
  settings: BucketSettings,
): Promise<SealedBucket | undefined> {
  const { name, replicas, ttlMs: ttl, mayCreate } = settings;
  const buckets = new Kvm(client);
  const bound = await buckets.open(name);
  try {
    await bound.status();
    // One that is there is taken as it is: its copies may have been raised since.
    return new SealedBucket(bound, settings);
  } catch (error) {
    if (!isStreamMissing(error)) throw error;
  }
  if (!mayCreate) return undefined;
  const options = { replicas, storage: "file", history: 1, ttl } as const;
  return new SealedBucket(await buckets.create(name, options), settings);
}

export class SealedBucket {
  readonly #bucket: Bucket;
  readonly #options: SealedBucketOptions;
  /** Newest sealed revision of each key that this process has seen or written. */
  readonly #known = new Map<string, number>();
  /** Newest revision of the bucket that was seen. */
  #newest = 0;

  constructor(bucket: Bucket, options: SealedBucketOptions) {
    this.#bucket = bucket;
    this.#options = options;
  }

  /** Whether a value is that of a node: one without a seal may be, of an earlier release. */
  counts({ isSealed }: Pick<BucketEntry, "isSealed">): boolean {
    return isSealed || !this.#options.isSealDemanded();
  }

  /** @throws the server's error; a revision conflict where the key is there. */
  async create(key: string, content: object): Promise<number> {
    const value = this.#encode(key, content, await this.#readLastRevision());
    return this.#remember(key, await this.#bucket.create(key, value));
  }

  /** @throws the server's error; a revision conflict unless the key's newest revision is `revision`. */
  async update(key: string, content: object, revision: number): Promise<number> {
    const value = this.#encode(key, content, revision);
    return this.#remember(key, await this.#bucket.update(key, value, revision));
  }

  /** Whatever is there. @throws the server's error. */
  async put(key: string, content: object): Promise<number> {
    // An old value written since then may hide this one from who has not seen it yet, but not the next one.
    const value = this.#encode(key, content, this.#newest || (await this.#readLastRevision()));
    return this.#remember(key, await this.#bucket.put(key, value));
  }

  /** Does nothing where the key has a later revision. Never rejects. */
  async delete(key: string, revision: number): Promise<void> {
    await this.#bucket.delete(key, { previousSeq: revision }).catch(() => undefined);
  }

  /** Undefined where the key is not there. @throws the server's error. */
  async read(key: string): Promise<BucketEntry | undefined> {
    const entry = await this.#bucket.get(key);
    return entry === null || entry.operation !== "PUT" ? undefined : this.#decode(key, entry);
  }

  /** All entries, by key. @throws the server's error. */
  async readAll(): Promise<Map<string, BucketEntry>> {
    const found = new Map<string, BucketEntry>();
    for await (const key of await this.#bucket.keys()) {
      const entry = await this.read(key);
      if (entry !== undefined) found.set(key, entry);
    }
    return found;
  }

  async #readLastRevision(): Promise<number> {
    return (await this.#bucket.status()).streamInfo.state.last_seq;
  }

  #encode(key: string, content: object, after: number): string {
    const { seals } = this.#options;
    if (seals === undefined) return JSON.stringify(content);
    const seal = seals.computeSeal(this.#buildSealed(key, JSON.stringify(content), after));
    return JSON.stringify({ ...content, after, seal });
  }

  #decode(key: string, entry: StoredEntry): BucketEntry {
    const { after, seal, ...content } = parseObject(entry.string());
    const { revision, created } = entry;
    this.#newest = Math.max(revision, this.#newest);
    const isValid =
      typeof after === "number" &&
      typeof seal === "string" &&
      this.#options.seals?.isSealed(
        this.#buildSealed(key, JSON.stringify(content), after),
        seal,
      ) === true;
    const known = this.#known.get(key) ?? 0;
    const isSealed = isValid && (revision <= known || after >= known);
    if (isSealed) this.#remember(key, revision);
    return { value: content, revision, keptMs: created.getTime(), isSealed };
  }

  #buildSealed(key: string, content: string, after: number): SealedContent {
    return ["entry", this.#options.name, key, after, digest(content)];
  }

  #remember(key: string, revision: number): number {
    this.#newest = Math.max(revision, this.#newest);
    this.#known.set(key, Math.max(revision, this.#known.get(key) ?? 0));
    return revision;
  }
}

/** An empty object for what is none. */
function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
