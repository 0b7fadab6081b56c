// The ordered log on NATS JetStream, and what stands beside it: registers of nodes and leases, the stream of decisions.
import {
  buildRulesMessage,
  FIRST_RULES,
  MESSAGE_RULES_VERSION,
  type OrderedMessage,
  type OutgoingMessage,
  parseRulesChange,
  SEALED_RULES,
  TICK_RULES,
} from "../ledger/ordered/message.ts";
import type { DecisionParts } from "./decisions/parts.ts";
import { NatsDecisionParts } from "./decisions/nats-parts.ts";
import { followLog } from "./log-follower.ts";
import {
  LogConnectionMonitor,
  type AppendObserver,
  ClusterRefused,
  type Lease,
  type LogState,
  type NodeReports,
  type OutgoingTick,
  type OrderedLog,
} from "./ordered-log.ts";
import {
  connectToServers,
  type LogConnection,
  type NatsServerSettings,
} from "./nats-connection.ts";
import {
  findGenerations,
  formatStreamName,
  formatSubject,
  openLogStream,
  readMessage,
} from "./nats-generations.ts";
import { acquireNatsLease, LEASE_MS } from "./nats-lease.ts";
import { NatsPolling } from "./nats-polling.ts";
import {
  type JetStreamClient,
  type JetStreamManager,
  openJetStream,
  openJetStreamManager,
  openMessageSource,
  REQUEST_MS,
} from "./nats-jetstream.ts";
import {
  type DeliveredMessage,
  encodeMessageHeaders,
  decodeOrderedMessage,
  createStreamFullError,
  isStreamFull,
  describeOtherKey,
  buildLogReplicas,
  computeMajoritySilenceMs,
} from "./nats-stream.ts";
import { type NameHolder, NodeName } from "./node-name.ts";
import { ReportRegister } from "./report-register.ts";
import { hasOlderNode } from "./reports.ts";
import { type ClusterSecret, LogSeals } from "./seal.ts";
import { openSealedBucket, type SealedBucket } from "./sealed-bucket.ts";
import {
  isRevisionConflict,
  retryUntilAvailable,
  pause,
  wrapAsStreamUnavailable,
} from "./retries.ts";

export interface NatsSettings extends NatsServerSettings {
  /** Prefix of the names of stream, subject and buckets. */
  readonly name: string;
  /** Bound of the stream in bytes; full, it refuses. */
  readonly bytesMax: number;
  /** Bound of the stream of decisions in bytes; full, it drops the oldest. */
  readonly decisionBytesMax?: number;
  /** Seals what is appended, and proves what is read; left out: nothing is sealed, and no log begun. */
  readonly secret?: ClusterSecret | undefined;
  /** Only looks: makes and changes nothing, and refuses where there is no log. */
  readonly onlyReads?: boolean;
  /** Begins the log anew, with a generation beyond this one and beyond all that are there. */
  readonly beginsAfter?: number;
  /** Told of what was mended by itself, and of what was not: lower case, one line. */
  readonly log: (event: string, detail: string) => void;
}

/** Pause in ms between two tries of the same message. */
const RETRY_MS = 100;
const REPLICAS_MAX = 3;
const DECISION_BYTES = 4 * 1024 ** 3;
const REPORT_TTL_MS = 7 * 86_400_000;

/**
 * Connects, and makes the stream where there is none.
 * @throws StreamUnavailable when no server answers in time.
 * @throws ClusterRefused when trying again would not help: the sentence mends it.
 */
export async function openNatsLog(settings: NatsSettings): Promise<NatsOrderedLog> {
  const log = new NatsLog(settings);
  try {
    await log.open();
  } catch (error) {
    await log.close();
    throw error;
  }
  return log;
}

/** The log, the stream of decisions beside it, and the register of names. */
export type NatsOrderedLog = OrderedLog & {
  readonly decisions: DecisionParts;
  /**
   * Takes a node's name until the log is closed; `lost` is called with a sentence once another process has it.
   * @throws ClusterRefused when another data directory holds it.
   */
  takeNodeName(node: string, holder: NameHolder, lost: (detail: string) => void): Promise<void>;
};

class NatsLog implements NatsOrderedLog {
  readonly #settings: NatsSettings;
  #stream = "";
  #subject = "";
  #seals: LogSeals | undefined;
  generation = 0;
  readonly link = new LogConnectionMonitor();
  polling!: NatsPolling;
  #connection: LogConnection | undefined;
  #client!: JetStreamClient;
  #manager!: JetStreamManager;
  #leases!: SealedBucket;
  /** Undefined where nothing may be made and there is none. */
  #reports: ReportRegister | undefined;
  #isSealDemanded = false;
  sealedSinceMs: number | undefined;
  inventedGenerations: readonly number[] = [];
  #nodeName: NodeName | undefined;
  #isClosed = false;
  readonly #stopFollowers = new Set<() => void>();

