// Feed of the ledger thread in a cluster: appends leave for the ordered log, and come back at their place
// in it, among those of other nodes. An append is answered once it stands in this node's journal.
import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import { JournalDamaged } from "../../journal/faults.ts";
import { FRAME_BYTES, FRAME_KINDS, frameKind, frameLength } from "../../journal/format.ts";
import { outcomeSender } from "../../journal/outcome.ts";
import { refuseBulk } from "../admission/admission.ts";
import type { LedgerCore } from "../core.ts";
import { COMMIT_BYTES_MAX, COMMIT_RECORDS_MAX } from "../frame-batch.ts";
import type { AppendMessage } from "../messages.ts";
import type { Arrived } from "../ports.ts";
import {
  type CommitResult,
  type Pending,
  VERDICT_RECORDED,
  VERDICT_UNAVAILABLE,
} from "../replay-guard.ts";
import { type RemoteEvent, StreamHole } from "./apply.ts";
import { CHECKPOINT_MESSAGES, digestOf, type OrderedMessage } from "./message.ts";
import type { FromStream, ToStream } from "./messages.ts";

/** Messages under way at a time. More only queue: each is synced on a majority of servers. */
const IN_FLIGHT_MAX = 4;
/** Messages applied under one sync. */
const APPLY_MAX = 64;
/** Interval in ms between two tries to apply while the disk is full. */
const RETRY_MS = 500;

export interface FeedOptions {
  readonly core: LedgerCore;
  /** The stream thread. */
  readonly port: MessagePort;
  readonly origin: string;
  /** Called with the results of an append, in order for each port. */
  readonly answer: (port: MessagePort, results: readonly CommitResult[]) => void;
  /** Called after every sync, with the time of the last message. */
  readonly settled: (timeMs: number, events: readonly RemoteEvent[]) => void;
  readonly fail: (error: unknown) => void;
}

/** One append that waits for its place. */
interface Waiting {
  readonly port: MessagePort;
  /** Of each of its records; those refused here have their verdict already. */
  readonly results: CommitResult[];
  /** Indexes in `results` of the records that were sent. */
  readonly sent: readonly number[];
  readonly frames: Buffer;
  isDone: boolean;
}

export class OrderedFeed {
  readonly #options: FeedOptions;
  /** Appends not yet sent. */
  #unsent: Waiting[] = [];
  /** Appends of each message that is sent, by its number. */
  readonly #sent = new Map<number, readonly Waiting[]>();
  /** Appends of each port, in order, from the first unanswered on. */
  readonly #byPort = new Map<MessagePort, Waiting[]>();
  /** Messages whose place in the log is not known yet. */
  readonly #inFlight = new Set<number>();
  #n = 0;
  #arrived: OrderedMessage[] = [];
  #isOver = false;
  #retry: NodeJS.Timeout | undefined;

