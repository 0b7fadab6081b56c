// Indexing after a start: makes the indexes of all registered texts on threads of their own that
// end with the work. Until then a request that needs one makes it on the spot, so that no request
// waits for them.
import { availableParallelism } from "node:os";
import { openPool } from "../../platform/pool.ts";
import type { IndexingWorkerData, UnindexedTexts } from "./indexing-worker.ts";
import type { Log } from "../../platform/log.ts";
import { IndexBacklog } from "../../vault/grounding/index-backlog.ts";
import type { VaultMemory } from "../../vault/memory.ts";

const WORKER = new URL("./indexing-worker.ts", import.meta.url).href;
/** They yield to all others; beyond this number the disk is the bottleneck. */
const THREADS_MAX = 8;
/** Texts that are worth a thread: starting one takes as long as a few hundred of them. */
const TEXTS_PER_THREAD = 500;

/**
 * Starts the threads, if there is anything to do. Call once the port is open.
 * @returns a function that ends them before their time, each with the text in progress.
 */
export function startIndexing(vaultMemory: VaultMemory, log: Log): () => Promise<void> {
  const texts = new IndexBacklog(vaultMemory.indexBacklog, vaultMemory.grounding);
  const count = texts.remainingCount;
  if (count === 0) return () => Promise.resolve();
  const worth = Math.ceil(count / TEXTS_PER_THREAD);
  const threads = Math.min(worth, availableParallelism(), THREADS_MAX);
  const workerData: IndexingWorkerData = { vaultMemory };
  const pool = openPool({ name: "indexing", filename: WORKER, workerData, threads });
  const startedAt = performance.now();
  const run = async () => {
    const tasks = Array.from({ length: threads }, () =>
      pool.run<undefined, UnindexedTexts>(undefined),
    );
    const unindexed = await Promise.all(tasks);
    await pool.close();
    const failed = unindexed.filter((each) => each.count > 0);
    for (const each of failed) log.error("evidence_not_indexed", { ...each });
    const ms = Math.round(performance.now() - startedAt);
    if (texts.remainingCount === 0) log.info("evidence_indexed", { count, threads, ms });
  };
  const whenDone = run().catch((error: unknown) => {
    log.error("evidence_not_indexed", { count: texts.remainingCount, detail: String(error) });
  });
  return () => {
    texts.stop();
    return whenDone;
  };
}
