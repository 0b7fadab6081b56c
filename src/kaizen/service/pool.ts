// Pool thread of one kaizen run: opened for the run and closed after it, so that a gigabyte of
// evidence does not stay with the service.
import { openPool } from "../../platform/pool.ts";
import type { KaizenResult, KaizenTask, KaizenWorkerData } from "./task.ts";

const WORKER = new URL("../../threads/kaizen/worker.ts", import.meta.url).href;

/**
 * Runs one task on a thread of its own. Rejects with the worker's error, or at once on `signal`.
 */
export async function runOnPool(
  task: KaizenTask,
  progress: Int32Array,
  signal: AbortSignal,
): Promise<KaizenResult> {
  const workerData: KaizenWorkerData = { progress };
  const pool = openPool({ filename: WORKER, workerData, threads: 1 });
  try {
    return await pool.run<KaizenTask, KaizenResult>(task, [], signal);
  } finally {
    await pool.close();
  }
}
