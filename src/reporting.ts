// Puts reporters' keys and signatures together for a service: who we are, the pool that verifies,
// the registry that the journal remembers.
import { randomFillSync, randomUUID } from "node:crypto";
import { openReporterDesk, type ReporterDesk } from "./bureau/reporter-desk.ts";
import type { DataPaths } from "./ledger/data-directory.ts";
import type { OpenLedger } from "./ledger/ledger-client.ts";
import { loadServiceId } from "./ledger/service-id.ts";
import { SignaturePool } from "./signature-pool.ts";

export interface ReportingOptions {
  readonly paths: DataPaths;
  readonly ledger: OpenLedger;
  /** The operator's own name for the deployment; else one is made once and kept. */
  readonly serviceId: string | undefined;
  readonly isSignatureRequired: boolean;
}

export interface Reporting {
  readonly desk: ReporterDesk;
  close(): Promise<void>;
}

export function openReporting(options: ReportingOptions): Reporting {
  const pool = new SignaturePool();
  const { paths, ledger, serviceId, isSignatureRequired } = options;
  const desk = openReporterDesk({
    serviceId: serviceId ?? loadServiceId(paths, () => `trustrank:${randomUUID()}`),
    events: ledger,
    keyEvents: ledger.keyEvents,
    rememberedSinceMs: () => ledger.rememberedSinceMs,
    verify: (key, signature, message) => pool.verify(key, signature, message),
    clock: Date.now,
    fillRandom: (bytes) => {
      randomFillSync(bytes);
    },
    isSignatureRequired,
  });
  return { desk, close: () => pool.close() };
}
