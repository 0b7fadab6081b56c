// Daily upkeep of the store: rows past their time become counts or go, and with them the files that
// they could be made from again.
import { DAY_MS } from "../contract/units.ts";
import * as fs from "node:fs";
import { basename, join } from "node:path";
import { listSegmentCopies, listSegments, type DecisionSegment } from "./decisions/segments.ts";
import { compactCountRows, countSpareCountRows } from "./decisions/counts.ts";
import { pruneDecisions } from "./decisions/table.ts";
import { compactProjectionProgress, recordProjectionProgress } from "./decisions/projector.ts";
import { tryCheckpoint, type JournalFollower } from "./journal-follower.ts";
import { readNumber, type Connection } from "./duckdb.ts";
import { inTransaction } from "./rows/outcomes.ts";
import { compactCallRows, countSpareCallRows } from "./rows/review-queue.ts";
import { deleteReplacedUsageRows, countReplacedUsageRows } from "./rows/usage.ts";

/** Compressed segments beyond this, the oldest, go before their time; their rows stay. */
const COMPRESSED_BYTES_MAX = 64 * 1024 * 1024 * 1024;

/** Spare progress rows that are not worth a compaction. */
const TAKEN_ROWS_SPARE = 1000;
/** Replaced rows of usage that are not: some hours of one busy key. */
const USAGE_ROWS_SPARE = 10_000;
/** Counts of calls that wait for a review that are not: a row for each review and five seconds. */
const CALL_ROWS_SPARE = 10_000;
/** Parts of exact counts that are not: a quarter of an hour of many kinds of decisions. */
const COUNT_ROWS_SPARE = 10_000;

interface CompressedSegmentTotals {
  readonly count: number;
  readonly bytes: number;
}

interface UpkeepOptions {
  readonly core: JournalFollower;
  /** Of rows of the decision log. */
  readonly keptDays: number;
  /** Whether the clock can be trusted to delete by; left out, it can. */
  readonly mayExpire?: () => boolean;
  readonly log?: (event: string, detail: string) => void;
}

export class Upkeep {
  /** Compressed segments as of the last look. */
  compressedSegments: CompressedSegmentTotals = { count: 0, bytes: 0 };
  readonly #core: JournalFollower;
  readonly #keptDays: number;
  readonly #mayExpire: () => boolean;
  readonly #log: (event: string, detail: string) => void;
  #doneDay = 0;

  constructor({ core, keptDays, mayExpire = () => true, log = () => undefined }: UpkeepOptions) {
    this.#core = core;
    this.#keptDays = keptDays;
    this.#mayExpire = mayExpire;
    this.#log = log;
  }

  isDue(nowMs: number): boolean {
    return computeDayNumber(nowMs) !== this.#doneDay && this.#mayExpire();
  }

  /** Another database is open: it is to be looked at again. */
  reset(): void {
    this.#doneDay = 0;
  }

