// The outcome store in its thread: one database, one connection that writes and one that answers.
// It follows the journal up to the durable position. A database that fails is closed and opened again
// first; one that does not open, or does not agree with the journal, is set aside and rebuilt.
import { DAY_MS } from "../contract/units.ts";
import * as fs from "node:fs";
import { JournalDamaged } from "../journal/faults.ts";
import type { CountedShareReader } from "../journal/counted-shares.ts";
import type { JournalReader } from "../journal/reader.ts";
import { ReadQueue } from "./query/read-queue.ts";
import { type DatabaseConnections, DatabaseLifecycle } from "./database.ts";
import type { Connection } from "./duckdb.ts";
import { KeptRows } from "./kept-rows.ts";
import type { RecordDescriber } from "./rows/journal.ts";
import {
  type AppliedPosition,
  applyRecords,
  expireOutcomes,
  expireProvenance,
  isSameJournal,
  NOTHING_APPLIED,
} from "./rows/outcomes.ts";
import { SerialQueue } from "../concurrency/serial-queue.ts";

/** Records per transaction: the live bound, and the larger one while catching up. */
export const APPLY_RECORDS_MAX = 5000;
const CATCH_UP_RECORDS_MAX = 20_000;
/** After a transaction that broke the database the next ones are smaller, down to this share. */
const APPLY_SHARE_MIN = 1 / 256;

interface JournalFollowerOptions {
  /** The store's directory; made when missing. */
  directory: string;
  reader: JournalReader;
  /** Shares that the caps of incidents left of outcomes; left out: all count in full. */
  shares?: Pick<CountedShareReader, "readRange">;
  /** Decodes records other than outcomes. */
  describeRecord: RecordDescriber;
  /** Outcomes recorded longer ago than this are counted by day and their rows removed. */
  outcomesKeptDays: number;
  /** Rows of provenance reported longer ago are removed; as long as outcomes by default. */
  provenanceKeptDays?: number;
  /** Epoch ms. */
  clock: () => number;
  /** Whether the clock can be trusted to delete by; left out, it can. */
  mayExpire?: () => boolean;
  memoryMegabytes: number;
  /** Whether DuckDB may put on the disk what its memory does not hold; left out, it may. */
  maySpill?: boolean;
  /** IANA name of the zone of local times; UTC by default. */
  timeZone?: string;
  /** Called with one line about an event that an operator should know. */
  log: (event: string, detail: string) => void;
}

/** The store has rows of positions that the journal does not have: the journal's end is lost. */
export class StoreAheadOfJournal extends Error {
  readonly position: number;

  constructor(position: number, durableLsn: number) {
    super(`the store has rows up to position ${position}, the journal ends at ${durableLsn}`);
    this.position = position;
  }
}

/** A write that gives up because the store ends: the database is not at fault. */
export class StoreEnds extends Error {}

/** Opens nothing yet: `open`, `follow`, `query`, `read` and `write` do. */
export class JournalFollower {
  applied: AppliedPosition = NOTHING_APPLIED;
  /** Reads of the database, beside the apply. */
  readonly readQueue: ReadQueue;
  /** Reads of the decision log, on a connection of their own: no query holds them up. */
  readonly logQueue: ReadQueue;
  /** Files of rows beside the database. */
  readonly keptRows: KeptRows;
  /** Raised after every write: while it is the same, so are the rows. */
  writeCount = 0;
  readonly #options: JournalFollowerOptions;
  readonly #database: DatabaseLifecycle;
  #opening: Promise<void> | undefined;
  #hasCheckedJournal = false;
  /** Positions up to which a new database has to come before it is whole. */
  #rebuildTargetLsn = 0;
  #applyShare = 1;
  /** An error of a query that points to a broken database; `follow` checks it. */
  #suspectedError: Error | undefined;
  readonly #writes = new SerialQueue();

