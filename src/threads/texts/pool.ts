// Pool of one thread for texts too large to be assessed or indexed in place, started by the first
// of them: that one may miss its deadline, and a bureau that never sees such texts never pays for
// it.
import { ServiceFault } from "../../contract/faults.ts";
import type { VerifyContext } from "../../contract/schemas/scores.ts";
import { openPool, PoolBusy } from "../../platform/pool.ts";
import type { Pool } from "../../platform/pool.ts";
import type { AssessingTask, AssessingWorkerData } from "./worker.ts";
import type { DeferredAssessor } from "../../vault/assessment/deferring-assessor.ts";
import type { VaultFinding } from "../../vault/assessment/findings.ts";
import { splitIntoParts } from "../../vault/grounding/indexing.ts";
import type { TextPreparer, PreparedText } from "../../vault/grounding/indexing.ts";
import type { TextMeasurement } from "../../vault/calibration/labels.ts";
import type { TextMeasurer } from "../../vault/options.ts";
import type { VaultMemory } from "../../vault/memory.ts";

const WORKER = new URL("./worker.ts", import.meta.url).href;
export interface AssessingPool {
  assess: DeferredAssessor;
  measure: TextMeasurer;
  index: TextPreparer;
  /** Tasks that wait for the thread. */
  readonly waiting: number;
  /** Starts the thread before there is work. */
  warm(): void;
  close(): Promise<void>;
}

/** Opens the pool behind the vault's port; no thread runs until there is work. */
export function openAssessingPool(vaultMemory: VaultMemory): AssessingPool {
  const workerData: AssessingWorkerData = { vaultMemory };
  let pool: Pool | undefined;
  const warm = () =>
    (pool ??= openPool({ name: "texts", filename: WORKER, workerData, threads: 1 }));
  const run = <Result>(task: AssessingTask): Promise<Result> => {
    return warm().run<AssessingTask, Result>(task).catch(throwAsFault);
  };
  return {
    assess: (context, tenant) => run<VaultFinding>({ kind: "assess", context, tenant }),
    measure: async (contexts, tenant) => {
      const measured: (TextMeasurement | undefined)[] = [];
      for (const part of splitIntoParts(contexts, countContextCharacters)) {
        measured.push(...(await run<typeof measured>({ kind: "measure", contexts: part, tenant })));
      }
      return measured;
    },
    index: (texts) => run<PreparedText[]>({ kind: "index", texts }),
    get waiting() {
      return pool?.queueLength ?? 0;
    },
    warm,
    close: () => pool?.close() ?? Promise.resolve(),
  };
}

function throwAsFault(error: unknown): never {
  if (!(error instanceof PoolBusy)) throw error;
  throw new ServiceFault("overloaded", "too many texts wait to be assessed");
}

const countContextCharacters = ({ content = "", cited_sources = [] }: VerifyContext) =>
  content.length * Math.max(1, cited_sources.length);
