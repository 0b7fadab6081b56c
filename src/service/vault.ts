// Composition of the evidence vault: a vault over the ledger's journal, filled from its recorded
// sources. The ledger knows their places: only those are read at start, and their texts are indexed
// afterwards.
import { dirname } from "node:path";

import { openAssessingPool } from "../threads/texts/pool.ts";
import { openAssessor, viewPayloadAt } from "../threads/texts/records.ts";
import { type BureauKey, loadBureauKey } from "../journal/signing-key.ts";
import { resolveDataPaths } from "../journal/data-directory.ts";
import { diskFileLayer } from "../platform/files.ts";
import { visitFramesAt } from "../journal/places.ts";
import type { OpenLedger } from "../ledger/client.ts";
import {
  DeferringAssessor,
  type DeferredAssessor,
} from "../vault/assessment/deferring-assessor.ts";
import { isVaultEvent } from "../vault/sources/events.ts";
import type { SourceLimits } from "../vault/sources/entry-use.ts";
import type { RootSigner } from "../vault/sources/signed-root.ts";
import { createVaultMemory } from "../vault/memory.ts";
import { Vault } from "../vault/vault.ts";

export interface OpenVault {
  readonly vault: Vault;
  /** The bureau's key, as it signs here. */
  readonly signer: RootSigner & { reload(): void };
  /** The HTTP thread's assessor: large texts go to a thread of their own. */
  readonly assessor: DeferringAssessor;
  /** Assessment of those texts, for the assessors of all threads. */
  readonly assessLater: DeferredAssessor;
  /** Texts that wait for their thread. */
  readonly waiting: number;
  close(): Promise<void>;
}

/**
 * Opens the vault of this process.
 * @throws JournalDamaged when a durable record does not verify.
 */
export function openEvidenceVault(
  ledger: OpenLedger,
  journal: string,
  { clock = Date.now, ...limits }: SourceLimits & { readonly clock?: () => number } = {},
): OpenVault {
  const memory = createVaultMemory(journal);
  const pool = openAssessingPool(memory);
  const signer = new ReloadableRootSigner(resolveDataPaths(dirname(journal)).bureauKey);
  const vault = new Vault({
    memory,
    journal: { appendSource: (payload) => ledger.appendSource(payload) },
    clock,
    sourcesPerTenant: limits.sourcesPerTenant,
    signer,
    measure: pool.measure,
    indexLater: pool.index,
  });
  visitFramesAt(diskFileLayer, journal, ledger.sources, (bytes, at, place) => {
    const payload = viewPayloadAt(bytes, at);
    if (isVaultEvent(payload)) vault.replay(payload, place);
  });
  // A large text may come first, and its thread would start too late for it.
  if (vault.backlogCount > 0) pool.warm();
  const inline = openAssessor(memory, clock);
  return {
    vault,
    signer,
    assessor: new DeferringAssessor(inline, pool.assess),
    assessLater: pool.assess,
    get waiting() {
      return pool.waiting;
    },
    close: () => pool.close(),
  };
}

/** The key that signs the journal signs the vault's roots; the ledger has made it by now. */
class ReloadableRootSigner implements RootSigner {
  readonly #path: string;
  #key: BureauKey;

  constructor(path: string) {
    this.#path = path;
    this.#key = loadBureauKey(path, false);
  }

  get publicKey(): Buffer {
    return this.#key.publicKey;
  }

  sign(message: Uint8Array): Uint8Array {
    return this.#key.sign(message);
  }

  /** Takes the key that the file holds now. */
  reload(): void {
    this.#key = loadBureauKey(this.#path, false);
  }
}
