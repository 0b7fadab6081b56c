// The outcome store in its thread: one database, one connection that writes and one that answers.
// It follows the journal up to the durable position; a database that does not open or does not
// agree with the journal is set aside and built anew from it.
import * as fs from "node:fs";
import { join } from "node:path";
import { ServiceFault } from "../contract/faults.ts";
import { JournalDamaged } from "../ledger/journal-faults.ts";
import type { JournalReader } from "../ledger/journal-reader.ts";
import { restoreRows, saveRows } from "./carry-over.ts";
import { type Connection, type Database, openDatabase } from "./duckdb.ts";
import {
  type Applied,
  applyRecords,
  isSameJournal,
  NOTHING_APPLIED,
  readApplied,
} from "./outcome-rows.ts";
import { DatabaseSuspect, INTERRUPT_REPEAT_MS, runQuery } from "./query.ts";
import { schemaStatements } from "./schema.ts";
import type { QueryLimits, QueryResult } from "./store.ts";

export const DATABASE_FILE = "outcomes.duckdb";
const WAL_FILE = `${DATABASE_FILE}.wal`;
/** Records per transaction: the live bound, and the larger one while catching up. */
export const APPLY_RECORDS_MAX = 5000;
const CATCH_UP_RECORDS_MAX = 20_000;

export interface StoreCoreOptions {
  /** The store's directory; made when missing. */
  directory: string;
  reader: JournalReader;
  memoryMegabytes: number;
  /** One line about something an operator should know. */
  log: (event: string, detail: string) => void;
}

/** Opens nothing yet: `open`, `follow`, `query`, `read` and `write` do. */
export class StoreCore {
  applied: Applied = NOTHING_APPLIED;
  /** How many times the database was set aside. */
  rebuildCount = 0;
  private readonly options: StoreCoreOptions;
  private database: Database | undefined;
  private writer: Connection | undefined;
  private asker: Connection | undefined;
  private opening: Promise<void> | undefined;
  private hasCheckedJournal = false;
  /** What a query met that speaks against the database; `follow` looks into it. */
  private suspicion: Error | undefined;
  /** The last query in line; a rebuild puts itself there too. */
  private asking: Promise<unknown> = Promise.resolve();
  private writing: Promise<unknown> = Promise.resolve();

  constructor(options: StoreCoreOptions) {
    this.options = options;
    // Whatever lies in there was left by a process that was killed while it exported.
    fs.rmSync(this.exportDirectory, { recursive: true, force: true });
    fs.mkdirSync(options.directory, { recursive: true, mode: 0o700 });
    fs.mkdirSync(this.exportDirectory, { recursive: true, mode: 0o700 });
  }

  /** The one directory in which the database may write files. */
  get exportDirectory(): string {
    return `${this.options.directory}-export`;
  }

  /** True when a query met trouble that the next `follow` must look into. */
  get isSuspect(): boolean {
    return this.suspicion !== undefined;
  }

  /** Opens the database, rebuilding it when it does not open or does not add up. */
  open(): Promise<void> {
    this.opening ??= this.openOnce().catch((error: unknown) => {
      this.opening = undefined;
      throw error;
    });
    return this.opening;
  }

  /**
   * Applies one transaction's worth of what is durable and not yet here.
   * @param durableLsn the last durable position of the journal.
   * @returns whether there is more. Throws when it cannot go on now; trying again is safe.
   */
  follow(durableLsn: number): Promise<boolean> {
    return this.inTurn(() => this.followOnce(durableLsn));
  }

  private async followOnce(durableLsn: number): Promise<boolean> {
    await this.open();
    if (!this.hasCheckedJournal) await this.checkJournal(durableLsn);
    if (this.suspicion !== undefined) {
      const { suspicion } = this;
      this.suspicion = undefined;
      if (await this.isBroken()) await this.rebuildBeside(suspicion.message);
      else this.options.log("store_error", suspicion.message);
    }
    const backlog = durableLsn - this.applied.lsn;
    if (backlog <= 0) return false;
    const countMax = backlog > APPLY_RECORDS_MAX ? CATCH_UP_RECORDS_MAX : APPLY_RECORDS_MAX;
    const { reader } = this.options;
    const writer = this.writer as Connection;
    try {
      this.applied = await applyRecords(writer, reader, this.applied, durableLsn, countMax);
    } catch (error) {
      // Damage in the journal is not the database's fault and no rebuild mends it; a database
      // that is whole (a full disk, say) is kept too.
      if (error instanceof JournalDamaged || !(await this.isBroken())) throw error;
      await this.rebuildBeside(String(error));
    }
    return this.applied.lsn < durableLsn;
  }

  /** Writes something that is not in the journal, between two applies. */
  write(run: (writer: Connection) => Promise<void>): Promise<void> {
    return this.inTurn(async () => {
      await this.open();
      try {
        await run(this.writer as Connection);
      } catch (error) {
        // Whose fault it is, the next `follow` finds out.
        this.suspicion ??= error instanceof Error ? error : new Error(String(error));
        throw error;
      }
    });
  }

  /** Our own reading, in line with the queries and without their limits. */
  read<T>(run: (asker: Connection) => Promise<T>): Promise<T> {
    const answer = this.asking.then(async () => {
      await this.open();
      return run(this.asker as Connection);
    });
    this.asking = answer.catch(() => undefined);
    return answer;
  }

