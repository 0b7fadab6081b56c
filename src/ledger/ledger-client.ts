// The ledger as the HTTP thread sees it. Appends of one turn of the event loop leave as one
// message; receipts come back in order. Bounded: what does not fit is refused at once.
import type { MessagePort } from "node:worker_threads";
import { ServiceFault } from "../contract/faults.ts";
import type { OutcomeReceipt } from "../contract/messages.ts";
import { claimDataDirectory, type DataDirectoryClaim } from "./data-directory.ts";
import { FRAME_KINDS } from "./journal-format.ts";
import { encodeEvidence, identified } from "./journal-proof.ts";
import type { BatchEvidence, EventLog, KaizenLog, Ledger, OutcomeRecord } from "./ledger.ts";
import type { SourceLog } from "./ledger.ts";
import { VERDICT_DUPLICATE } from "./replay-guard.ts";
import {
  type FromLedger,
  NUMBERS_PER_RECEIPT,
  type ReadyMessage,
  type ReceiptsMessage,
  type ToLedger,
} from "./ledger-messages.ts";
import { type LedgerThread, threadOf } from "./ledger-link.ts";
import { awaitReady, type LedgerOptions, type Replay, startThread } from "./ledger-ready.ts";
import { type AwaitedOutcome, journalUnavailable, receiptOf } from "./ledger-receipt.ts";
import { OutcomeBatch } from "./outcome-batch.ts";

/** Outcomes accepted and not yet acknowledged: by count and by bytes. */
export const QUEUE_RECORDS_MAX = 20_000;
export const QUEUE_BYTES_MAX = 32 * 1024 * 1024;

export interface OpenLedger extends Ledger, EventLog, SourceLog, KaizenLog {
  readonly replay: Replay;
  /** The table as replay left it; another than was given when a revocation made it anew. */
  readonly engineMemory: WebAssembly.Memory;
  /** Payloads of the events of the reporters' registry at the start, in order. */
  readonly keyEvents: readonly Uint8Array[];
  /** Replay identities recorded since (epoch ms) are all remembered. */
  readonly rememberedSinceMs: number;
  /** Makes a config active for every thread's next read; rejects when the engine refuses it. */
  installConfig(config: unknown): Promise<void>;
  /** Lets another thread report through `port`, which is transferred; see ledger-join.ts. */
  join(port: MessagePort): void;
  /** The last durable position. */
  position(): number;
  /** False while the disk is full or after the thread died. */
  isHealthy(): boolean;
}

/**
 * Claims the data directory, starts the ledger thread and waits until the journal is replayed.
 * @throws DataDirectoryInUse, JournalDamaged (exit code 65), JournalBroken (70).
 */
export async function startLedger(options: LedgerOptions): Promise<OpenLedger> {
  const claim = await claimDataDirectory(options.dataDir);
  try {
    const worker = startThread(options, claim);
    const ready = await awaitReady(worker);
    return new LedgerClient(threadOf(worker), ready, claim, options);
  } catch (error) {
    await claim.release();
    throw error;
  }
}

interface Waiting extends AwaitedOutcome {
  resolve: (receipt: OutcomeReceipt) => void;
  reject: (error: Error) => void;
}

/** Records that are not outcomes have no id and no signature of their own. */
const EVENT: AwaitedOutcome = { outcomeId: "", signature: "none" };

/** Of the thread that started the ledger, or of one that joined; then without a claim. */
export class LedgerClient implements OpenLedger {
  readonly replay: Replay;
  readonly engineMemory: WebAssembly.Memory;
  readonly keyEvents: readonly Uint8Array[];
  rememberedSinceMs: number;
  private readonly onTable: (engineMemory: WebAssembly.Memory) => void;
  private readonly log: (event: string, detail: string) => void;
  private readonly thread: LedgerThread;
  private readonly claim: DataDirectoryClaim | undefined;
  private readonly clock: () => number;
  private readonly onFatal: (exitCode: number) => void;
  private lsn: number;
  private hasRoom = true;
  /** Set once nothing can be appended any more. */
  private ended: "closed" | "dead" | undefined;
  /** In order of append; `answered` of them at the front are done. */
  private waiting: Waiting[] = [];
  private answered = 0;
  private batch = new OutcomeBatch();
  private isFlushDue = false;
  private installing: { resolve: () => void; reject: (error: Error) => void }[] = [];
  /** Bytes of messages not yet answered, in order. */
  private sentBytes: number[] = [];
  private queuedBytes = 0;
  private whenExited: Promise<void>;

