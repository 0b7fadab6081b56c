// Feed of the ledger thread in a cluster: appends leave for the ordered log, and come back at their place
// in it, among those of other nodes. An append is answered once it stands in this node's journal.
import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import { JournalDamaged } from "../../journal/faults.ts";
import type { LedgerCore } from "../core.ts";
import { COMMIT_BYTES_MAX, COMMIT_RECORDS_MAX } from "../frame-batch.ts";
import type { AppendMessage } from "../messages.ts";
import type { ArrivedMessage } from "../ports.ts";
import { type CommitResult, VERDICT_LOG_UNAVAILABLE } from "../replay-guard.ts";
import { type RemoteEvent, MessageOutOfSequence } from "./apply.ts";
import {
  CHECKPOINT_MESSAGES,
  digestMessage,
  type OrderedMessage,
  type TableHash,
  type FromStream,
  type ToStream,
} from "./message.ts";
import { blankInvalidMessages } from "./invalid-messages.ts";
import { screenAppend, type ScreenedAppend } from "./append-screening.ts";

/** Messages under way at a time. More only queue: each is synced on a majority of servers. */
const IN_FLIGHT_MAX = 4;
/** Numbers between the oldest message under way and the next: `progress.ts` remembers twice as many. */
const IN_FLIGHT_SPAN_MAX = 512;
/** Messages applied under one sync. */
const APPLY_MESSAGES_MAX = 64;
/** Pause in ms before the log is read again after the disk was full. */
const RETRY_MS = 1000;

export interface OrderedFeedOptions {
  readonly core: LedgerCore;
  /** The stream thread. */
  readonly port: MessagePort;
  readonly origin: string;
  /** Called with the results of an append, in order for each port. */
  readonly answer: (port: MessagePort, results: readonly CommitResult[]) => void;
  /**
   * Called after every sync, with the time of the last message and what others than the ledger keep in
   * memory of it. Where there are such events, `taken` is awaited before they count as applied.
   */
  readonly settled: (timeMs: number, events: readonly RemoteEvent[]) => void;
  /** Hash of the agent table as it is now, for a round of comparison; rounds count the checkpoints. */
  readonly tableHash?: ((round: number) => TableHash) | undefined;
  readonly fail: (error: unknown) => void;
}

export class OrderedFeed {
  readonly #options: OrderedFeedOptions;
  /** Appends not yet sent. */
  #unsent: ScreenedAppend[] = [];
  /** Appends of each message that is sent, by its number. */
  readonly #sent = new Map<number, readonly ScreenedAppend[]>();
  /** Appends of each port, in order, from the first unanswered on. */
  readonly #byPort = new Map<MessagePort, ScreenedAppend[]>();
  /** Messages whose place in the log is not known yet. */
  readonly #inFlight = new Set<number>();
  #lastNumber = 0;
  #arrived: OrderedMessage[] = [];
  /** The log is to be read again: what still arrives of the reading before is not due. */
  #isSeeking = false;
  #isOver = false;
  #retry: NodeJS.Timeout | undefined;
  /** What waits for the events of the oldest group, each of which has an undefined entry, to be taken. */
  #heldReports: (ToStream | undefined)[] = [];

