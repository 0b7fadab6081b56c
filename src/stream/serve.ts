// Work of the stream thread: hands the ledger's messages to the log, the log's messages to the ledger, and
// watches how far behind this node is. A thread of its own, because the ledger's waits for the disk.
import type { MessagePort } from "node:worker_threads";
import type { OrderedMessage } from "../ledger/ordered/message.ts";
import type { FromStream, ToStream } from "../ledger/ordered/messages.ts";
import { Agreement } from "./agreement.ts";
import { Availability } from "./availability.ts";
import type { LedJob, StreamFigures } from "./figures.ts";
import { Leases } from "./leases.ts";
import { Looks } from "./looks.ts";
import type { LogState, OrderedLog } from "./ordered-log.ts";
import { Checkpoints, type ClusterView, type NodeReport, readClusterView } from "./reports.ts";
import { describeMissingMessages, Retention } from "./retention.ts";

/** Longest time that a message is tried before its outcomes are refused; at once while the log is away. */
const APPEND_MS = 10_000;
/** A message that is refused sooner was not waited for: the log is full. */
const WAITED_MS = 5000;
/** Interval between two questions for the log's newest message. */
const LOOK_MS = 500;
/** Interval between two reports to the other nodes. */
const REPORT_MS = 5000;
/** Looks in a row, half a second apart, after which a log without what this journal has is not late but another. */
const SHORT_LOOKS_MAX = 20;
/** Bytes handed to the ledger and not yet applied. */
const UNAPPLIED_BYTES_MAX = 32 * 1024 * 1024;

/** To the thread that started this one. */
export type StreamEvent =
  /** Connected: the ledger may begin. */
  | { kind: "ready"; generation: number }
  /** This node may not join: the sentence says why. */
  | { kind: "refused"; detail: string }
  | { kind: "note"; event: string; detail: string }
  /** A job of the whole cluster has become this node's, or is not any more. */
  | { kind: "leads"; job: LedJob; isHeld: boolean }
  /** How many nodes have in force what was in the log when this was asked. */
  | { kind: "spread"; id: number; nodes: number }
  /** What a look at the whole cluster has found. */
  | { kind: "view"; view: ClusterView }
  /** Exit code 65: this journal is not the cluster's. */
  | { kind: "diverged"; detail: string }
  /** The ledger has let go of the thread, which ends now. */
  | { kind: "ended" };

export interface StreamServeOptions {
  readonly log: OrderedLog;
  /** The ledger thread. */
  readonly port: MessagePort;
  readonly node: string;
  readonly origin: string;
  readonly version: string;
  readonly url: string | undefined;
  readonly role: NodeReport["role"];
  /** The bureau's public key, in hex. */
  readonly key: string;
  readonly figures: StreamFigures;
  /** Jobs of the whole cluster that this node may do. */
  readonly jobs: readonly LedJob[];
  /** Messages kept behind the slowest node; undefined: none is removed. */
  readonly keep: number | undefined;
  readonly clock: () => number;
  readonly tell: (event: StreamEvent) => void;
  /** Called once the ledger has let go. */
  readonly closed: () => void;
}

/** Serves until the ledger closes. Returns at once. */
export function serveStream(options: StreamServeOptions): void {
  new Server(options).start();
}

class Server {
  readonly #options: StreamServeOptions;
  readonly #checkpoints = new Checkpoints();
  readonly #looks = new Looks();
  readonly #leases: Leases;
  readonly #availability: Availability;
  readonly #agreement: Agreement;
  readonly #retention: Retention;
  #following: { stop(): void } | undefined;
  #timers: NodeJS.Timeout[] = [];
  /** Bytes of messages handed over, by place, until they are applied. */
  #unapplied: { seq: number; bytes: number }[] = [];
  #unappliedBytes = 0;
  #resume = () => {};
  /** Numbers of messages that are tried, until they have a place or are given up. */
  readonly #tried = new Set<number>();
  #tip = { lsn: 0, chain: "" };
  #isTold = false;
  /** Place from which the ledger follows: where it is not the first, the journal has that message. */
  #from = 1;
  #shortLooks = 0;

  constructor(options: StreamServeOptions) {
    this.#options = options;
    this.#availability = new Availability(options.clock());
    this.#agreement = new Agreement(options.figures, options.tell);
    this.#retention = new Retention(options);
    const changed = (job: LedJob, isHeld: boolean) => options.tell({ kind: "leads", job, isHeld });
    this.#leases = new Leases({ ...options, changed });
  }

  start(): void {
    this.#options.port.on("message", (message: ToStream) => this.#take(message));
    // A ledger that refuses its journal ends without a word.
    this.#options.port.on("close", () => void this.#close());
    const look = () => void this.#look();
    this.#timers = [setInterval(look, LOOK_MS), setInterval(() => void this.#report(), REPORT_MS)];
    const { log, figures, clock } = this.#options;
    log.link.onChange = () => {
      figures.connection(log.link);
      this.#availability.connected(log.link.isUp, clock());
    };
    log.link.onChange();
    look();
    this.#leases.start();
  }

