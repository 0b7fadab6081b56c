// A thread for texts too large to be assessed in place, started by the first of them: that one may
// miss its deadline, and a bureau that never sees such texts never pays for the thread.
import { openPool } from "./engine/pool.ts";
import type { Pool } from "./engine/pool.ts";
import type { AssessingTask, AssessingWorkerData } from "./assessing-worker.ts";
import type { LaterAssessment } from "./vault/deferred.ts";
import type { Finding } from "./vault/findings.ts";
import type { VaultMemory } from "./vault/vault.ts";

const WORKER = new URL("assessing-worker.ts", import.meta.url).href;

export interface AssessingPool {
  assess: LaterAssessment;
  close(): Promise<void>;
}

/** Opens the pool behind the vault's port; no thread runs until there is work. */
export function openAssessingPool(vaultMemory: VaultMemory): AssessingPool {
  const workerData: AssessingWorkerData = { vaultMemory };
  let pool: Pool | undefined;
  return {
    assess: (context, tenant) => {
      pool ??= openPool({ filename: WORKER, workerData, threads: 1 });
      return pool.run<AssessingTask, Finding>({ context, tenant });
    },
    close: () => pool?.close() ?? Promise.resolve(),
  };
}
