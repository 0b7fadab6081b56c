// The ledger's one path of evidence, in the thread that owns it: guard against replays, journal,
// sync, remember, fold, answer. In that order: nothing is folded or told before it is durable.
import type { Standings } from "../engine/reading.ts";
import type { BureauKey } from "./bureau-key.ts";
import type { FileLayer } from "./journal-files.ts";
import { Exclusions } from "./exclusions.ts";
import { ReplayTable, REPLAY_WINDOW_MS } from "./idempotency.ts";
import { JournalFull } from "./journal-faults.ts";
import { FRAME_BYTES, FRAME_KINDS, frameKind, frameLength, frameTimeUs } from "./journal-format.ts";
import { decodeFold, emptyFold, outcomeRecordedAtMs } from "./journal-outcome.ts";
import type { FoldedOutcome } from "./journal-outcome.ts";
import { openJournalReader } from "./journal-reader.ts";
import { decodeStandings } from "./journal-standings.ts";
import { recoverJournal } from "./journal-recovery.ts";
import { type FrameRun, type JournalWriter, openJournalWriter } from "./journal-writer.ts";
import { OutcomeBatch } from "./outcome-batch.ts";
import { type FreshTable, Refold } from "./refold.ts";
import type { SnapshotPoint, SnapshotStart } from "./snapshot-files.ts";
import {
  type CommitResult,
  equivocationEvent,
  guardCommit,
  identitiesOf,
  type Pending,
  recordIdBytes,
  runOf,
  settleRepeat,
  splitRun,
  VERDICT_RECORDED,
  VERDICT_REPLAYED,
  VERDICT_UNAVAILABLE,
} from "./replay-guard.ts";

export interface LedgerCoreOptions {
  files: FileLayer;
  /** The journal directory. */
  directory: string;
  key: BureauKey;
  epoch: number;
  /** Called in order of position with a reused object, at replay and after each sync. */
  fold: (outcome: FoldedOutcome) => void;
  /** Called like `fold`, with what a batch of credibility says. Left out: ignored. */
  applyStandings?: (standings: Standings) => void;
  /**
   * Makes an empty table; after its `publish`, `fold` means that one. Needed once a key is revoked
   * as compromised: without it such a revocation takes effect on what comes after it alone.
   */
  freshTable?: () => FreshTable;
  /** Epoch ms: which replayed identities are still worth remembering. */
  nowMs: number;
  /** What the table behind `fold` holds already: only what comes after is replayed. */
  start?: SnapshotStart;
  segmentBytesMax?: number;
  replayEntriesMax?: number;
}

export interface LedgerCore {
  /**
   * One commit: all runs, one sync. Results are in order of the records.
   * A full disk is a result (`VERDICT_UNAVAILABLE`); JournalBroken is thrown.
   */
  commit(runs: readonly FrameRun[], nowMs: number): CommitResult[];
  /**
   * Goes on with the re-fold that a revocation asked for, by at most `countMax` records.
   * @returns whether there is more to do.
   */
  refold(countMax: number): boolean;
  /** Asks the disk for room after it was full. Throws JournalBroken only. */
  probe(): void;
  /** The last commit, and what a later start must know of everything up to it. */
  point(): SnapshotPoint;
  readonly isRefolding: boolean;
  /** Payloads of all events of the reporters' registry, in order. */
  readonly keyEvents: readonly Buffer[];
  /** Replay identities recorded since are all remembered. */
  readonly rememberedSinceMs: number;
  /** The replay guard, for snapshots. */
  readonly guard: ReplayTable;
  /** False while the disk is full. */
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
  isHealthy = true;
  replayedOutcomes = 0;
  readonly truncatedBytes: number;
  readonly guard: ReplayTable;
  readonly keyEvents: Buffer[] = [];
  private readonly options: LedgerCoreOptions;
  private readonly journal: JournalWriter;
  private readonly exclusions = new Exclusions();
  private readonly folded = emptyFold();
  private outcomes: number;
  private isRefoldDue = false;
  private refolding: Refold | undefined;

  constructor(options: LedgerCoreOptions) {
    const { files, directory, key, epoch, start, segmentBytesMax } = options;
    this.options = options;
    this.guard = new ReplayTable(options.replayEntriesMax);
    this.outcomes = start?.outcomes ?? 0;
    files.makeDirectory(directory);
    if (start !== undefined) this.resume(start);
    const rememberFrom = options.nowMs - REPLAY_WINDOW_MS;
    const recovery = recoverJournal(
      files,
      directory,
      (bytes, at, lsn) => this.replay(bytes, at, lsn, rememberFrom),
      start === undefined ? {} : { from: start },
    );
    this.truncatedBytes = recovery.truncatedBytes;
    // One key per node: its first bytes name the node.
    const nodeId = key.publicKey.subarray(0, 16);
    this.journal = openJournalWriter({
      files,
      directory,
      key,
      nodeId,
      epoch,
      tail: recovery.tail,
      ...(segmentBytesMax === undefined ? {} : { segmentBytesMax }),
    });
    // What came before its key's revocation was folded by now: nobody has read it yet.
    while (this.isRefolding) this.refold(Number.POSITIVE_INFINITY);
  }

  get lsn(): number {
    return this.journal.lsn;
  }

  get syncCount(): number {
    return this.journal.syncCount;
  }

  get isRefolding(): boolean {
    return this.isRefoldDue || this.refolding !== undefined;
  }

