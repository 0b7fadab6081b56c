// The outcome store in its thread: one database, one connection that writes and one that answers.
// It follows the journal up to the durable position; a database that does not open or does not
// agree with the journal is set aside and built anew from it.
import * as fs from "node:fs";
import { join } from "node:path";
import { JournalDamaged } from "../journal/faults.ts";
import type { JournalReader } from "../journal/reader.ts";
import { ReadQueue } from "./query/read-queue.ts";
import { restoreRows, saveRows } from "./rebuild-carry-over.ts";
import { Connections } from "./connections.ts";
import type { Connection } from "./duckdb.ts";
import type { DescribeRecord } from "./rows/journal.ts";
import {
  type Applied,
  applyRecords,
  expireOutcomes,
  isSameJournal,
  NOTHING_APPLIED,
  prepareWriter,
  readApplied,
} from "./rows/outcomes.ts";
import { createSchema, isEmpty } from "./schema.ts";
import { DATABASE_FILE, setAside } from "./files.ts";

/** Records per transaction: the live bound, and the larger one while catching up. */
export const APPLY_RECORDS_MAX = 5000;
const CATCH_UP_RECORDS_MAX = 20_000;
const DAY_MS = 86_400_000;

export interface StoreCoreOptions {
  /** The store's directory; made when missing. */
  directory: string;
  reader: JournalReader;
  /** Decodes records other than outcomes. */
  describe: DescribeRecord;
  /** Outcomes recorded longer ago than this are counted by day and their rows removed. */
  outcomesKeptDays: number;
  /** Epoch ms. */
  clock: () => number;
  /** Whether the clock can be trusted to delete by; left out, it can. */
  mayExpire?: () => boolean;
  memoryMegabytes: number;
  /** IANA name of the zone of local times; UTC by default. */
  timeZone?: string;
  /** Called with one line about an event that an operator should know. */
  log: (event: string, detail: string) => void;
}

/** Opens nothing yet: `open`, `follow`, `query`, `read` and `write` do. */
export class StoreCore {
  applied: Applied = NOTHING_APPLIED;
  /** Reads of the database, beside the apply. */
  readonly readQueue: ReadQueue;
  /** Reads of the decision log, on a connection of their own: no query holds them up. */
  readonly logQueue: ReadQueue;
  /** How many times the database was set aside. */
  rebuildCount = 0;
  /** Raised after every write: while it is the same, so are the rows. */
  writeCount = 0;
  readonly #options: StoreCoreOptions;
  #connections: Connections | undefined;
  #opening: Promise<void> | undefined;
  #hasCheckedJournal = false;
  /** An error of a query that points to a broken database; `follow` checks it. */
  #suspicion: Error | undefined;
  #writing: Promise<unknown> = Promise.resolve();

