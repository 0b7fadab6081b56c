// Worker entry of a back-test: replays the journal and judges every outcome by two policies. It
// owns a private engine memory and writes nothing: a crash here changes nothing in force.
import { workerData } from "node:worker_threads";
import type { BacktestFindings } from "../../contract/schemas/backtest.ts";
import { backtestJournal } from "../../kaizen/replay/backtest.ts";
import type { BacktestTask } from "../../kaizen/replay/backtest.ts";
import type { KaizenWorkerData } from "../../kaizen/service/worker-pool.ts";
import { lowerThreadPriority } from "../../platform/thread-priority.ts";

const { progress } = workerData as KaizenWorkerData;

/** The task function that the pool calls. */
export default function runBacktestTask(task: BacktestTask): BacktestFindings {
  lowerThreadPriority();
  return backtestJournal(task, (share) => {
    Atomics.store(progress, 1, Math.round(share * 1000));
  });
}
