// Database lifecycle and its connections: open, reopen after an error, set aside and rebuild.
// An error that ends an instance (memory, disk) mostly leaves its files intact, so they are reopened
// before they are rejected; rejected files are kept, never deleted silently.
import * as fs from "node:fs";
import { join } from "node:path";
import { DATABASE_FILE, moveDatabaseAside } from "./files.ts";
import type { KeptRows } from "./kept-rows.ts";
import { migrateOldSpool, restoreCarriedRows, saveCarriedRows } from "./rebuild-carry-over.ts";
import {
  type AppliedPosition,
  NOTHING_APPLIED,
  createExpiredTable,
  readAppliedPosition,
} from "./rows/outcomes.ts";
import { createSchema, isDatabaseEmpty } from "./schema.ts";
import { prepareSpillDirectory } from "./spill.ts";
import {
  type Connection,
  type DuckDatabase,
  openDatabase,
  type DatabaseOptions,
} from "./duckdb.ts";

interface DatabaseLifecycleOptions {
  readonly directory: string;
  /** The one directory in which the database may write. */
  readonly exportDirectory: string;
  readonly keptDirectory: string;
  readonly keptRows: KeptRows;
  readonly memoryMegabytes: number;
  /** Whether DuckDB may put on the disk what its memory does not hold; left out, it may. */
  readonly maySpill?: boolean;
  readonly timeZone?: string;
  /** Epoch ms. */
  readonly clock: () => number;
  readonly log: (event: string, detail: string) => void;
}

/** A file that another process holds is whole: there is nothing to mend. */
const LOCKED_ERROR = /lock on file/i;
/** A log may need more memory to be replayed and put into the file than it took to write. */
const OUT_OF_MEMORY_ERROR =
  /out of memory|memory limit|failed to (allocate|pin)|could not allocate/i;
const REPLAY_MEMORY_FACTOR = 4;
const MEBIBYTE = 1024 * 1024;
/** Applies without memory after which the files are opened again. */
const OUT_OF_MEMORY_MAX = 2;

export class DatabaseLifecycle {
  connections: DatabaseConnections | undefined;
  /** Rises with every opening. */
  generation = 0;
  rebuildCount = 0;
  reopenCount = 0;
  /** Epoch ms; 0 for never. */
  reopenedAtMs = 0;
  /** True after an opening that began with nothing. */
  isNew = false;
  readonly #options: DatabaseLifecycleOptions;
  /** Applies that found no memory since it was opened. */
  #outOfMemoryCount = 0;

  constructor(options: DatabaseLifecycleOptions) {
    this.#options = options;
  }

