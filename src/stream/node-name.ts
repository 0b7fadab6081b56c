// The name of a node in its cluster: one data directory holds it at a time, by a key of the leases' bucket that it
// renews. The same directory takes its name again at once; another one only after the holder has ended.
import { LEASE_MS, type LeaseBucket } from "./nats-lease.ts";
import { ClusterRefused } from "./ordered-log.ts";
import { isRevisionConflict, pause } from "./retries.ts";

/** Who holds a name. */
export interface NameHolder {
  /** Id of its data directory. */
  readonly directory: string;
  readonly host: string;
  /** Rises with every start over the directory. */
  readonly epoch: number;
}

/** Renewals in the time after which a name is free. */
const RENEWALS = 3;
const RENEWAL_INTERVAL_MS = LEASE_MS / RENEWALS;
/** Interval in ms between two looks whether a holder renews its name. */
const LOOK_INTERVAL_MS = 500;
/** Longest wait in ms until a holder has renewed its name, or the name is free. */
const WAIT_MS_MAX = LEASE_MS + RENEWAL_INTERVAL_MS;

export class NodeName {
  readonly #bucket: LeaseBucket;
  readonly #key: string;
  readonly #node: string;
  readonly #holder: NameHolder;
  #revision = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(bucket: LeaseBucket, node: string, holder: NameHolder) {
    this.#bucket = bucket;
    this.#key = `node.${node}`;
    this.#node = node;
    this.#holder = holder;
  }

  /**
   * Takes the name and renews it from then on. Waits while it is not known whether the holder lives, at most 20 s.
   * `lost` is called with a sentence once another process has the name.
   * @throws ClusterRefused when another directory holds it; the bucket's error when no server answers.
   */
  async take(lost: (detail: string) => void): Promise<void> {
    let first: number | undefined;
    const untilMs = performance.now() + WAIT_MS_MAX;
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- looks again
      const other = await this.#tryTaking();
      if (other === undefined) break;
      first ??= other.revision;
      const isRenewed = other.revision > first;
      if (isRenewed || performance.now() > untilMs) {
        const advice = "give every node a name of its own in TRUSTRANK_CLUSTER_NODE";
        throw new ClusterRefused(`${this.#describeHolder(other.holder)}: ${advice}`);
      }
      // oxlint-disable-next-line no-await-in-loop -- looks again
      await pause(LOOK_INTERVAL_MS);
    }
    this.#timer = setInterval(() => void this.#renew(lost), RENEWAL_INTERVAL_MS).unref();
  }

  /** Another node may take the name at once. */
  async release(): Promise<void> {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#bucket.delete(this.#key, this.#revision);
  }

  /** Undefined once the name is this process's; else who holds it. */
  async #tryTaking(): Promise<{ holder: NameHolder; revision: number } | undefined> {
    const entry = await this.#bucket.read(this.#key);
    // What is written there without a seal holds nothing, and is written over.
    if (entry !== undefined && this.#bucket.counts(entry)) {
      const holder = entry.value as unknown as NameHolder;
      const { directory, epoch } = this.#holder;
      // Its own, of an earlier start or by a write whose answer was lost.
      const isOwn = holder.directory === directory && holder.epoch <= epoch;
      if (!isOwn) return { holder, revision: entry.revision };
    }
    try {
      this.#revision =
        entry === undefined
          ? await this.#bucket.create(this.#key, this.#holder)
          : await this.#bucket.update(this.#key, this.#holder, entry.revision);
      return undefined;
    } catch (error) {
      if (!isRevisionConflict(error)) throw error;
      // Somebody was faster, or what was read is old.
      await pause(LOOK_INTERVAL_MS);
      return this.#tryTaking();
    }
  }

  async #renew(lost: (detail: string) => void): Promise<void> {
    try {
      this.#revision = await this.#bucket.update(this.#key, this.#holder, this.#revision);
    } catch (error) {
      // Without an answer the next renewal asks again.
      if (!isRevisionConflict(error)) return;
      const other = await this.#tryTaking().catch(() => undefined);
      if (other === undefined || this.#timer === undefined) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
      lost(`${this.#describeHolder(other.holder)}: this process ends`);
    }
  }

  #describeHolder({ directory, host, epoch }: NameHolder): string {
    const which =
      directory === this.#holder.directory
        ? `start ${epoch} of the same data directory (this is start ${this.#holder.epoch})`
        : `data directory \`${directory}\` (this one is \`${this.#holder.directory}\`)`;
    return `the node name \`${this.#node}\` is held by ${which} on host \`${host}\``;
  }
}
