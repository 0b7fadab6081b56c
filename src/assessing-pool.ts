// A thread for texts too large to be assessed or indexed in place, started by the first of them:
// that one may miss its deadline, and a bureau that never sees such texts never pays for the thread.
import { ServiceFault } from "./contract/faults.ts";
import type { VerifyContext } from "./contract/messages.ts";
import { openPool, PoolBusy } from "./engine/pool.ts";
import type { Pool } from "./engine/pool.ts";
import type { AssessingTask, AssessingWorkerData } from "./assessing-worker.ts";
import type { LaterAssessment } from "./vault/deferred.ts";
import type { Finding } from "./vault/findings.ts";
import type { IndexLater, ReadyText, TextToIndex } from "./vault/indexing.ts";
import type { Measured } from "./vault/labels.ts";
import type { MeasureTexts } from "./vault/vault.ts";
import type { VaultMemory } from "./vault/vault-memory.ts";

const WORKER = new URL("assessing-worker.ts", import.meta.url).href;
/** Units of one task: an assessment with a deadline waits behind no more than this. */
const TASK_UNITS_MAX = 65_536;

export interface AssessingPool {
  assess: LaterAssessment;
  measure: MeasureTexts;
  index: IndexLater;
  close(): Promise<void>;
}

/** Opens the pool behind the vault's port; no thread runs until there is work. */
export function openAssessingPool(vaultMemory: VaultMemory): AssessingPool {
  const workerData: AssessingWorkerData = { vaultMemory };
  let pool: Pool | undefined;
  const run = <Result>(task: AssessingTask): Promise<Result> => {
    pool ??= openPool({ filename: WORKER, workerData, threads: 1 });
    return pool.run<AssessingTask, Result>(task);
  };
  return {
    assess: (context, tenant) => run<Finding>({ kind: "assess", context, tenant }),
    measure: (contexts, tenant) =>
      inTasks(contexts, unitsOfContext, (part) =>
        run<(Measured | undefined)[]>({ kind: "measure", contexts: part, tenant }),
      ),
    index: (texts) =>
      inTasks(texts, unitsOfText, (part) => run<ReadyText[]>({ kind: "index", texts: part })),
    close: () => pool?.close() ?? Promise.resolve(),
  };
}

const unitsOfContext = ({ content = "", cited_sources = [] }: VerifyContext) =>
  content.length * Math.max(1, cited_sources.length);

const unitsOfText = ({ text }: TextToIndex) => text.length;

/** Runs items in order, some at a time. Rejects with ServiceFault `overloaded` on a full pool. */
async function inTasks<Item, Result>(
  items: readonly Item[],
  unitsOf: (item: Item) => number,
  run: (part: Item[]) => Promise<Result[]>,
): Promise<Result[]> {
  const results: Result[] = [];
  let part: Item[] = [];
  let units = 0;
  const flush = async () => {
    results.push(...(await run(part)));
    part = [];
    units = 0;
  };
  try {
    for (const item of items) {
      part.push(item);
      units += unitsOf(item);
      if (units >= TASK_UNITS_MAX) await flush();
    }
    if (part.length > 0) await flush();
  } catch (error) {
    if (!(error instanceof PoolBusy)) throw error;
    throw new ServiceFault("overloaded", "too many texts wait to be indexed");
  }
  return results;
}
