// Rows kept as files beside the database, for tables that neither the journal nor the decision
// segments give back: daily counts of decisions whose segments are gone, daily scores, and decisions
// of versions that kept no segments. A file is written whole, synced, and named by what it covers.
import * as fs from "node:fs";
import { join } from "node:path";
import type { Connection } from "./duckdb.ts";
import { moveDurably } from "../platform/files.ts";
import { listDirectoryOrEmpty } from "./files.ts";
import { quoteLiteral } from "./view.ts";

/**
 * Tables by the first word of their files' names. The number in a name: of `days` the midnight
 * (epoch ms) up to which decisions are counted, of `rows` when they were saved (epoch ms), of
 * `scores` the day (since 1970).
 */
const KEPT_TABLES = {
  days: "decision_day_rows",
  rows: "decision_rows",
  scores: "score_day_rows",
} as const;

type KeptKind = keyof typeof KEPT_TABLES;

/** One file of kept rows. */
export interface KeptFile {
  readonly name: string;
  readonly kind: KeptKind;
  readonly number: number;
}

const KEPT_FILE_NAME = /^(days|rows|scores)-(\d+)\.parquet$/;

export class KeptRows {
  readonly #directory: string;
  /** The one in which the database may read and write. */
  readonly #exportDirectory: string;

  constructor(directory: string, exchange: string) {
    this.#directory = directory;
    this.#exportDirectory = exchange;
    fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
  }

  /** All files, oldest first within a kind. */
  list(): KeptFile[] {
    return listDirectoryOrEmpty(this.#directory)
      .flatMap((name) => {
        const [, kind, number] = KEPT_FILE_NAME.exec(name) ?? [];
        return kind === undefined ? [] : [{ name, kind: kind as KeptKind, number: Number(number) }];
      })
      .toSorted((left, right) => left.number - right.number);
  }

  formatName(kind: KeptKind, number: number): string {
    return `${kind}-${number}.parquet`;
  }

  /**
   * Writes rows of a kind's table, those that `condition` (SQL) chooses.
   * @throws the error of the database or of the disk; then there is no such file.
   */
  async save(
    connection: Connection,
    kind: KeptKind,
    number: number,
    condition = "true",
  ): Promise<void> {
    const name = this.formatName(kind, number);
    const path = join(this.#exportDirectory, name);
    // Somebody may have cleared them away: the rows are worth more than the directory.
    for (const each of [this.#directory, this.#exportDirectory])
      fs.mkdirSync(each, { recursive: true });
    try {
      await connection.run(
        `COPY (FROM ${KEPT_TABLES[kind]} WHERE ${condition}) TO ${quoteLiteral(path)}
         (FORMAT parquet, COMPRESSION zstd)`,
      );
      moveDurably(path, join(this.#directory, name));
    } finally {
      fs.rmSync(path, { force: true });
    }
  }

  /**
   * Puts the rows of a file back, those that `condition` chooses, inside the open transaction.
   * Columns that are new since stay empty, columns that are no longer there are left out.
   */
  async restore(connection: Connection, file: KeptFile, condition = "true"): Promise<void> {
    const path = join(this.#exportDirectory, file.name);
    fs.copyFileSync(join(this.#directory, file.name), path, fs.constants.COPYFILE_FICLONE);
    try {
      await insertParquetRows(connection, KEPT_TABLES[file.kind], path, condition);
    } finally {
      fs.rmSync(path, { force: true });
    }
  }

  remove(name: string): void {
    fs.rmSync(join(this.#directory, name), { force: true });
  }
}

/** Inserts the rows of a Parquet file into a table, by the columns that both have. */
export async function insertParquetRows(
  connection: Connection,
  table: string,
  path: string,
  condition = "true",
): Promise<void> {
  const file = `read_parquet(${quoteLiteral(path)})`;
  const found = await connection.rows(
    `SELECT column_name FROM (DESCRIBE ${table})
     WHERE column_name IN (SELECT column_name FROM (DESCRIBE SELECT * FROM ${file}))`,
  );
  const columns = found.map(([name]) => String(name));
  if (columns.length === 0) return;
  await connection.run(
    `INSERT INTO ${table} BY NAME SELECT ${columns.join(", ")} FROM ${file} WHERE ${condition}`,
  );
}
