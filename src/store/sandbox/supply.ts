// Supply of rows for the copy of the database: what the copy holds already, and the rows that it lacks.
// Tables only grow at their end, so that the new rows of one are those beyond the last row id; counts
// prove it, and where they do not agree (rows expired, say) the copy is made anew.
import * as fs from "node:fs";
import { join } from "node:path";
import type { StoreCore } from "../core.ts";
import { isOutOfMemory } from "../database.ts";
import type { Connection } from "../duckdb.ts";
import { literal } from "../view.ts";
import type { TablePart } from "./messages.ts";

/** Rows from which a new copy of the whole file is quicker than adding them. */
const ADDED_ROWS_MAX = 250_000;
/** Its rows are replaced as a whole, and say when they were read. */
const REPLACED = "agent_rows";
/** Nobody reads it there, and rows of it are removed. */
const NOT_COPIED = "spool_taken";

/** What is known of a table: rows, and the row id after its last one. */
interface Held {
  readonly count: number;
  readonly next: number;
}

interface Figures {
  readonly tables: ReadonlyMap<string, Held>;
  /** Reading that `agent_rows` shows. */
  readonly stamp: string;
  readonly writeCount: number;
  /** Opening of the database: another one may have given its rows other ids. */
  readonly generation: number;
}

/** Rows to add, and what the copy holds once they are. */
export interface Supply {
  readonly parts: readonly TablePart[];
  /** Call it when they are added, or will not be: their files go. */
  done(isAdded: boolean): void;
}

export class RowSupply {
  readonly #core: StoreCore;
  #held: Figures | undefined;
  #fileCount = 0;

  constructor(core: StoreCore) {
    this.#core = core;
    fs.rmSync(this.directory, { recursive: true, force: true });
    fs.mkdirSync(this.directory, { recursive: true, mode: 0o700 });
  }

  /** Directory of the files of rows: the store may write there, and the process read. */
  get directory(): string {
    return join(this.#core.exportDirectory, "sandbox");
  }

  /** Whether a copy is known that only needs its new rows. */
  get isCopied(): boolean {
    return this.#held !== undefined && this.#held.generation === this.#core.generation;
  }

  /** The next copy is made anew. */
  forget(): void {
    this.#held = undefined;
  }

  /** Has the database copied by `run` while nobody writes to it. */
  async copy(run: () => Promise<void>): Promise<void> {
    this.forget();
    let failure: unknown;
    await this.#core.write(async (writer) => {
      const figures = await this.#figuresNow(writer);
      try {
        await run();
        this.#held = figures;
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
   * @returns undefined when the copy has to be made anew.
   */
  async lacking(isCopyWelcome: boolean): Promise<Supply | undefined> {
    const held = this.#held;
    if (held === undefined || !this.isCopied) return undefined;
    if (held.writeCount === this.#core.writeCount) return { parts: [], done: () => undefined };
    const parts: TablePart[] = [];
    const rowsMax = isCopyWelcome ? ADDED_ROWS_MAX : Number.POSITIVE_INFINITY;
    const removed = () => {
      for (const { path } of parts) fs.rmSync(path, { force: true });
    };
    try {
      const figures = await this.#core.readQueue.apart((connection) =>
        this.#write(connection, held, parts, rowsMax),
      );
      if (figures === undefined) {
        removed();
        return undefined;
      }
      const done = (isAdded: boolean) => {
        this.#held = isAdded ? figures : undefined;
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
  async #write(
    connection: Connection,
    held: Figures,
    parts: TablePart[],
    rowsMax: number,
  ): Promise<Figures | undefined> {
    await connection.run("BEGIN TRANSACTION");
    try {
      const { stamp, ...rest } = await this.#stampNow(connection);
      const counts = await countTableRows(connection);
      if (counts.size !== held.tables.size) return undefined;
      const tables = new Map<string, Held>();
      let added = 0;
      for (const [table, count] of counts) {
        const known = held.tables.get(table);
        if (known === undefined) return undefined;
        const isReplaced = table === REPLACED;
        const isSame = isReplaced
          ? stamp === held.stamp
          : count === known.count && !(await hasFrom(connection, table, known.next));
        if (isSame) {
          tables.set(table, known);
          continue;
        }
        added += isReplaced ? count : count - known.count;
        if (count < known.count && !isReplaced) return undefined;
        if (added > rowsMax) return undefined;
        const path = join(this.directory, `${this.#fileCount++}-${table}.parquet`);
        parts.push({ table, path, isWhole: isReplaced });
        const next = isReplaced ? 0 : known.next;
        const written = await copyRows(connection, table, next, path);
        if (written.count !== (isReplaced ? count : count - known.count)) return undefined;
        tables.set(table, { count, next: written.next });
      }
      return { tables, stamp, ...rest };
    } finally {
      await connection.run("ROLLBACK").catch(() => undefined);
    }
  }

  async #figuresNow(connection: Connection): Promise<Figures> {
    const tables = new Map<string, Held>();
    for (const [table, count] of await countTableRows(connection)) {
      const [row] = await connection.rows(`SELECT coalesce(max(rowid) + 1, 0) FROM ${table}`);
      tables.set(table, { count, next: Number(row?.[0]) });
    }
    return { tables, ...(await this.#stampNow(connection)) };
  }

  /** Read before the rows: a write in between makes the next look another one. */
  async #stampNow(connection: Connection): Promise<Omit<Figures, "tables">> {
    const { writeCount, generation } = this.#core;
    const [row] = await connection.rows(`SELECT as_of_ms, as_of_position FROM ${REPLACED} LIMIT 1`);
    return { stamp: JSON.stringify(row ?? []), writeCount, generation };
  }
}

/** Rows of every table of the schema. */
async function countTableRows(connection: Connection): Promise<Map<string, number>> {
  const names = await connection.rows(
    "SELECT table_name FROM duckdb_tables() WHERE NOT temporary AND NOT internal ORDER BY 1",
  );
  const tables = names.map(([name]) => String(name)).filter((name) => name !== NOT_COPIED);
  const each = tables.map((table) => `SELECT ${literal(table)}, count(*) FROM ${table}`);
  const rows = await connection.rows(each.join(" UNION ALL "));
  return new Map(rows.map(([table, count]) => [String(table), Number(count)]));
}

/** Whether there are rows from a row id on: some may have taken the place of others. */
async function hasFrom(connection: Connection, table: string, rowId: number): Promise<boolean> {
  const rows = await connection.rows(`SELECT 1 FROM ${table} WHERE rowid >= ${rowId} LIMIT 1`);
  return rows.length > 0;
}

async function copyRows(
  connection: Connection,
  table: string,
  from: number,
  path: string,
): Promise<{ count: number; next: number }> {
  const rows = `FROM ${table} WHERE rowid >= ${from}`;
  const [last] = await connection.rows(`SELECT coalesce(max(rowid) + 1, ${from}) ${rows}`);
  const [written] = await connection.rows(
    `COPY (SELECT * ${rows}) TO ${literal(path)} (FORMAT parquet, COMPRESSION snappy)`,
  );
  return { count: Number(written?.[0]), next: Number(last?.[0]) };
}
