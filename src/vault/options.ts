// Options of the vault: its memory, the journal of its events, and the signer.
import type { VerifyContext } from "../contract/schemas/scores.ts";
import type { TextMeasurement } from "./calibration/labels.ts";
import type { TextPreparer } from "./grounding/indexing.ts";
import type { VaultMemory } from "./memory.ts";
import type { SourceLimits } from "./sources/entry-use.ts";
import type { RootSigner } from "./sources/signed-root.ts";

/** Journal of the vault's events. Resolves once the event is durable, in order of the calls. */
export interface SourceJournal {
  appendSource(payload: Uint8Array): Promise<unknown>;
}

/** Scores labelled texts as for an answer to `tenant`, on any thread. */
export type TextMeasurer = (
  contexts: readonly VerifyContext[],
  tenant: string,
) => Promise<(TextMeasurement | undefined)[]>;

export interface VaultOptions extends SourceLimits {
  /** New and empty: the vault is its one writer. */
  readonly memory: VaultMemory;
  readonly journal: SourceJournal;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly signer: RootSigner;
  readonly measure: TextMeasurer;
  /** Prepares large texts on another thread; without it all are prepared in place. */
  readonly indexLater?: TextPreparer;
}
