// What the ledger contributes to /readyz and /metrics.
import { QUEUE_RECORDS_MAX } from "./ledger/ledger-client.ts";
import type { OpenLedger } from "./ledger/ledger-client.ts";

/** Whether outcomes can be taken now, and why not. */
export function readiness(ledger: OpenLedger): { ready: boolean; reasons: string[] } {
  const reasons: string[] = [];
  if (ledger.disk.isLow) reasons.push("disk nearly full");
  else if (!ledger.isHealthy()) reasons.push("journal not writable");
  if (ledger.pendingCount >= QUEUE_RECORDS_MAX) reasons.push("too many outcomes waiting");
  return { ready: reasons.length === 0, reasons };
}

/** Gauges of journal and disk; free space once the ledger has looked. */
export function ledgerGauges(ledger: OpenLedger): Record<string, number> {
  const { freeBytes, ballastBytes, isLow } = ledger.disk;
  return {
    journal_position: ledger.position(),
    outcomes_pending: ledger.pendingCount,
    disk_low: isLow ? 1 : 0,
    disk_ballast_bytes: ballastBytes,
    ...(Number.isFinite(freeBytes) ? { disk_free_bytes: freeBytes } : {}),
  };
}
