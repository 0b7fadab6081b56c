// The ledger's one path of evidence, in the thread that owns it: guard against replays, journal,
// sync, remember, fold, answer. In that order: nothing is folded or acknowledged before it is
// durable.
import type { BureauKey } from "../journal/signing-key.ts";
import { AgentTableAdmission, markBulkRefused } from "./admission/admission.ts";
import type { TableCapacity } from "../engine/reading.ts";
import { type FileLayer, readFileRange } from "../platform/files.ts";
import type { NewcomersPerHour } from "./admission/newcomer-limits.ts";
import { DiskReserve, type DiskSpace } from "./disk/reserve.ts";
import type { ReplayTable } from "./replay-table.ts";
import { JournalFull } from "../journal/faults.ts";
import type { FramePlace } from "../journal/places.ts";
import { JournalReader } from "../journal/reader.ts";
import { type KnownDurablePosition, recoverJournal } from "../journal/recovery.ts";
import { type FrameRun, JournalWriter } from "../journal/writer.ts";
import type { AnnouncedRecord } from "./announced-record.ts";
import { LedgerState } from "./state.ts";
import type { StreamProgress } from "./ordered/progress.ts";
import { type AppliedMessages, OrderedApplier } from "./ordered/apply.ts";
import type { OrderedMessage } from "./ordered/message.ts";
import { Refold, type RefoldTable } from "./refold.ts";
import type { Fence } from "../journal/ownership/fence.ts";
import type { LedgerMetrics } from "./metrics.ts";
import type { FoldTarget } from "./table-fold.ts";
import type { LoadedSnapshot, SnapshotContents } from "./snapshot/files.ts";
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
import { join } from "node:path";
import {
  FRAME_HEAD_BYTES,
  readFrameTimeUs,
  SEGMENT_HEADER_BYTES,
  parseSegmentNames,
} from "../journal/format.ts";

export interface LedgerCoreOptions extends FoldTarget {
  files: FileLayer;
  /** The journal directory. */
  directory: string;
  key: BureauKey;
  /** Stored in the segments' headers. */
  epoch: number;
  /** The ordered log that feeds this journal; left out: `commit` does. */
  ordered?: { readonly generation: number; readonly origin: string } | undefined;
  /** Tells when another process has become the owner; looked at once a second. */
  fence?: Fence | undefined;
  /**
   * Makes an empty table; after its `publish`, `fold` means that one. Without it a revocation of a
   * compromised key affects only later records.
   */
  freshTable?: () => RefoldTable;
  /** Epoch ms: decides which replayed identities are still worth remembering. */
  nowMs: number;
  /** State that the table behind `fold` holds already: only later records are replayed. */
  start?: LoadedSnapshot | undefined;
  /** The journal must reach at least this position. */
  known?: KnownDurablePosition | undefined;
  segmentBytesMax?: number;
  replayEntriesMax?: number;
  /** Ballast and watermark of the disk (DiskReserve); 0, none, when left out. */
  reserveBytes?: number;
  /** Room of the table behind `fold`; left out: it takes everything, and no key is limited. */
  room?: TableCapacity;
  newcomersPerHour?: NewcomersPerHour | undefined;
  /** Counts what becomes durable. */
  figures?: LedgerMetrics | undefined;
  /** Kinds of records that `takeAnnounced` returns; none when left out. */
  announcedKinds?: readonly number[] | undefined;
}

export class LedgerCore {
  readonly truncatedBytes: number;
  /** Time of the last record at the start, epoch ms; undefined in a new journal. */
  readonly lastRecordMs: number | undefined;
  readonly #options: LedgerCoreOptions;
  readonly #journal: JournalWriter;
  readonly #state: LedgerState;
  readonly #reserve: DiskReserve;
  readonly #applier: OrderedApplier;
  /** Undefined without a capacity to judge by. */
  readonly admission: AgentTableAdmission | undefined;
  #refolding: Refold | undefined;
  /** False after the disk was full, until a write has succeeded again. */
  #hasSpace = true;

  /**
   * Opens the journal: recovers, replays every outcome into `fold`, and is ready to commit.
   * @throws JournalDamaged when evidence in the middle does not verify, or its end is missing.
   * @throws JournalPointUnknown, before it folds, when the journal does not pass through `start`.
   */
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
    this.#state.announcedKinds = new Set(options.announcedKinds);
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

  /** Records of the announced kinds that became durable since the last call, in order. */
  takeAnnounced(): AnnouncedRecord[] {
    return this.#state.takeAnnounced();
  }

  get syncCount(): number {
    return this.#journal.syncCount;
  }

  /** False while the disk is full or nearly so. */
  get isHealthy(): boolean {
    return this.#hasSpace && !this.#reserve.space.isLow;
  }

  get space(): DiskSpace {
    return this.#reserve.space;
  }