  constructor(
    thread: LedgerThread,
    ready: ReadyMessage,
    claim: DataDirectoryClaim | undefined,
    options: Omit<LedgerOptions, "dataDir">,
  ) {
    this.thread = thread;
    this.claim = claim;
    this.clock = options.clock;
    this.onFatal = options.onFatal;
    this.lsn = ready.lsn;
    this.engineMemory = ready.engineMemory ?? options.engineMemory;
    this.keyEvents = ready.keyEvents;
    this.rememberedSinceMs = ready.rememberedSinceMs;
    this.onTable = options.onTable ?? (() => undefined);
    this.log = options.log ?? (() => undefined);
    const { outcomes, durationMs, truncatedBytes, snapshotLsn } = ready;
    this.replay = { outcomes, durationMs, truncatedBytes, snapshotLsn };
    thread.onMessage((message) => this.receive(message));
    thread.onError(() => this.die(70));
    this.whenExited = new Promise((resolve) => {
      thread.onExit(() => {
        if (this.ended !== "closed") this.die(70);
        resolve();
      });
    });
  }

  get pendingCount(): number {
    return this.waiting.length - this.answered;
  }

  position(): number {
    return this.lsn;
  }

  isHealthy(): boolean {
    return this.hasRoom && this.ended === undefined;
  }

  append(record: OutcomeRecord): Promise<OutcomeReceipt> {
    return this.enqueue(record, (batch) => batch.add(record));
  }

  async appendEvidence(evidence: Omit<BatchEvidence, "evidenceId">): Promise<string> {
    const whole = identified(evidence);
    await this.appendEvent(FRAME_KINDS.evidence, encodeEvidence(whole));
    return whole.evidenceId;
  }

  readonly appendKeyEvent = (bytes: Uint8Array) => this.appendEvent(FRAME_KINDS.key, bytes);
  readonly appendSource = (bytes: Uint8Array) => this.appendEvent(FRAME_KINDS.evidence, bytes);
  readonly appendConfig = (bytes: Uint8Array) => this.appendEvent(FRAME_KINDS.config, bytes);
  readonly appendStandings = (bytes: Uint8Array) => this.appendEvent(FRAME_KINDS.standings, bytes);

  installConfig(config: unknown): Promise<void> {
    if (this.ended !== undefined) return Promise.reject(journalUnavailable("the ledger is closed"));
    return new Promise((resolve, reject) => {
      this.installing.push({ resolve, reject });
      this.thread.postMessage({ kind: "install", config } satisfies ToLedger, []);
    });
  }

  join(port: MessagePort): void {
    this.thread.postMessage({ kind: "join", port } satisfies ToLedger, [port]);
  }

  private async appendEvent(kind: number, payload: Uint8Array): Promise<number> {
    return (await this.enqueue(EVENT, (batch) => batch.addEvent(kind, payload))).position;
  }

  private enqueue(
    { outcomeId, signature }: AwaitedOutcome,
    add: (batch: OutcomeBatch) => void,
  ): Promise<OutcomeReceipt> {
    return new Promise((resolve, reject) => {
      const refusal = this.refusal();
      if (refusal !== undefined) {
        reject(refusal);
        return;
      }
      add(this.batch);
      this.waiting.push({ outcomeId, signature, resolve, reject });
      if (this.batch.isFull) this.flush();
      else this.flushSoon();
    });
  }

  /** Waits for room instead of refusing: an import is as fast as the disk, not faster. */
  async appendBatch(records: readonly OutcomeRecord[]): Promise<OutcomeReceipt[]> {
    const receipts: OutcomeReceipt[] = [];
    const partMax = QUEUE_RECORDS_MAX / 4;
    for (let from = 0; from < records.length; from += partMax) {
      const part = records.slice(from, from + partMax);
      receipts.push(...(await Promise.all(part.map((record) => this.append(record)))));
    }
    return receipts;
  }

