// Pool thread of one task: opened for it and closed after it, so that a gigabyte of evidence does
// not stay with the service.
import { openPool } from "../../platform/pool.ts";
import type { BacktestFindings } from "../../contract/schemas/backtest.ts";
import type { BacktestTask } from "../replay/backtest.ts";
import type { KaizenResult, KaizenTask, KaizenWorkerData } from "./task.ts";

const WORKER = new URL("../../threads/kaizen/worker.ts", import.meta.url).href;
const BACKTEST_WORKER = new URL("../../threads/kaizen/backtest-worker.ts", import.meta.url).href;

/** Rejects with the worker's error, or at once on `signal`. */
async function runOnOwnThread<Task, Result>(
  filename: string,
  task: Task,
  progress: Int32Array,
  signal: AbortSignal,
): Promise<Result> {
  const workerData: KaizenWorkerData = { progress };
  const pool = openPool({ filename, workerData, threads: 1 });
  try {
    return await pool.run<Task, Result>(task, [], signal);
  } finally {
    await pool.close();
  }
}

/**
 * Runs one task on a thread of its own. Rejects with the worker's error, or at once on `signal`.
 */
export function runKaizenOnPool(
  task: KaizenTask,
  progress: Int32Array,
  signal: AbortSignal,
): Promise<KaizenResult> {
  return runOnOwnThread(WORKER, task, progress, signal);
}

/** The same for a back-test. `progress[1]` is in thousandths. */
export function runBacktestOnPool(
  task: BacktestTask,
  progress: Int32Array,
  signal: AbortSignal,
): Promise<BacktestFindings> {
  return runOnOwnThread(BACKTEST_WORKER, task, progress, signal);
}
