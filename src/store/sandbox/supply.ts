// Supply of rows for the copy of the database: what the copy holds already, and the rows that it lacks.
// Tables only grow at their end, so that the new rows of one are those beyond the last row id; counts
// prove it, and where they do not agree (after rows expire, for example) a new copy is made.
import * as fs from "node:fs";
import { join } from "node:path";
import type { JournalFollower } from "../journal-follower.ts";
import { isOutOfMemory } from "../database.ts";
import { readNumber, type Connection } from "../duckdb.ts";
import { quoteLiteral } from "../view.ts";
import type { TableRowsFile } from "./process.ts";

/** Rows from which a new copy of the whole file is quicker than adding them. */
const ADDED_ROWS_MAX = 250_000;
/** Its rows are replaced as a whole, and say when they were read. */
const REPLACED_TABLE = "agent_rows";
/** Nobody reads it there, and rows of it are removed. */
const UNCOPIED_TABLE = "spool_taken";

/** What is known of a table: rows, and the row id after its last one. */
interface TableExtent {
  readonly count: number;
  readonly nextRowId: number;
}

interface CopyContents {
  readonly tables: ReadonlyMap<string, TableExtent>;
  /** Reading that `agent_rows` shows. */
  readonly stamp: string;
  readonly writeCount: number;
  /** Opening of the database: another one may have given its rows other ids. */
  readonly generation: number;
}

/** Rows to add, and what the copy holds once they are. */
interface MissingRows {
  readonly parts: readonly TableRowsFile[];
  /** Call it when they are added, or will not be: their files go. */
  done(isAdded: boolean): void;
}

export class DatabaseCopyTracker {
  readonly #core: JournalFollower;
  #contents: CopyContents | undefined;
  #fileCount = 0;

  constructor(core: JournalFollower) {
    this.#core = core;
    fs.rmSync(this.directory, { recursive: true, force: true });
    fs.mkdirSync(this.directory, { recursive: true, mode: 0o700 });
  }

