// Loop of the ledger thread: take the arrived messages, commit them as one, answer, look again.
// While a sync runs the next batch gathers in the port, so load makes batches larger, not queues
// longer.
import type { MessagePort } from "node:worker_threads";
import { type AdmissionStatus, AdmissionReport } from "./admission/admission.ts";
import { type DiskStatus, DiskWatch } from "./disk/watch.ts";
import { JournalBroken, OwnershipLost } from "../journal/faults.ts";
import type { FrameRun } from "../journal/writer.ts";
import type { LedgerCore } from "./core.ts";
import {
  type AppendMessage,
  type FromLedger,
  NUMBERS_PER_RECEIPT,
  type RotateKeyMessage,
} from "./messages.ts";
import { type ArrivedMessage, LedgerPorts } from "./ports.ts";
import { OrderedFeed } from "./ordered/feed.ts";
import type { TableHash } from "./ordered/message.ts";
import { COMMIT_BYTES_MAX, COMMIT_RECORDS_MAX } from "./frame-batch.ts";
import { type CommitResult, VERDICT_DUPLICATE } from "./replay-guard.ts";

/** Records of a re-fold between two looks at the port: some milliseconds. */
const REFOLD_SLICE_RECORDS = 2000;

/** Between two announcements of the durable position alone, ms. */
const ANNOUNCE_INTERVAL_MS = 1000;

export interface LedgerLoopOptions {
  port: MessagePort;
  core: LedgerCore;
  /** Receives the durable position after every sync; the store listens at the other end. */
  storePort: MessagePort | undefined;
  /**
   * Makes a config active.
   * @throws Error when the engine refuses it.
   */
  install?: (config: unknown) => void;
  /**
   * Puts another signing key in the place of the one in use.
   * @throws Error when nothing has changed.
   */
  rekey?: (nowMs: number, actor: string) => void;
  /** Called before the store is told of a durable position. */
  beforeAnnounce?: () => void;
  /** Called after every sync, with the durable position and the time of the batch. */
  synced?: (lsn: number, nowMs: number) => void;
  /** Whether announced records are sent to the owner. */
  isAnnouncing?: boolean;
  /** Called between two batches, with the time of the last one. */
  betweenBatches?: (nowMs: number) => void;
  /** The ordered log of a cluster; left out: appends are committed as they come. */
  stream?: { readonly port: MessagePort; readonly origin: string } | undefined;
  /** Hash of the agent table for a round of comparison with other nodes. */
  tableHash?: (round: number) => TableHash;
  /** Called with the error when the core can no longer vouch for the disk. */
  fail: (error: unknown) => void;
  /** Called after a clean close. */
  closed: () => void;
}

/** Serves append messages until closed or broken. Returns at once. */
export function serveLedger(options: LedgerLoopOptions): void {
  new LedgerLoop(options).announceDurablePosition();
}

class LedgerLoop {
  readonly #options: LedgerLoopOptions;
  readonly #ports: LedgerPorts;
  readonly #disk: DiskWatch;
  readonly #admissionReport: AdmissionReport | undefined;
  readonly #orderedFeed: OrderedFeed | undefined;
  #isOver = false;
  #isRefolding = false;
  #announcedMs = 0;

  constructor(options: LedgerLoopOptions) {
    this.#options = options;
    this.#ports = new LedgerPorts(options.port, (arrived) => this.#processMessages(arrived));
    const send = (status: DiskStatus) => this.#ports.sendToAll({ kind: "health", ...status });
    this.#disk = new DiskWatch(options.core, send, (error) => this.#fail(error));
    const { admission } = options.core;
    const tell = (status: AdmissionStatus) =>
      this.#ports.sendToAll({ kind: "admission", ...status });
    this.#admissionReport = admission && new AdmissionReport(admission, tell);
    this.#orderedFeed = this.#openOrderedFeed();
  }