  constructor(options: OrderedFeedOptions) {
    this.#options = options;
    options.port.on("message", (message: FromStream) => this.#receive(message));
    this.#requestLog();
  }

  /** Takes an append; its records are refused here when this node has no room for them. */
  enqueueAppend({ port, message }: ArrivedMessage<AppendMessage>): void {
    const waiting = screenAppend(this.#options.core, port, message);
    const queue = this.#byPort.get(port) ?? [];
    this.#byPort.set(port, queue);
    queue.push(waiting);
    if (waiting.sent.length === 0) {
      waiting.isDone = true;
      this.#answerInOrder(port);
      return;
    }
    this.#unsent.push(waiting);
    this.#send();
  }

  /** The oldest events are in force on every thread. */
  confirmOldestEvents(): void {
    this.#heldReports.shift();
    while (this.#heldReports[0] !== undefined) this.#post(this.#heldReports.shift()!);
  }

  stop(): void {
    this.#isOver = true;
    clearTimeout(this.#retry);
    this.#post({ kind: "close" });
    this.#options.port.close();
  }

  /** Sends what waits; while as many messages are under way as may be, the next one gathers. */
  #send(): void {
    while (this.#unsent.length > 0 && this.#canSend()) {
      const gathered: ScreenedAppend[] = [];
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
      const n = ++this.#lastNumber;
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

  #canSend(): boolean {
    const [oldest = this.#lastNumber] = this.#inFlight;
    return this.#inFlight.size < IN_FLIGHT_MAX && this.#lastNumber - oldest < IN_FLIGHT_SPAN_MAX;
  }

  #receive(message: FromStream): void {
    try {
      this.#receiveOne(message);
      // What has arrived meanwhile shares the sync.
      let next = receiveMessageOnPort(this.#options.port);
      while (next !== undefined && this.#arrived.length < APPLY_MESSAGES_MAX) {
        this.#receiveOne(next.message as FromStream);
        next = receiveMessageOnPort(this.#options.port);
      }
      if (next !== undefined) this.#receiveOne(next.message as FromStream);
      this.#applyArrived();
    } catch (error) {
      this.#options.fail(error);
    }
  }

  #receiveOne(message: FromStream): void {
    if (message.kind === "ordered") {
      const { messages } = message;
      const due = this.#options.core.progress.seq + 1;
      if (this.#isSeeking && (this.#retry !== undefined || messages[0]!.seq > due)) return;
      this.#isSeeking = false;
      this.#arrived.push(...messages);
      return;
    }
    this.#inFlight.delete(message.n);
    if (message.kind === "unpublished") this.#refuseMessage(message.n);
    this.#send();
  }

  #refuseMessage(n: number): void {
    const waiting = this.#sent.get(n) ?? [];
    this.#sent.delete(n);
    for (const each of waiting) {
      for (const at of each.sent) each.results[at]!.verdict = VERDICT_LOG_UNAVAILABLE;
      each.isDone = true;
      this.#answerInOrder(each.port);
    }
  }

  #applyArrived(): void {
    const { core } = this.#options;
    while (this.#arrived.length > 0 && !this.#isOver) {
      const some = this.#selectUnapplied(
        this.#arrived.splice(0, countGroupMessages(this.#arrived)),
      );
      if (some.length === 0) {
        this.#reportApplied();
        continue;
      }
      try {
        const { applied, events, isFull } = core.applyMessages(some);
        this.#settleApplied(some, applied, events);
        if (isFull) this.#waitForSpace();
      } catch (error) {
        // A group has no hole within: nothing of it was applied.
        if (!(error instanceof MessageOutOfSequence)) throw error;
        this.#requestLog();
      }
    }
  }

  /** A write that failed has sealed its frames: the log is read again, which has them as all nodes do. */
  #waitForSpace(): void {
    this.#arrived = [];
    this.#isSeeking = true;
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.#requestLog();
    }, RETRY_MS);
  }