  get isRefolding(): boolean {
    return this.#state.isRefoldDue || this.#refolding !== undefined;
  }

  /** The replay guard, for snapshots. */
  get guard(): ReplayTable {
    return this.#state.guard;
  }

  /** Every replay identity recorded since then (epoch ms) is remembered. */
  get rememberedSinceMs(): number {
    return this.#state.guard.rememberedSinceMs;
  }

  /** Payloads of all events of the reporters' registry, in order. */
  get keyEvents(): readonly Buffer[] {
    return this.#state.keyEvents;
  }

  /** Payloads of all policies that tenants have set, in order. */
  get policies(): readonly Buffer[] {
    return this.#state.policies;
  }

  /** Changes of the weights that came through the ordered log, in order. */
  get weights(): readonly Buffer[] {
    return this.#state.weights;
  }

  /** Current API keys, where they came through the ordered log: their stored form as JSON. */
  get access(): Iterable<Buffer> {
    return this.#state.access.values();
  }

  /** Places of the vault's sources in the journal, in order. */
  get sources(): readonly FramePlace[] {
    return this.#state.sources;
  }

  get replayedOutcomes(): number {
    return this.#state.replayedOutcomes;
  }

  /** The last commit, and everything that a later start must know of the records up to it. */
  buildSnapshotContents(): SnapshotContents {
    const { lsn, chain } = this.#journal;
    const { outcomes, keyEvents, policies, sources, reviews, conditions } = this.#state;
    const { access, weights, standingsOrder } = this.#state;
    const beside = { access: access.values(), weights, standings: standingsOrder.newest };
    const stream = this.progress.encode(beside);
    return { lsn, chain, outcomes, keyEvents, policies, sources, reviews, conditions, stream };
  }

  /** The last commit's position and chain: equal on all nodes of a cluster at the same place. */
  get lastCommit(): { readonly lsn: number; readonly chain: Buffer } {
    return this.#journal;
  }

  /** Place along the ordered log. */
  get progress(): StreamProgress {
    return this.#state.progress;
  }

  /**
   * Applies messages of the ordered log, in order: one sync for all. As many as the disk has room for.
   * @throws MessageOutOfSequence when a message does not follow the last one, MessageRulesUnsupported,
   *   JournalBroken and OwnershipLost as `commit`.
   */
  applyMessages(messages: readonly OrderedMessage[]): AppliedMessages {
    this.#options.fence?.assertOwner();
    this.#reserve.checkSpace();
    const applied = this.#applier.applyMessages(messages);
    this.#hasSpace = !applied.isFull;
    return applied;
  }

  /**
   * One commit: all runs, one sync. Results are in order of the records; a disk that is (nearly)
   * full is one of them (`VERDICT_DISK_FULL`).
   * @throws JournalBroken when a write or sync failed, OwnershipLost when another process writes.
   */
  commit(runs: readonly FrameRun[], nowMs: number): CommitResult[] {
    this.#options.fence?.assertOwnerIfDue(nowMs);
    const { countsTransactions } = this.#state.progress;
    const records = runs.flatMap((run) => splitRun(run, countsTransactions));
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

  /**
   * Continues the re-fold that a revocation asked for, by at most `countMax` records.
   * @returns whether there is more to do.
   */
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

  /** Signs with another key from the next record on. */
  useKey(key: BureauKey): void {
    this.#journal.useKey(key);
  }

  /**
   * Checks the disk, tries to write again after it was full, and grows the ballast by a slice.
   * @returns whether the ballast still grows: call again soon.
   * @throws JournalBroken when the journal can no longer vouch for the disk, or OwnershipLost.
   */
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

/** Time (epoch ms) of the first record of the newest segment that has one; undefined without. */
function readNewestSegmentStartMs(files: FileLayer, directory: string): number | undefined {
  for (const { name } of parseSegmentNames(files.list(directory)).toReversed()) {
    const path = join(directory, name);
    const frame = readFileRange(files, path, SEGMENT_HEADER_BYTES, FRAME_HEAD_BYTES);
    const isWhole = frame.byteLength === FRAME_HEAD_BYTES;
    const ms = isWhole ? readFrameTimeUs(frame, 0) / 1000 : 0;
    if (ms > 0) return ms;
  }
  return undefined;
}

/** Time (epoch ms) of the record at `lsn`, the last one; undefined where there is none. */
function readLastRecordMs(files: FileLayer, directory: string, lsn: number): number | undefined {
  if (lsn === 0) return undefined;
  const reader = new JournalReader(files, directory);
  let ms: number | undefined;
  try {
    reader.readRecords(lsn - 1, lsn, 1, (bytes, at) => (ms = readFrameTimeUs(bytes, at) / 1000));
  } finally {
    reader.close();
  }
  return ms;
}