  #openOrderedFeed(): OrderedFeed | undefined {
    const { stream, core, tableHash } = this.#options;
    return (
      stream &&
      new OrderedFeed({
        core,
        ...stream,
        tableHash,
        answer: (port, results) => this.#answer(port, results),
        settled: (timeMs, events) => {
          this.#runAfterSync(timeMs);
          if (events.length > 0) this.#ports.sendToOwner({ kind: "remote", events });
          this.#runBetweenBatches(timeMs);
        },
        fail: (error) => this.#fail(error),
      })
    );
  }

  #processMessages(first: ArrivedMessage): void {
    let next: ArrivedMessage | undefined = first;
    try {
      while (next !== undefined && !this.#isOver) {
        const { port, message }: ArrivedMessage = next;
        if (message.kind === "append") {
          next = this.#append({ port, message });
          continue;
        }
        if (message.kind === "close") this.#close(port);
        else if (message.kind === "join") this.#ports.addPort(message.port);
        else if (message.kind === "taken") this.#orderedFeed?.confirmOldestEvents();
        else if (message.kind === "rekey") this.#rotateSigningKey(message);
        else this.#install(message.config);
        next = this.#isOver ? undefined : this.#ports.receiveNext();
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  announceDurablePosition(): void {
    this.#options.beforeAnnounce?.();
    this.#options.storePort?.postMessage(this.#options.core.lsn);
  }

  #append(append: ArrivedAppend): ArrivedMessage | undefined {
    if (this.#orderedFeed === undefined) return this.#commitWithFollowing(append);
    this.#orderedFeed.enqueueAppend(append);
    return this.#ports.receiveNext();
  }

  /** Commits `first` and all that fits under the caps; returns the message that did not fit. */
  #commitWithFollowing(first: ArrivedAppend): ArrivedMessage | undefined {
    const appends = [first];
    let records = first.message.recordCount;
    let bytes = first.message.byteCount;
    let next = this.#ports.receiveNext();
    while (next !== undefined && isAppend(next)) {
      records += next.message.recordCount;
      bytes += next.message.byteCount;
      if (records > COMMIT_RECORDS_MAX || bytes > COMMIT_BYTES_MAX) break;
      appends.push(next);
      next = this.#ports.receiveNext();
    }
    this.#commit(appends);
    return next ?? this.#ports.receiveNext();
  }

  /** Between two batches: the single writer swaps configs as it folds, in order. */
  #install(config: unknown): void {
    const answer: FromLedger = { kind: "installed" };
    try {
      this.#options.install?.(config);
    } catch (error) {
      answer.refusal = (error as Error).message;
    }
    this.#options.port.postMessage(answer);
  }

  /** Between two batches: its record is the last under the former key. */
  #rotateSigningKey({ nowMs, actor }: RotateKeyMessage): void {
    const answer: FromLedger = { kind: "rekeyed" };
    const { core, rekey, synced } = this.#options;
    try {
      rekey?.(nowMs, actor);
    } catch (error) {
      if (error instanceof JournalBroken || error instanceof OwnershipLost) throw error;
      answer.refusal = (error as Error).message;
    }
    this.announceDurablePosition();
    synced?.(core.lsn, nowMs);
    this.#options.port.postMessage(answer);
  }

  #commit(appends: readonly ArrivedAppend[]): void {
    const { core } = this.#options;
    // Threads read one clock, but their messages may have crossed on the way.
    const nowMs = Math.max(...appends.map(({ message }) => message.nowMs));
    const runs = appends.map(({ message }) => readFrameRun(message));
    const results = core.commit(runs, nowMs);
    this.#runAfterSync(nowMs);
    let from = 0;
    for (const { port, message } of appends) {
      const to = from + message.recordCount;
      this.#answer(port, results.slice(from, to));
      from = to;
    }
    this.#runBetweenBatches(nowMs);
  }

  #answer(port: MessagePort, results: readonly CommitResult[]): void {
    const answer = encodeReceipts(results, this.#options.core);
    port.postMessage(answer, [answer.numbers.buffer]);
  }

  /** After each sync, before it is answered. */
  #runAfterSync(nowMs: number): void {
    const { core } = this.#options;
    this.announceDurablePosition();
    this.#options.synced?.(core.lsn, nowMs);
    if (this.#options.isAnnouncing === true) this.#announceRecords(nowMs);
  }

  #announceRecords(nowMs: number): void {
    const { core } = this.#options;
    const records = core.takeAnnounced();
    const elapsedMs = nowMs - this.#announcedMs;
    if (records.length === 0 && elapsedMs >= 0 && elapsedMs < ANNOUNCE_INTERVAL_MS) return;
    this.#announcedMs = nowMs;
    this.#ports.sendToOwner({ kind: "announced", records, lsn: core.lsn });
  }

  #runBetweenBatches(nowMs: number): void {
    const { core } = this.#options;
    this.#disk.sendIfChanged();
    this.#admissionReport?.sendIfChanged(nowMs);
    const filling = core.admission?.takeFillWarning();
    if (filling !== undefined) this.#logTableFilling(filling);
    if (core.isRefolding) this.#refoldSoon();
    else this.#options.betweenBatches?.(nowMs);
  }

  /** In slices between commits: evidence is taken and acknowledged all the while. */
  #refoldSoon(): void {
    if (this.#isRefolding) return;
    this.#isRefolding = true;
    setImmediate(() => {
      this.#isRefolding = false;
      if (this.#isOver) return;
      try {
        if (this.#options.core.continueRefold(REFOLD_SLICE_RECORDS)) this.#refoldSoon();
      } catch (error) {
        this.#fail(error);
      }
    });
  }

  /** A joined port has its answers by now: they come in order. */
  #close(port: MessagePort): void {
    if (!this.#ports.isOwnerPort(port)) {
      port.close();
      return;
    }
    this.#stop();
    this.#options.core.close();
    this.#options.closed();
  }

  #logTableFilling(detail: string): void {
    const message: FromLedger = { kind: "note", event: "agent_table_filling", detail };
    this.#options.port.postMessage(message);
  }

  #fail(error: unknown): void {
    this.#stop();
    this.#options.fail(error);
  }

  #stop(): void {
    this.#isOver = true;
    this.#orderedFeed?.stop();
    this.#ports.closeAddedPorts();
    this.#disk.stop();
    this.#admissionReport?.stop();
  }
}

type ArrivedAppend = ArrivedMessage<AppendMessage>;

function isAppend(arrived: ArrivedMessage): arrived is ArrivedAppend {
  return arrived.message.kind === "append";
}

function readFrameRun(message: AppendMessage): FrameRun {
  return {
    bytes: Buffer.from(message.frames, 0, message.byteCount),
    count: message.recordCount,
  };
}

function encodeReceipts(
  results: readonly CommitResult[],
  { lsn, rememberedSinceMs }: LedgerCore,
): Extract<FromLedger, { kind: "receipts" }> & { numbers: Float64Array<ArrayBuffer> } {
  const numbers = new Float64Array(results.length * NUMBERS_PER_RECEIPT);
  const duplicateIds: string[] = [];
  for (const [index, result] of results.entries()) {
    numbers[index * NUMBERS_PER_RECEIPT] = result.verdict;
    numbers[index * NUMBERS_PER_RECEIPT + 1] = result.lsn;
    numbers[index * NUMBERS_PER_RECEIPT + 2] = result.recordedAtMs;
    if (result.verdict === VERDICT_DUPLICATE) duplicateIds.push(result.outcomeId);
  }
  return { kind: "receipts", numbers, duplicateIds, lsn, rememberedSinceMs };
}
