// Leases, registers and requests to all nodes over NATS, beside the log. A lease on one piece of work is a
// key of a bucket: the node that creates it holds it until it stops renewing it.
import type { KeptReport, Lease, NodeReports } from "./ordered-log.ts";
import type { LogConnection } from "./nats-connection.ts";
import type { NodePolling } from "./applied-nodes.ts";

/** The part of a bucket that a lease needs. */
export interface LeaseBucket {
  /** Rejects unless the key's newest revision is `revision`. */
  update(key: string, value: string, revision: number): Promise<number>;
  delete(key: string, options: { previousSeq: number }): Promise<void>;
}

/** Renewals in the time after which a lease is lost. */
const RENEWALS = 3;

/** Longest time without a renewal after which another node may take a lease, in ms. */
export const LEASE_MS = 15_000;

export class NatsLease implements Lease {
  readonly token: number;
  readonly #bucket: LeaseBucket;
  readonly #job: string;
  #revision: number;
  /** Monotonic; from before the renewal was asked for. */
  #renewedMs: number;
  readonly #timer: NodeJS.Timeout;
  #isOver = false;

  constructor(bucket: LeaseBucket, job: string, token: number, renewedMs: number) {
    this.#bucket = bucket;
    this.#job = job;
    this.token = token;
    this.#revision = token;
    this.#renewedMs = renewedMs;
    this.#timer = setInterval(() => void this.#renew(), LEASE_MS / RENEWALS).unref();
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
    await this.#bucket.delete(this.#job, { previousSeq: this.#revision }).catch(() => undefined);
  }

  async #renew(): Promise<void> {
    const startedMs = performance.now();
    try {
      this.#revision = await this.#bucket.update(this.#job, String(this.token), this.#revision);
      this.#renewedMs = startedMs;
    } catch (error) {
      if (!isRevisionConflict(error)) return;
      this.#isOver = true;
      clearInterval(this.#timer);
    }
  }
}

/** Whether a key of a bucket has another revision than was expected. */
export function isRevisionConflict(error: unknown): boolean {
  return (error as { code?: number }).code === WRONG_LAST_SEQUENCE;
}

const WRONG_LAST_SEQUENCE = 10_071;

export class NatsPolling implements NodePolling {
  readonly #connection: Pick<LogConnection, "requestMany" | "subscribe">;
  readonly #subject: string;

  constructor(connection: Pick<LogConnection, "requestMany" | "subscribe">, subject: string) {
    this.#connection = connection;
    this.#subject = subject;
  }

  async collectReplies(question: string, countMax: number, ms: number): Promise<readonly string[]> {
    const replies: string[] = [];
    const wanted = { strategy: "count", maxMessages: countMax, maxWait: ms } as const;
    for await (const message of await this.#connection.requestMany(
      this.#subject,
      question,
      wanted,
    )) {
      if (message.data.byteLength > 0) replies.push(message.string());
    }
    return replies;
  }

  serveReplies(reply: (question: string) => Promise<string | undefined>): void {
    this.#connection.subscribe(this.#subject, {
      callback: (_error, message) => {
        void reply(message.string()).then((text) => text !== undefined && message.respond(text));
      },
    });
  }
}

/** The part of a bucket that is needed to read all of it. */
interface ReadableBucket {
  keys(): Promise<AsyncIterable<string>>;
  get(key: string): Promise<{
    readonly operation: string;
    readonly revision: number;
    readonly created: Date;
    json(): unknown;
  } | null>;
}

/** Current reports of a bucket, by node. */
export async function readKeptReports(bucket: ReadableBucket): Promise<NodeReports> {
  const found = new Map<string, KeptReport>();
  for await (const key of await bucket.keys()) {
    const entry = await bucket.get(key);
    if (entry === null || entry.operation !== "PUT") continue;
    const { revision, created } = entry;
    found.set(key, { told: entry.json(), revision, keptMs: created.getTime() });
  }
  return found;
}
