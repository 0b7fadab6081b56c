// Vault with a journal in memory: its payloads can be replayed into another vault.
import { generateKeyPairSync } from "node:crypto";

import { buildBureauKey } from "../../src/journal/signing-key.ts";
import { VaultAssessor } from "../../src/vault/assessment/assessor.ts";
import { createVaultMemory } from "../../src/vault/memory.ts";
import { Vault } from "../../src/vault/vault.ts";
import type { VaultOptions } from "../../src/vault/options.ts";
import type { EvidenceItem } from "../../src/contract/schemas/sources.ts";

export const NOW = Date.UTC(2026, 5, 15);

export const ADMIN = { tenant: "operator", keyId: "key-admin", isAdmin: true };
export const ACME = { tenant: "acme", keyId: "key-acme", isAdmin: false };
export const RIVAL = { tenant: "rival", keyId: "key-rival", isAdmin: false };

/** An item with the members that a request may leave out. */
export function itemOf(source_id: string, text: string, more: Partial<EvidenceItem> = {}) {
  const item: EvidenceItem = {
    source_id,
    kind: "text/plain",
    title: "",
    visibility: "tenant",
    state: "active",
    text,
    ...more,
  };
  return item;
}

/** A vault, an assessor over its memory, and the payloads that it journaled. */
export function openVault(more: Partial<VaultOptions> = {}) {
  const payloads: Uint8Array[] = [];
  const memory = more.memory ?? createVaultMemory();
  const vault = new Vault({
    memory,
    journal: {
      appendSource: (payload) => {
        payloads.push(payload);
        return Promise.resolve();
      },
    },
    clock: () => NOW,
    signer: buildBureauKey(generateKeyPairSync("ed25519").privateKey),
    measure: (contexts, tenant) =>
      Promise.resolve(contexts.map((context) => assessor.measure(context, tenant))),
    ...more,
  });
  const assessor = new VaultAssessor(memory, more.clock ?? (() => NOW));
  return { vault, payloads, assessor };
}

export const BRIDGE = [
  "The Harbour Bridge was opened on 19 March 1932 after eight years of work. It is 1,149 metres",
  "long and 134 metres high. The engineer John Bradfield led the project, and about 1,400",
  "labourers built it. Sixteen of them died. The bridge cost 6.25 million pounds and the loan",
  "was paid back in 1988. Today eight lanes of road traffic and two railway lines cross the water.",
].join(" ");
