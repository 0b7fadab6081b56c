// The ledger's one path of evidence, in the thread that owns it: guard against replays, journal,
// sync, remember, fold, answer. In that order: nothing is folded or told before it is durable.
import type { BureauKey } from "./bureau-key.ts";
import type { FileLayer } from "./journal-files.ts";
import { type FirstReceipt, ReplayTable, REPLAY_WINDOW_MS, replayIdentity } from "./idempotency.ts";
import type { ReplayIdentity } from "./idempotency.ts";
import { JournalFull } from "./journal-faults.ts";
import { FRAME_BYTES, FRAME_KINDS, frameKind, frameLength } from "./journal-format.ts";
import { recoverJournal } from "./journal-recovery.ts";
import { type FrameRun, type JournalWriter, openJournalWriter } from "./journal-writer.ts";
import {
  decodeFold,
  formatOutcomeId,
  type FoldedOutcome,
  outcomeIdBytes,
  outcomeRecordedAtMs,
  outcomeReplayParts,
} from "./journal-outcome.ts";

/** What became of one record. */
export const VERDICT_RECORDED = 0;
export const VERDICT_DUPLICATE = 1;
export const VERDICT_CONFLICT = 2;
export const VERDICT_UNAVAILABLE = 3;

export interface CommitResult {
  verdict: number;
  /** Position of the record, or of the first one for a duplicate or conflict. */
  lsn: number;
  recordedAtMs: number;
  /** Set for duplicates only: the id of the first. */
  outcomeId: string;
}

export interface LedgerCoreOptions {
  files: FileLayer;
  /** The journal directory. */
  directory: string;
  key: BureauKey;
  epoch: number;
  /** Called in order of position with a reused object, at replay and after each sync. */
  fold: (outcome: FoldedOutcome) => void;
  /** Epoch ms: which replayed identities are still worth remembering. */
  nowMs: number;
  segmentBytesMax?: number;
  replayEntriesMax?: number;
}

export interface LedgerCore {
  /**
   * One commit: all runs, one sync. Results are in order of the records.
   * A full disk is a result (`VERDICT_UNAVAILABLE`); JournalBroken is thrown.
   */
  commit(runs: readonly FrameRun[], nowMs: number): CommitResult[];
  /** Asks the disk for room after it was full. Throws JournalBroken only. */
  probe(): void;
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
 */
export function openLedgerCore(options: LedgerCoreOptions): LedgerCore {
  return new Core(options);
}

function emptyFold(): FoldedOutcome {
  return {
    subject: "",
    reporter: "",
    outcome: 0,
    stakes: 0,
    gradeIndex: 0,
    signatureIndex: 0,
    settledAtMs: 0,
  };
}

/** One record of a commit in progress. */
interface Pending {
  run: FrameRun;
  at: number;
  end: number;
  identity: ReplayIdentity | undefined;
  result: CommitResult;
  /** The earlier record of the same commit that this one repeats. */
  first: Pending | undefined;
}

class Core implements LedgerCore {
  isHealthy = true;
  replayedOutcomes = 0;
  readonly truncatedBytes: number;
  private readonly journal: JournalWriter;
  private readonly replays: ReplayTable;
  private readonly fold: (outcome: FoldedOutcome) => void;
  private readonly folded = emptyFold();

