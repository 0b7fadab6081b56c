// Views as Parquet files: whole days of those whose old days do not change any more, all of the others
// at once. DuckDB writes the file, and the caller gets its bytes.
import * as fs from "node:fs";
import { join } from "node:path";
import type { ExportView } from "../contract/views.ts";
import type { JournalFollower } from "./core.ts";
import { buildViewQuery } from "./query/views.ts";
import type { ExportOptions } from "./store.ts";

/** The column that gives a row's day; null: the view is exported as one file. */
const DAY_COLUMNS: Readonly<Record<ExportView, string | null>> = {
  outcomes: "recorded_at",
  decisions: "evaluated_at",
  provenance: "recorded_at",
  assessments: "assessed_at",
  audit_events: "recorded_at",
  backtests: "recorded_at",
  scores_daily: "day",
  agents: null,
  agents_daily: null,
  decisions_daily: null,
  evidence_sources: null,
  kaizen_runs: null,
  policies: null,
  reporters: null,
  review_queue: null,
  reviews: null,
  usage: null,
};

export class StoreExports {
  readonly #core: JournalFollower;
  #count = 0;

  constructor(core: JournalFollower) {
    this.#core = core;
  }

  /** Days that a view has rows of; none for a view without days. */
  async listDays(view: ExportView, options: ExportOptions): Promise<string[]> {
    const column = selectDayColumn(view, options);
    if (column === null) return [];
    return this.#core.readQueue.read(async (connection) => {
      const rows = await connection.rows(
        `SELECT DISTINCT CAST(CAST(${column} AS DATE) AS VARCHAR)
         FROM (${await buildViewQuery(connection, view, options.tenant)})
         WHERE ${buildSinceCondition(column, options.sinceMs)} ORDER BY 1`,
      );
      return rows.map(([day]) => String(day));
    });
  }

  /** `day` must have the form of a date: it goes into SQL as it is. Undefined: every row. */
  exportParquet(
    view: ExportView,
    day: string | undefined,
    options: ExportOptions,
  ): Promise<Uint8Array> {
    const column = selectDayColumn(view, options);
    const path = join(this.#core.exportDirectory, `${this.#count++}.parquet`);
    return this.#core.readQueue.read(async (connection) => {
      const rows = await buildViewQuery(connection, view, options.tenant);
      const chosen =
        column === null || day === undefined
          ? ""
          : `WHERE CAST(${column} AS DATE) = DATE '${day}'
             AND ${buildSinceCondition(column, options.sinceMs)} ORDER BY ${column}`;
      try {
        await connection.run(
          `COPY (FROM (${rows}) ${chosen}) TO '${path.replaceAll("'", "''")}'
           (FORMAT parquet, COMPRESSION zstd)`,
        );
        return new Uint8Array(fs.readFileSync(path));
      } finally {
        fs.rmSync(path, { force: true });
      }
    });
  }
}

function selectDayColumn(view: ExportView, { by }: ExportOptions): string | null {
  return view === "outcomes" && by === "settled" ? "settled_at" : DAY_COLUMNS[view];
}

function buildSinceCondition(column: string, sinceMs: number): string {
  return `${column} >= epoch_ms(CAST(${Math.floor(sinceMs)} AS BIGINT))`;
}
