// Port of the cluster's ordered log: one sequence of messages that every node applies in the same order,
// and a few small registers beside it (leases, what nodes tell of themselves).
import type { MessageId, OrderedMessage, OutgoingMessage } from "../ledger/ordered/message.ts";
import type { NodePolling } from "./applied-nodes.ts";

/** The log could not take a message in time: nobody knows whether it stands in it. */
export class StreamUnavailable extends Error {}

/** Why a cluster is refused at the start: one sentence, and how it is mended. */
export class ClusterRefused extends Error {}

export interface LogState {
  /** First message that is still kept. */
  readonly firstSeq: number;
  /** Newest message; 0 in an empty log. */
  readonly lastSeq: number;
  /** Its size, and its bound: full, it refuses. 0 where it has none. */
  readonly bytes?: number;
  readonly bytesMax?: number;
  /** When it was told, epoch ms by the clock of the server that told it. */
  readonly toldMs?: number;
  /** Name of the server that leads; undefined while there is none. */
  readonly leader: string | undefined;
  /** The other servers that keep the log, as the leader has them. */
  readonly replicas?: readonly LogReplica[];
  /** Ms since the leader last heard of a majority of them. */
  readonly majoritySilenceMs?: number;
}

/** Who waits for a message to be appended. */
export interface AppendObserver {
  /** Asked before it is tried again. */
  mayTry?(): boolean;
  /** Told as each try begins. */
  onTry?(): void;
  /** Told that the newest try was acknowledged by a majority, and not as a repeat of an earlier one. */
  onNew?(seq: number): void;
}

export interface LogReplica {
  readonly server: string;
  /** Has all that the leader has. */
  readonly isCurrent: boolean;
  readonly isOffline: boolean;
  /** Operations that it is behind the leader. */
  readonly lag: number;
}

/** Right to do one piece of work in the whole cluster, until it is lost. */
export interface Lease {
  /** Grows with every new holder: what was ordered under a lower one is void. */
  readonly token: number;
  /** False from the moment on at which another node may hold it. */
  readonly isHeld: boolean;
  /** Ms until then, if it is not renewed; 0 once that is past. */
  readonly leftMs: number;
  release(): Promise<void>;
}

/** What a node tells of itself, as the log's servers keep it. */
export interface KeptReport {
  readonly told: unknown;
  /** Changes with every report. */
  readonly revision: number;
  /** When it was kept, epoch ms by the servers' clocks. */
  readonly keptMs: number;
}

/** By node. */
export type NodeReports = ReadonlyMap<string, KeptReport>;

/** A message without records before it has its place. */
export type OutgoingTick = Required<Pick<OutgoingMessage, "origin" | "n" | "after">>;

/** A log that is being followed. */
export interface LogFollowing {
  readonly stop: () => void;
  /** Reads on over a new connection, which may go to another server. */
  readonly reopen: () => void;
}

export interface OrderedLog {
  /** Counts how often the log was begun anew from a node's journal; from 1. */
  readonly generation: number;
  /** The connection over which messages are appended. */
  readonly link: LogConnectionState;
  /** Questions to all nodes, beside the log. */
  readonly polling: NodePolling;
  /**
   * Appends a message once: repeats of the same origin and number are recognised for a while.
   * @returns its number in the log.
   * @throws StreamUnavailable after `deadlineMs` of tries.
   */
  append(message: OutgoingMessage, deadlineMs: number, observer?: AppendObserver): Promise<number>;
  /**
   * Appends a message without records, once: a majority has acknowledged it.
   * @returns its number in the log.
   * @throws StreamUnavailable where that took longer than `timeoutMs`.
   */
  appendTick(tick: OutgoingTick, timeoutMs: number): Promise<number>;
  /**
   * Hands over the messages from `from` on, in order, without a hole, until stopped. `take` may be
   * awaited: nothing more is read meanwhile. Goes on by itself after every failure of a server. `last` is
   * the message at `from`, where it is known: a copy that has another one there is read no further.
   */
  follow(
    from: number,
    take: (message: OrderedMessage) => void | Promise<void>,
    last?: MessageId,
  ): LogFollowing;
  /** Leaves the connected server for another. */
  changeServer(): Promise<void>;
  /** @throws StreamUnavailable when no server answers. */
  readState(): Promise<LogState>;
  /** Removes the messages before that place. @throws StreamUnavailable when no server answers. */
  trim(before: number): Promise<void>;
  /** Undefined while another node holds it. */
  acquireLease(job: string): Promise<Lease | undefined>;
  /** Tells the others of this node. */
  publishReport(node: string, report: object): Promise<void>;
  /** Those that count. */
  readReports(): Promise<NodeReports>;
  /** Nodes in whose name stood, when reports were last read, one that does not count: without a valid seal, or an old one. */
  readonly unsealedReports: readonly string[];
  /** Higher generations of the log that no node of this cluster has written. */
  readonly inventedGenerations: readonly number[];
  /** When the log's rules began to demand seals, epoch ms by its servers; undefined while that is not known. */
  readonly sealedSinceMs: number | undefined;
  /**
   * From now on reports, leases, names and replies count only with a valid seal, and parts of decisions from `sinceMs` on:
   * the log's rules say so.
   */
  demandSeals(sinceMs?: number): void;
  close(): Promise<void>;
}

/** State of the connection over which a node writes. */
export interface LogConnectionState {
  readonly isUp: boolean;
  /** Times that it was lost since the start. */
  readonly lost: number;
  /** Calls back at once when it is lost or there again. */
  onChange: (() => void) | undefined;
}

/** What a client tells of its connection. */
interface ConnectionStatusSource {
  status(): AsyncIterable<{ readonly type: string }>;
}

export class LogConnectionMonitor implements LogConnectionState {
  isUp = false;
  lost = 0;
  onChange: (() => void) | undefined;

  /** Follows what the client tells, until it is closed. */
  watch(connection: ConnectionStatusSource): void {
    this.isUp = true;
    void this.#followStatus(connection);
  }

  async #followStatus(connection: ConnectionStatusSource): Promise<void> {
    for await (const { type } of connection.status()) {
      if (type === "disconnect" || type === "close") this.#setUp(false);
      else if (type === "reconnect") this.#setUp(true);
    }
    this.#setUp(false);
  }

  #setUp(isUp: boolean): void {
    if (isUp === this.isUp) return;
    this.isUp = isUp;
    if (!isUp) this.lost++;
    this.onChange?.();
  }
}
