// Rows of the store's `kaizen_runs`. The files stay the source: rows that the store has missed,
// because it was away, rebuilt or full, are written again at the next start.
import type { KaizenService } from "./service.ts";
import type { RunRecord } from "../kaizen.ts";
import type { Log } from "../../platform/log.ts";
import type { Store, StoreEvents } from "../../store/store.ts";
import { SerialQueue } from "../../concurrency/serial-queue.ts";

const readRunStatus = (run: RunRecord): string =>
  run.rolled_back === undefined ? run.state : "rolled_back";

/** A run as a row: its state now, every gate with its numbers, and the whole record. */
export function buildRunRow(run: RunRecord, recordedAtMs: number): StoreEvents["kaizen_runs"] {
  const gates = run.findings?.sides.flatMap(({ side, gates: found }) =>
    found.map((gate) => ({ side, ...gate })),
  );
  return {
    recorded_at: recordedAtMs,
    run_id: run.run_id,
    started_at: Date.parse(run.started_at),
    finished_at: run.finished_at === undefined ? null : Date.parse(run.finished_at),
    started_by: run.started_by,
    status: readRunStatus(run),
    promoted: run.state === "promoted",
    reason: run.rolled_back?.reason ?? run.reason,
    config_from: run.champion_version,
    config_to: run.challenger_version ?? null,
    outcome_count: run.rows,
    gates: gates ?? [],
    record: run,
  };
}

/** Writes runs to the store, each state in one transaction; a failing store is no fault. */
export class RunRowWriter {
  readonly #store: Pick<Store, "recordRun" | "queryTrusted">;
  readonly #log: Log;
  readonly #clock: () => number;
  readonly #writes = new SerialQueue();

  constructor(store: Pick<Store, "recordRun" | "queryTrusted">, clock: () => number, log: Log) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  /** Resolves once all rows so far are committed or have failed. */
  get settled(): Promise<void> {
    return this.#writes.drained();
  }

  write(run: RunRecord): void {
    // A copy: the record changes with its run, the row does not. In order: the newest row wins.
    const row = structuredClone(buildRunRow(run, this.#clock()));
    void this.#writes
      .run(() => this.#store.recordRun("kaizen_runs", row))
      .catch((error: Error) => {
        this.#log.warn("kaizen_row_missing", { run: run.run_id, detail: error.message });
      });
  }

  /** Writes the rows that the store lacks, oldest first. */
  async catchUp(kaizen: Pick<KaizenService, "runs" | "find">): Promise<void> {
    const runs = kaizen.runs().toReversed();
    if (runs.length === 0) return;
    try {
      const sql = "SELECT run_id, status FROM kaizen_runs";
      const rows = await this.#store.queryTrusted(sql);
      const known = new Map(rows.map(([id, status]) => [id, status]));
      for (const { run_id: id } of runs) {
        const run = kaizen.find(id);
        if (run !== undefined && known.get(id) !== readRunStatus(run)) this.write(run);
      }
    } catch (error) {
      this.#log.warn("kaizen_rows_unread", { detail: (error as Error).message });
    }
    await this.#writes.drained();
  }
}