  /** Directory of the files of rows: the store may write there, and the process read. */
  get directory(): string {
    return join(this.#core.exportDirectory, "sandbox");
  }

  /** Whether a copy is known that only needs its new rows. */
  get hasUsableCopy(): boolean {
    return this.#contents !== undefined && this.#contents.generation === this.#core.generation;
  }

  /** Forces a new copy. */
  invalidate(): void {
    this.#contents = undefined;
  }

  /** Runs `run`, which copies the database, while no write can happen. */
  async copyWhileLocked(run: () => Promise<void>): Promise<void> {
    this.invalidate();
    let failure: unknown;
    await this.#core.write(async (writer) => {
      const figures = await this.#readContents(writer);
      try {
        await run();
        this.#contents = figures;
      } catch (error) {
        // A copy that fails says nothing about the database.
        failure = error;
      }
    });
    if (failure !== undefined) throw failure;
  }

  /**
   * The rows that the copy lacks of what is committed now.
   * @param isCopyWelcome false: even very many rows are added one by one.
   * @returns undefined when a new copy is needed.
   */
  async exportMissingRows(isCopyWelcome: boolean): Promise<MissingRows | undefined> {
    const held = this.#contents;
    if (held === undefined || !this.hasUsableCopy) return undefined;
    if (held.writeCount === this.#core.writeCount) return { parts: [], done: () => undefined };
    const parts: TableRowsFile[] = [];
    const rowsMax = isCopyWelcome ? ADDED_ROWS_MAX : Number.POSITIVE_INFINITY;
    const removed = () => {
      for (const { path } of parts) fs.rmSync(path, { force: true });
    };
    try {
      const figures = await this.#core.readQueue.readOnOwnConnection((connection) =>
        this.#exportNewRows(connection, held, parts, rowsMax),
      );
      if (figures === undefined) {
        removed();
        return undefined;
      }
      const done = (isAdded: boolean) => {
        this.#contents = isAdded ? figures : undefined;
        removed();
      };
      return { parts, done };
    } catch (error) {
      removed();
      // The file can be copied without any.
      if (isOutOfMemory(error)) return undefined;
      throw error;
    }
  }

  /** Writes all that is new in one snapshot. Undefined: counts do not agree, or it is too much. */
  async #exportNewRows(
    connection: Connection,
    held: CopyContents,
    parts: TableRowsFile[],
    rowsMax: number,
  ): Promise<CopyContents | undefined> {
    await connection.run("BEGIN TRANSACTION");
    try {
      const { stamp, ...rest } = await this.#readStamp(connection);
      const counts = await countTableRows(connection);
      if (counts.size !== held.tables.size) return undefined;
      const tables = new Map<string, TableExtent>();
      let added = 0;
      for (const [table, count] of counts) {
        const known = held.tables.get(table);
        if (known === undefined) return undefined;
        const isReplaced = table === REPLACED_TABLE;
        const isSame = isReplaced
          ? stamp === held.stamp
          : count === known.count && !(await hasRowsFrom(connection, table, known.nextRowId));
        if (isSame) {
          tables.set(table, known);
          continue;
        }
        added += isReplaced ? count : count - known.count;
        if (count < known.count && !isReplaced) return undefined;
        if (added > rowsMax) return undefined;
        const path = join(this.directory, `${this.#fileCount++}-${table}.parquet`);
        parts.push({ table, path, isWhole: isReplaced });
        const next = isReplaced ? 0 : known.nextRowId;
        const written = await exportRowsFrom(connection, table, next, path);
        if (written.count !== (isReplaced ? count : count - known.count)) return undefined;
        tables.set(table, { count, nextRowId: written.next });
      }
      return { tables, stamp, ...rest };
    } finally {
      await connection.run("ROLLBACK").catch(() => undefined);
    }
  }

  async #readContents(connection: Connection): Promise<CopyContents> {
    const tables = new Map<string, TableExtent>();
    for (const [table, count] of await countTableRows(connection)) {
      const next = `SELECT coalesce(max(rowid) + 1, 0) FROM ${table}`;
      tables.set(table, { count, nextRowId: await readNumber(connection, next) });
    }
    return { tables, ...(await this.#readStamp(connection)) };
  }

  /** Read before the rows: a write in between makes the next look another one. */
  async #readStamp(connection: Connection): Promise<Omit<CopyContents, "tables">> {
    const { writeCount, generation } = this.#core;
    const [row] = await connection.rows(
      `SELECT as_of_ms, as_of_position FROM ${REPLACED_TABLE} LIMIT 1`,
    );
    return { stamp: JSON.stringify(row ?? []), writeCount, generation };
  }
}

/** Rows of every table of the schema. */
async function countTableRows(connection: Connection): Promise<Map<string, number>> {
  const names = await connection.rows(
    "SELECT table_name FROM duckdb_tables() WHERE NOT temporary AND NOT internal ORDER BY 1",
  );
  const tables = names.map(([name]) => String(name)).filter((name) => name !== UNCOPIED_TABLE);
  const each = tables.map((table) => `SELECT ${quoteLiteral(table)}, count(*) FROM ${table}`);
  const rows = await connection.rows(each.join(" UNION ALL "));
  return new Map(rows.map(([table, count]) => [String(table), Number(count)]));
}

/** Whether there are rows from a row id on: rows may have been replaced without a change in count. */
async function hasRowsFrom(connection: Connection, table: string, rowId: number): Promise<boolean> {
  const rows = await connection.rows(`SELECT 1 FROM ${table} WHERE rowid >= ${rowId} LIMIT 1`);
  return rows.length > 0;
}

async function exportRowsFrom(
  connection: Connection,
  table: string,
  from: number,
  path: string,
): Promise<{ count: number; next: number }> {
  const rows = `FROM ${table} WHERE rowid >= ${from}`;
  const next = await readNumber(connection, `SELECT coalesce(max(rowid) + 1, ${from}) ${rows}`);
  const copy = `COPY (SELECT * ${rows}) TO ${quoteLiteral(path)} (FORMAT parquet, COMPRESSION snappy)`;
  return { count: await readNumber(connection, copy), next };
}
