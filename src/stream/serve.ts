// Work of the stream thread: hands the ledger's messages to the log, the log's messages to the ledger, and
// watches how far behind this node is. A thread of its own, because the ledger's waits for the disk.
import type { MessagePort } from "node:worker_threads";
import {
  type AppliedMessage,
  FIRST_RULES,
  MESSAGE_PLACES_MAX,
  MESSAGE_RULES_VERSION,
  type OrderedMessage,
  SEALED_RULES,
  type FromStream,
  type ToStream,
} from "../ledger/ordered/message.ts";
import type { Moment } from "../platform/moment.ts";
import type { ReportWatch } from "./living-nodes.ts";
import { AgreementMonitor } from "./agreement.ts";
import { LogAvailability } from "./availability.ts";
import type { ClusterJob, StreamMetrics } from "./metrics.ts";
import { IgnoredMessageReporter } from "./ignored-messages.ts";
import { JobLeases } from "./leases.ts";
import { assertRoomBesideTicks, FreshnessProofs } from "./freshness.ts";
import type { StreamEvent } from "./stream-event.ts";
import type { AppendObserver, LogFollowing, LogState, OrderedLog } from "./ordered-log.ts";
import { CheckpointHistory, type NodeReport, readClusterView } from "./reports.ts";
import { describeMissingMessages, LogRetention } from "./retention.ts";

/** Longest time that a message is tried before its outcomes are refused; at once while the log is away. */
const APPEND_DEADLINE_MS = 10_000;
/** A message that is refused sooner was not waited for: the log is full. */
const FAILURE_MS_MIN = 5000;
/** Interval between two questions for the log's newest message. */
const PROBE_INTERVAL_MS = 500;
/** Interval between two looks whether a tick is due. */
const TICK_LOOK_INTERVAL_MS = 100;
/** Interval between two reports to the other nodes. */
const REPORT_INTERVAL_MS = 5000;
/** Looks in a row, half a second apart, after which a log without what this journal has is not late but another. */
const MISSING_PROBES_MAX = 20;
/** Without a message for so long, while one that was acknowledged is due, the log is read over another connection. */
const READING_STALL_MS = 2000;
/** Messages behind the newest from which on this node sends none: the rest is for those that come meanwhile. */
const PLACES_BEHIND_MAX = MESSAGE_PLACES_MAX / 2;
/** Bytes handed to the ledger and not yet applied. */
const UNAPPLIED_BYTES_MAX = 32 * 1024 * 1024;

export interface StreamServeOptions {
  readonly log: OrderedLog;
  /** The ledger thread. */
  readonly port: MessagePort;
  readonly node: string;
  readonly origin: string;
  readonly version: string;
  readonly url: string | undefined;
  /** Whose reports have changed. */
  readonly watch: ReportWatch;
  readonly role: NodeReport["role"];
  /** The bureau's public key, in hex. */
  readonly key: string;
  readonly figures: StreamMetrics;
  /** Jobs of the whole cluster that this node may do. */
  readonly jobs: readonly ClusterJob[];
  /** Messages kept behind the slowest node; undefined: none is removed. */
  readonly keep: number | undefined;
  /** Epoch ms. */
  readonly clock: () => number;
  /** Ms of a clock that is never set. */
  readonly monotonic: () => number;
  readonly tell: (event: StreamEvent) => void;
  /** Called once the ledger has let go. */
  readonly closed: () => void;
}

/** Serves until the ledger closes. Returns at once. */
export function serveStream(options: StreamServeOptions): void {
  new StreamServer(options).start();
}