  get rememberedSinceMs(): number {
    return this.guard.rememberedSinceMs;
  }

  point(): SnapshotPoint {
    const { lsn, chain } = this.journal;
    return { lsn, chain, outcomes: this.outcomes, keyEvents: [...this.keyEvents] };
  }

  commit(runs: readonly FrameRun[], nowMs: number): CommitResult[] {
    const records = runs.flatMap(splitRun);
    guardCommit(records, (identity) => this.guard.find(identity));
    const fresh = records.filter((record) => record.result.verdict === VERDICT_RECORDED);
    const audit = auditOf(records, nowMs);
    if (fresh.length > 0 || audit.count > 0) {
      const toWrite = fresh.length === records.length ? runs : fresh.map(runOf);
      this.record(fresh, audit.count === 0 ? toWrite : [...toWrite, audit], nowMs);
    }
    for (const record of records) settleRepeat(record);
    return records.map((record) => record.result);
  }

  refold(countMax: number): boolean {
    const { files, directory, freshTable } = this.options;
    if (this.isRefoldDue) {
      this.isRefoldDue = false;
      this.refolding?.close();
      if (freshTable === undefined) return false;
      const reader = openJournalReader(files, directory);
      this.refolding = new Refold(reader, freshTable(), this.exclusions);
    }
    if (this.refolding?.step(this.lsn, countMax) === true) this.refolding = undefined;
    return this.isRefolding;
  }

  probe(): void {
    try {
      this.journal.probe();
      this.isHealthy = true;
    } catch (error) {
      if (!(error instanceof JournalFull)) throw error;
    }
  }

  close(): void {
    this.refolding?.close();
    this.journal.close();
  }

  /** Takes over what the snapshot's table and guard have seen. */
  private resume(start: SnapshotStart): void {
    this.guard.restore(start.guard);
    for (const payload of start.keyEvents) {
      this.keyEvents.push(payload);
      this.exclusions.apply(payload);
    }
  }

  private replay(bytes: Buffer, at: number, lsn: number, rememberFrom: number): void {
    const kind = frameKind(bytes, at);
    if (kind === FRAME_KINDS.key) this.takeKeyEvent(bytes, at);
    if (kind === FRAME_KINDS.standings) this.takeStandings(bytes, at);
    if (kind === FRAME_KINDS.outcome) {
      this.replayedOutcomes++;
      this.count(bytes, at);
    }
    const id = recordIdBytes(bytes, at);
    if (id === undefined) return;
    const recordedAtMs = recordedMs(bytes, at);
    if (recordedAtMs < rememberFrom) return;
    for (const identity of identitiesOf(bytes, at)) this.guard.add(identity, lsn, recordedAtMs, id);
  }

  private record(fresh: readonly Pending[], runs: readonly FrameRun[], nowMs: number): void {
    const firstLsn = this.journal.lsn + 1;
    try {
      this.journal.append(runs, nowMs * 1000);
      this.isHealthy = true;
    } catch (error) {
      if (!(error instanceof JournalFull)) throw error;
      this.isHealthy = false;
      for (const record of fresh) record.result.verdict = VERDICT_UNAVAILABLE;
      return;
    }
    for (const [index, record] of fresh.entries()) this.remember(record, firstLsn + index);
  }

  private remember(record: Pending, lsn: number): void {
    const { bytes } = record.run;
    const { at, result } = record;
    result.lsn = lsn;
    result.recordedAtMs = recordedMs(bytes, at);
    const id = recordIdBytes(bytes, at);
    if (id !== undefined) {
      for (const identity of record.identities) {
        this.guard.add(identity, lsn, result.recordedAtMs, id);
      }
    }
    const kind = frameKind(bytes, at);
    if (kind === FRAME_KINDS.outcome) this.count(bytes, at);
    else if (kind === FRAME_KINDS.key) this.takeKeyEvent(bytes, at);
    else if (kind === FRAME_KINDS.standings) this.takeStandings(bytes, at);
  }

  private count(bytes: Buffer, at: number): void {
    this.outcomes++;
    if (this.exclusions.excludes(bytes, at)) return;
    if (decodeFold(bytes, at, this.folded)) this.options.fold(this.folded);
  }

  private takeStandings(bytes: Buffer, at: number): void {
    this.options.applyStandings?.(decodeStandings(bytes, at));
  }

  private takeKeyEvent(bytes: Buffer, at: number): void {
    const start = at + FRAME_BYTES;
    const payload = Buffer.from(bytes.subarray(start, start + frameLength(bytes, at)));
    this.keyEvents.push(payload);
    if (this.exclusions.apply(payload)) this.isRefoldDue = true;
  }
}

/** Outcomes carry the time that was measured for them; other records that of their frame. */
function recordedMs(bytes: Buffer, at: number): number {
  if (frameKind(bytes, at) === FRAME_KINDS.outcome) return outcomeRecordedAtMs(bytes, at);
  return frameTimeUs(bytes, at) / 1000;
}

/** One audit record for every record whose signer contradicts itself. */
function auditOf(records: readonly Pending[], nowMs: number): FrameRun {
  const batch = new OutcomeBatch();
  for (const record of records) {
    if (record.result.verdict !== VERDICT_REPLAYED) continue;
    batch.addEvent(FRAME_KINDS.audit, equivocationEvent(record, nowMs));
  }
  return batch.take();
}
