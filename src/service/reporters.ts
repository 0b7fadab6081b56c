// Puts reporters' keys and signatures together for a service: who we are, the pool that verifies,
// the registry that the journal remembers.
import { randomFillSync, randomUUID } from "node:crypto";
import { openReporterKeys, type ReporterKeys } from "../bureau/reporters/reporter-keys.ts";
import { ServiceFault } from "../contract/faults.ts";
import type { SignedId, SignedRecords } from "../contract/signed-records.ts";
import type { DataPaths } from "../journal/data-directory.ts";
import type { OpenLedger } from "../ledger/client.ts";
import { loadServiceId } from "../ledger/service-id.ts";
import { openOutcomeIntake } from "../threads/signatures/outcome-intake.ts";
import { SignaturePool } from "../threads/signatures/pool.ts";
import type { OpenStore } from "../store/client.ts";

export interface ReportersOptions {
  readonly paths: DataPaths;
  readonly ledger: OpenLedger;
  /** The operator's own name for the deployment; else one is made once and kept. */
  readonly serviceId: string | undefined;
  readonly isSignatureRequired: boolean;
  /** Epoch ms; the system's when left out. */
  readonly clock?: () => number;
  /** Epoch ms since which the ledger knows all signed ids; its own word when left out. */
  readonly rememberedSinceMs?: () => number;
  /** Where signed ids are looked up that the ledger no longer knows; left out, they are refused. */
  readonly store?: Pick<OpenStore, "appliedUpTo" | "findSigned">;
}

export interface Reporters {
  readonly desk: ReporterKeys;
  close(): Promise<void>;
}

export function openReporters(options: ReportersOptions): Reporters {
  const { paths, ledger, isSignatureRequired } = options;
  const pool = new SignaturePool(ledger.keyEvents);
  const serviceId = options.serviceId ?? loadServiceId(paths, () => `trustrank:${randomUUID()}`);
  const rememberedSinceMs = options.rememberedSinceMs ?? (() => ledger.rememberedSinceMs);
  const clock = options.clock ?? Date.now;
  const desk = openReporterKeys({
    serviceId,
    events: ledger,
    keyEvents: ledger.keyEvents,
    onKeyEvent: (payload) => pool.learn(payload),
    intake: openOutcomeIntake({
      pool,
      ledger,
      serviceId,
      isSignatureRequired,
      rememberedSinceMs,
      clock,
    }),
    rememberedSinceMs,
    findSigned: options.store === undefined ? undefined : finder(options.store, ledger),
    verify: (key, signature, message) => pool.verify(key, signature, message),
    clock,
    fillRandom: (bytes) => {
      randomFillSync(bytes);
    },
    isSignatureRequired,
  });
  return { desk, close: () => pool.close() };
}

/** How long a repeat waits for the store to catch up with what was acknowledged. */
const CATCH_UP_MS = 3000;

/** Looks up signed ids once the store has applied what was acknowledged before. */
function finder(store: Pick<OpenStore, "appliedUpTo" | "findSigned">, ledger: OpenLedger) {
  return async (id: SignedId): Promise<SignedRecords> => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      const fault = new ServiceFault("store_unavailable", "the outcome store is catching up");
      timer = setTimeout(() => reject(fault), CATCH_UP_MS);
    });
    try {
      await Promise.race([store.appliedUpTo(ledger.position()), late]);
    } finally {
      clearTimeout(timer);
    }
    return store.findSigned(id);
  };
}
