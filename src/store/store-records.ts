// What the store takes besides outcomes and what it gives besides SQL: decisions drained from the
// rings, rare events, the decision log read back, whole days as Parquet, and pruning.
import * as fs from "node:fs";
import { join } from "node:path";
import type { DecisionFilter, ReplayableLeg } from "../contract/decisions.ts";
import { DROP_BYTES } from "./decision-layout.ts";
import { DecisionReader, emptyColumns, readRecords } from "./decision-reader.ts";
import type { DecisionColumns } from "./decision-reader.ts";
import {
  appendDecisions,
  pruneDecisions,
  readDecisions,
  spoolTaken,
  takeSpool,
} from "./decision-rows.ts";
import { DecisionSpool } from "./decision-spool.ts";
import type { Connection } from "./duckdb.ts";
import { insertEvent } from "./event-rows.ts";
import type { StoreCore } from "./store-core.ts";
import type { ExportView, Review, StoreEvents } from "./store.ts";

/** A drain at least this often while there is something: it also bounds what a crash can lose. */
const DRAIN_INTERVAL_MS = 1000;
const DRAIN_RECORDS_MAX = 50_000;
/** A drain that finds more than this spools: some 1,000 decisions a second are busy enough. */
const BUSY_BYTES = 512 * 1024;
/** While busy the spool is left alone, but for a file this old. */
const SPOOL_AGE_MS_MAX = 5 * 60_000;
/** Rest after a file of the spool, in times of what it took: a third of a core, busy a tenth. */
const REST_QUIET = 2;
const REST_BUSY = 10;
/** A spool this large takes no more: rings fill, and their own rules hold. */
const SPOOL_BYTES_MAX = 1024 * 1024 * 1024;
/** What a stop may still turn into rows; the rest waits for the next start. */
const CLOSING_FILES_MAX = 4;
const DAY_MS = 86_400_000;

/** The column by which days are told apart. */
const DAY_COLUMNS: Readonly<Record<ExportView, string>> = {
  outcomes: "recorded_at",
  decisions: "evaluated_at",
};

export interface StoreRecordsOptions {
  core: StoreCore;
  rings: readonly SharedArrayBuffer[];
  /** The only directory that DuckDB may write files to. */
  exportDirectory: string;
  /** Where decisions wait while the service is busy. */
  spoolDirectory: string;
  /** Rows of the decision log are kept this long; daily counts stay. */
  decisionsKeptDays: number;
}

export class StoreRecords {
  private readonly core: StoreCore;
  private readonly readers: readonly DecisionReader[];
  private readonly options: StoreRecordsOptions;
  private readonly spool: DecisionSpool;
  private drainedAtMs = 0;
  private busyAtMs = 0;
  private ingestAtMs = 0;
  private isSpoolKnown = false;
  private prunedDay = 0;
  private exportCount = 0;

  constructor(options: StoreRecordsOptions) {
    this.options = options;
    this.core = options.core;
    this.readers = options.rings.map((ring) => new DecisionReader(ring));
    this.spool = new DecisionSpool(options.spoolDirectory);
  }

  /** True when it is time to drain: something waits for long, or much does. */
  isDrainDue(nowMs: number): boolean {
    const used = Math.max(0, ...this.readers.map((reader) => reader.used));
    if (used > DROP_BYTES / 2) return true;
    if (used > 0 && nowMs - this.drainedAtMs >= DRAIN_INTERVAL_MS) return true;
    return this.isIngestDue(nowMs);
  }

  /**
   * Empties the rings: into the database when little waits, into the spool when the service is
   * busy. Then takes one file of the spool, if this is the time for it.
   */
  async drain(nowMs: number): Promise<void> {
    const used = this.readers.reduce((sum, reader) => sum + reader.used, 0);
    if (used > BUSY_BYTES) this.busyAtMs = nowMs;
    if (used > 0) {
      this.drainedAtMs = nowMs;
      // Behind a spool everything queues: rows keep the order of the decisions.
      const isDirect = used <= BUSY_BYTES && this.spool.fileCount === 0;
      if (isDirect) await this.drainIntoRows();
      else if (this.spool.bytes < SPOOL_BYTES_MAX) this.drainIntoSpool(nowMs);
    }
    if (this.isIngestDue(nowMs)) await this.ingestOne(nowMs);
  }

  /** Turns everything that waits into rows: for whoever reads, who sees all that was decided. */
  async settle(nowMs: number): Promise<void> {
    do await this.drain(nowMs);
    while (this.readers.some((reader) => reader.used > BUSY_BYTES));
    while (this.spool.fileCount > 0) await this.ingestOne(nowMs);
  }

  /** Before a stop: the rings are emptied, a long spool is left for the next start. */
  async close(nowMs: number): Promise<void> {
    await this.drain(nowMs);
    for (let files = 0; files < CLOSING_FILES_MAX && this.spool.fileCount > 0; files += 1) {
      await this.ingestOne(nowMs);
    }
  }

  /** Quiet: at once. Busy: only what is old, and then a share of the time. */
  private isIngestDue(nowMs: number): boolean {
    if (this.spool.fileCount === 0 || nowMs < this.ingestAtMs) return false;
    if (nowMs - this.busyAtMs > 2 * DRAIN_INTERVAL_MS) return true;
    return nowMs - this.spool.oldestMs > SPOOL_AGE_MS_MAX;
  }

