// The ledger's one path of evidence, in the thread that owns it: guard against replays, journal,
// sync, remember, fold, answer. In that order: nothing is folded or told before it is durable.
import type { BureauKey } from "../journal/signing-key.ts";
import type { FileLayer } from "../journal/files.ts";
import { DiskReserve, type DiskRoom } from "./disk-reserve.ts";
import type { ReplayTable } from "./replay-table.ts";
import { JournalFull } from "../journal/faults.ts";
import { FRAME_KINDS, frameKind } from "../journal/format.ts";
import type { FramePlace } from "../journal/places.ts";
import { openJournalReader } from "../journal/reader.ts";
import { recoverJournal } from "../journal/recovery.ts";
import { type FrameRun, type JournalWriter, openJournalWriter } from "../journal/writer.ts";
import { type FoldTarget, LedgerState } from "./state.ts";
import { FrameBatch } from "./frame-batch.ts";
import { type FreshTable, Refold } from "./refold.ts";
import type { SnapshotPoint, SnapshotStart } from "./snapshot/files.ts";
import {
  type CommitResult,
  equivocationEvent,
  guardCommit,
  type Pending,
  runOf,
  settleRepeat,
  splitRun,
  VERDICT_RECORDED,
  VERDICT_REPLAYED,
  VERDICT_UNAVAILABLE,
} from "./replay-guard.ts";

export interface LedgerCoreOptions extends FoldTarget {
  files: FileLayer;
  /** The journal directory. */
  directory: string;
  key: BureauKey;
  epoch: number;
  /**
   * Makes an empty table; after its `publish`, `fold` means that one. Needed once a key is revoked
   * as compromised: without it such a revocation takes effect on what comes after it alone.
   */
  freshTable?: () => FreshTable;
  /** Epoch ms: which replayed identities are still worth remembering. */
  nowMs: number;
  /** What the table behind `fold` holds already: only what comes after is replayed. */
  start?: SnapshotStart | undefined;
  segmentBytesMax?: number;
  replayEntriesMax?: number;
  /** Ballast and watermark of the disk (DiskReserve); 0, none, when left out. */
  reserveBytes?: number;
}

export interface LedgerCore {
  /**
   * One commit: all runs, one sync. Results are in order of the records.
   * A disk that is full, or too nearly full for outcomes, is a result (`VERDICT_UNAVAILABLE`);
   * JournalBroken is thrown.
   */
  commit(runs: readonly FrameRun[], nowMs: number): CommitResult[];
  /**
   * Goes on with the re-fold that a revocation asked for, by at most `countMax` records.
   * @returns whether there is more to do.
   */
  refold(countMax: number): boolean;
  /**
   * Looks at the disk, asks it for room after it was full, and goes on with the ballast by a slice.
   * Throws JournalBroken only.
   * @returns whether the ballast still grows: call again soon.
   */
  probe(): boolean;
  /** The last commit, and what a later start must know of everything up to it. */
  point(): SnapshotPoint;
  readonly isRefolding: boolean;
  /** Payloads of all events of the reporters' registry, in order. */
  readonly keyEvents: readonly Buffer[];
  /** Replay identities recorded since are all remembered. */
  readonly rememberedSinceMs: number;
  /** The replay guard, for snapshots. */
  readonly guard: ReplayTable;
  /** Where the vault's sources stand in the journal, in order. */
  readonly sources: readonly FramePlace[];
  readonly room: DiskRoom;
  /** False while the disk is full or nearly so. */
  readonly isHealthy: boolean;
  readonly lsn: number;
  readonly syncCount: number;
  readonly replayedOutcomes: number;
  readonly truncatedBytes: number;
  close(): void;
}

/**
 * Opens the journal: recovers, replays every outcome into `fold`, and is ready to commit.
 * @throws JournalDamaged when evidence in the middle does not verify.
 * @throws JournalPointUnknown, before it folds, when `start` is of no use.
 */
export function openLedgerCore(options: LedgerCoreOptions): LedgerCore {
  return new Core(options);
}

class Core implements LedgerCore {
  readonly truncatedBytes: number;
  readonly #options: LedgerCoreOptions;
  readonly #journal: JournalWriter;
  readonly #state: LedgerState;
  readonly #reserve: DiskReserve;
  #refolding: Refold | undefined;
  /** False after the disk was full, until it has taken something again. */
  #hasRoom = true;