  #take(message: ToStream): void {
    if (message.kind === "publish") void this.#publish(message);
    else if (message.kind === "follow") this.#follow(message);
    else if (message.kind === "applied") this.#note(message);
    else void this.#close();
  }

  async #publish({ n, count, frames }: ToStream & { kind: "publish" }): Promise<void> {
    const { log, origin, figures, clock } = this.#options;
    if (this.#isAway()) return this.#refuse(n);
    const [startedMs, startedAt] = [clock(), performance.now()];
    try {
      const mayTry = () => !this.#isAway();
      this.#tried.add(n);
      const seq = await log.append({ origin, n, count, frames }, APPEND_MS, mayTry);
      figures.known = seq;
      figures.publishedIn(performance.now() - startedAt);
      this.#availability.taken(clock());
      // Given up, it is applied all the same; whoever waited repeats it and learns of it.
      if (this.#tried.delete(n)) this.#send({ kind: "published", n });
    } catch (error) {
      if (!this.#tried.delete(n)) return;
      if (clock() - startedMs >= WAITED_MS) this.#availability.failed(clock());
      const detail = (error as Error).message;
      this.#options.tell({ kind: "note", event: "stream_append_failed", detail });
      this.#refuse(n);
    }
  }

  #refuse(n: number): void {
    this.#options.figures.failed++;
    this.#send({ kind: "unpublished", n });
  }

  /** Whether messages are refused at once; told where that changes. */
  #isAway(): boolean {
    const { figures, clock, tell } = this.#options;
    const nowMs = clock();
    const why = this.#availability.whyAway(nowMs);
    const sinceMs = figures.awaySinceMs;
    if (why !== undefined && sinceMs === 0) {
      figures.awaySinceMs = nowMs;
      tell({ kind: "note", event: "stream_away", detail: `${why}: records are refused at once` });
      // Answers leave in order: what is under way would hold up those behind it.
      for (const n of this.#tried) this.#refuse(n);
      this.#tried.clear();
    } else if (why === undefined && sinceMs > 0) {
      figures.awaySinceMs = 0;
      const detail = `after ${Math.round((nowMs - sinceMs) / 1000)} s`;
      tell({ kind: "note", event: "stream_back", detail });
    }
    return why !== undefined;
  }

  #follow({ from, last }: ToStream & { kind: "follow" }): void {
    const { log, figures } = this.#options;
    this.#following?.stop();
    this.#resume();
    this.#from = from;
    this.#unapplied = [];
    this.#unappliedBytes = 0;
    figures.followed++;
    this.#following = log.follow(from, (message) => this.#hand(message), last);
  }

  /** Waits while the ledger has enough to do. */
  #hand(message: OrderedMessage): Promise<void> | undefined {
    const { figures } = this.#options;
    figures.known = message.seq;
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
  get #applied(): number {
    return Math.max(this.#options.figures.applied, this.#from > 1 ? this.#from : 0);
  }

  #note({ seq, lsn, chain, table }: ToStream & { kind: "applied" }): void {
    const { figures } = this.#options;
    figures.messages += Math.max(0, seq - this.#applied);
    figures.applied = seq;
    this.#tip = { lsn, chain };
    this.#checkpoints.add({ seq, chain, table });
    while (this.#unapplied[0] !== undefined && this.#unapplied[0].seq <= seq) {
      this.#unappliedBytes -= this.#unapplied.shift()!.bytes;
    }
    if (this.#unappliedBytes <= UNAPPLIED_BYTES_MAX / 2) this.#resume();
    this.#settleLooks();
  }

  async #look(): Promise<void> {
    const { log, figures, clock } = this.#options;
    const atMs = clock();
    this.#isAway();
    try {
      const state = await log.state();
      figures.answeredMs = clock();
      if (state.leader !== undefined) {
        figures.ledMs = figures.answeredMs;
        this.#availability.led(figures.answeredMs);
      }
      figures.known = state.lastSeq;
      figures.size = state;
      this.#looks.add(atMs, state.lastSeq);
      this.#settleLooks();
      this.#judge(state);
    } catch {
      // Not to be had: what this node answers gets older, which the figures say.
    }
  }

  /** A log that has lost what this journal has, or what comes next, would be waited for in vain. */
  #judge(state: LogState): void {
    const detail = describeMissingMessages(state, this.#applied);
    this.#shortLooks = detail === undefined ? 0 : this.#shortLooks + 1;
    if (detail === undefined || this.#shortLooks < SHORT_LOOKS_MAX || this.#isTold) return;
    this.#isTold = true;
    this.#options.tell({ kind: "diverged", detail });
  }

  #settleLooks(): void {
    const { figures } = this.#options;
    const atMs = this.#looks.settle(figures.applied);
    if (atMs !== undefined) figures.caughtUp(atMs);
  }

  async #report(): Promise<void> {
    const { log, node, version, url, role, key, figures, clock } = this.#options;
    const own: NodeReport = {
      generation: log.generation,
      key,
      seq: figures.applied,
      ...this.#tip,
      version,
      url,
      atMs: clock(),
      ...this.#checkpoints.told,
      role,
      leads: this.#leases.held,
    };
    try {
      await log.report(node, own);
      this.#availability.reported(own.atMs);
      const view = await readClusterView(log);
      this.#options.tell({ kind: "view", view });
      this.#agreement.look(node, own, view);
      await this.#retention.look(view);
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
