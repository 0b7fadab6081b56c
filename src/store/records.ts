// Side of the store beside outcomes and SQL: decisions drained from the rings, rare events, the
// decision log read back, and pruning.
import type { DecisionFilter } from "../contract/decisions.ts";
import { DROP_BYTES } from "./decisions/ring-layout.ts";
import { DecisionReader, emptyColumns, readRecords } from "./decisions/ring-reader.ts";
import type { DecisionColumns } from "./decisions/ring-reader.ts";
import { appendDecisions, pruneDecisions, readDecisions } from "./decisions/rows.ts";
import { RepeatedDenials } from "./decisions/repeats.ts";
import { DecisionSpool } from "./decisions/spool.ts";
import { isSpoolTaken, takeSpool } from "./decisions/taken-files.ts";
import { insertEvent } from "./rows/events.ts";
import { inTransaction } from "./rows/outcomes.ts";
import { checkpoint, type StoreCore } from "./core.ts";
import type { DecisionPage, Review, StoreEvents } from "./store.ts";

/** Longest time in ms between drains while records wait; urgent ones drain at every check. */
const DRAIN_INTERVAL_MS = 1000;
/** Milliseconds before a disk that refused the spool is tried again. */
const RETRY_INTERVAL_MS = 1000;
/** Bytes in one second that make it a busy one: some 1,000 decisions. */
const BUSY_BYTES = 512 * 1024;
/** While busy the spool is left alone, except for a file this old. */
const SPOOL_AGE_MS_MAX = 5 * 60_000;
/**
 * Rest after a file of the spool, in multiples of the time it took: a third of a core, busy a
 * tenth.
 */
const REST_QUIET = 2;
const REST_BUSY = 10;
/** A spool this large takes no more: rings fill, and their own rules hold. */
const SPOOL_BYTES_MAX = 1024 * 1024 * 1024;
/** Files that a stop may still turn into rows; the rest waits for the next start. */
const CLOSING_FILES_MAX = 4;
/** Longest that a read of the log waits for waiting decisions to become rows. */
const READ_WAIT_MS = 1000;
const DAY_MS = 86_400_000;

export interface StoreRecordsOptions {
  core: StoreCore;
  rings: readonly SharedArrayBuffer[];
  /** Directory of the spool. */
  spoolDirectory: string;
  /** Epoch ms of this start. */
  startMs: number;
  /** Days that rows of the decision log are kept. */
  decisionsKeptDays: number;
  /** Whether the clock can be trusted to delete by; left out, it can. */
  mayExpire?: () => boolean;
}

export class StoreRecords {
  readonly #core: StoreCore;
  readonly #readers: readonly DecisionReader[];
  readonly #options: StoreRecordsOptions;
  readonly #spool: DecisionSpool;
  readonly #repeats = new RepeatedDenials();
  /** Records that the disk refused, and the positions of the rings behind them. */
  #unwritten: { parts: Uint8Array[]; positions: number[] } | undefined;
  #drainedAtMs = 0;
  #retryAtMs = 0;
  #secondMs = 0;
  #secondBytes = 0;
  #busyAtMs = Number.NEGATIVE_INFINITY;
  #ingestAtMs = 0;
  #prunedDay = 0;

  constructor(options: StoreRecordsOptions) {
    this.#options = options;
    this.#core = options.core;
    this.#readers = options.rings.map((ring) => new DecisionReader(ring));
    this.#spool = new DecisionSpool(options.spoolDirectory, options.startMs);
  }