class StreamServer {
  readonly #options: StreamServeOptions;
  readonly #checkpoints = new CheckpointHistory();
  readonly #proofs: FreshnessProofs;
  readonly #leases: JobLeases;
  readonly #availability: LogAvailability;
  readonly #agreement: AgreementMonitor;
  readonly #retention: LogRetention;
  readonly #ignored: IgnoredMessageReporter;
  #following: LogFollowing | undefined;
  /** Newest place of a message of this node that was acknowledged. */
  #acknowledgedSeq = 0;
  /** Newest message read, and when: of the monotonic clock. */
  #lastRead = { seq: 0, atMs: 0 };
  /** Newest message read when the last look found this node behind its acknowledged messages; -1 where it was not. */
  #behindSeq = -1;
  #timers: NodeJS.Timeout[] = [];
  /** Bytes of messages handed over, by place, until they are applied. */
  #unapplied: { seq: number; bytes: number }[] = [];
  #unappliedBytes = 0;
  #resume = () => {};
  /** Numbers of messages that are tried, until they have a place or are given up. */
  readonly #inFlight = new Set<number>();
  #lastCommit = { lsn: 0, chain: "" };
  #isDivergenceReported = false;
  /** Place from which the ledger follows: where it is not the first, the journal has that message. */
  #followedFrom = 1;
  #missingProbes = 0;
  /** Newest place in the log when it was last looked at. */
  #logSeq = 0;