  constructor(options: LedgerCoreOptions) {
    const { files, directory, key, epoch, start, segmentBytesMax } = options;
    this.#options = options;
    this.#state = new LedgerState(options, options.nowMs, options.replayEntriesMax);
    files.makeDirectory(directory);
    if (start !== undefined) this.#state.resume(start);
    const recovery = recoverJournal(
      files,
      directory,
      (bytes, at, lsn, segment) => this.#state.replay(bytes, at, lsn, segment),
      start === undefined ? {} : { from: start },
    );
    this.truncatedBytes = recovery.truncatedBytes;
    // One key per node: its first bytes name the node.
    const nodeId = key.publicKey.subarray(0, 16);
    this.#journal = openJournalWriter({
      files,
      directory,
      key,
      nodeId,
      epoch,
      tail: recovery.tail,
      ...(segmentBytesMax === undefined ? {} : { segmentBytesMax }),
    });
    this.#reserve = new DiskReserve(files, directory, options.reserveBytes ?? 0);
    // What came before its key's revocation was folded by now: nobody has read it yet.
    while (this.isRefolding) this.refold(Number.POSITIVE_INFINITY);
  }

  get lsn(): number {
    return this.#journal.lsn;
  }

  get syncCount(): number {
    return this.#journal.syncCount;
  }

  get isHealthy(): boolean {
    return this.#hasRoom && !this.#reserve.room.isLow;
  }

  get room(): DiskRoom {
    return this.#reserve.room;
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

  get sources(): readonly FramePlace[] {
    return this.#state.sources;
  }

  get replayedOutcomes(): number {
    return this.#state.replayedOutcomes;
  }

  point(): SnapshotPoint {
    const { lsn, chain } = this.#journal;
    const { outcomes, keyEvents, sources } = this.#state;
    return { lsn, chain, outcomes, keyEvents, sources };
  }

  commit(runs: readonly FrameRun[], nowMs: number): CommitResult[] {
    const records = runs.flatMap(splitRun);
    guardCommit(records, (identity) => this.#state.guard.find(identity));
    this.#reserve.look();
    if (this.#reserve.room.isLow) refuseBulk(records);
    const fresh = records.filter((record) => record.result.verdict === VERDICT_RECORDED);
    const audit = auditOf(records, nowMs);
    if (fresh.length > 0 || audit.count > 0) {
      const toWrite = fresh.length === records.length ? runs : fresh.map(runOf);
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

  probe(): boolean {
    try {
      if (!this.#hasRoom) this.#journal.probe();
      this.#hasRoom = true;
    } catch (error) {
      if (!(error instanceof JournalFull)) throw error;
    }
    this.#reserve.look();
    return this.#reserve.restore();
  }

  close(): void {
    // What closes after the journal has files of its own to bring to an end.
    if (!this.isHealthy) this.#reserve.release();
    this.#refolding?.close();
    this.#journal.close();
  }

  #record(fresh: readonly Pending[], runs: readonly FrameRun[], nowMs: number): void {
    const firstLsn = this.#journal.lsn + 1;
    try {
      this.#append(runs, nowMs);
      this.#hasRoom = true;
    } catch (error) {
      this.#hasRoom = false;
      if (!(error instanceof JournalFull)) throw error;
      for (const record of fresh) record.result.verdict = VERDICT_UNAVAILABLE;
      return;
    }
    const { segment, offset } = this.#journal.batchPlace;
    let at = offset;
    for (const [index, record] of fresh.entries()) {
      this.#state.record(record, firstLsn + index, { segment, offset: at });
      at += record.end - record.at;
    }
  }

  /** What was accepted before the disk turned out to be full has the ballast's room to finish. */
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

/** Outcomes and evidence can wait for room; a revocation or a promotion must not. */
function refuseBulk(records: readonly Pending[]): void {
  for (const { run, at, result } of records) {
    const kind = frameKind(run.bytes, at);
    const isBulk = kind === FRAME_KINDS.outcome || kind === FRAME_KINDS.evidence;
    if (isBulk && result.verdict === VERDICT_RECORDED) result.verdict = VERDICT_UNAVAILABLE;
  }
}

/** One audit record for every record whose signer contradicts itself. */
function auditOf(records: readonly Pending[], nowMs: number): FrameRun {
  const batch = new FrameBatch();
  for (const record of records) {
    if (record.result.verdict !== VERDICT_REPLAYED) continue;
    batch.addEvent(FRAME_KINDS.audit, equivocationEvent(record, nowMs));
  }
  return batch.take();
}