  constructor(options: JournalFollowerOptions) {
    this.#options = options;
    const opened = async () => {
      await this.open();
      return this.#database.connections as DatabaseConnections;
    };
    const suspect = (error: Error) => void (this.#suspectedError ??= error);
    this.readQueue = new ReadQueue(opened, suspect, options.clock);
    const openedForLog = async () => (await opened()).withLogReader();
    this.logQueue = new ReadQueue(openedForLog, suspect, options.clock);
    // Files in there were left by a process that was killed while it exported.
    fs.rmSync(this.exportDirectory, { recursive: true, force: true });
    fs.mkdirSync(options.directory, { recursive: true, mode: 0o700 });
    fs.mkdirSync(this.exportDirectory, { recursive: true, mode: 0o700 });
    this.keptRows = new KeptRows(this.keptDirectory, this.exportDirectory);
    const { exportDirectory, keptDirectory, keptRows } = this;
    this.#database = new DatabaseLifecycle({
      ...options,
      exportDirectory,
      keptDirectory,
      keptRows,
    });
  }

  /** The one directory in which the database may write files. */
  get exportDirectory(): string {
    return `${this.#options.directory}-export`;
  }

  /** Decision segments and kept rows: outside of the directory that may be deleted. */
  get keptDirectory(): string {
    return `${this.#options.directory}-kept`;
  }

  /** Rises with every database that is opened. */
  get generation(): number {
    return this.#database.generation;
  }

  /** How many times the database was set aside. */
  get rebuildCount(): number {
    return this.#database.rebuildCount;
  }

  /** How many times it was closed and opened again after an error, and when last (epoch ms). */
  get reopenCount(): number {
    return this.#database.reopenCount;
  }

  get reopenedAtMs(): number {
    return this.#database.reopenedAtMs;
  }

  /** Whether a new database has not caught up with the journal yet. */
  get isBuilding(): boolean {
    return this.applied.lsn < this.#rebuildTargetLsn;
  }

  /** True when a query met an error that the next `follow` must check. */
  get isSuspect(): boolean {
    return this.#suspectedError !== undefined;
  }

  /** Opens the database, rebuilding it when it does not open or is inconsistent. */
  open(): Promise<void> {
    this.#opening ??= this.#adoptDatabase(() => this.#database.open());
    return this.#opening;
  }

  /**
   * Applies one transaction's worth of durable records that are not yet here.
   * @param durableLsn the last durable position of the journal.
   * @returns whether there is more.
   * @throws StoreAhead when the journal ends before the rows; any other Error when it cannot go on
   *   now; trying again is safe.
   */
  applyNextBatch(durableLsn: number): Promise<boolean> {
    return this.#runSerially(() => this.#recoverAndApply(durableLsn));
  }

  async #recoverAndApply(durableLsn: number): Promise<boolean> {
    await this.open();
    if (!this.#hasCheckedJournal) await this.#checkJournal(durableLsn);
    if (this.#suspectedError !== undefined) {
      const suspicion = this.#suspectedError;
      this.#suspectedError = undefined;
      if (await this.#database.isBroken(this.applied))
        await this.#reopenDatabase(suspicion.message);
      else this.#options.log("store_error", suspicion.message);
    }
    const backlog = durableLsn - this.applied.lsn;
    if (this.#database.isNew) this.#rebuildTargetLsn = durableLsn;
    this.#database.isNew = false;
    if (backlog <= 0) return false;
    await this.#applyBatch(durableLsn, backlog);
    return this.applied.lsn < durableLsn;
  }

  async #applyBatch(durableLsn: number, backlog: number): Promise<void> {
    const { reader, describeRecord, outcomesKeptDays, provenanceKeptDays, shares } = this.#options;
    const recordsMax = backlog > APPLY_RECORDS_MAX ? CATCH_UP_RECORDS_MAX : APPLY_RECORDS_MAX;
    const options = {
      uptoLsn: durableLsn,
      countMax: Math.ceil(recordsMax * this.#applyShare),
      cutoffMs: this.#cutoffMs(outcomesKeptDays),
      provenanceCutoffMs: this.#cutoffMs(provenanceKeptDays ?? outcomesKeptDays),
      describe: describeRecord,
      shares,
    };
    try {
      this.applied = await applyRecords(this.#writer, reader, this.applied, options);
      this.#applyShare = Math.min(1, 2 * this.#applyShare);
    } catch (error) {
      // Damage in the journal is not the database's fault and no rebuild mends it; a database that
      // is whole (a full disk, say) is kept too.
      if (error instanceof JournalDamaged) throw error;
      this.#applyShare = Math.max(APPLY_SHARE_MIN, this.#applyShare / 4);
      if (!(await this.#database.isBroken(this.applied, error))) throw error;
      await this.#reopenDatabase(String(error));
    }
  }

  /** Writes rows that are not in the journal, between two applies. */
  write(run: (writer: Connection) => Promise<void>): Promise<void> {
    return this.#runSerially(async () => {
      await this.open();
      try {
        await run(this.#writer);
      } catch (error) {
        if (error instanceof StoreEnds) throw error;
        // The next `follow` finds out whether the database or the query is at fault.
        this.#suspectedError ??= error instanceof Error ? error : new Error(String(error));
        throw error;
      }
    });
  }

  /** Turns expired outcomes into daily counts, and removes expired provenance. */
  expire(): Promise<void> {
    const { outcomesKeptDays, provenanceKeptDays = outcomesKeptDays } = this.#options;
    return this.write(async (writer) => {
      const cutoffMs = this.#cutoffMs(outcomesKeptDays);
      const applied = await expireOutcomes(writer, this.applied, cutoffMs);
      const isAnyGone = await expireProvenance(writer, this.#cutoffMs(provenanceKeptDays));
      if (applied === this.applied && !isAnyGone) return;
      this.applied = applied;
      await tryCheckpoint(writer);
    });
  }

  /** Whole days: a midnight, UTC. Nothing is too old while the clock is in doubt. */
  #cutoffMs(keptDays: number): number {
    const { clock, mayExpire } = this.#options;
    if (mayExpire?.() === false) return 0;
    return (Math.floor(clock() / DAY_MS) - keptDays) * DAY_MS;
  }

  /** Runs writes one after another: the database has one writer. */
  #runSerially<T>(run: () => Promise<T>): Promise<T> {
    return this.#writes.run(async () => {
      try {
        return await run();
      } finally {
        this.writeCount += 1;
      }
    });
  }

  /** Ends running queries. Call it when no apply is in progress. */
  async close(): Promise<void> {
    await this.#stopReads();
    this.#database.close();
    this.#options.reader.close();
  }

  /** Of the open database: there is none before `open`, and none while a rebuild replaces it. */
  get #writer(): Connection {
    return (this.#database.connections as DatabaseConnections).writer;
  }

  /** A database beside the journal shows that the journal was replaced. */
  async #checkJournal(durableLsn: number): Promise<void> {
    const { lsn } = this.applied;
    if (lsn > durableLsn) {
      const isOther = durableLsn > 0 && !isSameJournal(this.#options.reader, this.applied, 1);
      if (!isOther) throw new StoreAheadOfJournal(lsn, durableLsn);
    }
    if (lsn > durableLsn || !isSameJournal(this.#options.reader, this.applied, lsn)) {
      const reason = `the journal (up to ${durableLsn}) does not hold what is applied at ${lsn}`;
      await this.#replaceDatabase(() => this.#database.rebuild(reason));
    }
    this.#hasCheckedJournal = true;
  }

  #reopenDatabase(reason: string): Promise<void> {
    return this.#replaceDatabase(() => this.#database.reopen(reason));
  }

  /** Opens another database while queries may be running or waiting: they end, later ones wait. */
  async #replaceDatabase(open: () => Promise<AppliedPosition>): Promise<void> {
    const stopped = this.#stopReads();
    const resume = [this.readQueue.pause(), this.logQueue.pause()];
    try {
      await stopped;
      this.#opening = this.#adoptDatabase(open);
      await this.#opening;
    } finally {
      for (const each of resume) each();
    }
  }

  /** Ends running and waiting reads. */
  async #stopReads(): Promise<void> {
    await Promise.all([this.readQueue.stop(), this.logQueue.stop()]);
  }

  async #adoptDatabase(open: () => Promise<AppliedPosition>): Promise<void> {
    try {
      this.applied = await open();
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
  }
}

/** A running query refuses it; then the next ordinary checkpoint does it. */
export function tryCheckpoint(writer: Connection): Promise<void> {
  return writer.run("CHECKPOINT").catch(() => undefined);
}
