// The ledger's one path of evidence, in the thread that owns it: guard against replays, journal,
// sync, remember, fold, answer. In that order: nothing is folded or acknowledged before it is
// durable.
import type { BureauKey } from "../journal/signing-key.ts";
import { Admission, refuseBulk } from "./admission/admission.ts";
import type { LedgerCore, LedgerCoreOptions } from "./core-port.ts";
import { DiskReserve, type DiskSpace } from "./disk/reserve.ts";
import type { ReplayTable } from "./replay-table.ts";
import { JournalFull } from "../journal/faults.ts";
import type { FramePlace } from "../journal/places.ts";
import { openJournalReader } from "../journal/reader.ts";
import { recoverJournal } from "../journal/recovery.ts";
import { lastRecordMs, newestSegmentMs } from "./recorded-times.ts";
import { type FrameRun, type JournalWriter, openJournalWriter } from "../journal/writer.ts";
import { LedgerState } from "./state.ts";
import type { StreamProgress } from "./ordered/progress.ts";
import { type Applied, OrderedApplier } from "./ordered/apply.ts";
import type { OrderedMessage } from "./ordered/message.ts";
import { Refold } from "./refold.ts";
import type { SnapshotPoint } from "./snapshot/files.ts";
import {
  type CommitResult,
  encodeReplayAudits,
  guardCommit,
  type Pending,
  encodeFrameRun,
  settleRepeat,
  splitRun,
  VERDICT_RECORDED,
  VERDICT_UNAVAILABLE,
} from "./replay-guard.ts";

export type { LedgerCore, LedgerCoreOptions } from "./core-port.ts";

/**
 * Opens the journal: recovers, replays every outcome into `fold`, and is ready to commit.
 * @throws JournalDamaged when evidence in the middle does not verify, or its end is missing.
 * @throws JournalPointUnknown, before it folds, when the journal does not pass through `start`.
 */
export function openLedgerCore(options: LedgerCoreOptions): LedgerCore {
  return new Core(options);
}

class Core implements LedgerCore {
  readonly truncatedBytes: number;
  readonly lastRecordMs: number | undefined;
  readonly #options: LedgerCoreOptions;
  readonly #journal: JournalWriter;
  readonly #state: LedgerState;
  readonly #reserve: DiskReserve;
  readonly #applier: OrderedApplier;
  readonly admission: Admission | undefined;
  #refolding: Refold | undefined;
  /** False after the disk was full, until a write has succeeded again. */
  #hasSpace = true;

