// Everything that other threads need to assess, in one object to hand over as it is.
import { createCatalogueMemory } from "./catalogue.ts";
import type { CatalogueMemory } from "./catalogue.ts";
import { createCitationMemory } from "./citation-memory.ts";
import { createGroundingMemory } from "./grounding-module.ts";
import { createLateTextMemory } from "./late-texts.ts";
import { createMinHashMemory } from "./minhash.ts";
import type { MinHashMemory } from "./minhash.ts";
import { createPinMemory } from "./pins.ts";
import { createThresholdMemory } from "./thresholds.ts";

export interface VaultMemory {
  readonly grounding: WebAssembly.Memory;
  readonly catalogue: CatalogueMemory;
  readonly tainted: MinHashMemory;
  readonly citations: SharedArrayBuffer;
  readonly thresholds: SharedArrayBuffer;
  readonly pins: SharedArrayBuffer;
  readonly lateTexts: SharedArrayBuffer;
  /** Where the records of late texts are read; empty without a journal on disk. */
  readonly journal: string;
}

/** New and empty; `journal` is the directory of the journal that fills it. */
export function createVaultMemory(journal = ""): VaultMemory {
  return {
    grounding: createGroundingMemory(),
    catalogue: createCatalogueMemory(),
    tainted: createMinHashMemory(),
    citations: createCitationMemory(),
    thresholds: createThresholdMemory(),
    pins: createPinMemory(),
    lateTexts: createLateTextMemory(),
    journal,
  };
}
