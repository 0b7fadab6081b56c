// Service that rebuilds daily scores by a replay of the journal: on demand, and by itself once an import of older
// outcomes has ended. One replay at a time, on a thread of its own; its rows go straight to the store.
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { ServiceFault } from "../../contract/faults.ts";
import { DAY_MS } from "../../contract/units.ts";
import type { ScoringConfig } from "../../engine/config.ts";
import { openPool } from "../../platform/pool.ts";
import type { Log } from "../../platform/log.ts";
import type { DailyScoreRebuild, DailyScores, DailyScoresStatus } from "../kaizen.ts";
import type { DailyReplayOptions } from "../replay/daily-replay.ts";
import type { StoreState } from "../../store/messages.ts";
import type { KaizenWorkerData } from "./worker-pool.ts";

const WORKER = new URL("../../threads/kaizen/daily-scores-worker.ts", import.meta.url).href;
/** An import has ended when nothing more of it came in for so long. */
const IMPORT_QUIET_MS = 30_000;

export interface DailyScoresTask extends DailyReplayOptions {
  readonly journal: string;
  /** End of the journal to read; must be durable. */
  readonly uptoLsn: number;
  /** Into the store. */
  readonly port: MessagePort;
}

export interface DailyScoresResult {
  readonly days: number;
  readonly rows: number;
  /** Since 1970; 0 without a day. */
  readonly firstDay: number;
}

/** The store's part in it. */
export interface DailyScoresStore {
  status(): Pick<StoreState, "isBuilding" | "restoringCount" | "appliedLsn">;
  /** See `OpenStore`. */
  findNewestImportMs(position: number, settledBeforeMs: number): Promise<number | undefined>;
  receiveDailyScores(port: MessagePort): void;
}

export interface DailyScoresOptions {
  readonly journal: string;
  readonly ledger: { position(): number };
  readonly store: DailyScoresStore;
  /** Configs that were live, oldest first, and the constants of the fold. */
  readonly configs: () => DailyReplayOptions["configs"];
  readonly fold: ScoringConfig;
  /** Days that daily scores are kept. */
  readonly keptDays: number;
  /** Epoch ms. */
  readonly clock: () => number;
  readonly log: Log;
}

async function runOnPool(task: DailyScoresTask, progress: Int32Array, signal: AbortSignal) {
  const workerData: KaizenWorkerData = { progress };
  const pool = openPool({ name: "daily-scores", filename: WORKER, workerData, threads: 1 });
  try {
    return await pool.run<DailyScoresTask, DailyScoresResult>(task, [task.port], signal);
  } finally {
    await pool.close();
  }
}

export class DailyScoresService implements DailyScores {
  readonly #options: DailyScoresOptions;
  readonly #stop = new AbortController();
  readonly #progress = new Int32Array(new SharedArrayBuffer(8));
  #running: Promise<DailyScoreRebuild> | undefined;
  #last: DailyScoreRebuild | undefined;
  /** Position up to which imports have been looked at and need no further replay. */
  #checkedPosition = 0;

  constructor(options: DailyScoresOptions) {
    this.#options = options;
  }

  rebuild(): Promise<DailyScoreRebuild> {
    if (this.#running !== undefined) return this.#running;
    const { isBuilding, restoringCount } = this.#options.store.status();
    if (isBuilding || restoringCount > 0) {
      const detail = "the outcome store is being rebuilt; rebuild the daily scores after that";
      return Promise.reject(new ServiceFault("store_unavailable", detail));
    }
    this.#running = this.#run().finally(() => (this.#running = undefined));
    return this.#running;
  }

  status(): DailyScoresStatus {
    const share = Atomics.load(this.#progress, 1) / 1000;
    return {
      is_running: this.#running !== undefined,
      ...(this.#running === undefined ? {} : { share }),
      ...(this.#last === undefined ? {} : { last: this.#last }),
    };
  }

  /** Rebuilds after an import of outcomes that settled before today. Never rejects. */
  async rebuildIfImported(): Promise<void> {
    const { store, log } = this.#options;
    const { appliedLsn, isBuilding, restoringCount } = store.status();
    if (this.#running !== undefined || isBuilding || restoringCount > 0) return;
    if (appliedLsn <= this.#checkedPosition) return;
    try {
      const isDue = await this.#isImportUnread();
      if (isDue === "no") this.#checkedPosition = appliedLsn;
      if (isDue === "yes") await this.rebuild();
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      log.error("daily_scores_failed", { detail: (error as Error).message });
    }
  }

  /** Cancels a replay under way: the days that it has written stay, the next check starts another. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running?.catch(() => undefined);
  }

  /** `later`: an import is still coming in. */
  async #isImportUnread(): Promise<"yes" | "later" | "no"> {
    const { store, clock } = this.#options;
    const nowMs = clock();
    const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
    const newestMs = await store.findNewestImportMs(this.#checkedPosition, today);
    if (newestMs === undefined) return "no";
    return nowMs - newestMs < IMPORT_QUIET_MS ? "later" : "yes";
  }

  async #run(): Promise<DailyScoreRebuild> {
    const { journal, ledger, store, configs, fold, keptDays, clock, log } = this.#options;
    const startedMs = clock();
    const position = ledger.position();
    const endDay = Math.floor(startedMs / DAY_MS);
    const { port1, port2 } = new MessageChannel();
    store.receiveDailyScores(port2);
    Atomics.store(this.#progress, 1, 0);
    log.info("daily_scores_started", { position });
    const days = { configs: configs(), fold, fromDay: endDay - keptDays, endDay };
    const task = { journal, uptoLsn: position, port: port1, ...days };
    try {
      const found = await runOnPool(task, this.#progress, this.#stop.signal);
      this.#checkedPosition = Math.max(this.#checkedPosition, position);
      this.#last = {
        at: new Date(startedMs).toISOString(),
        position,
        days: found.days,
        rows: found.rows,
        first_day: found.days === 0 ? null : formatDay(found.firstDay),
        last_day: found.days === 0 ? null : formatDay(endDay - 1),
        duration_ms: clock() - startedMs,
      };
      log.info("daily_scores_rebuilt", { ...this.#last });
      return this.#last;
    } finally {
      // Where the thread never started, nobody else closes it.
      port2.close();
    }
  }
}

/** As `2026-01-31`. */
const formatDay = (day: number) => new Date(day * DAY_MS).toISOString().slice(0, 10);
