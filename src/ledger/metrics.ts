// Figures of the ledger thread in shared memory: it writes, a scrape reads. No message is needed, and
// the thread that syncs the journal never stops for one.
import { GRADES, SIGNATURES } from "../contract/vocabulary.ts";
import { FRAME_KINDS, readFrameKind } from "../journal/format.ts";
import { readOutcomeGradeIndex, readOutcomeSignatureIndex } from "../journal/outcome.ts";
import {
  BATCH_SIZE_BOUNDS,
  DURATION_BOUNDS_SEC,
  type HistogramCounts,
  Histograms,
} from "../platform/histogram.ts";

const OUTCOME_CELLS = GRADES.length * SIGNATURES.length;
/** Epoch ms of the newest snapshot, 0 for none; behind the outcomes. */
const SNAPSHOT_CELL = OUTCOME_CELLS;
/** Position up to which this process has synced the journal, 0 before its first commit. */
const DURABLE_CELL = SNAPSHOT_CELL + 1;
const SYNCS_AT = (DURABLE_CELL + 1) * Float64Array.BYTES_PER_ELEMENT;
const COMMITS_AT = SYNCS_AT + Histograms.bytesOf(1, DURATION_BOUNDS_SEC);
const MS_PER_S = 1000;

/** What a scrape reads. */
export interface LedgerCounts {
  /** Outcomes recorded since the start, by grade and signature. */
  readonly outcomes: readonly { labels: readonly [string, string]; value: number }[];
  /** Seconds of one sync. */
  readonly syncs: HistogramCounts;
  /** Records of one commit. */
  readonly commits: HistogramCounts;
  /** Epoch ms of the newest snapshot; undefined without one. */
  readonly snapshotMs: number | undefined;
}

export class LedgerMetrics {
  /** Crosses to the other thread. */
  readonly memory: SharedArrayBuffer;
  readonly #cells: Float64Array;
  readonly #syncs: Histograms;
  readonly #commits: Histograms;

  /** Over the memory of another thread's, or new. */
  constructor(memory?: SharedArrayBuffer) {
    const bytes = COMMITS_AT + Histograms.bytesOf(1, BATCH_SIZE_BOUNDS);
    this.memory = memory ?? new SharedArrayBuffer(bytes);
    this.#cells = new Float64Array(this.memory, 0, DURABLE_CELL + 1);
    this.#syncs = new Histograms(1, DURATION_BOUNDS_SEC, this.memory, SYNCS_AT);
    this.#commits = new Histograms(1, BATCH_SIZE_BOUNDS, this.memory, COMMITS_AT);
  }

  /** The record in the frame at `at` is durable. */
  readonly countRecord = (bytes: Buffer, at: number): void => {
    if (readFrameKind(bytes, at) !== FRAME_KINDS.outcome) return;
    const cell =
      readOutcomeGradeIndex(bytes, at) * SIGNATURES.length + readOutcomeSignatureIndex(bytes, at);
    this.#cells[cell] = this.#cells[cell]! + 1;
  };

  /** One commit of so many records, up to position `lsn`, has been synced, which took `syncMs`. */
  countCommit(records: number, syncMs: number, lsn: number): void {
    this.#cells[DURABLE_CELL] = lsn;
    this.#syncs.add(0, syncMs / MS_PER_S);
    this.#commits.add(0, records);
  }

  /** A snapshot of that time (epoch ms) is on disk. */
  setSnapshotTime(timeMs: number): void {
    this.#cells[SNAPSHOT_CELL] = timeMs;
  }

  /** Position up to which the journal has been synced since the start; 0 before the first commit. */
  readDurablePosition(): number {
    return this.#cells[DURABLE_CELL]!;
  }

  counts(): LedgerCounts {
    const outcomes = GRADES.flatMap((grade, gradeIndex) =>
      SIGNATURES.map((signature, index) => ({
        labels: [grade, signature] as const,
        value: this.#cells[gradeIndex * SIGNATURES.length + index]!,
      })),
    );
    const snapshotMs = this.#cells[SNAPSHOT_CELL]!;
    return {
      outcomes,
      syncs: this.#syncs.counts(0),
      commits: this.#commits.counts(0),
      snapshotMs: snapshotMs === 0 ? undefined : snapshotMs,
    };
  }
}