  constructor(settings: NatsSettings) {
    this.#settings = settings;
  }

  async open(): Promise<void> {
    const { name, servers } = this.#settings;
    const connection = await retryUntilAvailable(() => connectToServers(this.#settings));
    this.#connection = connection;
    this.link.watch(connection);
    this.#client = openJetStream(connection);
    this.#manager = await retryUntilAvailable(() => openJetStreamManager(connection));
    const nodes = await this.#openBucket("nodes", REPORT_TTL_MS);
    this.#reports = nodes && new ReportRegister(nodes);
    await retryUntilAvailable(() => this.#selectGeneration());
    this.#stream = formatStreamName(name, this.generation);
    this.#subject = formatSubject(name, this.generation);
    const { secret } = this.#settings;
    this.#seals = secret && new LogSeals(secret, name, this.generation);
    this.polling = new NatsPolling({
      connection,
      subject: `${name}.applied`,
      seals: this.#seals,
      isSealDemanded: () => this.#isSealDemanded,
    });
    const replicas = Math.min(REPLICAS_MAX, servers.length);
    const stream = { ...this.#settings, generation: this.generation, replicas };
    await retryUntilAvailable(() => openLogStream(this.#manager, stream));
    this.#leases = (await this.#openBucket("leases", LEASE_MS))!;
    await retryUntilAvailable(() => this.#beginOrProveLog());
  }

  #openBucket(kind: string, ttlMs: number): Promise<SealedBucket | undefined> {
    const { name, secret, servers, onlyReads = false } = this.#settings;
    const bucket = {
      name: `${name}_${kind}`,
      seals: secret && new LogSeals(secret, name),
      isSealDemanded: () => this.#isSealDemanded,
      replicas: Math.min(REPLICAS_MAX, servers.length),
      ttlMs,
      mayCreate: !onlyReads,
    };
    return retryUntilAvailable(() => openSealedBucket(this.#client, bucket));
  }

  async #selectGeneration(): Promise<void> {
    const { name, secret, beginsAfter, log } = this.#settings;
    const reported = (await this.#reports?.readGenerations()) ?? new Set();
    const found = await findGenerations({ manager: this.#manager, name, secret, reported });
    this.inventedGenerations = found.invented;
    if (found.invented.length > 0) {
      const detail = `no node of this cluster has written generation ${found.invented.join(", ")} of the log: ${found.newest} is followed`;
      log("stream_generation_invented", detail);
    }
    let generation = Math.max(1, found.newest);
    if (beginsAfter !== undefined) {
      generation = Math.max(found.newest, beginsAfter) + 1;
      while (found.isThere(generation)) generation++;
    }
    this.generation = generation;
  }

  get unsealedReports(): readonly string[] {
    return this.#reports?.unsealed ?? [];
  }

  demandSeals(sinceMs?: number): void {
    this.#isSealDemanded = true;
    if (sinceMs !== undefined)
      this.sealedSinceMs = Math.min(sinceMs, this.sealedSinceMs ?? sinceMs);
  }

  /**
   * Appends the first message of an empty log, which names its rules and its key, or compares the key.
   * @throws ClusterRefused where the log was begun with another bureau key.
   */
  async #beginOrProveLog(): Promise<void> {
    const { secret, onlyReads = false, beginsAfter } = this.#settings;
    if (secret === undefined || beginsAfter !== undefined) return;
    const { state } = await this.#readStreamInfo();
    if (state.messages > 0) {
      const first = await readMessage(this.#manager, this.#stream, state.first_seq, this.#seals);
      const refusal = describeOtherKey(first?.origin ?? "", secret.key);
      if (refusal !== undefined && !onlyReads) throw new ClusterRefused(refusal);
      if (first?.isSealed === true && first.rules >= SEALED_RULES) this.demandSeals(first.timeMs);
      // Nodes say in sealed reports which rules are in force.
      await this.readReports();
      return;
    }
    if (onlyReads || state.last_seq > 0 || hasOlderNode(await this.readReports())) return;
    const { key } = secret;
    const message = buildRulesMessage({ rules: MESSAGE_RULES_VERSION, key }, 0);
    const headers = encodeMessageHeaders(message, this.#subject, this.#seals);
    try {
      const expect = { lastSequence: 0 };
      await this.#client.publish(this.#subject, message.frames, { headers, expect });
    } catch (error) {
      if (!isRevisionConflict(error)) throw error;
    }
    // Another node may have begun it meanwhile: its key is compared.
    await this.#beginOrProveLog();
  }

  get decisions(): DecisionParts {
    const {
      name,
      servers,
      secret,
      log,
      decisionBytesMax: bytesMax = DECISION_BYTES,
    } = this.#settings;
    return new NatsDecisionParts({
      name,
      bytesMax,
      replicas: Math.min(REPLICAS_MAX, servers.length),
      client: this.#client,
      manager: this.#manager,
      source: (stream, from) => openMessageSource(this.#settings, stream, from),
      seals: secret && new LogSeals(secret, name),
      isSealDemanded: (atMs) => this.#isSealDemanded && atMs >= (this.sealedSinceMs ?? 0),
      log,
    });
  }

  async append(
    message: OutgoingMessage,
    deadlineMs: number,
    observer: AppendObserver = {},
  ): Promise<number> {
    const { origin, n, frames } = message;
    const options = {
      msgID: `${origin}:${n}`,
      headers: encodeMessageHeaders(message, this.#subject, this.#seals),
      timeout: REQUEST_MS,
    };
    const until = performance.now() + deadlineMs;
    for (;;) {
      try {
        observer.onTry?.();
        const { seq, duplicate } = await this.#client.publish(this.#subject, frames, options);
        // A repeat of one that the leader has not committed yet is answered, as a duplicate without a place.
        if (seq > 0 && !duplicate) observer.onNew?.(seq);
        if (seq > 0) return seq;
        throw new Error("a majority of the servers has not taken the message");
      } catch (error) {
        if (isStreamFull(error)) throw createStreamFullError(error);
        const mayTry = !this.#isClosed && (observer.mayTry?.() ?? true);
        const isOver = !mayTry || performance.now() + RETRY_MS > until;
        if (isOver) throw wrapAsStreamUnavailable(error);
        await pause(RETRY_MS);
      }
    }
  }

  async appendTick(tick: OutgoingTick, timeout: number): Promise<number> {
    const frames = new Uint8Array();
    // Without an id by which the servers would know it again: none is answered as a repeat.
    const message = { ...tick, count: 0, frames, rules: TICK_RULES };
    const headers = encodeMessageHeaders(message, this.#subject, this.#seals);
    try {
      return (await this.#client.publish(this.#subject, frames, { headers, timeout })).seq;
    } catch (error) {
      throw wrapAsStreamUnavailable(error);
    }
  }

  follow: OrderedLog["follow"] = (from, take, last) => {
    const following = followLog({
      from,
      last,
      take,
      read: (message: DeliveredMessage) => this.#decodeMessage(message),
      log: this.#settings.log,
      source: (next) => openMessageSource(this.#settings, this.#stream, next),
    });
    this.#stopFollowers.add(following.stop);
    return {
      reopen: following.reopen,
      stop: () => {
        this.#stopFollowers.delete(following.stop);
        following.stop();
      },
    };
  };

  #decodeMessage(delivered: DeliveredMessage): OrderedMessage {
    const message = decodeOrderedMessage(delivered, this.#seals);
    if (raisesToSeals(message)) this.demandSeals(message.timeMs);
    return message;
  }

  async changeServer(): Promise<void> {
    await this.#connection?.reconnect();
  }

  async readState(): Promise<LogState> {
    const { state, cluster, config, ts } = await retryUntilAvailable(
      () => this.#readStreamInfo(),
      0,
    );
    const { first_seq: firstSeq, last_seq: lastSeq, bytes } = state;
    const leader = cluster === undefined ? this.#settings.servers[0] : cluster.leader;
    const replicas = buildLogReplicas(cluster?.replicas);
    const majoritySilenceMs = computeMajoritySilenceMs(cluster?.replicas);
    const bytesMax = Math.max(0, config.max_bytes);
    const toldMs = Date.parse(ts ?? "") || 0;
    return { firstSeq, lastSeq, bytes, bytesMax, leader, replicas, majoritySilenceMs, toldMs };
  }

  #readStreamInfo() {
    return this.#manager.streams.info(this.#stream);
  }

  async trim(before: number): Promise<void> {
    // To the server it is the first message that stays.
    await retryUntilAvailable(() => this.#manager.streams.purge(this.#stream, { seq: before }), 0);
  }

  acquireLease(job: string): Promise<Lease | undefined> {
    return retryUntilAvailable(() => acquireNatsLease(this.#leases, job), 0);
  }

  async takeNodeName(
    node: string,
    holder: NameHolder,
    lost: (detail: string) => void,
  ): Promise<void> {
    const name = new NodeName(this.#leases, node, holder);
    await retryUntilAvailable(() => name.take(lost));
    this.#nodeName = name;
  }

  async publishReport(node: string, report: object): Promise<void> {
    await retryUntilAvailable(() => this.#reports!.publish(node, report), 0);
  }

  readReports(): Promise<NodeReports> {
    return retryUntilAvailable(async () => (await this.#reports?.read(this)) ?? new Map(), 0);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const end of this.#stopFollowers) end();
    await this.#nodeName?.release();
    await this.#connection?.close();
  }
}

/** Whether a message lets the log take sealed messages only. */
function raisesToSeals({ origin, isSealed }: OrderedMessage): boolean {
  const { rules = FIRST_RULES } = parseRulesChange(origin) ?? {};
  return isSealed === true && rules >= SEALED_RULES;
}
