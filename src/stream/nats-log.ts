// The ordered log on NATS JetStream. The only file that imports its client.
import { readFileSync } from "node:fs";
import {
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  type JsMsg,
} from "@nats-io/jetstream";
import { type KV, Kvm } from "@nats-io/kv";
import {
  connect,
  type ConnectionOptions,
  credsAuthenticator,
  headers,
  nanos,
  type NatsConnection,
} from "@nats-io/transport-node";
import {
  MESSAGE_BYTES_MAX,
  type OrderedMessage,
  type OutgoingMessage,
  RULES,
} from "../ledger/ordered/message.ts";
import { isTaken, LEASE_MS, NatsLease } from "./nats-lease.ts";
import type { Lease, LogState, NodeReports, OrderedLog } from "./ordered-log.ts";
import { available, pause, unavailable } from "./tries.ts";
import { readWatched } from "./watched-reading.ts";

export interface NatsSettings {
  /** `host:port` of each server. */
  readonly servers: readonly string[];
  /** File with credentials (`.creds`). */
  readonly credentialsFile?: string | undefined;
  readonly tls?: {
    readonly caFile?: string;
    readonly certFile?: string;
    readonly keyFile?: string;
  };
  /** Prefix of the names of stream, subject and buckets. */
  readonly name: string;
  /** Bound of the stream in bytes; full, it refuses. */
  readonly bytesMax: number;
  /** Told of what was mended by itself, and of what was not: lower case, one line. */
  readonly log: (event: string, detail: string) => void;
}

/** Interval in ms at which a dead connection shows. */
const PING_MS = 1000;
const PINGS_MISSED_MAX = 2;
const REQUEST_MS = 2000;
/** Pause in ms between two tries of the same message. */
const RETRY_MS = 100;
const DUPLICATE_WINDOW_MS = 120_000;
const CONSUME_BYTES = 8 * 1024 * 1024;
const HEARTBEAT_MS = 1000;
const REPLICAS_MAX = 3;
const REPORT_TTL_MS = 7 * 86_400_000;
const ORIGIN = "Tr-Origin";
const NUMBER = "Tr-N";
const COUNT = "Tr-Count";
const MESSAGE_RULES = "Tr-Rules";

/**
 * Connects, and makes the stream where there is none.
 * @throws StreamUnavailable when no server answers in time.
 */
export async function openNatsLog(settings: NatsSettings): Promise<OrderedLog> {
  const log = new NatsLog(settings);
  await log.open();
  return log;
}

class NatsLog implements OrderedLog {
  readonly #settings: NatsSettings;
  #stream = "";
  #subject = "";
  generation = 0;
  #connection!: NatsConnection;
  #client!: JetStreamClient;
  #manager!: JetStreamManager;
  #leases!: KV;
  #nodes!: KV;
  #isClosed = false;
  readonly #ends = new Set<() => void>();

  constructor(settings: NatsSettings) {
    this.#settings = settings;
  }

  async open(): Promise<void> {
    const { name, servers, bytesMax } = this.#settings;
    this.#connection = await this.#connect();
    this.#client = jetstream(this.#connection, { timeout: REQUEST_MS });
    this.#manager = await available(() =>
      jetstreamManager(this.#connection, { timeout: REQUEST_MS }),
    );
    this.generation = await available(() => this.#newestGeneration());
    this.#stream = `${name}_p0_g${this.generation}`;
    this.#subject = `${name}.p0.g${this.generation}`;
    const replicas = Math.min(REPLICAS_MAX, servers.length);
    const wanted = {
      name: this.#stream,
      subjects: [this.#subject],
      num_replicas: replicas,
      storage: "file" as const,
      discard: "new" as const,
      max_bytes: bytesMax,
      max_msg_size: MESSAGE_BYTES_MAX,
      duplicate_window: nanos(DUPLICATE_WINDOW_MS),
      deny_delete: true,
    };
    await available(async () => {
      const isThere = await this.#manager.streams.info(this.#stream).then(
        () => true,
        (error: unknown) => {
          if ((error as { code?: number }).code !== STREAM_NOT_FOUND) throw error;
          return false;
        },
      );
      if (!isThere) await this.#manager.streams.add(wanted);
    });
    const buckets = new Kvm(this.#connection);
    const shared = { replicas, storage: "file" as const, history: 1 };
    this.#nodes = await available(() =>
      buckets.create(`${name}_nodes`, { ...shared, ttl: REPORT_TTL_MS }),
    );
    this.#leases = await available(() =>
      buckets.create(`${name}_leases`, { ...shared, ttl: LEASE_MS }),
    );
  }

