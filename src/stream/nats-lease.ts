// Leases over NATS, beside the log. A lease on one piece of work is a key of a bucket: the node that creates it holds it
// until it stops renewing it. What others write there without a seal is written over.
import { randomUUID } from "node:crypto";
import type { Lease } from "./ordered-log.ts";
import { isRevisionConflict } from "./retries.ts";
import type { SealedBucket } from "./sealed-bucket.ts";

/** The part of a bucket that a lease needs. */
export type LeaseBucket = Pick<SealedBucket, "counts" | "create" | "delete" | "read" | "update">;

/** Renewals in the time after which a lease is lost. */
const RENEWALS = 3;

/** Longest time without a renewal after which another node may take a lease, in ms. */
export const LEASE_MS = 15_000;

/** Undefined while another node holds it. @throws the server's error. */
export async function acquireNatsLease(
  bucket: LeaseBucket,
  job: string,
): Promise<Lease | undefined> {
  const startedMs = performance.now();
  const holder = randomUUID();
  try {
    const entry = await bucket.read(job);
    if (entry !== undefined && bucket.counts(entry)) return undefined;
    const token =
      entry === undefined
        ? await bucket.create(job, { holder })
        : await bucket.update(job, { holder }, entry.revision);
    return new NatsLease(bucket, { job, holder, token, startedMs });
  } catch (error) {
    if (isRevisionConflict(error)) return undefined;
    throw error;
  }
}

interface AcquiredLease {
  readonly job: string;
  /** Of chance: tells this lease's values from those of any other. */
  readonly holder: string;
  readonly token: number;
  /** Monotonic; from before the lease was asked for. */
  readonly startedMs: number;
}

class NatsLease implements Lease {
  readonly #bucket: LeaseBucket;
  readonly #lease: AcquiredLease;
  #revision: number;
  /** Monotonic; from before the renewal was asked for. */
  #renewedMs: number;
  readonly #timer: NodeJS.Timeout;
  #isOver = false;

  constructor(bucket: LeaseBucket, lease: AcquiredLease) {
    this.#bucket = bucket;
    this.#lease = lease;
    this.#revision = lease.token;
    this.#renewedMs = lease.startedMs;
    this.#timer = setInterval(() => void this.#renew(), LEASE_MS / RENEWALS).unref();
  }

  get token(): number {
    return this.#lease.token;
  }

  get isHeld(): boolean {
    return this.leftMs > 0;
  }

  get leftMs(): number {
    const untilMs = this.#isOver ? 0 : this.#renewedMs + LEASE_MS;
    return Math.max(0, untilMs - performance.now());
  }

  async release(): Promise<void> {
    clearInterval(this.#timer);
    if (!this.isHeld) return;
    this.#isOver = true;
    await this.#bucket.delete(this.#lease.job, this.#revision);
  }

  async #renew(): Promise<void> {
    const startedMs = performance.now();
    const { job, holder, token } = this.#lease;
    const update = async (revision: number) => {
      this.#revision = await this.#bucket.update(job, { holder, token }, revision);
      this.#renewedMs = startedMs;
    };
    try {
      await update(this.#revision);
    } catch (error) {
      // Without an answer the next renewal asks again.
      if (isRevisionConflict(error)) await this.#settleConflict(update).catch(() => undefined);
    }
  }

  /** A value that does not count, or an own one whose acknowledgement was lost, is written over; any other ends the lease. */
  async #settleConflict(update: (revision: number) => Promise<void>): Promise<void> {
    const { job, holder } = this.#lease;
    const entry = await this.#bucket.read(job);
    const isOwn = entry?.value["holder"] === holder;
    if (entry !== undefined && (isOwn || !this.#bucket.counts(entry)))
      return update(entry.revision);
    this.#isOver = true;
    clearInterval(this.#timer);
  }
}
