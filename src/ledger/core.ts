// The ledger's one path of evidence, in the thread that owns it: guard against replays, journal,
// sync, remember, fold, answer. In that order: nothing is folded or acknowledged before it is
// durable.
import type { BureauKey } from "../journal/signing-key.ts";
import { AgentTableAdmission, markBulkRefused } from "./admission/admission.ts";
import type { LedgerCore, LedgerCoreOptions } from "./core-port.ts";
import { DiskReserve, type DiskSpace } from "./disk/reserve.ts";
import type { ReplayTable } from "./replay-table.ts";
import { JournalFull } from "../journal/faults.ts";
import type { FramePlace } from "../journal/places.ts";
import { JournalReader } from "../journal/reader.ts";
import { recoverJournal } from "../journal/recovery.ts";
import { readLastRecordMs, readNewestSegmentStartMs } from "./recorded-times.ts";
import { type FrameRun, JournalWriter } from "../journal/writer.ts";
import { LedgerState } from "./state.ts";
import type { StreamProgress } from "./ordered/progress.ts";
import { type AppliedMessages, OrderedApplier } from "./ordered/apply.ts";
import type { OrderedMessage } from "./ordered/message.ts";
import { Refold } from "./refold.ts";
import type { SnapshotContents } from "./snapshot/files.ts";
import {
  type CommitResult,
  encodeReplayAudits,
  markRepeats,
  type PendingRecord,
  sliceFrameRun,
  copyFirstResult,
  splitRun,
  VERDICT_RECORDED,
  VERDICT_DISK_FULL,
} from "./replay-guard.ts";

export type { LedgerCore, LedgerCoreOptions } from "./core-port.ts";

/**
 * Opens the journal: recovers, replays every outcome into `fold`, and is ready to commit.
 * @throws JournalDamaged when evidence in the middle does not verify, or its end is missing.
 * @throws JournalPointUnknown, before it folds, when the journal does not pass through `start`.
 */
export function openLedgerCore(options: LedgerCoreOptions): LedgerCore {
  return new JournaledLedgerCore(options);
}

class JournaledLedgerCore implements LedgerCore {
  readonly truncatedBytes: number;
  readonly lastRecordMs: number | undefined;
  readonly #options: LedgerCoreOptions;
  readonly #journal: JournalWriter;
  readonly #state: LedgerState;
  readonly #reserve: DiskReserve;
  readonly #applier: OrderedApplier;
  readonly admission: AgentTableAdmission | undefined;
  #refolding: Refold | undefined;
  /** False after the disk was full, until a write has succeeded again. */
  #hasSpace = true;

