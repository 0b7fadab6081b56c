// Entry of the thread for large texts: the same assessor over the same shared vault, with room for
// whatever a request may hold.
import { workerData } from "node:worker_threads";
import type { VerifyContext } from "./contract/messages.ts";
import { VaultAssessor } from "./vault/assessor.ts";
import type { Finding } from "./vault/findings.ts";
import type { VaultMemory } from "./vault/vault.ts";

export interface AssessingWorkerData {
  vaultMemory: VaultMemory;
}

export interface AssessingTask {
  context: VerifyContext;
  tenant: string;
}

const { vaultMemory } = workerData as AssessingWorkerData;
const assessor = new VaultAssessor(vaultMemory, Date.now, Number.POSITIVE_INFINITY);

/** The task function that the pool calls. */
export default function assess({ context, tenant }: AssessingTask): Finding {
  return assessor.assess(context, tenant);
}
