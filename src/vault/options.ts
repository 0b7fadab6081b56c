// Everything the vault is given: its memory, where its events become durable, and who signs.
import type { VerifyContext } from "../contract/messages.ts";
import type { Measured } from "./calibration/labels.ts";
import type { IndexLater } from "./grounding/indexing.ts";
import type { VaultMemory } from "./memory.ts";
import type { RootSigner } from "./sources/signed-root.ts";

/** Where events become durable; resolves once they are, in order of the calls. */
export interface SourceJournal {
  appendEvidence(payload: Uint8Array): Promise<unknown>;
}

/** Scores labelled texts as `tenant` would be answered, on whatever thread. */
export type MeasureTexts = (
  contexts: readonly VerifyContext[],
  tenant: string,
) => Promise<(Measured | undefined)[]>;

export interface VaultOptions {
  /** New and empty: the vault is its one writer. */
  readonly memory: VaultMemory;
  readonly journal: SourceJournal;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly signer: RootSigner;
  readonly measure: MeasureTexts;
  /** Where large texts are made ready; without it everything is, in place. */
  readonly indexLater?: IndexLater;
}
