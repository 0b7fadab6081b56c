// Owners of namespaces that no administrator vouches for, and the outcomes signed there, by the journal: for `doctor` and
// `upgrade --check`. Reads only.
import { extractKeyNamespace } from "../contract/identifiers.ts";
import { NamespaceOwners, type RegistryEvent } from "../contract/namespaces.ts";
import { SIGNATURES } from "../contract/vocabulary.ts";
import {
  buildUnvouchedOwnersWarning,
  SIGNED_COUNTS_WINDOW_MS,
} from "../http/access/vouching-warning.ts";
import { FRAME_KINDS, readFrameKind } from "../journal/format.ts";
import {
  readOutcomeRecordedAtMs,
  readOutcomeReporter,
  readOutcomeSignatureIndex,
} from "../journal/outcome.ts";
import { isRegistryKind } from "../journal/revoked-agents.ts";
import { copyFramePayload } from "../ledger/state.ts";

const SIGNED_INDEX = SIGNATURES.indexOf("reporter");

/** A fold over the records of a journal, in order. */
export class SignerTally {
  readonly owners = new NamespaceOwners();
  readonly #sinceMs: number;
  readonly #signed = new Map<string, number>();
  #total = 0;

  /** Outcomes of the 30 days up to `nowMs` (epoch ms) count. */
  constructor(nowMs: number) {
    this.#sinceMs = nowMs - SIGNED_COUNTS_WINDOW_MS;
  }

  /** Takes the record in the frame at `at`. */
  add(bytes: Buffer, at: number): void {
    const kind = readFrameKind(bytes, at);
    if (isRegistryKind(kind)) {
      this.owners.apply(JSON.parse(copyFramePayload(bytes, at).toString()) as RegistryEvent);
    }
    if (kind !== FRAME_KINDS.outcome || readOutcomeRecordedAtMs(bytes, at) < this.#sinceMs) return;
    this.#total += 1;
    if (readOutcomeSignatureIndex(bytes, at) !== SIGNED_INDEX) return;
    const namespace = extractKeyNamespace(readOutcomeReporter(bytes, at));
    if (namespace === undefined) return;
    this.#signed.set(namespace, (this.#signed.get(namespace) ?? 0) + 1);
  }

  /**
   * Empty `advice`: nothing is to be done. `hasSeeds`: credibility weighs each signer, whoever vouches
   * for the owner.
   */
  describe(hasSeeds: boolean): { readonly detail: string; readonly advice: string } {
    const owners = this.owners.listUnvouched();
    const { length } = owners;
    if (length === 0) return { detail: "none that count as one voice of their tenant", advice: "" };
    const those = `those of ${length} ${length === 1 ? "owner" : "owners"}`;
    if (hasSeeds) return { detail: `${those}, weighed by credibility`, advice: "" };
    const detail = `${those} count as one voice of their tenant`;
    const counts = { total: this.#total, signed: this.#signed };
    return { detail, advice: buildUnvouchedOwnersWarning(owners, counts) };
  }
}