  constructor(options: FeedOptions) {
    this.#options = options;
    options.port.on("message", (message: FromStream) => this.#take(message));
    this.#follow();
  }

  /** Takes an append; its records are refused here when this node has no room for them. */
  offer({ port, message }: Arrived<AppendMessage>): void {
    const waiting = this.#screened(port, message);
    const queue = this.#byPort.get(port) ?? [];
    this.#byPort.set(port, queue);
    queue.push(waiting);
    if (waiting.sent.length === 0) {
      waiting.isDone = true;
      this.#answer(port);
      return;
    }
    this.#unsent.push(waiting);
    this.#send();
  }

  stop(): void {
    this.#isOver = true;
    clearTimeout(this.#retry);
    this.#post({ kind: "close" });
    this.#options.port.close();
  }

  /** Refusals that depend on this node alone come before the log: after it all nodes must agree. */
  #screened(port: MessagePort, message: AppendMessage): Waiting {
    const { core } = this.#options;
    const bytes = Buffer.from(message.frames, 0, message.byteCount);
    const records = recordsOf(bytes, message.recordCount);
    if (core.space.isLow) refuseBulk(records);
    core.admission?.refuse(records, message.nowMs);
    const results = records.map(({ result }) => result);
    const sent = results.flatMap(({ verdict }, at) => (verdict === VERDICT_RECORDED ? [at] : []));
    const isWhole = sent.length === records.length;
    const parts = sent.map((at) => bytes.subarray(records[at]!.at, records[at]!.end));
    return { port, results, sent, frames: isWhole ? bytes : Buffer.concat(parts), isDone: false };
  }

  /** Sends what waits; while as many messages are under way as may be, the next one gathers. */
  #send(): void {
    while (this.#unsent.length > 0 && this.#inFlight.size < IN_FLIGHT_MAX) {
      const gathered: Waiting[] = [];
      let count = 0;
      let bytes = 0;
      for (const waiting of this.#unsent) {
        count += waiting.sent.length;
        bytes += waiting.frames.byteLength;
        const isOver = count > COMMIT_RECORDS_MAX || bytes > COMMIT_BYTES_MAX;
        if (gathered.length > 0 && isOver) break;
        gathered.push(waiting);
      }
      this.#unsent = this.#unsent.slice(gathered.length);
      const n = ++this.#n;
      this.#sent.set(n, gathered);
      this.#inFlight.add(n);
      const frames = Uint8Array.from(Buffer.concat(gathered.map((each) => each.frames)));
      const sum = gathered.reduce((total, each) => total + each.sent.length, 0);
      this.#options.port.postMessage(
        { kind: "publish", n, count: sum, frames } satisfies ToStream,
        [frames.buffer],
      );
    }
  }

  #take(message: FromStream): void {
    try {
      this.#takeOne(message);
      // What has arrived meanwhile shares the sync.
      let next = receiveMessageOnPort(this.#options.port);
      while (next !== undefined && this.#arrived.length < APPLY_MAX) {
        this.#takeOne(next.message as FromStream);
        next = receiveMessageOnPort(this.#options.port);
      }
      if (next !== undefined) this.#takeOne(next.message as FromStream);
      this.#drain();
    } catch (error) {
      this.#options.fail(error);
    }
  }

  #takeOne(message: FromStream): void {
    if (message.kind === "ordered") {
      this.#arrived.push(...message.messages);
      return;
    }
    this.#inFlight.delete(message.n);
    if (message.kind === "unpublished") this.#refuse(message.n);
    this.#send();
  }

  #refuse(n: number): void {
    const waiting = this.#sent.get(n) ?? [];
    this.#sent.delete(n);
    for (const each of waiting) {
      for (const at of each.sent) each.results[at]!.verdict = VERDICT_UNAVAILABLE;
      each.isDone = true;
      this.#answer(each.port);
    }
  }

  #drain(): void {
    const { core } = this.#options;
    while (this.#arrived.length > 0 && !this.#isOver) {
      const some = this.#due(this.#arrived.splice(0, groupOf(this.#arrived)));
      if (some.length === 0) continue;
      try {
        const { applied, events, isFull } = core.apply(some);
        this.#settle(some, applied, events);
        if (!isFull) continue;
        this.#arrived.unshift(...some.slice(applied.length));
        this.#retry = setTimeout(() => this.#drainAgain(), RETRY_MS);
        return;
      } catch (error) {
        if (!(error instanceof StreamHole)) throw error;
        this.#arrived = [];
        this.#follow();
      }
    }
  }

  #drainAgain(): void {
    try {
      this.#drain();
    } catch (error) {
      this.#options.fail(error);
    }
  }

  /** Without those that are applied already; the last of them must be what the journal says. */
  #due(messages: readonly OrderedMessage[]): OrderedMessage[] {
    const { mark } = this.#options.core.progress;
    if (mark === undefined) return [...messages];
    const same = messages.find(({ seq }) => seq === mark.seq);
    if (same !== undefined && digestOf(same) !== mark.sha) throw forked(mark.seq);
    return messages.filter(({ seq }) => seq > mark.seq);
  }

  #settle(
    messages: readonly OrderedMessage[],
    applied: readonly CommitResult[][],
    events: readonly RemoteEvent[],
  ): void {
    const { origin, settled } = this.#options;
    const last = messages[applied.length - 1];
    if (last === undefined) return;
    settled(last.timeMs, events);
    for (const [index, results] of applied.entries()) {
      const message = messages[index]!;
      if (message.origin === origin && results.length > 0) this.#distribute(message.n, results);
    }
    this.#applied(last.seq);
  }

  #applied(seq: number): void {
    const { lsn, chain } = this.#options.core.tip;
    this.#post({ kind: "applied", seq, lsn, chain: chain.toString("hex") });
  }

  #distribute(n: number, results: readonly CommitResult[]): void {
    const waiting = this.#sent.get(n) ?? [];
    this.#sent.delete(n);
    let from = 0;
    for (const each of waiting) {
      for (const at of each.sent) each.results[at] = results[from++]!;
      each.isDone = true;
    }
    for (const port of new Set(waiting.map((each) => each.port))) this.#answer(port);
  }

  /** Answers of a port leave in the order of its appends. */
  #answer(port: MessagePort): void {
    const queue = this.#byPort.get(port) ?? [];
    while (queue[0]?.isDone === true) this.#options.answer(port, queue.shift()!.results);
    if (queue.length === 0) this.#byPort.delete(port);
  }

  /** From the last message applied on: it is compared with what the journal says of it. */
  #follow(): void {
    const { seq } = this.#options.core.progress;
    this.#post({ kind: "follow", from: Math.max(1, seq) });
    // Nothing newer may come for long.
    if (seq > 0) this.#applied(seq);
  }

  #post(message: ToStream): void {
    this.#options.port.postMessage(message);
  }
}

/** Messages of the next group: it ends at a checkpoint, where nodes compare their chains. */
function groupOf(messages: readonly OrderedMessage[]): number {
  const some = messages.slice(0, APPLY_MAX);
  const checkpoint = some.findIndex(({ seq }) => seq % CHECKPOINT_MESSAGES === 0);
  return checkpoint < 0 ? some.length : checkpoint + 1;
}

/** The records of an append, without what only the guard needs. */
function recordsOf(bytes: Buffer, count: number): Pending[] {
  const run = { bytes, count };
  const records: Pending[] = [];
  for (let at = 0; at < bytes.byteLength;) {
    const end = at + FRAME_BYTES + frameLength(bytes, at);
    const isOutcome = frameKind(bytes, at) === FRAME_KINDS.outcome;
    records.push({
      run,
      at,
      end,
      sender: isOutcome ? outcomeSender(bytes, at) : 0,
      identities: [],
      result: { verdict: VERDICT_RECORDED, lsn: 0, recordedAtMs: 0, outcomeId: "" },
      first: undefined,
      batch: undefined,
    });
    at = end;
  }
  return records;
}

/** The log holds something else than what this journal was made from. */
function forked(seq: number): JournalDamaged {
  const reason = `the ordered log holds another message ${seq} than the one in this journal: see \`trustrank cluster restore\``;
  return new JournalDamaged({ segment: "", offset: 0, afterLsn: 0, reason });
}
