// Composition of reporters' keys and signatures for a service: its name in signatures, the pool
// that verifies, the registry from the journal.
import { randomFillSync, randomUUID } from "node:crypto";
import { openReporterKeys, type ReporterKeys } from "../bureau/reporters/reporter-keys.ts";
import { ServiceFault } from "../contract/faults.ts";
import type { SenderSources } from "../bureau/outcomes/record.ts";
import type { Namespaces } from "../bureau/reporters/namespaces.ts";
import type { KeyRegistry } from "../bureau/reporters/key-registry.ts";
import type { RegistryEvent } from "../contract/namespaces.ts";
import type { SignedId, SignedRecords } from "../contract/signed-records.ts";
import type { DataPaths } from "../journal/data-directory.ts";
import type { OpenLedger } from "../ledger/client.ts";
import { loadOrCreateServiceId } from "../ledger/service-id.ts";
import { openOutcomeIntake } from "../threads/signatures/outcome-intake.ts";
import { SignaturePool } from "../threads/signatures/pool.ts";
import type { PolicySource } from "../policy/active-policy.ts";
import type { OpenStore } from "../store/client.ts";
import { withDeadline } from "../concurrency/deadline.ts";

export interface ReportersOptions {
  readonly paths: DataPaths;
  readonly ledger: OpenLedger;
  /** The operator's own name for the deployment; else one is made once and kept. */
  readonly serviceId: string | undefined;
  readonly isSignatureRequired: boolean;
  /** Of the tenants: their unit of stakes is journaled with each outcome. */
  readonly policies: PolicySource;
  readonly engine: SenderSources["engine"];
  /** In a cluster: the nodes take one another's nonces. */
  readonly nonceSecret?: Uint8Array | undefined;
  /** Epoch ms; the system's when left out. */
  readonly clock?: () => number;
  /**
   * Epoch ms since which the ledger remembers all signed ids; the ledger's own value when left out.
   */
  readonly rememberedSinceMs?: () => number;
  /** After the registry's events so far; its changes are made here. */
  readonly registry: KeyRegistry;
  /** Called with every change of keys or owners, once it is durable. */
  readonly onRegistryEvent?: (event: RegistryEvent) => void;
  /** Looks up signed ids that the ledger no longer remembers; left out, they are refused. */
  readonly store?: Pick<OpenStore, "waitUntilApplied" | "findSigned">;
}

export interface ReporterServices {
  readonly reporterKeys: ReporterKeys;
  readonly namespaces: Namespaces;
  /** Takes an event that another node has recorded. */
  readonly learn: (payload: Uint8Array) => void;
  /** Verifies; its queue is measured. */
  readonly pool: { readonly waiting: number };
  close(): Promise<void>;
}

export function openReporters(options: ReportersOptions): ReporterServices {
  const { paths, ledger, isSignatureRequired, policies, engine } = options;
  const pool = new SignaturePool(ledger.keyEvents);
  const serviceId =
    options.serviceId ?? loadOrCreateServiceId(paths, () => `trustrank:${randomUUID()}`);
  const rememberedSinceMs = options.rememberedSinceMs ?? (() => ledger.rememberedSinceMs);
  const clock = options.clock ?? Date.now;
  const { reporterKeys, namespaces, learn } = openReporterKeys({
    serviceId,
    events: ledger,
    registry: options.registry,
    // Before the change is answered: from here on every thread judges by it.
    onRegistryEvent: (event, payload) => {
      pool.learn(payload);
      options.onRegistryEvent?.(event);
    },
    intake: openOutcomeIntake({
      pool,
      ledger,
      serviceId,
      isSignatureRequired,
      policies,
      engine,
      rememberedSinceMs,
      clock,
    }),
    rememberedSinceMs,
    findSigned:
      options.store === undefined ? undefined : createSignedIdLookup(options.store, ledger),
    verify: (key, signature, message) => pool.verify(key, signature, message),
    clock,
    fillRandom: (bytes) => {
      randomFillSync(bytes);
    },
    nonceSecret: options.nonceSecret,
    isSignatureRequired,
  });
  return { reporterKeys, namespaces, learn, pool, close: () => pool.close() };
}

/** Milliseconds that a repeat waits for the store to catch up with acknowledged records. */
const CATCH_UP_MS = 3000;

/** Looks up signed ids once the store has applied all records acknowledged before. */
function createSignedIdLookup(
  store: Pick<OpenStore, "waitUntilApplied" | "findSigned">,
  ledger: OpenLedger,
) {
  return async (id: SignedId): Promise<SignedRecords> => {
    await withDeadline(store.waitUntilApplied(ledger.position()), CATCH_UP_MS, () => {
      throw new ServiceFault("store_unavailable", "the outcome store is catching up");
    });
    return store.findSigned(id);
  };
}