  private async drainIntoRows(): Promise<void> {
    await this.core.write(async (writer) => {
      const columns = emptyColumns();
      const positions = this.readers.map((reader) => reader.read(columns, DRAIN_RECORDS_MAX));
      if (columns.count === 0) return;
      await inTransaction(writer, () => appendDecisions(writer, columns));
      for (const [index, reader] of this.readers.entries()) reader.release(positions[index]!);
    });
  }

  private drainIntoSpool(nowMs: number): void {
    const parts: Uint8Array[] = [];
    const positions = this.readers.map((reader) => reader.copy(parts));
    this.spool.put(parts, nowMs);
    for (const [index, reader] of this.readers.entries()) reader.release(positions[index]!);
  }

  private async ingestOne(nowMs: number): Promise<void> {
    const startedAt = performance.now();
    await this.core.write(async (writer) => {
      if (!this.isSpoolKnown) this.spool.skipTo(await spoolTaken(writer));
      this.isSpoolKnown = true;
      const file = this.spool.oldest();
      if (file === undefined) return;
      const columns: DecisionColumns = emptyColumns();
      readRecords(columns, file.bytes);
      await inTransaction(writer, async () => {
        await appendDecisions(writer, columns);
        await takeSpool(writer, file.number);
      });
      this.spool.taken(nowMs);
    });
    const isBusy = nowMs - this.busyAtMs <= 2 * DRAIN_INTERVAL_MS;
    const tookMs = performance.now() - startedAt;
    this.ingestAtMs = nowMs + tookMs * (1 + (isBusy ? REST_BUSY : REST_QUIET));
  }

  /** Commits one event. */
  async note<Table extends keyof StoreEvents>(
    table: Table,
    event: StoreEvents[Table],
  ): Promise<void> {
    await this.core.write((writer) =>
      inTransaction(writer, () => insertEvent(writer, table, event)),
    );
  }

  decisions(filter: DecisionFilter): Promise<ReplayableLeg[]> {
    return this.core.read((asker) => readDecisions(asker, filter));
  }

  reviews(filter: DecisionFilter, isOpen: boolean): Promise<Review[]> {
    return this.core.read(async (asker) => {
      const tenant = filter.tenant === undefined ? [] : [filter.tenant];
      const rows = await asker.rows(
        `SELECT to_json(r) FROM reviews AS r WHERE true
         ${filter.tenant === undefined ? "" : "AND tenant = $1::VARCHAR"}
         ${isOpen ? "AND resolution IS NULL" : ""}
         ORDER BY evaluated_at DESC LIMIT ${filter.limit}`,
        tenant,
      );
      return rows.map(([text]) => JSON.parse(String(text)) as Review);
    });
  }

  exportDays(view: ExportView, sinceMs: number): Promise<string[]> {
    const column = DAY_COLUMNS[view];
    return this.core.read(async (asker) => {
      const rows = await asker.rows(
        `SELECT DISTINCT CAST(CAST(${column} AS DATE) AS VARCHAR) FROM ${view}
         WHERE ${since(column, sinceMs)} ORDER BY 1`,
      );
      return rows.map(([day]) => String(day));
    });
  }

  /** `day` must have the form of a date: it goes into SQL as it is. */
  exportDay(view: ExportView, day: string, sinceMs: number): Promise<Uint8Array> {
    const column = DAY_COLUMNS[view];
    const path = join(this.options.exportDirectory, `${this.exportCount++}.parquet`);
    return this.core.read(async (asker) => {
      try {
        await asker.run(
          `COPY (FROM ${view} WHERE CAST(${column} AS DATE) = DATE '${day}'
           AND ${since(column, sinceMs)} ORDER BY ${column})
           TO '${path.replaceAll("'", "''")}' (FORMAT parquet, COMPRESSION zstd)`,
        );
        return new Uint8Array(fs.readFileSync(path));
      } finally {
        fs.rmSync(path, { force: true });
      }
    });
  }

  /**
   * Prunes at most once a day. Rows go at the old end only, whole days, and the database is
   * checkpointed at once: a log that deletes is not left for a restart to replay.
   */
  async prune(nowMs: number): Promise<void> {
    const day = Math.floor(nowMs / DAY_MS);
    if (day === this.prunedDay) return;
    const cutoffMs = (day - this.options.decisionsKeptDays) * DAY_MS;
    await this.core.write(async (writer) => {
      const [row] = await writer.rows(
        "SELECT coalesce(min(evaluated_ms), 1e300) FROM decision_rows",
      );
      if (Number(row?.[0]) < cutoffMs) {
        await inTransaction(writer, () => pruneDecisions(writer, cutoffMs));
        // A query under way refuses it; then the next ordinary checkpoint does it.
        await writer.run("CHECKPOINT").catch(() => undefined);
      }
      this.prunedDay = day;
    });
  }
}

function since(column: string, sinceMs: number): string {
  return `${column} >= epoch_ms(CAST(${Math.floor(sinceMs)} AS BIGINT))`;
}

async function inTransaction(writer: Connection, run: () => Promise<void>): Promise<void> {
  await writer.run("BEGIN TRANSACTION");
  try {
    await run();
    await writer.run("COMMIT");
  } catch (error) {
    await writer.run("ROLLBACK").catch(() => undefined);
    throw error;
  }
}