  constructor(options: LedgerCoreOptions) {
    const { files, directory, key, epoch } = options;
    this.fold = options.fold;
    this.replays = new ReplayTable(options.replayEntriesMax);
    files.makeDirectory(directory);
    const rememberFrom = options.nowMs - REPLAY_WINDOW_MS;
    const recovery = recoverJournal(files, directory, (bytes, at, lsn) => {
      this.replay(bytes, at, lsn, rememberFrom);
    });
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
      ...(options.segmentBytesMax === undefined
        ? {}
        : { segmentBytesMax: options.segmentBytesMax }),
    });
  }

  get lsn(): number {
    return this.journal.lsn;
  }

  get syncCount(): number {
    return this.journal.syncCount;
  }

  commit(runs: readonly FrameRun[], nowMs: number): CommitResult[] {
    const records = runs.flatMap(splitRun);
    this.guard(records);
    const fresh = records.filter((record) => record.result.verdict === VERDICT_RECORDED);
    if (fresh.length > 0) this.record(fresh, runs, records.length, nowMs);
    for (const record of records) settleRepeat(record);
    return records.map((record) => record.result);
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
    this.journal.close();
  }

  private replay(bytes: Buffer, at: number, lsn: number, rememberFrom: number): void {
    if (frameKind(bytes, at) !== FRAME_KINDS.outcome) return;
    this.replayedOutcomes++;
    if (decodeFold(bytes, at, this.folded)) this.fold(this.folded);
    const recordedAtMs = outcomeRecordedAtMs(bytes, at);
    if (recordedAtMs < rememberFrom) return;
    const parts = outcomeReplayParts(bytes, at);
    if (parts === undefined) return;
    this.replays.add(replayIdentity(parts), lsn, recordedAtMs, outcomeIdBytes(bytes, at));
  }

  /** Marks repeats: of what is durable at once, of what stands earlier in this commit by link. */
  private guard(records: readonly Pending[]): void {
    const firsts = new Map<string, Pending>();
    for (const record of records) {
      const parts = outcomeReplayParts(record.run.bytes, record.at);
      if (parts === undefined) continue;
      record.identity = replayIdentity(parts);
      const known = this.replays.find(record.identity);
      if (known !== undefined) {
        markRepeat(record.result, known);
        continue;
      }
      const name = record.identity.identity.toString("latin1");
      record.first = firsts.get(name);
      if (record.first === undefined) firsts.set(name, record);
      else record.result.verdict = VERDICT_DUPLICATE;
    }
  }

  private record(
    fresh: readonly Pending[],
    runs: readonly FrameRun[],
    recordCount: number,
    nowMs: number,
  ): void {
    const firstLsn = this.journal.lsn + 1;
    const toWrite = fresh.length === recordCount ? runs : fresh.map(runOf);
    try {
      this.journal.append(toWrite, nowMs * 1000);
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
    record.result.lsn = lsn;
    record.result.recordedAtMs = outcomeRecordedAtMs(bytes, record.at);
    if (record.identity !== undefined) {
      const id = outcomeIdBytes(bytes, record.at);
      this.replays.add(record.identity, lsn, record.result.recordedAtMs, id);
    }
    if (decodeFold(bytes, record.at, this.folded)) this.fold(this.folded);
  }
}

function splitRun(run: FrameRun): Pending[] {
  const records: Pending[] = [];
  let at = 0;
  while (at < run.bytes.byteLength) {
    const end = at + FRAME_BYTES + frameLength(run.bytes, at);
    const result = { verdict: VERDICT_RECORDED, lsn: 0, recordedAtMs: 0, outcomeId: "" };
    records.push({ run, at, end, identity: undefined, result, first: undefined });
    at = end;
  }
  return records;
}

function runOf(record: Pending): FrameRun {
  return { bytes: record.run.bytes.subarray(record.at, record.end), count: 1 };
}

function markRepeat(result: CommitResult, known: FirstReceipt): void {
  result.verdict = known.isSameContent ? VERDICT_DUPLICATE : VERDICT_CONFLICT;
  result.lsn = known.lsn;
  result.recordedAtMs = known.recordedAtMs;
  result.outcomeId = known.outcomeId;
}

/** Answers a repeat within the commit as the first one ended. */
function settleRepeat(record: Pending): void {
  const { first } = record;
  if (first === undefined) return;
  if (first.result.verdict === VERDICT_UNAVAILABLE) {
    record.result.verdict = VERDICT_UNAVAILABLE;
    return;
  }
  const content = record.identity?.content ?? Buffer.alloc(0);
  markRepeat(record.result, {
    lsn: first.result.lsn,
    recordedAtMs: first.result.recordedAtMs,
    outcomeId: formatOutcomeId(outcomeIdBytes(first.run.bytes, first.at)),
    isSameContent: first.identity?.content.equals(content) ?? false,
  });
}