  /**
   * Opens or makes the database; one that does not open or is inconsistent is rebuilt.
   * @throws DuckDB's error when another process holds the file, or nothing can be made.
   */
  async open(): Promise<AppliedPosition> {
    if (!fs.existsSync(this.#path)) return this.#createDatabase([]);
    try {
      return await this.#openAndCheck();
    } catch (error) {
      if (LOCKED_ERROR.test(String(error))) {
        this.close();
        throw error;
      }
      return this.rebuild(String(error));
    }
  }

  /** Closes the files and opens the same again; rebuilds when they are not whole. */
  async reopen(reason: string): Promise<AppliedPosition> {
    const { log, clock } = this.#options;
    this.close();
    try {
      const applied = await this.#openAndCheck();
      if ((await this.#checkReadable()) === "rotten") throw new Error("it does not read whole");
      this.reopenCount += 1;
      this.reopenedAtMs = clock();
      log("store_reopened", `${takeFirstLine(reason)}; nothing is lost`);
      return applied;
    } catch (error) {
      return this.rebuild(
        `${takeFirstLine(reason)}; opened again: ${takeFirstLine(String(error))}`,
      );
    }
  }

  /** Moves the files aside, starts from nothing but what they can still give. */
  async rebuild(reason: string): Promise<AppliedPosition> {
    const { directory, log, clock } = this.#options;
    const saved = await this.#saveRows();
    this.close();
    const { aside, removed } = moveDatabaseAside(directory, clock());
    this.rebuildCount += 1;
    log("store_rebuild", `${takeFirstLine(reason)}; the old files are in ${aside}`);
    for (const name of removed) log("store_aside_removed", `${name}, the oldest of too many`);
    return this.#createDatabase(saved);
  }

  /**
   * Whether it answers no more, has rotted, or is at another position than it should be; or, by the
   * error of an apply, has found no memory again: what fills it goes with the instance.
   */
  async isBroken(expected: AppliedPosition, error?: unknown): Promise<boolean> {
    if (error !== undefined && isOutOfMemory(error)) this.#outOfMemoryCount += 1;
    if (this.#outOfMemoryCount >= OUT_OF_MEMORY_MAX) return true;
    if ((await this.#checkReadable()) !== "whole") return true;
    const applied = await readAppliedPosition((this.connections as DatabaseConnections).writer);
    return applied?.lsn !== expected.lsn;
  }

  /**
   * Reads every stored value once: block checksums show rot. Without the memory for it the answer is
   * `unknown`, which is no reason to condemn a file.
   */
  async #checkReadable(): Promise<"whole" | "rotten" | "unknown"> {
    const { writer } = this.connections as DatabaseConnections;
    try {
      await readAppliedPosition(writer);
      await writer.rows("SELECT max(hash(r)) FROM outcome_rows AS r");
      return "whole";
    } catch (error) {
      return isOutOfMemory(error) ? "unknown" : "rotten";
    }
  }

  close(): void {
    try {
      this.connections?.close();
    } finally {
      this.connections = undefined;
    }
  }

  get #path(): string {
    return join(this.#options.directory, DATABASE_FILE);
  }

  async #openAndCheck(): Promise<AppliedPosition> {
    const { memoryMegabytes } = this.#options;
    try {
      return await this.#openWithMemory(memoryMegabytes);
    } catch (error) {
      if (!isOutOfMemory(error)) throw error;
      // Once with more, so that its log is in the file and the next opening needs no replay.
      this.close();
      const applied = await this.#openWithMemory(memoryMegabytes * REPLAY_MEMORY_FACTOR);
      this.close();
      await this.#connect(memoryMegabytes);
      await createExpiredTable(this.connections!.writer);
      return applied;
    }
  }

  async #openWithMemory(memoryMegabytes: number): Promise<AppliedPosition> {
    await this.#connect(memoryMegabytes);
    const { writer } = this.connections as DatabaseConnections;
    if (await isDatabaseEmpty(writer)) throw new Error("the database is empty");
    await writer.run("CHECKPOINT");
    const applied = await readAppliedPosition(writer);
    if (applied === undefined) throw new Error("rows and position disagree");
    await createExpiredTable(writer);
    return applied;
  }

  async #createDatabase(saved: readonly string[]): Promise<AppliedPosition> {
    const { exportDirectory, directory, keptDirectory, memoryMegabytes } = this.#options;
    try {
      migrateOldSpool({ oldSpool: join(directory, "spool"), segments: keptDirectory });
      await this.#connect(memoryMegabytes);
      const { writer } = this.connections!;
      await createSchema(writer);
      await restoreCarriedRows(writer, exportDirectory, saved);
      await createExpiredTable(writer);
    } catch (error) {
      this.close();
      throw error;
    }
    this.isNew = true;
    return NOTHING_APPLIED;
  }

  async #connect(memoryMegabytes: number): Promise<void> {
    const { exportDirectory, timeZone, maySpill = true } = this.#options;
    // A view that gathers lists takes more memory than there is before it gives its first row.
    const spill = maySpill
      ? prepareSpillDirectory(exportDirectory, memoryMegabytes * MEBIBYTE)
      : undefined;
    const options = { memoryMegabytes, exportDirectory, timeZone, spill };
    this.connections = await DatabaseConnections.open(this.#path, options);
    this.generation += 1;
    this.#outOfMemoryCount = 0;
  }

  /** Opens the files once more where only the instance has ended: most of them can still be read. */
  async #ensureReadable(): Promise<boolean> {
    if (await acceptsStatements(this.connections as DatabaseConnections)) return true;
    this.close();
    return this.#connect(this.#options.memoryMegabytes).then(
      () => true,
      () => false,
    );
  }

  /** Saves what only the old database knows, as far as it still opens. */
  async #saveRows(): Promise<readonly string[]> {
    if (this.connections === undefined || !(await this.#ensureReadable())) return [];
    const { exportDirectory, keptRows, clock, directory, keptDirectory, log } = this.#options;
    const { saved, lost } = await saveCarriedRows(this.connections.writer, {
      exportDirectory,
      keptRows,
      nowMs: clock(),
      oldSpool: join(directory, "spool"),
      segments: keptDirectory,
    });
    if (lost.length > 0) {
      log("store_rows_lost", `not readable, left in the old files: ${lost.join(", ")}`);
    }
    return saved;
  }
}

/** Whether an error of the database says that it found no memory. */
export function isOutOfMemory(error: unknown): boolean {
  return OUT_OF_MEMORY_ERROR.test(String(error));
}

/** Whether an instance takes statements: after a FATAL error it takes none. */
function acceptsStatements({ writer }: DatabaseConnections): Promise<boolean> {
  return writer.rows("SELECT 1").then(
    () => true,
    () => false,
  );
}

function takeFirstLine(text: string): string {
  return text.split("\n", 1)[0] as string;
}

export class DatabaseConnections {
  readonly writer: Connection;
  readonly reader: Connection;
  readonly lookupReader: Connection;
  /** Of the decision log. */
  readonly #logReader: Connection;
  readonly #database: DuckDatabase;

  private constructor(database: DuckDatabase, connections: readonly Connection[]) {
    this.#database = database;
    [this.writer, this.reader, this.lookupReader, this.#logReader] = connections as [
      Connection,
      Connection,
      Connection,
      Connection,
    ];
  }

  /** @throws DuckDB's error when the file does not open. */
  static async open(path: string, options: DatabaseOptions): Promise<DatabaseConnections> {
    const database = await openDatabase(path, options);
    const connections = [];
    for (let count = 0; count < 4; count++) connections.push(await database.connect());
    return new DatabaseConnections(database, connections);
  }

  /** One more connection; the caller has to close it. */
  openAnother(): Promise<Connection> {
    return this.#database.connect();
  }

  /** The same database with the decision log's own connection to read it. */
  withLogReader(): DatabaseConnections {
    const { writer, lookupReader } = this;
    return new DatabaseConnections(this.#database, [
      writer,
      this.#logReader,
      lookupReader,
      this.reader,
    ]);
  }

  /** Connections before instance, or the file stays locked. */
  close(): void {
    for (const connection of [this.#logReader, this.lookupReader, this.reader, this.writer])
      connection.close();
    this.#database.close();
  }
}