  /** Without those that are applied already; the last of them with a mark must be what the journal says. */
  #selectUnapplied(arrived: readonly OrderedMessage[]): OrderedMessage[] {
    const { mark, seq: appliedSeq, rulesLevel } = this.#options.core.progress;
    const messages = blankInvalidMessages(arrived, rulesLevel);
    if (mark === undefined) return messages;
    const same = messages.find(({ seq }) => seq === mark.seq);
    if (same !== undefined && digestMessage(same) !== mark.sha) throw createForkDamage(mark.seq);
    return messages.filter(({ seq }) => seq > appliedSeq);
  }

  #settleApplied(
    messages: readonly OrderedMessage[],
    applied: readonly CommitResult[][],
    events: readonly RemoteEvent[],
  ): void {
    const { origin, settled } = this.#options;
    const last = messages[applied.length - 1];
    if (last === undefined) return;
    const ignored = messages
      .slice(0, applied.length)
      .flatMap(({ seq, ignored: why }) => (why === undefined ? [] : [{ seq, ...why }]));
    if (ignored.length > 0) this.#post({ kind: "ignored", messages: ignored });
    // Known here already where somebody waits for it; given up, it is news as another node's is.
    const news = events.filter(({ ownN }) => ownN === undefined || !this.#sent.has(ownN));
    settled(last.timeMs, news);
    if (news.length > 0) this.#heldReports.push(undefined);
    for (const [index, results] of applied.entries()) {
      const message = messages[index]!;
      if (message.origin !== origin) continue;
      if (results.length > 0) this.#settleOwnMessage(message.n, results);
      // Taken for a repeat: every node has passed it over, and whoever waits for it is told.
      else this.#refuseMessage(message.n);
    }
    this.#reportApplied();
  }

  #reportApplied(): void {
    const { progress, lastCommit } = this.#options.core;
    const chain = lastCommit.chain.toString("hex");
    const table = this.#computeCheckpointHash(progress.seq);
    const applied: ToStream = {
      kind: "applied",
      seq: progress.seq,
      lsn: lastCommit.lsn,
      chain,
      table,
      rules: progress.rulesLevel,
    };
    if (this.#heldReports.length > 0) this.#heldReports.push(applied);
    else this.#post(applied);
  }

  /** Undefined between checkpoints, and while the table is made anew: it is not that of this place then. */
  #computeCheckpointHash(seq: number): TableHash | undefined {
    const { core, tableHash } = this.#options;
    if (seq === 0 || seq % CHECKPOINT_MESSAGES !== 0 || core.isRefolding) return undefined;
    return tableHash?.(seq / CHECKPOINT_MESSAGES);
  }

  #settleOwnMessage(n: number, results: readonly CommitResult[]): void {
    const waiting = this.#sent.get(n) ?? [];
    this.#sent.delete(n);
    let from = 0;
    for (const each of waiting) {
      for (const at of each.sent) each.results[at] = results[from++]!;
      each.isDone = true;
    }
    for (const port of new Set(waiting.map((each) => each.port))) this.#answerInOrder(port);
  }

  /** Answers of a port leave in the order of its appends. */
  #answerInOrder(port: MessagePort): void {
    const queue = this.#byPort.get(port) ?? [];
    while (queue[0]?.isDone === true) this.#options.answer(port, queue.shift()!.results);
    if (queue.length === 0) this.#byPort.delete(port);
  }

  /** From the last message with a mark on: it is compared with what the journal says of it. */
  #requestLog(): void {
    this.#arrived = [];
    this.#isSeeking = true;
    const { mark: last, rulesLevel } = this.#options.core.progress;
    this.#post({ kind: "follow", from: last?.seq ?? 1, last, rules: rulesLevel });
  }

  #post(message: ToStream): void {
    this.#options.port.postMessage(message);
  }
}

/**
 * Messages of the next group: without a hole, as far as the next checkpoint, where nodes compare their
 * chains, and the first by itself, which tells by which rules those behind it are read.
 */
function countGroupMessages(messages: readonly OrderedMessage[]): number {
  const first = messages[0]!.seq;
  const hole = messages.findIndex(({ seq }, index) => seq !== first + index);
  const some = messages.slice(
    0,
    hole < 0 ? APPLY_MESSAGES_MAX : Math.min(hole, APPLY_MESSAGES_MAX),
  );
  const checkpoint = some.findIndex(({ seq }) => seq === 1 || seq % CHECKPOINT_MESSAGES === 0);
  return checkpoint < 0 ? some.length : checkpoint + 1;
}

/** The log holds something else than what this journal was made from. */
function createForkDamage(seq: number): JournalDamaged {
  const reason = `the ordered log holds another message ${seq} than the one in this journal: see \`trustrank cluster restore\``;
  return new JournalDamaged({ segment: "", offset: 0, afterLsn: 0, reason });
}
