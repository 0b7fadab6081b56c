// Client of the ledger thread, for the HTTP thread. Appends of one turn of the event loop leave as
// one message; receipts come back in order. Bounded: an append beyond the bound is refused at once.
import type { MessagePort } from "node:worker_threads";
import type { ServiceFault } from "../contract/faults.ts";
import type { OutcomeReceipt } from "../contract/schemas/outcomes.ts";
import { AppendQueue, QUEUE_RECORDS_MAX } from "./append-queue.ts";
import type { AdmissionStatus } from "./admission/admission.ts";
import { claimDataDirectory, type DataDirectoryClaim } from "../journal/data-directory.ts";
import type { DiskSpace } from "./disk/reserve.ts";
import type { DiskStatus } from "./disk/watch.ts";
import { FRAME_KINDS } from "../journal/format.ts";
import { DamageWatch } from "./damage-watch.ts";
import { LedgerMetrics } from "./metrics.ts";
import type { HistogramCounts } from "../platform/histogram.ts";
import type { FramePlace } from "../journal/places.ts";
import { encodeBatchEvidence, addEvidenceId } from "../journal/proof.ts";
import type { FrameBatch } from "./frame-batch.ts";
import { AdmissionLimit } from "../concurrency/admission-limit.ts";
import type { EncodedFrames, FrameReceipts } from "./ledger.ts";
import type { BatchEvidence, OutcomeRecord } from "../journal/records.ts";
import type { RemoteEvent } from "./ordered/apply.ts";
import type { FromLedger, ReadyMessage, ReceiptsMessage, ToLedger } from "./messages.ts";
import {
  waitUntilLedgerReady,
  type LedgerOptions,
  type OpenLedger,
  type ReplayStatistics,
  startLedgerThread,
  type LedgerThread,
  wrapLedgerWorker,
} from "./start.ts";
import { type AwaitedOutcome, createJournalUnavailableFault } from "./receipts.ts";

export type { OpenLedger } from "./start.ts";

export { QUEUE_RECORDS_MAX } from "./append-queue.ts";

/**
 * Claims the data directory, starts the ledger thread and waits until the journal is replayed.
 * @throws DataDirectoryInUse when another process holds the directory, JournalDamaged (exit code
 *   65), JournalBroken (70).
 */
export async function startLedger(options: LedgerOptions): Promise<OpenLedger> {
  const claim = await claimDataDirectory(options.dataDir);
  try {
    const figures = new LedgerMetrics();
    const worker = startLedgerThread(options, claim, figures);
    const ready = await waitUntilLedgerReady(worker);
    return new LedgerClient(wrapLedgerWorker(worker), ready, claim, { ...options, figures });
  } catch (error) {
    await claim.release();
    throw error;
  }
}

/** Provenance notes accepted and not yet durable: by count and by bytes. */
export const NOTE_RECORDS_MAX = 1000;
export const NOTE_BYTES_MAX = 4 * 1024 * 1024;

/** Records that are not outcomes have no id and no signature of their own. */
const UNSIGNED_EVENT: AwaitedOutcome = { outcomeId: "", signature: "none" };