  constructor(options: LedgerCoreOptions) {
    const { files, directory, key, epoch, start, segmentBytesMax } = options;
    this.#options = options;
    const { room, newcomersPerHour, nowMs } = options;
    this.admission = room && new AgentTableAdmission(room, newcomersPerHour);
    files.makeDirectory(directory);
    // A clock that was set forward must not make this start forget.
    // Nodes of a cluster must remember the same, whenever each was started.
    const isOrdered = options.ordered !== undefined;
    const guardMs = isOrdered
      ? 0
      : Math.min(nowMs, readNewestSegmentStartMs(files, directory) ?? nowMs);
    this.#state = new LedgerState(options, guardMs, options.replayEntriesMax);
    if (start !== undefined) this.#state.restoreFromSnapshot(start);
    const recovery = recoverJournal(
      files,
      directory,
      (bytes, at, lsn, segment) => this.#state.replayRecord(bytes, at, lsn, segment),
      { known: options.known, ...(start === undefined ? {} : { from: start }) },
    );
    this.truncatedBytes = recovery.truncatedBytes;
    const { fence } = options;
    const { tail } = recovery;
    this.#journal = new JournalWriter({
      files,
      directory,
      key,
      epoch,
      fence,
      tail,
      segmentBytesMax,
    });
    this.lastRecordMs = readLastRecordMs(files, directory, this.#journal.lsn);
    if (!isOrdered) this.#state.guard.pauseEvictionAfterLongStop(nowMs, this.lastRecordMs);
    this.#reserve = new DiskReserve(files, directory, options.reserveBytes ?? 0);
    const { ordered = { generation: 0, origin: "" }, figures } = options;
    const { admission } = this;
    const parts = { journal: this.#journal, state: this.#state, figures, admission };
    this.#applier = new OrderedApplier({ ...ordered, ...parts });
    // Records before their key's revocation were folded by now; no reader has seen them yet.
    while (this.isRefolding) this.continueRefold(Number.POSITIVE_INFINITY);
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

  buildSnapshotContents(): SnapshotContents {
    const { lsn, chain } = this.#journal;
    const { outcomes, keyEvents, policies, sources, reviews } = this.#state;
    const { access, weights, standingsOrder } = this.#state;
    const beside = { access: access.values(), weights, standings: standingsOrder.newest };
    const stream = this.progress.encode(beside);
    return { lsn, chain, outcomes, keyEvents, policies, sources, reviews, stream };
  }

  get lastCommit() {
    return this.#journal;
  }

  get progress(): StreamProgress {
    return this.#state.progress;
  }

  applyMessages(messages: readonly OrderedMessage[]): AppliedMessages {
    this.#options.fence?.assertOwner();
    this.#reserve.checkSpace();
    const applied = this.#applier.applyMessages(messages);
    this.#hasSpace = !applied.isFull;
    return applied;
  }

  commit(runs: readonly FrameRun[], nowMs: number): CommitResult[] {
    this.#options.fence?.assertOwnerIfDue(nowMs);
    const records = runs.flatMap(splitRun);
    markRepeats(records, (identity) => this.#state.guard.find(identity));
    this.#reserve.checkSpace();
    if (this.#reserve.space.isLow) markBulkRefused(records);
    this.admission?.markRefused(records, nowMs);
    const fresh = records.filter((record) => record.result.verdict === VERDICT_RECORDED);
    const audit = encodeReplayAudits(records, nowMs);
    if (fresh.length > 0 || audit.count > 0) {
      const toWrite = fresh.length === records.length ? runs : fresh.map(sliceFrameRun);
      this.#appendAndFold(fresh, audit.count === 0 ? toWrite : [...toWrite, audit], nowMs);
    }
    for (const record of records) copyFirstResult(record);
    return records.map((record) => record.result);
  }

  continueRefold(countMax: number): boolean {
    const { files, directory, freshTable } = this.#options;
    if (this.#state.isRefoldDue) {
      this.#state.isRefoldDue = false;
      this.#refolding?.close();
      if (freshTable === undefined) return false;
      const reader = new JournalReader(files, directory);
      this.#refolding = new Refold(reader, freshTable(), this.#state.exclusions);
    }
    if (this.#refolding?.foldSlice(this.lsn, countMax) === true) this.#refolding = undefined;
    return this.isRefolding;
  }

  useKey(key: BureauKey): void {
    this.#journal.useKey(key);
  }

  probeDisk(): boolean {
    this.#options.fence?.assertOwner();
    try {
      if (!this.#hasSpace) this.#journal.probeSpace();
      this.#hasSpace = true;
    } catch (error) {
      if (!(error instanceof JournalFull)) throw error;
    }
    this.#reserve.checkSpace();
    return this.#reserve.growBallast();
  }

  close(): void {
    // Parts that close after the journal have files of their own to finish.
    if (!this.isHealthy) this.#reserve.releaseBallast();
    this.#refolding?.close();
    this.#journal.close();
  }

  #appendAndFold(fresh: readonly PendingRecord[], runs: readonly FrameRun[], nowMs: number): void {
    const firstLsn = this.#journal.lsn + 1;
    try {
      this.#appendOrReleaseBallast(runs, nowMs);
      this.#hasSpace = true;
    } catch (error) {
      this.#hasSpace = false;
      if (!(error instanceof JournalFull)) throw error;
      for (const record of fresh) record.result.verdict = VERDICT_DISK_FULL;
      return;
    }
    const { figures } = this.#options;
    figures?.countCommit(fresh.length, this.#journal.lastSyncDurationMs, this.#journal.lsn);
    const { segment, offset } = this.#journal.batchPlace;
    let at = offset;
    this.admission?.beginCommit();
    for (const [index, record] of fresh.entries()) {
      this.#state.applyDurableRecord(record, firstLsn + index, { segment, offset: at });
      this.admission?.chargeRecord(record, nowMs);
      figures?.countRecord(record.run.bytes, record.at);
      at += record.end - record.at;
    }
  }

  /** Runs accepted before the disk turned out to be full have the ballast's space to finish in. */
  #appendOrReleaseBallast(runs: readonly FrameRun[], nowMs: number): void {
    try {
      this.#journal.append(runs, nowMs * 1000);
    } catch (error) {
      if (!(error instanceof JournalFull) || !this.#reserve.releaseBallast()) throw error;
      this.#journal.append(runs, nowMs * 1000);
      this.#reserve.checkSpace();
    }
  }
}
