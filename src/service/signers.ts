// Owners of namespaces whom nobody vouches for, and the outcomes signed there, by the journal: for `doctor` and
// `upgrade --check`. Reads only.
import { extractKeyNamespace } from "../contract/identifiers.ts";
import { NamespaceOwners, type RegistryEvent } from "../contract/namespaces.ts";
import { SIGNATURES } from "../contract/vocabulary.ts";
import { buildUnvouchedOwnersWarning } from "../http/access/vouching-warning.ts";
import { FRAME_KINDS, readFrameKind } from "../journal/format.ts";
import {
  readOutcomeRecordedAtMs,
  readOutcomeReporter,
  readOutcomeSignatureIndex,
} from "../journal/outcome.ts";
import { JournalReader } from "../journal/reader.ts";
import { isRegistryKind } from "../journal/revoked-agents.ts";
import { copyFramePayload } from "../ledger/state.ts";
import { diskFileLayer } from "../platform/files.ts";

const SIGNED_INDEX = SIGNATURES.indexOf("reporter");

/** What a command says of the owners. */
export interface SignersDescription {
  readonly detail: string;
  /** Empty when nothing is to be done. */
  readonly advice: string;
}

/** A fold over the records of a journal, in order. */
export class SignerTally {
  readonly owners = new NamespaceOwners();
  readonly #sinceMs: number;
  readonly #signed = new Map<string, number>();
  #total = 0;

  /** Outcomes count that were recorded at `sinceMs` (epoch ms) or later. */
  constructor(sinceMs: number) {
    this.#sinceMs = sinceMs;
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

  /** `hasSeeds`: credibility weighs each signer, whoever vouches for the owner. */
  describe(hasSeeds: boolean): SignersDescription {
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

/**
 * Folds the records up to `lsn`.
 * @throws JournalDamaged when one of them does not verify.
 */
export function tallySigners(journal: string, lsn: number, sinceMs: number): SignerTally {
  const tally = new SignerTally(sinceMs);
  const reader = new JournalReader(diskFileLayer, journal);
  reader.readRecords(0, lsn, Number.POSITIVE_INFINITY, (bytes, at) => tally.add(bytes, at));
  reader.close();
  return tally;
}