  /** Of the streams that are there; 1 where there is none. */
  async #newestGeneration(): Promise<number> {
    const prefix = `${this.#settings.name}_p0_g`;
    let newest = 1;
    for await (const name of this.#manager.streams.names()) {
      if (name.startsWith(prefix)) newest = Math.max(newest, Number(name.slice(prefix.length)));
    }
    return newest;
  }

  async append(message: OutgoingMessage, deadlineMs: number): Promise<number> {
    const { origin, n, count, frames } = message;
    const head = headers();
    head.set(ORIGIN, origin);
    head.set(NUMBER, String(n));
    head.set(COUNT, String(count));
    head.set(MESSAGE_RULES, String(RULES));
    const options = { msgID: `${origin}:${n}`, headers: head, timeout: REQUEST_MS };
    const until = performance.now() + deadlineMs;
    for (;;) {
      try {
        return (await this.#client.publish(this.#subject, frames, options)).seq;
      } catch (error) {
        if (this.#isClosed || performance.now() + RETRY_MS > until) throw unavailable(error);
        await pause(RETRY_MS);
      }
    }
  }

  follow(from: number, take: (message: OrderedMessage) => void | Promise<void>) {
    let isStopped = false;
    let end = () => {};
    const stop = () => {
      isStopped = true;
      this.#ends.delete(stop);
      end();
    };
    this.#ends.add(stop);
    let next = from;
    const onMessage = async (message: JsMsg) => {
      if (message.seq < next) return true;
      // The consumer makes itself anew after a gap of its own: a hole that stays is not for us to close.
      if (message.seq > next) return false;
      await take(read(message));
      next++;
      return true;
    };
    const run = async () => {
      while (!isStopped) {
        let connection: NatsConnection | undefined;
        try {
          connection = await this.#connect();
          const source = await sourceOf(connection, this.#stream, next);
          end = () => void source.close().catch(() => undefined);
          await readWatched(source, next - 1, onMessage);
        } catch (error) {
          if (!isStopped) this.#settings.log("stream_read_failed", (error as Error).message);
        }
        await connection?.close().catch(() => undefined);
        if (!isStopped) await pause(RETRY_MS * 2);
      }
    };
    void run();
    return { stop };
  }

  async state(): Promise<LogState> {
    const { state, cluster } = await available(() => this.#manager.streams.info(this.#stream), 0);
    const leader = cluster === undefined ? this.#settings.servers[0] : cluster.leader;
    return { firstSeq: state.first_seq, lastSeq: state.last_seq, leader };
  }

  async lease(job: string): Promise<Lease | undefined> {
    const startedMs = performance.now();
    try {
      const token = await this.#leases.create(job, this.#settings.name);
      return new NatsLease(this.#leases, job, token, startedMs);
    } catch (error) {
      // Held by another, or nobody to ask: no lease either way.
      if (isTaken(error)) return undefined;
      throw unavailable(error);
    }
  }

  async report(node: string, report: unknown): Promise<void> {
    await available(() => this.#nodes.put(node, JSON.stringify(report)), 0);
  }

  async reports(): Promise<NodeReports> {
    return available(async () => {
      const found = new Map<string, unknown>();
      for await (const key of await this.#nodes.keys()) {
        const entry = await this.#nodes.get(key);
        if (entry !== null && entry.operation === "PUT") found.set(key, entry.json());
      }
      return found;
    }, 0);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const end of this.#ends) end();
    await this.#connection.close();
  }

  #connect(): Promise<NatsConnection> {
    const { servers, credentialsFile, tls } = this.#settings;
    const options: ConnectionOptions = {
      servers: [...servers],
      name: "trustrank",
      maxReconnectAttempts: -1,
      reconnectTimeWait: RETRY_MS,
      pingInterval: PING_MS,
      maxPingOut: PINGS_MISSED_MAX,
      timeout: REQUEST_MS,
      ...(tls && { tls }),
      ...(credentialsFile !== undefined && {
        authenticator: credsAuthenticator(readFileSync(credentialsFile)),
      }),
    };
    return available(() => connect(options));
  }
}

/** A consumer from a place on, on a connection of its own. */
async function sourceOf(connection: NatsConnection, stream: string, from: number) {
  const options = { timeout: REQUEST_MS };
  const manager = await jetstreamManager(connection, options);
  const consumer = await jetstream(connection, options).consumers.get(stream, {
    opt_start_seq: from,
    deliver_policy: "by_start_sequence",
  });
  const messages = await consumer.consume({
    max_bytes: CONSUME_BYTES,
    idle_heartbeat: HEARTBEAT_MS,
  });
  return {
    messages,
    lastSeq: async () => (await manager.streams.info(stream)).state.last_seq,
    close: async () => {
      messages.stop();
      await connection.close();
    },
  };
}

function read(message: JsMsg): OrderedMessage {
  const { headers: head, seq, info, data } = message;
  return {
    seq,
    timeMs: Math.floor(info.timestampNanos / 1e6),
    origin: head?.get(ORIGIN) ?? "",
    n: Number(head?.get(NUMBER)),
    count: Number(head?.get(COUNT)),
    rules: Number(head?.get(MESSAGE_RULES)),
    frames: data,
  };
}

const STREAM_NOT_FOUND = 10_059;
