// The database's files over their life: opened, opened again after an error, set aside and made anew.
// An error that ends a database (memory, the disk) mostly leaves its files whole, so they are opened
// again before they are condemned; and condemned files are kept, never deleted in silence.
import * as fs from "node:fs";
import { join } from "node:path";
import { Connections } from "./connections.ts";
import { DATABASE_FILE, setAside } from "./files.ts";
import type { KeptRows } from "./kept.ts";
import { adoptSpool, restoreRows, saveRows } from "./rebuild-carry-over.ts";
import { type Applied, NOTHING_APPLIED, prepareWriter, readApplied } from "./rows/outcomes.ts";
import { createSchema, isEmpty } from "./schema.ts";

export interface DatabaseOptions {
  readonly directory: string;
  /** The one directory in which the database may write. */
  readonly exchange: string;
  readonly keptDirectory: string;
  readonly kept: KeptRows;
  readonly memoryMegabytes: number;
  readonly timeZone?: string;
  /** Epoch ms. */
  readonly clock: () => number;
  readonly log: (event: string, detail: string) => void;
}

/** A file that another process holds is whole: there is nothing to mend. */
const IS_LOCKED = /lock on file/i;
/** A log may need more memory to be replayed and put into the file than it took to write. */
const NEEDS_MEMORY = /out of memory|memory limit|failed to (allocate|pin)|could not allocate/i;
const REPLAY_MEMORY_FACTOR = 4;
/** Applies without memory after which the files are opened again. */
const STARVED_MAX = 2;

export class Database {
  connections: Connections | undefined;
  /** Rises with every opening. */
  generation = 0;
  rebuildCount = 0;
  reopenCount = 0;
  /** Epoch ms; 0 for never. */
  reopenedAtMs = 0;
  /** True after an opening that began with nothing. */
  isNew = false;
  readonly #options: DatabaseOptions;
  /** Applies that found no memory since it was opened. */
  #starvedCount = 0;

  constructor(options: DatabaseOptions) {
    this.#options = options;
  }

  /**
   * Opens or makes the database; one that does not open or is inconsistent is rebuilt.
   * @throws DuckDB's error when another process holds the file, or nothing can be made.
   */
  async open(): Promise<Applied> {
    if (!fs.existsSync(this.#path)) return this.#make([]);
    try {
      return await this.#openWhole();
    } catch (error) {
      if (IS_LOCKED.test(String(error))) {
        this.close();
        throw error;
      }
      return this.rebuild(String(error));
    }
  }

  /** Closes the files and opens the same again; rebuilds when they are not whole. */
  async reopen(reason: string): Promise<Applied> {
    const { log, clock } = this.#options;
    this.close();
    try {
      const applied = await this.#openWhole();
      if ((await this.#reads()) === "rotten") throw new Error("it does not read whole");
      this.reopenCount += 1;
      this.reopenedAtMs = clock();
      log("store_reopened", `${firstLine(reason)}; nothing is lost`);
      return applied;
    } catch (error) {
      return this.rebuild(`${firstLine(reason)}; opened again: ${firstLine(String(error))}`);
    }
  }

  /** Moves the files aside, starts from nothing but what they can still give. */
  async rebuild(reason: string): Promise<Applied> {
    const { directory, log, clock } = this.#options;
    const saved = await this.#saveRows();
    this.close();
    const { aside, removed } = setAside(directory, clock());
    this.rebuildCount += 1;
    log("store_rebuild", `${firstLine(reason)}; the old files are in ${aside}`);
    for (const name of removed) log("store_aside_removed", `${name}, the oldest of too many`);
    return this.#make(saved);
  }

  /**
   * Whether it answers no more, has rotted, or is at another position than it should be; or, by the
   * error of an apply, has found no memory again: what fills it goes with the instance.
   */
  async isBroken(expected: Applied, error?: unknown): Promise<boolean> {
    if (error !== undefined && isOutOfMemory(error)) this.#starvedCount += 1;
    if (this.#starvedCount >= STARVED_MAX) return true;
    if ((await this.#reads()) !== "whole") return true;
    const applied = await readApplied((this.connections as Connections).writer);
    return applied?.lsn !== expected.lsn;
  }

  /**
   * Reads every stored value once: block checksums show rot. Without the memory for it the answer is
   * `unknown`, which is no reason to condemn a file.
   */
  async #reads(): Promise<"whole" | "rotten" | "unknown"> {
    const { writer } = this.connections as Connections;
    try {
      await readApplied(writer);
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

  async #openWhole(): Promise<Applied> {
    const { memoryMegabytes } = this.#options;
    try {
      return await this.#openWith(memoryMegabytes);
    } catch (error) {
      if (!isOutOfMemory(error)) throw error;
      // Once with more, so that its log is in the file and the next opening needs no replay.
      this.close();
      const applied = await this.#openWith(memoryMegabytes * REPLAY_MEMORY_FACTOR);
      this.close();
      await this.#connect(memoryMegabytes);
      await prepareWriter(this.connections!.writer);
      return applied;
    }
  }

  async #openWith(memoryMegabytes: number): Promise<Applied> {
    await this.#connect(memoryMegabytes);
    const { writer } = this.connections as Connections;
    if (await isEmpty(writer)) throw new Error("the database is empty");
    await writer.run("CHECKPOINT");
    const applied = await readApplied(writer);
    if (applied === undefined) throw new Error("rows and position disagree");
    await prepareWriter(writer);
    return applied;
  }

  async #make(saved: readonly string[]): Promise<Applied> {
    const { exchange, directory, keptDirectory, memoryMegabytes } = this.#options;
    try {
      adoptSpool({ oldSpool: join(directory, "spool"), segments: keptDirectory });
      await this.#connect(memoryMegabytes);
      const { writer } = this.connections!;
      await createSchema(writer);
      await restoreRows(writer, exchange, saved);
      await prepareWriter(writer);
    } catch (error) {
      this.close();
      throw error;
    }
    this.isNew = true;
    return NOTHING_APPLIED;
  }

  async #connect(memoryMegabytes: number): Promise<void> {
    const { exchange, timeZone } = this.#options;
    this.connections = await Connections.open(this.#path, memoryMegabytes, exchange, timeZone);
    this.generation += 1;
    this.#starvedCount = 0;
  }

  /** Opens the files once more where only the instance has ended: most of them can still be read. */
  async #answersAgain(): Promise<boolean> {
    if (await answers(this.connections as Connections)) return true;
    this.close();
    return this.#connect(this.#options.memoryMegabytes).then(
      () => true,
      () => false,
    );
  }

  /** Saves what only the old database knows, as far as it still opens. */
  async #saveRows(): Promise<readonly string[]> {
    if (this.connections === undefined || !(await this.#answersAgain())) return [];
    const { exchange, kept, clock, directory, keptDirectory, log } = this.#options;
    const { saved, lost } = await saveRows(this.connections.writer, {
      exchange,
      kept,
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
  return NEEDS_MEMORY.test(String(error));
}

/** Whether an instance takes statements: after a FATAL error it takes none. */
function answers({ writer }: Connections): Promise<boolean> {
  return writer.rows("SELECT 1").then(
    () => true,
    () => false,
  );
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] as string;
}