  /** Rows that an earlier process left may have expired already. */
  noteOldestDecision(oldestMs: number, nowMs: number): void {
    if (oldestMs < this.#cutoffMs(nowMs)) this.#doneDay = 0;
  }

  addCompressedSegment(bytes: number): void {
    this.compressedSegments = {
      count: this.compressedSegments.count + 1,
      bytes: this.compressedSegments.bytes + bytes,
    };
  }

  /**
   * Does the day's work unless it is done. Rows go at the old end only, whole days, and the database
   * is checkpointed at once: a log that deletes is not left for a restart to replay.
   */
  async runIfDue(nowMs: number): Promise<void> {
    if (!this.isDue(nowMs)) return;
    await this.#core.expire();
    const cutoffMs = this.#cutoffMs(nowMs);
    await this.#core.write(async (writer) => {
      await this.#prune(writer, cutoffMs);
      this.#removeExpiredFiles(cutoffMs);
      await this.#compact(writer, computeDayNumber(nowMs) * DAY_MS);
      this.#doneDay = computeDayNumber(nowMs);
    });
  }

  async #prune(writer: Connection, cutoffMs: number): Promise<void> {
    const { keptRows } = this.#core;
    const name = keptRows.formatName("days", cutoffMs);
    const [row] = await writer.rows(
      `SELECT least((SELECT coalesce(min(evaluated_ms), 1e300) FROM decision_rows),
          (SELECT coalesce(min(minute_ms), 1e300) FROM decision_count_rows),
          (SELECT coalesce(min(minute_ms), 1e300) FROM latency_rows)),
        (SELECT count(*) FROM decision_day_rows)`,
    );
    const isExpired = Number(row?.[0]) < cutoffMs;
    const isSaved = keptRows.list().some((file) => file.name === name);
    if (isExpired) {
      await inTransaction(writer, async () => {
        await pruneDecisions(writer, cutoffMs);
        await recordProjectionProgress(writer, name, 0, true);
      });
      await tryCheckpoint(writer);
    } else if (isSaved || Number(row?.[1]) === 0) return;
    else await inTransaction(writer, () => recordProjectionProgress(writer, name, 0, true));
    await keptRows.save(writer, "days", cutoffMs);
    for (const file of keptRows.list()) {
      if (file.kind === "days" && file.name !== name) keptRows.remove(file.name);
    }
  }

  /** Files of which every row has expired, and the oldest segments beyond the bound. */
  #removeExpiredFiles(cutoffMs: number): void {
    const { keptRows, keptDirectory } = this.#core;
    for (const { kind, number, name } of keptRows.list()) {
      if (kind === "rows" && number < cutoffMs) keptRows.remove(name);
    }
    const segments = listAllSegments(keptDirectory)
      .filter(({ isCompressed }) => isCompressed)
      .map((segment) => {
        const path = join(keptDirectory, segment.file);
        return { ...segment, path, bytes: fs.statSync(path).size };
      });
    let { length: count } = segments;
    let bytes = segments.reduce((sum, each) => sum + each.bytes, 0);
    for (const segment of segments) {
      const isTooMuch = bytes > COMPRESSED_BYTES_MAX;
      if (segment.newestMs >= cutoffMs && !isTooMuch) continue;
      fs.rmSync(segment.path);
      count -= 1;
      bytes -= segment.bytes;
      if (segment.newestMs >= cutoffMs) this.#log("decision_segment_dropped", segment.file);
    }
    this.compressedSegments = { count, bytes };
  }

  /** `todayMs`: the last midnight; counts of minutes before it are final. */
  async #compact(writer: Connection, todayMs: number): Promise<void> {
    const names = this.#listRestorableNames();
    const takenCount = await readNumber(writer, "SELECT count(*) FROM spool_taken");
    const isTaken = takenCount > 2 * names.size + TAKEN_ROWS_SPARE;
    const isUsage = (await countReplacedUsageRows(writer)) > USAGE_ROWS_SPARE;
    const areCalls = (await countSpareCallRows(writer)) > CALL_ROWS_SPARE;
    const areCounts = (await countSpareCountRows(writer, todayMs)) > COUNT_ROWS_SPARE;
    if (!isTaken && !isUsage && !areCalls && !areCounts) return;
    await inTransaction(writer, async () => {
      if (isTaken) await compactProjectionProgress(writer, (name) => names.has(name));
      if (isUsage) await deleteReplacedUsageRows(writer);
      if (areCalls) await compactCallRows(writer);
      if (areCounts) await compactCountRows(writer, todayMs);
    });
    await tryCheckpoint(writer);
  }

  /** Names of all files that can be ingested again. */
  #listRestorableNames(): ReadonlySet<string> {
    const { keptRows, keptDirectory } = this.#core;
    return new Set([
      ...keptRows.list().map(({ name }) => name),
      ...listAllSegments(keptDirectory).map(({ name }) => name),
    ]);
  }

  #cutoffMs(nowMs: number): number {
    return (computeDayNumber(nowMs) - this.#keptDays) * DAY_MS;
  }
}

/** Own ones and copies, oldest first: names begin with when their process did. */
function listAllSegments(directory: string): DecisionSegment[] {
  const readName = ({ file }: DecisionSegment) => basename(file);
  return [...listSegments(directory), ...listSegmentCopies(directory)].toSorted((left, right) =>
    readName(left) < readName(right) ? -1 : 1,
  );
}

function computeDayNumber(nowMs: number): number {
  return Math.floor(nowMs / DAY_MS);
}