  constructor(options: LedgerCoreOptions) {
    const { files, directory, key, epoch, start, segmentBytesMax } = options;
    this.#options = options;
    const { room, newcomersPerHour, nowMs } = options;
    this.admission = room && new Admission(room, newcomersPerHour);
    files.makeDirectory(directory);
    // A clock that was set forward must not make this start forget.
    // Nodes of a cluster must remember the same, whenever each was started.
    const isOrdered = options.ordered !== undefined;
    const guardMs = isOrdered ? 0 : Math.min(nowMs, newestSegmentMs(files, directory) ?? nowMs);
    this.#state = new LedgerState(options, guardMs, options.replayEntriesMax);
    if (start !== undefined) this.#state.resume(start);
    const recovery = recoverJournal(
      files,
      directory,
      (bytes, at, lsn, segment) => this.#state.replay(bytes, at, lsn, segment),
      { known: options.known, ...(start === undefined ? {} : { from: start }) },
    );
    this.truncatedBytes = recovery.truncatedBytes;
    // The first bytes of its first key name the node.
    const nodeId = recovery.tail.header?.nodeId ?? key.publicKey.subarray(0, 16);
    const size = segmentBytesMax === undefined ? {} : { segmentBytesMax };
    const { fence } = options;
    const opened = { files, directory, key, nodeId, epoch, fence, tail: recovery.tail };
    this.#journal = openJournalWriter({ ...opened, ...size });
    this.lastRecordMs = lastRecordMs(files, directory, this.#journal.lsn);
    if (!isOrdered) this.#state.guard.beginAt(nowMs, this.lastRecordMs);
    this.#reserve = new DiskReserve(files, directory, options.reserveBytes ?? 0);
    const { ordered = { generation: 0, origin: "" }, figures } = options;
    const { admission } = this;
    const parts = { journal: this.#journal, state: this.#state, figures, admission };
    this.#applier = new OrderedApplier({ ...ordered, ...parts });
    // Records before their key's revocation were folded by now; no reader has seen them yet.
    while (this.isRefolding) this.refold(Number.POSITIVE_INFINITY);
  }

  get lsn(): number {
    return this.#journal.lsn;
  }

  get syncCount(): number {
    return this.#journal.syncCount;
  }

  get isHealthy(): boolean {
    return this.#hasSpace && !this.#reserve.space.isLow;
  }

  get space(): DiskSpace {
    return this.#reserve.space;
  }

  get isRefolding(): boolean {
    return this.#state.isRefoldDue || this.#refolding !== undefined;
  }

  get guard(): ReplayTable {
    return this.#state.guard;
  }

  get rememberedSinceMs(): number {
    return this.#state.guard.rememberedSinceMs;
  }

  get keyEvents(): readonly Buffer[] {
    return this.#state.keyEvents;
  }

  get policies(): readonly Buffer[] {
    return this.#state.policies;
  }

  get weights(): readonly Buffer[] {
    return this.#state.weights;
  }

  get access(): Iterable<Buffer> {
    return this.#state.access.values();
  }

  get sources(): readonly FramePlace[] {
    return this.#state.sources;
  }

  get replayedOutcomes(): number {
    return this.#state.replayedOutcomes;
  }

  point(): SnapshotPoint {
    const { lsn, chain } = this.#journal;
    const { outcomes, keyEvents, policies, sources, reviews } = this.#state;
    const { access, weights, batches } = this.#state;
    const beside = { access: access.values(), weights, standings: batches.newest };
    const stream = this.progress.encode(beside);
    return { lsn, chain, outcomes, keyEvents, policies, sources, reviews, stream };
  }

  get tip() {
    return this.#journal;
  }

  get progress(): StreamProgress {
    return this.#state.progress;
  }

  apply(messages: readonly OrderedMessage[]): Applied {
    this.#options.fence?.look();
    this.#reserve.look();
    const applied = this.#applier.apply(messages);
    this.#hasSpace = !applied.isFull;
    return applied;
  }

  commit(runs: readonly FrameRun[], nowMs: number): CommitResult[] {
    this.#options.fence?.check(nowMs);
    const records = runs.flatMap(splitRun);
    guardCommit(records, (identity) => this.#state.guard.find(identity));
    this.#reserve.look();
    if (this.#reserve.space.isLow) refuseBulk(records);
    this.admission?.refuse(records, nowMs);
    const fresh = records.filter((record) => record.result.verdict === VERDICT_RECORDED);
    const audit = encodeReplayAudits(records, nowMs);
    if (fresh.length > 0 || audit.count > 0) {
      const toWrite = fresh.length === records.length ? runs : fresh.map(encodeFrameRun);
      this.#record(fresh, audit.count === 0 ? toWrite : [...toWrite, audit], nowMs);
    }
    for (const record of records) settleRepeat(record);
    return records.map((record) => record.result);
  }

  refold(countMax: number): boolean {
    const { files, directory, freshTable } = this.#options;
    if (this.#state.isRefoldDue) {
      this.#state.isRefoldDue = false;
      this.#refolding?.close();
      if (freshTable === undefined) return false;
      const reader = openJournalReader(files, directory);
      this.#refolding = new Refold(reader, freshTable(), this.#state.exclusions);
    }
    if (this.#refolding?.step(this.lsn, countMax) === true) this.#refolding = undefined;
    return this.isRefolding;
  }

  useKey(key: BureauKey): void {
    this.#journal.useKey(key);
  }

  probe(): boolean {
    this.#options.fence?.look();
    try {
      if (!this.#hasSpace) this.#journal.probe();
      this.#hasSpace = true;
    } catch (error) {
      if (!(error instanceof JournalFull)) throw error;
    }
    this.#reserve.look();
    return this.#reserve.restore();
  }

  close(): void {
    // Parts that close after the journal have files of their own to finish.
    if (!this.isHealthy) this.#reserve.release();
    this.#refolding?.close();
    this.#journal.close();
  }

  #record(fresh: readonly Pending[], runs: readonly FrameRun[], nowMs: number): void {
    const firstLsn = this.#journal.lsn + 1;
    try {
      this.#append(runs, nowMs);
      this.#hasSpace = true;
    } catch (error) {
      this.#hasSpace = false;
      if (!(error instanceof JournalFull)) throw error;
      for (const record of fresh) record.result.verdict = VERDICT_UNAVAILABLE;
      return;
    }
    const { figures } = this.#options;
    figures?.committed(fresh.length, this.#journal.lastSyncMs, this.#journal.lsn);
    const { segment, offset } = this.#journal.batchPlace;
    let at = offset;
    this.admission?.begin();
    for (const [index, record] of fresh.entries()) {
      this.#state.record(record, firstLsn + index, { segment, offset: at });
      this.admission?.book(record, nowMs);
      figures?.recorded(record.run.bytes, record.at);
      at += record.end - record.at;
    }
  }

  /** Runs accepted before the disk turned out to be full have the ballast's space to finish in. */
  #append(runs: readonly FrameRun[], nowMs: number): void {
    try {
      this.#journal.append(runs, nowMs * 1000);
    } catch (error) {
      if (!(error instanceof JournalFull) || !this.#reserve.release()) throw error;
      this.#journal.append(runs, nowMs * 1000);
      this.#reserve.look();
    }
  }
}