  /** Whether to empty the rings now: an urgent record waits, or one for long, or many. */
  isSpoolDue(nowMs: number): boolean {
    if (nowMs < this.#retryAtMs) return false;
    if (this.#repeats.isDue(nowMs)) return true;
    const used = Math.max(0, ...this.#readers.map((reader) => reader.used));
    if (used > DROP_BYTES / 2) return true;
    if (used > 0 && nowMs - this.#drainedAtMs >= DRAIN_INTERVAL_MS) return true;
    return used > 0 && this.#readers.some((reader) => reader.hasUrgent());
  }

  /**
   * Empties the rings into the spool; it is on disk when this returns, but for the counts of
   * repeated denials of this second, unless `withCounts`. Waits for no database.
   * @throws the file system's error when the disk refuses: then the rings keep their records.
   */
  emptyRings(nowMs: number, withCounts = false): void {
    this.#countBusy(nowMs);
    if (this.#spool.bytes >= SPOOL_BYTES_MAX) return;
    // What the disk refused has been sifted already: it goes first, as it is.
    if (this.#unwritten !== undefined) this.#write(this.#unwritten, nowMs);
    const copied: Uint8Array[] = [];
    const positions = this.#readers.map((reader) => reader.copy(copied));
    const parts = this.#repeats.sift(copied, nowMs);
    if (withCounts) parts.push(...this.#repeats.takeHeld());
    if (copied.length > 0 || parts.length > 0) this.#write({ parts, positions }, nowMs);
  }

  #write(batch: { parts: Uint8Array[]; positions: number[] }, nowMs: number): void {
    this.#drainedAtMs = nowMs;
    this.#unwritten = batch;
    try {
      if (batch.parts.length > 0) this.#spool.put(batch.parts, nowMs);
    } catch (error) {
      this.#retryAtMs = nowMs + RETRY_INTERVAL_MS;
      throw error;
    }
    this.#unwritten = undefined;
    for (const [index, reader] of this.#readers.entries()) reader.release(batch.positions[index]!);
  }

  /** Bytes of decisions that are not rows yet, and decisions counted in another's record. */
  gauges(): { spoolBytes: number; decisionsCounted: number } {
    return { spoolBytes: this.#spool.bytes, decisionsCounted: this.#repeats.countedTotal };
  }

  /** Quiet: every second. Busy: only old files, and then a share of the time. */
  isIngestDue(nowMs: number): boolean {
    if (nowMs < this.#ingestAtMs) return false;
    if (this.#spool.fileCount === 0) return this.#isPruneDue(nowMs);
    const ageMs = nowMs - this.#spool.oldestMs;
    return ageMs >= (this.#isBusy(nowMs) ? SPOOL_AGE_MS_MAX : DRAIN_INTERVAL_MS);
  }

  /** Turns one file of the spool into rows, and once a day removes expired rows. */
  async ingest(nowMs: number): Promise<void> {
    try {
      await this.#ingestOne(nowMs);
      await this.#prune(nowMs);
    } catch (error) {
      this.#ingestAtMs = nowMs + RETRY_INTERVAL_MS;
      throw error;
    }
  }

  /** Turns all waiting records into rows, so that a read sees every decision made before it. */
  async settle(nowMs: number): Promise<void> {
    for (let isFull = true; isFull;) {
      this.emptyRings(nowMs, true);
      isFull = this.#spool.bytes >= SPOOL_BYTES_MAX;
      // Records that arrive meanwhile are for the next call.
      for (let left = this.#spool.fileCount; left > 0; left--) await this.#ingestOne(nowMs);
    }
    await this.#prune(nowMs);
  }

  /**
   * Turns waiting records into rows, the newest first, for at most a second: a read of the log does
   * not stand in line behind everything that a flood left.
   * @returns whether every decision made before is a row now.
   */
  async #settleNewest(nowMs: number): Promise<boolean> {
    try {
      this.emptyRings(nowMs, true);
    } catch {
      // Told by the loop's own attempts.
    }
    const last = this.#spool.newestName;
    if (last === "") return true;
    const deadline = AbortSignal.timeout(READ_WAIT_MS);
    const over = new Promise<void>((resolve) => {
      deadline.addEventListener("abort", () => resolve());
    });
    await Promise.race([this.#ingestNewestUntil(deadline, last), over]);
    return !this.#spool.hasUpTo(last);
  }

  async #ingestNewestUntil(deadline: AbortSignal, last: string): Promise<void> {
    try {
      while (!deadline.aborted && this.#spool.hasUpTo(last)) {
        await this.#ingestOne(performance.timeOrigin + performance.now(), "newest");
      }
    } catch {
      // The read goes on with the rows there are; the next ingest tells why.
    }
  }

  /** Before a stop: the rings are emptied, a long spool is left for the next start. */
  async close(nowMs: number): Promise<void> {
    this.emptyRings(nowMs, true);
    for (let files = 0; files < CLOSING_FILES_MAX && this.#spool.fileCount > 0; files += 1) {
      await this.#ingestOne(nowMs);
    }
    this.#spool.close();
  }

  #isBusy(nowMs: number): boolean {
    return nowMs - this.#busyAtMs <= 2 * DRAIN_INTERVAL_MS;
  }

  /** A second with many bytes makes the next ones busy. */
  #countBusy(nowMs: number): void {
    if (nowMs - this.#secondMs >= DRAIN_INTERVAL_MS) {
      this.#secondMs = nowMs;
      this.#secondBytes = 0;
    }
    this.#secondBytes += this.#readers.reduce((sum, reader) => sum + reader.used, 0);
    if (this.#secondBytes > BUSY_BYTES) this.#busyAtMs = nowMs;
  }

  async #ingestOne(nowMs: number, which: "oldest" | "newest" = "oldest"): Promise<void> {
    if (this.#spool.fileCount === 0) return;
    const startedAt = performance.now();
    await this.#core.write(async (writer) => {
      const file = which === "oldest" ? this.#spool.oldest() : this.#spool.newest();
      if (file === undefined) return;
      const columns: DecisionColumns = emptyColumns();
      if (!(await isSpoolTaken(writer, file.name))) {
        readRecords(columns, file.bytes);
        await inTransaction(writer, async () => {
          await appendDecisions(writer, columns);
          await takeSpool(writer, file.name);
        });
        // Left by an earlier process: some of it may have expired already.
        const cutoffMs = this.#cutoffMs(nowMs);
        if (columns.numbers[0]!.some((evaluatedMs) => evaluatedMs < cutoffMs)) this.#prunedDay = 0;
      }
      this.#spool.taken(nowMs, file.name);
    });
    const tookMs = performance.now() - startedAt;
    this.#ingestAtMs = nowMs + tookMs * (1 + (this.#isBusy(nowMs) ? REST_BUSY : REST_QUIET));
  }

  /** Commits one event. */
  async note<Table extends keyof StoreEvents>(
    table: Table,
    event: StoreEvents[Table],
  ): Promise<void> {
    await this.#core.write((writer) =>
      inTransaction(writer, () => insertEvent(writer, table, event)),
    );
  }

  /** Reads the log in a lane of its own: behind no query, and behind no flood of decisions. */
  async decisions(filter: DecisionFilter, nowMs: number): Promise<DecisionPage> {
    const isComplete = await this.#settleNewest(nowMs);
    const legs = await this.#core.logQueue.read((reader) => readDecisions(reader, filter));
    return { legs, isComplete };
  }

  async reviews(filter: DecisionFilter, isOpen: boolean, nowMs: number): Promise<Review[]> {
    await this.#settleNewest(nowMs);
    return this.#core.logQueue.read(async (connection) => {
      const tenant = filter.tenant === undefined ? [] : [filter.tenant];
      const rows = await connection.rows(
        `SELECT to_json(r) FROM reviews AS r WHERE true
         ${filter.tenant === undefined ? "" : "AND tenant = $1::VARCHAR"}
         ${isOpen ? "AND resolution IS NULL" : ""}
         ORDER BY evaluated_at DESC LIMIT ${filter.limit}`,
        tenant,
      );
      return rows.map(([text]) => JSON.parse(String(text)) as Review);
    });
  }

  /**
   * Prunes at most once a day. Rows go at the old end only, whole days, and the database is
   * checkpointed at once: a log that deletes is not left for a restart to replay.
   */
  async #prune(nowMs: number): Promise<void> {
    if (!this.#isPruneDue(nowMs)) return;
    const day = this.#dayOf(nowMs);
    await this.#core.expire();
    const cutoffMs = this.#cutoffMs(nowMs);
    await this.#core.write(async (writer) => {
      const [row] = await writer.rows(
        "SELECT coalesce(min(evaluated_ms), 1e300) FROM decision_rows",
      );
      if (Number(row?.[0]) < cutoffMs) {
        await inTransaction(writer, () => pruneDecisions(writer, cutoffMs));
        await checkpoint(writer);
      }
      if (this.#spool.isGone()) await writer.run("DELETE FROM spool_taken");
      this.#prunedDay = day;
    });
  }

  #isPruneDue(nowMs: number): boolean {
    return this.#dayOf(nowMs) !== this.#prunedDay && this.#options.mayExpire?.() !== false;
  }

  #cutoffMs(nowMs: number): number {
    return (this.#dayOf(nowMs) - this.#options.decisionsKeptDays) * DAY_MS;
  }

  #dayOf(nowMs: number): number {
    return Math.floor(nowMs / DAY_MS);
  }
}