  constructor(options: StreamServeOptions) {
    this.#options = options;
    this.#availability = new LogAvailability(options.monotonic());
    this.#proofs = new FreshnessProofs({
      ...options,
      readMoment: () => this.#readMoment(),
      readAfter: () => this.#readAfter(),
      acknowledged: (at, seq) => this.#recordAcknowledged(at, seq),
    });
    this.#agreement = new AgreementMonitor(options);
    this.#retention = new LogRetention(options);
    this.#ignored = new IgnoredMessageReporter({
      ...options,
      generation: options.log.generation,
      tell: (detail) => options.tell({ kind: "note", event: "stream_message_ignored", detail }),
    });
    this.#leases = new JobLeases(options);
  }

  start(): void {
    this.#options.port.on("message", (message: ToStream) => this.#receive(message));
    // A ledger that refuses its journal ends without a word.
    this.#options.port.on("close", () => void this.#close());
    const look = () => void this.#probeLog();
    this.#timers = [
      setInterval(look, PROBE_INTERVAL_MS),
      setInterval(() => this.#proofs.tickIfDue(), TICK_LOOK_INTERVAL_MS),
      setInterval(() => void this.#publishReport(), REPORT_INTERVAL_MS),
    ];
    const { log, figures, monotonic } = this.#options;
    log.link.onChange = () => {
      figures.setConnection(log.link);
      this.#availability.setConnected(log.link.isUp, monotonic());
    };
    log.link.onChange();
    look();
  }

  #receive(message: ToStream): void {
    if (message.kind === "publish") void this.#publish(message);
    else if (message.kind === "follow") this.#follow(message);
    else if (message.kind === "applied") this.#recordApplied(message);
    else if (message.kind === "ignored") this.#ignored.add(message.messages);
    else void this.#close();
  }

  async #publish({ n, count, frames }: ToStream & { kind: "publish" }): Promise<void> {
    const { log, origin, figures, monotonic } = this.#options;
    const after = this.#readAfter();
    if (this.#updateAvailability() || after === undefined) return this.#refuse(n);
    const startedMs = monotonic();
    try {
      this.#inFlight.add(n);
      assertRoomBesideTicks(figures.size);
      // The first message of a log tells its rules, whoever sends it.
      const rules = this.#proofs.rules === FIRST_RULES ? FIRST_RULES : MESSAGE_RULES_VERSION;
      const message = { origin, n, count, frames, rules, after };
      figures.known = await log.append(message, APPEND_DEADLINE_MS, this.#observeAppend());
      figures.recordPublishMs(monotonic() - startedMs);
      // Given up, it is applied all the same; whoever waited repeats it and learns of it.
      if (this.#inFlight.delete(n)) this.#send({ kind: "published", n });
    } catch (error) {
      if (!this.#inFlight.delete(n)) return;
      const nowMs = monotonic();
      if (nowMs - startedMs >= FAILURE_MS_MIN) this.#availability.recordAppendFailure(nowMs);
      const detail = (error as Error).message;
      this.#options.tell({ kind: "note", event: "stream_append_failed", detail });
      this.#refuse(n);
    }
  }

  #observeAppend(): AppendObserver {
    let begun = this.#readMoment();
    return {
      mayTry: () => !this.#updateAvailability(),
      onTry: () => {
        begun = this.#readMoment();
      },
      onNew: (seq) => {
        this.#proofs.add(begun, seq);
      },
    };
  }

  #refuse(n: number): void {
    this.#options.figures.failedMessages++;
    this.#send({ kind: "unpublished", n });
  }

  /** Whether messages are refused at once; told where that changes. */
  #updateAvailability(): boolean {
    const { figures, clock, monotonic, tell } = this.#options;
    const nowMs = clock();
    const why = this.#availability.describeOutage(monotonic());
    const sinceMs = figures.unavailableSinceMs;
    if (why !== undefined && sinceMs === 0) {
      figures.unavailableSinceMs = nowMs;
      tell({ kind: "note", event: "stream_away", detail: `${why}: records are refused at once` });
      // Answers leave in order: what is under way would hold up those behind it.
      for (const n of this.#inFlight) this.#refuse(n);
      this.#inFlight.clear();
    } else if (why === undefined && sinceMs > 0) {
      figures.unavailableSinceMs = 0;
      const detail = `after ${Math.round((nowMs - sinceMs) / 1000)} s`;
      tell({ kind: "note", event: "stream_back", detail });
    }
    return why !== undefined;
  }

  #follow({ from, last, rules }: ToStream & { kind: "follow" }): void {
    const { log, figures } = this.#options;
    this.#setRules(rules);
    this.#following?.stop();
    this.#resume();
    this.#followedFrom = from;
    this.#unapplied = [];
    this.#unappliedBytes = 0;
    figures.followCount++;
    this.#following = log.follow(from, (message) => this.#handToLedger(message), last);
  }

  #setRules(rules: number): void {
    this.#proofs.rules = rules;
    if (rules >= SEALED_RULES) this.#options.log.demandSeals();
  }

  /** Waits while the ledger has enough to do. */
  #handToLedger(message: OrderedMessage): Promise<void> | undefined {
    const { figures } = this.#options;
    figures.known = message.seq;
    this.#lastRead = { seq: message.seq, atMs: this.#options.monotonic() };
    this.#retention.recordMessage(message);
    // Its bytes are part of what the client has read at once: only they may cross.
    const frames = Uint8Array.from(message.frames);
    const bytes = frames.byteLength;
    this.#unapplied.push({ seq: message.seq, bytes });
    this.#unappliedBytes += bytes;
    this.#send({ kind: "ordered", messages: [{ ...message, frames }] }, [frames.buffer]);
    if (this.#unappliedBytes <= UNAPPLIED_BYTES_MAX) return undefined;
    return new Promise((resolve) => {
      this.#resume = resolve;
    });
  }

  /** Place up to which the journal has the log. */
  get #appliedSeq(): number {
    return Math.max(this.#options.figures.applied, this.#followedFrom > 1 ? this.#followedFrom : 0);
  }

  /** What a message sent now names as applied; undefined while it might count nowhere when it has its place. */
  #readAfter(): number | undefined {
    const isTooFarBehind =
      this.#proofs.rules >= SEALED_RULES && this.#logSeq - this.#appliedSeq > PLACES_BEHIND_MAX;
    return isTooFarBehind ? undefined : this.#appliedSeq;
  }

  #recordApplied({ seq, lsn, chain, table, rules }: AppliedMessage): void {
    const { figures } = this.#options;
    this.#setRules(rules);
    figures.appliedMessages += Math.max(0, seq - this.#appliedSeq);
    figures.applied = seq;
    const isFirst = this.#lastCommit.chain === "";
    this.#lastCommit = { lsn, chain };
    this.#checkpoints.add({ seq, chain, table });
    while (this.#unapplied[0] !== undefined && this.#unapplied[0].seq <= seq) {
      this.#unappliedBytes -= this.#unapplied.shift()!.bytes;
    }
    if (this.#unappliedBytes <= UNAPPLIED_BYTES_MAX / 2) this.#resume();
    this.#settleProofs();
    // Counted on before it answers, and not five seconds later.
    if (isFirst) void this.#publishReport();
  }

  async #probeLog(): Promise<void> {
    const { log, figures } = this.#options;
    const at = this.#readMoment();
    this.#updateAvailability();
    this.#leaveSilentServer();
    this.#reopenStalledReading();
    this.#ignored.tellIfDue();
    try {
      const state = await log.readState();
      figures.known = state.lastSeq;
      figures.size = state;
      this.#logSeq = state.lastSeq;
      this.#proofs.addState(at, state);
      this.#checkMissingMessages(state);
    } catch {
      // Not to be had: what this node answers gets older, which the figures say.
    }
  }

  #leaveSilentServer(): void {
    const { log, monotonic } = this.#options;
    const nowMs = monotonic();
    if (!this.#availability.isServerSilent(nowMs)) return;
    this.#availability.recordServerChange(nowMs);
    void log.changeServer().catch(() => undefined);
  }

  /** A reading at a server that has lost the others looks well, and lacks what was acknowledged elsewhere. */
  #reopenStalledReading(): void {
    const nowMs = this.#options.monotonic();
    const isBehind = this.#lastRead.seq < this.#acknowledgedSeq && this.#unapplied.length === 0;
    // What was acknowledged a moment ago is on its way: a reading that is whole must not be ended at the end of an election.
    const wasBehind = this.#behindSeq === this.#lastRead.seq;
    this.#behindSeq = isBehind ? this.#lastRead.seq : -1;
    if (!isBehind || !wasBehind || nowMs - this.#lastRead.atMs <= READING_STALL_MS) return;
    this.#lastRead.atMs = nowMs;
    this.#following?.reopen();
  }

  #readMoment(): Moment {
    const { clock, monotonic } = this.#options;
    return { epochMs: clock(), monotonicMs: monotonic() };
  }

  /** A majority of the servers had a leader at that moment, and the log a message at that place. */
  #recordAcknowledged({ epochMs, monotonicMs }: Moment, seq: number): void {
    const { figures } = this.#options;
    figures.known = seq;
    this.#acknowledgedSeq = Math.max(seq, this.#acknowledgedSeq);
    figures.answeredMs = Math.max(epochMs, figures.answeredMs);
    figures.setLedAt(monotonicMs);
    this.#availability.recordAcknowledged(monotonicMs);
    this.#updateAvailability();
    this.#settleProofs();
  }

  /** A log that has lost what this journal has, or what comes next, would be waited for in vain. */
  #checkMissingMessages(state: LogState): void {
    const detail = describeMissingMessages(state, this.#appliedSeq);
    this.#missingProbes = detail === undefined ? 0 : this.#missingProbes + 1;
    if (this.#missingProbes < MISSING_PROBES_MAX || this.#isDivergenceReported) return;
    this.#isDivergenceReported = true;
    this.#options.tell({ kind: "diverged", detail: detail! });
  }

  #settleProofs(): void {
    const { figures } = this.#options;
    const at = this.#proofs.takeReached(figures.applied);
    if (at === undefined) return;
    figures.setCaughtUpAt(at);
    // Only now: a start that cannot follow the log would keep jobs from nodes that can do them.
    this.#leases.start();
  }

  async #publishReport(): Promise<void> {
    const { log, node, version, url, role, key, figures, clock, watch } = this.#options;
    const own: NodeReport = {
      generation: log.generation,
      key,
      seq: figures.applied,
      ...this.#lastCommit,
      version,
      url,
      atMs: clock(),
      ...this.#checkpoints.reportMembers,
      role,
      leads: this.#leases.listHeldJobs,
      rulesMax: MESSAGE_RULES_VERSION,
      rules: this.#proofs.rules,
      sealedSinceMs: log.sealedSinceMs,
    };
    try {
      await log.publishReport(node, own);
      const view = await readClusterView(log, watch);
      this.#options.tell({ kind: "view", view });
      this.#agreement.compareReports(node, own, view);
      await this.#retention.trimIfDue(view);
    } catch {
      // The next one comes soon.
    }
  }

  #send(message: FromStream, transfer: ArrayBuffer[] = []): void {
    this.#options.port.postMessage(message, transfer);
  }

  async #close(): Promise<void> {
    if (this.#timers.length === 0) return;
    for (const timer of this.#timers.splice(0)) clearInterval(timer);
    this.#following?.stop();
    this.#resume();
    await this.#leases.close();
    await this.#options.log.close().catch(() => undefined);
    this.#options.port.close();
    this.#options.tell({ kind: "ended" });
    this.#options.closed();
  }
}
