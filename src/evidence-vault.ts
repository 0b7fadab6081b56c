// Composition of the evidence vault: a vault over the ledger's journal, filled from what the
// journal already holds. The ledger knows where its sources stand: only those are read at start.
import { openAssessingPool } from "./assessing-pool.ts";
import { nodeFiles } from "./ledger/journal-files.ts";
import { FRAME_BYTES, frameLength } from "./ledger/journal-format.ts";
import { readFrames } from "./ledger/journal-places.ts";
import type { OpenLedger } from "./ledger/ledger-client.ts";
import { VaultAssessor } from "./vault/assessor.ts";
import { DeferringAssessor } from "./vault/deferred.ts";
import { isSourceEvent } from "./vault/evidence-log.ts";
import { Vault } from "./vault/vault.ts";

export interface OpenVault {
  readonly vault: Vault;
  /** The HTTP thread's: large texts go to a thread of their own. */
  readonly assessor: DeferringAssessor;
  close(): Promise<void>;
}

/** Opens the vault of this process. Throws JournalDamaged when a durable record does not verify. */
export function openEvidenceVault(ledger: OpenLedger, journal: string): OpenVault {
  const vault = replayedVault(ledger, journal);
  const pool = openAssessingPool(vault.memory);
  const inline = new VaultAssessor(vault.memory, Date.now);
  return {
    vault,
    assessor: new DeferringAssessor(inline, pool.assess),
    close: () => pool.close(),
  };
}

function replayedVault(ledger: OpenLedger, journal: string): Vault {
  const vault = new Vault({
    journal: { appendEvidence: (payload) => ledger.appendSource(payload) },
    clock: Date.now,
  });
  readFrames(nodeFiles, journal, ledger.sources, (bytes, at) => {
    const start = at + FRAME_BYTES;
    const payload = bytes.subarray(start, start + frameLength(bytes, at));
    if (isSourceEvent(payload)) vault.replay(payload);
  });
  return vault;
}
