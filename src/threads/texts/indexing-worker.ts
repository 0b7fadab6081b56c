// Worker entry that indexes texts of the journal after a start, one after the other, at a priority
// below all threads that answer. Ends with the last text, or on request with the text in progress.
import { workerData } from "node:worker_threads";
import { createRecordReader } from "./records.ts";
import { lowerThreadPriority } from "../../platform/thread-priority.ts";
import { BacklogIndexer } from "../../vault/grounding/backlog-indexer.ts";
import { EpochGuard } from "../../vault/sources/epochs.ts";
import type { VaultMemory } from "../../vault/memory.ts";

export interface IndexingWorkerData {
  vaultMemory: VaultMemory;
}

/** Number of texts without an index, and the reason for the first of them. */
export interface UnindexedTexts {
  count: number;
  detail: string;
}

const { vaultMemory } = workerData as IndexingWorkerData;

/** The task function that the pool calls, once in each thread. */
export default function indexBacklogTexts(): UnindexedTexts {
  lowerThreadPriority();
  const unindexed: UnindexedTexts = { count: 0, detail: "" };
  const indexer = BacklogIndexer.open(vaultMemory, createRecordReader(vaultMemory));
  if (indexer === undefined) return unindexed;
  const guard = new EpochGuard(vaultMemory.epochs);
  const { backlog } = indexer;
  for (let range = backlog.takeRange(); range !== undefined; range = backlog.takeRange()) {
    for (let number = range.from; number < range.to && !backlog.isStopped; number++) {
      // Held for one text, so that memory replaced meanwhile can be used again.
      guard.enter();
      const error = indexer.buildIfMissing(number, true);
      guard.leave();
      if (error === undefined) continue;
      unindexed.count++;
      unindexed.detail ||= error.message;
    }
  }
  return unindexed;
}
