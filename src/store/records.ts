// Side of the store beside outcomes and SQL: decisions drained from the rings, rare events, the
// decision log read back, and pruning.
import type { DecisionFilter } from "../contract/decisions.ts";
import type { ReplayableLeg } from "../contract/schemas/decisions.ts";
import { DROP_BYTES } from "./decisions/ring-layout.ts";
import { DecisionReader, emptyColumns, readRecords } from "./decisions/ring-reader.ts";
import type { DecisionColumns } from "./decisions/ring-reader.ts";
import {
  appendDecisions,
  isSpoolTaken,
  pruneDecisions,
  readDecisions,
  takeSpool,
} from "./decisions/rows.ts";
import { DecisionSpool } from "./decisions/spool.ts";
import { insertEvent } from "./rows/events.ts";
import { inTransaction } from "./rows/outcomes.ts";
import { checkpoint, type StoreCore } from "./core.ts";
import type { Review, StoreEvents } from "./store.ts";

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
}

export class StoreRecords {
  readonly #core: StoreCore;
  readonly #readers: readonly DecisionReader[];
  readonly #options: StoreRecordsOptions;
  readonly #spool: DecisionSpool;
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
    const used = Math.max(0, ...this.#readers.map((reader) => reader.used));
    if (used > DROP_BYTES / 2) return true;
    if (used > 0 && nowMs - this.#drainedAtMs >= DRAIN_INTERVAL_MS) return true;
    return used > 0 && this.#readers.some((reader) => reader.hasUrgent());
  }

  /**
   * Empties the rings into the spool; it is on disk when this returns. Waits for no database.
   * @throws the file system's error when the disk refuses: then the rings keep their records.
   */
  emptyRings(nowMs: number): void {
    this.#countBusy(nowMs);
    const isEmpty = this.#readers.every((reader) => reader.used === 0);
    if (isEmpty || this.#spool.bytes >= SPOOL_BYTES_MAX) return;
    this.#drainedAtMs = nowMs;
    const parts: Uint8Array[] = [];
    const positions = this.#readers.map((reader) => reader.copy(parts));
    try {
      this.#spool.put(parts, nowMs);
    } catch (error) {
      this.#retryAtMs = nowMs + RETRY_INTERVAL_MS;
      throw error;
    }
    for (const [index, reader] of this.#readers.entries()) reader.release(positions[index]!);
  }

  /** Quiet: every second. Busy: only old files, and then a share of the time. */
  isIngestDue(nowMs: number): boolean {
    if (nowMs < this.#ingestAtMs) return false;
    if (this.#spool.fileCount === 0) return this.#dayOf(nowMs) !== this.#prunedDay;
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
      this.emptyRings(nowMs);
      isFull = this.#spool.bytes >= SPOOL_BYTES_MAX;
      // Records that arrive meanwhile are for the next call.
      for (let left = this.#spool.fileCount; left > 0; left--) await this.#ingestOne(nowMs);
    }
    await this.#prune(nowMs);
  }

  /** Before a stop: the rings are emptied, a long spool is left for the next start. */
  async close(nowMs: number): Promise<void> {
    this.emptyRings(nowMs);
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

  async #ingestOne(nowMs: number): Promise<void> {
    if (this.#spool.fileCount === 0) return;
    const startedAt = performance.now();
    await this.#core.write(async (writer) => {
      const file = this.#spool.oldest();
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
      this.#spool.taken(nowMs);
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

  decisions(filter: DecisionFilter): Promise<ReplayableLeg[]> {
    return this.#core.readQueue.read((connection) => readDecisions(connection, filter));
  }

  reviews(filter: DecisionFilter, isOpen: boolean): Promise<Review[]> {
    return this.#core.readQueue.read(async (connection) => {
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
    const day = this.#dayOf(nowMs);
    if (day === this.#prunedDay) return;
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

  #cutoffMs(nowMs: number): number {
    return (this.#dayOf(nowMs) - this.#options.decisionsKeptDays) * DAY_MS;
  }

  #dayOf(nowMs: number): number {
    return Math.floor(nowMs / DAY_MS);
  }
}