  constructor(options: StoreCoreOptions) {
    this.#options = options;
    const opened = async () => {
      await this.open();
      return this.#connections as Connections;
    };
    const suspect = (error: Error) => void (this.#suspicion ??= error);
    this.readQueue = new ReadQueue(opened, suspect, options.clock);
    const openedForLog = async () => (await opened()).forLog();
    this.logQueue = new ReadQueue(openedForLog, suspect, options.clock);
    // Files in there were left by a process that was killed while it exported.
    fs.rmSync(this.exportDirectory, { recursive: true, force: true });
    fs.mkdirSync(options.directory, { recursive: true, mode: 0o700 });
    fs.mkdirSync(this.exportDirectory, { recursive: true, mode: 0o700 });
  }

  /** The one directory in which the database may write files. */
  get exportDirectory(): string {
    return `${this.#options.directory}-export`;
  }

  /** True when a query met an error that the next `follow` must check. */
  get isSuspect(): boolean {
    return this.#suspicion !== undefined;
  }

  /** Opens the database, rebuilding it when it does not open or is inconsistent. */
  open(): Promise<void> {
    this.#opening ??= this.#openOnce().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  /**
   * Applies one transaction's worth of durable records that are not yet here.
   * @param durableLsn the last durable position of the journal.
   * @returns whether there is more.
   * @throws Error when it cannot go on now; trying again is safe.
   */
  follow(durableLsn: number): Promise<boolean> {
    return this.#inTurn(() => this.#followOnce(durableLsn));
  }

  async #followOnce(durableLsn: number): Promise<boolean> {
    await this.open();
    if (!this.#hasCheckedJournal) await this.#checkJournal(durableLsn);
    if (this.#suspicion !== undefined) {
      const suspicion = this.#suspicion;
      this.#suspicion = undefined;
      if (await this.#isBroken()) await this.#rebuildBeside(suspicion.message);
      else this.#options.log("store_error", suspicion.message);
    }
    const backlog = durableLsn - this.applied.lsn;
    if (backlog <= 0) return false;
    const countMax = backlog > APPLY_RECORDS_MAX ? CATCH_UP_RECORDS_MAX : APPLY_RECORDS_MAX;
    const { reader, describe } = this.#options;
    const options = { uptoLsn: durableLsn, countMax, cutoffMs: this.#cutoffMs(), describe };
    try {
      this.applied = await applyRecords(this.#writer, reader, this.applied, options);
    } catch (error) {
      // Damage in the journal is not the database's fault and no rebuild mends it; a database that
      // is whole (a full disk, say) is kept too.
      if (error instanceof JournalDamaged || !(await this.#isBroken())) throw error;
      await this.#rebuildBeside(String(error));
    }
    return this.applied.lsn < durableLsn;
  }

  /** Writes rows that are not in the journal, between two applies. */
  write(run: (writer: Connection) => Promise<void>): Promise<void> {
    return this.#inTurn(async () => {
      await this.open();
      try {
        await run(this.#writer);
      } catch (error) {
        // The next `follow` finds out whether the database or the query is at fault.
        this.#suspicion ??= error instanceof Error ? error : new Error(String(error));
        throw error;
      }
    });
  }

  /** Turns expired outcomes into daily counts. */
  expire(): Promise<void> {
    return this.write(async (writer) => {
      const applied = await expireOutcomes(writer, this.applied, this.#cutoffMs());
      if (applied === this.applied) return;
      this.applied = applied;
      await checkpoint(writer);
    });
  }

  /** Whole days: a midnight, UTC. Nothing is too old while the clock is in doubt. */
  #cutoffMs(): number {
    const { clock, outcomesKeptDays, mayExpire } = this.#options;
    if (mayExpire?.() === false) return 0;
    return (Math.floor(clock() / DAY_MS) - outcomesKeptDays) * DAY_MS;
  }

  /** Runs writes one after another: the database has one writer. */
  #inTurn<T>(run: () => Promise<T>): Promise<T> {
    const done = this.#writing.then(run).finally(() => (this.writeCount += 1));
    this.#writing = done.catch(() => undefined);
    return done;
  }

  /** Ends running queries. Call it when no `follow` is under way. */
  async close(): Promise<void> {
    await this.#stopReads();
    this.#disconnect();
    this.#options.reader.close();
  }

  async #openOnce(): Promise<void> {
    const isThere = fs.existsSync(join(this.#options.directory, DATABASE_FILE));
    try {
      await this.#connect();
      if (!isThere) await createSchema(this.#writer);
      else if (await isEmpty(this.#writer)) throw new Error("the database is empty");
      const applied = await readApplied(this.#writer);
      if (applied === undefined) throw new Error("rows and position disagree");
      this.applied = applied;
      await prepareWriter(this.#writer);
    } catch (error) {
      if (isThere) return this.#rebuild(String(error));
      this.#disconnect();
      throw error;
    }
  }

  async #connect(): Promise<void> {
    const path = join(this.#options.directory, DATABASE_FILE);
    const { memoryMegabytes, timeZone } = this.#options;
    const { exportDirectory } = this;
    this.#connections = await Connections.open(path, memoryMegabytes, exportDirectory, timeZone);
  }

  #disconnect(): void {
    this.#connections?.close();
    this.#connections = undefined;
  }

  /** Of the open database: there is none before `open`, and none while a rebuild replaces it. */
  get #writer(): Connection {
    return (this.#connections as Connections).writer;
  }

  /** A database ahead of the journal, or beside it, shows that the journal was replaced. */
  async #checkJournal(durableLsn: number): Promise<void> {
    const { lsn } = this.applied;
    if (lsn > durableLsn || !isSameJournal(this.#options.reader, this.applied)) {
      const reason = `the journal (up to ${durableLsn}) does not hold what is applied at ${lsn}`;
      await this.#rebuildBeside(reason);
    }
    this.#hasCheckedJournal = true;
  }

  /** Reads every stored value once: block checksums show rot. */
  async #isBroken(): Promise<boolean> {
    const writer = this.#writer;
    try {
      const applied = await readApplied(writer);
      await writer.rows("SELECT max(hash(r)) FROM outcome_rows AS r");
      return applied?.lsn !== this.applied.lsn;
    } catch {
      return true;
    }
  }

  /** Rebuilds while queries may be running or waiting: they end first, later ones wait. */
  async #rebuildBeside(reason: string): Promise<void> {
    const stopped = this.#stopReads();
    const resume = [this.readQueue.hold(), this.logQueue.hold()];
    try {
      await stopped;
      this.#opening = this.#rebuild(reason).catch((error: unknown) => {
        this.#opening = undefined;
        throw error;
      });
      await this.#opening;
    } finally {
      for (const each of resume) each();
    }
  }

  /** Ends running and waiting reads. */
  async #stopReads(): Promise<void> {
    await Promise.all([this.readQueue.stop(), this.logQueue.stop()]);
  }

  /** Moves the files aside, starts from nothing. */
  async #rebuild(reason: string): Promise<void> {
    const saved = await this.#saveRows();
    this.#disconnect();
    const { directory, log } = this.#options;
    const aside = setAside(directory);
    this.rebuildCount++;
    log("store_rebuild", `${reason.split("\n", 1)[0]}; the old files are in ${aside}`);
    this.applied = NOTHING_APPLIED;
    try {
      await this.#connect();
      await createSchema(this.#writer);
      await restoreRows(this.#writer, this.exportDirectory, saved);
      await prepareWriter(this.#writer);
    } catch (error) {
      this.#disconnect();
      throw error;
    }
  }

  /** Saves the rows that the journal cannot give back, as far as the old database still opens. */
  async #saveRows(): Promise<string[]> {
    if (this.#connections === undefined) return [];
    const { saved, lost } = await saveRows(this.#writer, this.exportDirectory);
    if (lost.length > 0) {
      this.#options.log(
        "store_rows_lost",
        `not readable, left in the old files: ${lost.join(", ")}`,
      );
    }
    return saved;
  }
}

/** A running query refuses it; then the next ordinary checkpoint does it. */
export function checkpoint(writer: Connection): Promise<void> {
  return writer.run("CHECKPOINT").catch(() => undefined);
}
