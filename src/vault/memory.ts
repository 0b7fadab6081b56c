// Shared memory of the vault: everything that other threads need to assess, in one object that can
// be sent as it is.
import { createCatalogueMemory } from "./sources/catalogue.ts";
import type { CatalogueMemory } from "./sources/catalogue.ts";
import { createCitationCacheMemory } from "./assessment/citation-memory.ts";
import { createGroundingMemory } from "./grounding/module.ts";
import { createBacklogMemory } from "./grounding/index-backlog.ts";
import { createMinHashMemory } from "./grounding/minhash.ts";
import type { MinHashMemory } from "./grounding/minhash.ts";
import { createEpochMemory } from "./sources/epochs.ts";
import { createThresholdMemory } from "./calibration/thresholds.ts";

export interface VaultMemory {
  readonly grounding: WebAssembly.Memory;
  readonly catalogue: CatalogueMemory;
  readonly tainted: MinHashMemory;
  readonly citations: SharedArrayBuffer;
  readonly thresholds: SharedArrayBuffer;
  readonly epochs: SharedArrayBuffer;
  readonly indexBacklog: SharedArrayBuffer;
  /** Directory of the journal with the records of the backlog; empty without a journal on disk. */
  readonly journal: string;
}

/** New and empty; `journal` is the directory of the journal that fills it. */
export function createVaultMemory(journal = ""): VaultMemory {
  return {
    grounding: createGroundingMemory(),
    catalogue: createCatalogueMemory(),
    tainted: createMinHashMemory(),
    citations: createCitationCacheMemory(),
    thresholds: createThresholdMemory(),
    epochs: createEpochMemory(),
    indexBacklog: createBacklogMemory(),
    journal,
  };
}