  async close(): Promise<void> {
    if (this.ended === undefined) {
      this.flush();
      this.ended = "closed";
      const message: ToLedger = { kind: "close" };
      this.thread.postMessage(message, []);
    }
    await this.whenExited;
    this.rejectAll("the ledger is closed");
    await this.claim?.release();
  }

  private refusal(): ServiceFault | undefined {
    if (this.ended === "closed") return journalUnavailable("the ledger is closed");
    if (this.ended === "dead") return journalUnavailable("the ledger has failed");
    const isOver =
      this.pendingCount >= QUEUE_RECORDS_MAX ||
      this.queuedBytes + this.batch.byteCount >= QUEUE_BYTES_MAX;
    return isOver ? new ServiceFault("overloaded", "too many outcomes are waiting") : undefined;
  }

  private flushSoon(): void {
    if (this.isFlushDue) return;
    this.isFlushDue = true;
    // The check phase comes after all callbacks of this turn: one message for all of them.
    setImmediate(() => {
      this.isFlushDue = false;
      if (this.ended === undefined) this.flush();
    });
  }

  private flush(): void {
    if (this.batch.count === 0) return;
    const { bytes, count } = this.batch.take();
    this.queuedBytes += bytes.byteLength;
    this.sentBytes.push(bytes.byteLength);
    const frames = bytes.buffer as ArrayBuffer;
    const message: ToLedger = {
      kind: "append",
      frames,
      byteCount: bytes.byteLength,
      recordCount: count,
      nowMs: this.clock(),
    };
    this.thread.postMessage(message, [frames]);
  }

  private receive(message: FromLedger): void {
    if (message.kind === "receipts") this.answer(message);
    else if (message.kind === "installed") this.installed(message.refusal);
    else if (message.kind === "table") this.onTable(message.engineMemory);
    else if (message.kind === "health") this.hasRoom = message.isHealthy;
    else if (message.kind === "note") this.log(message.event, message.detail);
    else if (message.kind === "failed") this.die(message.exitCode);
  }

  private installed(refusal: string | undefined): void {
    const asked = this.installing.shift();
    if (refusal !== undefined) asked?.reject(new RangeError(refusal));
    asked?.resolve();
  }

  private answer(message: ReceiptsMessage): void {
    this.lsn = message.lsn;
    this.rememberedSinceMs = message.rememberedSinceMs;
    this.queuedBytes -= this.sentBytes.shift() ?? 0;
    const { numbers, duplicateIds } = message;
    let duplicate = 0;
    for (let at = 0; at < numbers.length; at += NUMBERS_PER_RECEIPT) {
      const [verdict = 0, lsn = 0, recordedAtMs = 0] = numbers.subarray(at, at + 3);
      const firstId = verdict === VERDICT_DUPLICATE ? (duplicateIds[duplicate++] ?? "") : "";
      const waiting = this.waiting[this.answered++] as Waiting;
      try {
        waiting.resolve(receiptOf(waiting, verdict, lsn, recordedAtMs, firstId));
      } catch (error) {
        waiting.reject(error as Error);
      }
    }
    this.forgetAnswered();
  }

  /** Drops answered entries once they are most of the list: constant work per entry. */
  private forgetAnswered(): void {
    if (this.answered * 2 < this.waiting.length) return;
    this.waiting = this.waiting.slice(this.answered);
    this.answered = 0;
  }

  private die(exitCode: number): void {
    if (this.ended === "dead") return;
    this.ended = "dead";
    this.rejectAll("the ledger has failed");
    this.onFatal(exitCode);
  }

  private rejectAll(why: string): void {
    const waiting = [...this.waiting.slice(this.answered), ...this.installing.splice(0)];
    this.waiting = [];
    this.answered = 0;
    for (const entry of waiting) entry.reject(journalUnavailable(why));
  }
}