  /** One writer: what is written waits for what is being written. */
  private inTurn<T>(run: () => Promise<T>): Promise<T> {
    const done = this.writing.then(run);
    this.writing = done.catch(() => undefined);
    return done;
  }

  /** Queries run one after another, beside the apply. */
  query(sql: string, limits: QueryLimits): Promise<QueryResult> {
    const answer = this.asking.then(() => this.ask(sql, limits));
    this.asking = answer.catch(() => undefined);
    return answer;
  }

  /** Ends running queries. Call it when no `follow` is under way. */
  async close(): Promise<void> {
    await this.stopAsking();
    this.disconnect();
    this.options.reader.close();
  }

  private async ask(sql: string, limits: QueryLimits): Promise<QueryResult> {
    await this.open();
    try {
      return await runQuery(this.asker as Connection, sql, limits);
    } catch (error) {
      if (!(error instanceof DatabaseSuspect)) throw error;
      this.suspicion ??= error;
      throw new ServiceFault("store_unavailable", "the outcome store is being looked at");
    }
  }

  private async openOnce(): Promise<void> {
    const path = join(this.options.directory, DATABASE_FILE);
    const isThere = fs.existsSync(path);
    try {
      await this.connect(path);
      const applied = isThere ? await readApplied(this.writer as Connection) : undefined;
      if (isThere && applied === undefined) throw new Error("rows and position disagree");
      this.applied = applied ?? (await this.createSchema());
    } catch (error) {
      if (isThere) return this.rebuild(String(error));
      this.disconnect();
      throw error;
    }
  }

  private async connect(path: string): Promise<void> {
    const { memoryMegabytes } = this.options;
    this.database = await openDatabase(path, memoryMegabytes, this.exportDirectory);
    this.writer = await this.database.connect();
    this.asker = await this.database.connect();
  }

  /** Connections before instance, or the file stays locked. */
  private disconnect(): void {
    this.asker?.close();
    this.writer?.close();
    this.database?.close();
    this.asker = undefined;
    this.writer = undefined;
    this.database = undefined;
  }

  private async createSchema(): Promise<Applied> {
    for (const statement of schemaStatements()) await (this.writer as Connection).run(statement);
    return NOTHING_APPLIED;
  }

  /** A database ahead of the journal, or beside it, tells of a journal that was replaced. */
  private async checkJournal(durableLsn: number): Promise<void> {
    const { lsn } = this.applied;
    if (lsn > durableLsn || !isSameJournal(this.options.reader, this.applied)) {
      const reason = `the journal (up to ${durableLsn}) does not hold what is applied at ${lsn}`;
      await this.rebuildBeside(reason);
    }
    this.hasCheckedJournal = true;
  }

  /** Reads every stored value once: block checksums show what has rotted. */
  private async isBroken(): Promise<boolean> {
    const writer = this.writer as Connection;
    try {
      const applied = await readApplied(writer);
      await writer.rows("SELECT max(hash(r)) FROM outcome_rows AS r");
      return applied?.lsn !== this.applied.lsn;
    } catch {
      return true;
    }
  }

  /** Rebuilds while queries may be running or waiting: they end first, later ones wait. */
  private async rebuildBeside(reason: string): Promise<void> {
    let resume = () => undefined as void;
    const stopped = this.stopAsking();
    this.asking = new Promise<void>((resolve) => {
      resume = resolve;
    });
    try {
      await stopped;
      this.opening = this.rebuild(reason).catch((error: unknown) => {
        this.opening = undefined;
        throw error;
      });
      await this.opening;
    } finally {
      resume();
    }
  }

  private async stopAsking(): Promise<void> {
    // One interrupt only ends the query that runs now; those in line have to be ended too.
    const nudge = setInterval(() => this.asker?.interrupt(), INTERRUPT_REPEAT_MS);
    this.asker?.interrupt();
    await this.asking;
    clearInterval(nudge);
  }

  /** Moves the files aside, starts from nothing. Never opens them: that would drop their locks. */
  private async rebuild(reason: string): Promise<void> {
    const saved = await this.saveRows();
    this.disconnect();
    const { directory, log } = this.options;
    const aside = nextAside(directory);
    fs.mkdirSync(aside, { mode: 0o700 });
    for (const name of [DATABASE_FILE, WAL_FILE]) {
      const from = join(directory, name);
      if (fs.existsSync(from)) fs.renameSync(from, join(aside, name));
    }
    this.rebuildCount++;
    log("store_rebuild", `${reason.split("\n", 1)[0]}; the old files are in ${aside}`);
    this.applied = NOTHING_APPLIED;
    try {
      await this.connect(join(directory, DATABASE_FILE));
      await this.createSchema();
      await restoreRows(this.writer as unknown as Connection, this.exportDirectory, saved);
    } catch (error) {
      this.disconnect();
      throw error;
    }
  }

  /** What the journal cannot give back, as far as the old database still opens. */
  private async saveRows(): Promise<string[]> {
    if (this.writer === undefined) return [];
    const { saved, lost } = await saveRows(this.writer, this.exportDirectory);
    if (lost.length > 0) {
      this.options.log(
        "store_rows_lost",
        `not readable, left in the old files: ${lost.join(", ")}`,
      );
    }
    return saved;
  }
}

function nextAside(directory: string): string {
  const taken = fs
    .readdirSync(directory)
    .map((name) => Number(/^broken-(\d+)$/.exec(name)?.[1] ?? 0));
  return join(directory, `broken-${Math.max(0, ...taken) + 1}`);
}