/** Ledger of the thread that started it, or of one that joined; then without a claim. */
export class LedgerClient implements OpenLedger {
  readonly replay: ReplayStatistics;
  readonly engineMemory: WebAssembly.Memory;
  readonly keyEvents: readonly Uint8Array[];
  readonly policies: readonly Uint8Array[];
  readonly access: readonly Uint8Array[];
  readonly weights: readonly Uint8Array[];
  readonly sources: readonly FramePlace[];
  readonly reviews: readonly Uint8Array[];
  readonly conditions: readonly Uint8Array[];
  rememberedSinceMs: number;
  readonly #onTable: (engineMemory: WebAssembly.Memory) => void;
  readonly #log: (event: string, detail: string) => void;
  readonly #onRemote: NonNullable<LedgerOptions["onRemote"]>;
  readonly #onAnnounced: LedgerOptions["onAnnounced"];
  readonly #onConfigInstalled: LedgerOptions["onConfigInstalled"];
  readonly #clock: () => number;
  readonly journal: DamageWatch;
  readonly figures: LedgerMetrics;
  readonly #thread: LedgerThread;
  readonly #claim: DataDirectoryClaim | undefined;
  readonly #onFatal: LedgerOptions["onFatal"];
  #lsn: number;
  #hasSpace = true;
  admission: AdmissionStatus = { refusedFull: 0, refusedLimited: 0, keysLimited: 0 };
  disk: DiskSpace = { freeBytes: Infinity, ballastBytes: 0, isLow: false };
  /** Set once nothing can be appended any more. */
  #endState: "closed" | "dead" | undefined;
  readonly #pendingInstalls = new PendingReplies((refusal) => new RangeError(refusal));
  readonly #pendingRotations = new PendingReplies(createJournalUnavailableFault);
  readonly #queue: AppendQueue;
  readonly #noteLimit = new AdmissionLimit({
    countMax: NOTE_RECORDS_MAX,
    bytesMax: NOTE_BYTES_MAX,
    detail: "too many notes are waiting",
  });
  #whenExited: Promise<void>;

  constructor(
    thread: LedgerThread,
    ready: ReadyMessage,
    claim: DataDirectoryClaim | undefined,
    options: Omit<LedgerOptions, "dataDir"> & { figures?: LedgerMetrics },
  ) {
    this.figures = options.figures ?? new LedgerMetrics();
    this.#thread = thread;
    this.#claim = claim;
    this.#onFatal = options.onFatal;
    this.#lsn = ready.lsn;
    this.engineMemory = ready.engineMemory ?? options.engineMemory;
    this.keyEvents = ready.keyEvents ?? [];
    this.policies = ready.policies ?? [];
    this.access = ready.access ?? [];
    this.weights = ready.weights ?? [];
    this.sources = ready.sources ?? [];
    this.reviews = ready.reviews ?? [];
    this.conditions = ready.conditions ?? [];
    this.rememberedSinceMs = ready.rememberedSinceMs;
    this.#clock = options.clock;
    this.#onTable = options.onTable ?? (() => undefined);
    this.#log = options.log ?? (() => undefined);
    this.#onRemote = options.onRemote ?? (() => undefined);
    this.#onAnnounced = options.onAnnounced;
    this.#onConfigInstalled = options.onConfigInstalled;
    const { appendAudit: append } = this;
    const log = this.#log;
    this.journal = new DamageWatch({ log, append, clock: options.clock });
    const { outcomes, durationMs, truncatedBytes, snapshotLsn, lastRecordMs } = ready;
    this.replay = { outcomes, durationMs, truncatedBytes, snapshotLsn, lastRecordMs };
    const post = (message: ToLedger & { kind: "append" }) =>
      this.#thread.postMessage(message, [message.frames]);
    this.#queue = new AppendQueue(post, () => this.#findEndFault(), options.clock);
    thread.onMessage((message) => this.#receive(message));
    thread.onError(() => this.#markDead(70));
    this.#whenExited = new Promise((resolve) => {
      thread.onExit(() => {
        if (this.#endState !== "closed") this.#markDead(70);
        resolve();
      });
    });
  }

  get pendingCount(): number {
    return this.#queue.count;
  }

  appendDurations(): HistogramCounts {
    return this.#queue.durationsSec.counts(0);
  }

  get notes(): { count: number; bytes: number } {
    return this.#noteLimit;
  }

  position(): number {
    return this.#lsn;
  }

  isHealthy(): boolean {
    return this.#hasSpace && this.#endState === undefined;
  }

  append(record: OutcomeRecord): Promise<OutcomeReceipt> {
    return this.#queue.addRecord(record, (batch) => batch.addOutcome(record));
  }

  appendFrames(frames: EncodedFrames): Promise<FrameReceipts> {
    return this.#queue.addFrames(frames);
  }

  async appendEvidence(evidence: Omit<BatchEvidence, "evidenceId">): Promise<string> {
    const whole = addEvidenceId(evidence);
    await this.#appendEvent(FRAME_KINDS.evidence, encodeBatchEvidence(whole));
    return whole.evidenceId;
  }

  readonly appendKeyEvent = this.#createAppender(FRAME_KINDS.key);
  readonly appendApiKey = this.#createAppender(FRAME_KINDS.access);
  readonly appendPolicy = this.#createAppender(FRAME_KINDS.policy);
  readonly appendCondition = this.#createAppender(FRAME_KINDS.condition);
  readonly appendNamespaceEvent = this.#createAppender(FRAME_KINDS.namespace);
  readonly appendAudit = this.#createAppender(FRAME_KINDS.audit);
  readonly appendConfig = this.#createAppender(FRAME_KINDS.config);
  readonly appendStandings = this.#createAppender(FRAME_KINDS.standings);
  readonly appendUsage = this.#createAppender(FRAME_KINDS.usage);
  readonly appendReview = this.#createAppender(FRAME_KINDS.review);
  readonly appendReviewEvent = this.#createAppender(FRAME_KINDS.reviewEvent);
  readonly appendKeyAudit = this.#createAppender(FRAME_KINDS.keyAudit);

  appendSource(bytes: Uint8Array): Promise<number> {
    return this.#appendEvent(FRAME_KINDS.evidence, bytes);
  }

  appendReviewCalls(bytes: Uint8Array): Promise<number> {
    return this.#appendEvent(FRAME_KINDS.reviewEvent, bytes);
  }

  appendProvenance(bytes: Uint8Array): Promise<number> {
    const { byteLength } = bytes;
    return this.#noteLimit.run(() => this.#appendEvent(FRAME_KINDS.provenance, bytes), byteLength);
  }

  installConfig(config: unknown): Promise<void> {
    return this.#request({ kind: "install", config }, this.#pendingInstalls);
  }

  rotateSigningKey(actor: string): Promise<void> {
    return this.#request({ kind: "rekey", nowMs: this.#clock(), actor }, this.#pendingRotations);
  }

  #request(message: ToLedger, pending: PendingReplies): Promise<void> {
    if (this.#endState !== undefined)
      return Promise.reject(createJournalUnavailableFault("the ledger is closed"));
    this.#post(message);
    return pending.wait();
  }

  join(port: MessagePort): void {
    this.#post({ kind: "join", port }, [port]);
  }

  #post(message: ToLedger, transfer: MessagePort[] = []): void {
    this.#thread.postMessage(message, transfer);
  }

  /** Appends events that must find room where outcomes have filled the queue. */
  #createAppender(kind: number): (bytes: Uint8Array) => Promise<number> {
    return (bytes) => this.#appendEvent(kind, bytes, true);
  }

  async #appendEvent(kind: number, payload: Uint8Array, isFirst = false): Promise<number> {
    const add = (batch: FrameBatch) => batch.addEvent(kind, payload);
    return (await this.#queue.addRecord(UNSIGNED_EVENT, add, isFirst)).position;
  }

  /** Waits for space instead of refusing: an import is as fast as the disk, not faster. */
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
    if (this.#endState === undefined) {
      this.#queue.flush();
      this.#endState = "closed";
      this.#post({ kind: "close" });
    }
    await this.#whenExited;
    this.#rejectAll("the ledger is closed");
    await this.#claim?.release();
  }

  #findEndFault(): ServiceFault | undefined {
    if (this.#endState === "closed") return createJournalUnavailableFault("the ledger is closed");
    return this.#endState === "dead"
      ? createJournalUnavailableFault("the ledger has failed")
      : undefined;
  }

  #receive(message: FromLedger): void {
    if (message.kind === "receipts") this.#applyReceipts(message);
    else if (message.kind === "installed") this.#settleInstall(message.refusal);
    else if (message.kind === "rekeyed") this.#pendingRotations.settleOldest(message.refusal);
    else if (message.kind === "table") this.#onTable(message.engineMemory);
    else if (message.kind === "health") this.#applyDiskStatus(message);
    else if (message.kind === "admission") this.admission = message;
    else if (message.kind === "remote") this.#dispatchRemoteEvents(message.events);
    else if (message.kind === "announced") this.#onAnnounced?.(message.records, message.lsn);
    else if (message.kind === "note") this.#log(message.event, message.detail);
    else if (message.kind === "scrub") this.journal.applyScrub(message);
    else if (message.kind === "failed") this.#markDead(message.exitCode, message.why);
  }

  #settleInstall(refusal: string | undefined): void {
    this.#pendingInstalls.settleOldest(refusal);
    if (refusal === undefined) this.#onConfigInstalled?.();
  }

  #applyDiskStatus({ isHealthy, space }: DiskStatus): void {
    this.#hasSpace = isHealthy;
    this.disk = space;
  }

  /** Further threads apply what was posted to them before they answer another request. */
  #dispatchRemoteEvents(events: readonly RemoteEvent[]): void {
    this.#onRemote(events);
    this.#post({ kind: "taken" });
  }

  #applyReceipts(message: ReceiptsMessage): void {
    this.#lsn = message.lsn;
    this.rememberedSinceMs = message.rememberedSinceMs;
    this.#queue.settleOldestMessage(message);
  }

  #markDead(exitCode: number, why?: string): void {
    if (this.#endState === "dead") return;
    this.#endState = "dead";
    this.#rejectAll("the ledger has failed");
    this.#onFatal(exitCode, why);
  }

  #rejectAll(why: string): void {
    this.#queue.rejectAll(createJournalUnavailableFault(why));
    for (const asked of [this.#pendingInstalls, this.#pendingRotations])
      asked.rejectAll(createJournalUnavailableFault(why));
  }
}

/** Requests that the ledger thread has not answered yet. It answers in order. */
class PendingReplies {
  readonly #pending: { resolve: () => void; reject: (error: Error) => void }[] = [];
  readonly #buildError: (refusal: string) => Error;

  constructor(buildError: (refusal: string) => Error) {
    this.#buildError = buildError;
  }

  /** Settles with the next answer that no earlier request waits for. */
  wait(): Promise<void> {
    return new Promise((resolve, reject) => this.#pending.push({ resolve, reject }));
  }

  /** Settles the oldest request; `refusal` says why it was refused. */
  settleOldest(refusal: string | undefined): void {
    const oldest = this.#pending.shift();
    if (refusal === undefined) oldest?.resolve();
    else oldest?.reject(this.#buildError(refusal));
  }

  rejectAll(error: Error): void {
    for (const { reject } of this.#pending.splice(0)) reject(error);
  }
}
