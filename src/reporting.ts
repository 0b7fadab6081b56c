// Puts reporters' keys and signatures together for a service: who we are, the pool that verifies,
// the registry that the journal remembers.
import { randomFillSync, randomUUID } from "node:crypto";
import { openReporterDesk, type ReporterDesk } from "./bureau/reporter-desk.ts";
import type { DataPaths } from "./ledger/data-directory.ts";
import type { OpenLedger } from "./ledger/ledger-client.ts";
import { loadServiceId } from "./ledger/service-id.ts";
import { openOutcomeIntake } from "./outcome-intake.ts";
import { SignaturePool } from "./signature-pool.ts";

export interface ReportingOptions {
  readonly paths: DataPaths;
  readonly ledger: OpenLedger;
  /** The operator's own name for the deployment; else one is made once and kept. */
  readonly serviceId: string | undefined;
  readonly isSignatureRequired: boolean;
  /** Epoch ms; the system's when left out. */
  readonly clock?: () => number;
  /** Epoch ms since which the ledger knows all signed ids; its own word when left out. */
  readonly rememberedSinceMs?: () => number;
}

export interface Reporting {
  readonly desk: ReporterDesk;
  close(): Promise<void>;
}

export function openReporting(options: ReportingOptions): Reporting {
  const { paths, ledger, isSignatureRequired } = options;
  const pool = new SignaturePool(ledger.keyEvents);
  const serviceId = options.serviceId ?? loadServiceId(paths, () => `trustrank:${randomUUID()}`);
  const rememberedSinceMs = options.rememberedSinceMs ?? (() => ledger.rememberedSinceMs);
  const clock = options.clock ?? Date.now;
  const desk = openReporterDesk({
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
    verify: (key, signature, message) => pool.verify(key, signature, message),
    clock,
    fillRandom: (bytes) => {
      randomFillSync(bytes);
    },
    isSignatureRequired,
  });
  return { desk, close: () => pool.close() };
}
