// Health figures of the ledger for /readyz and /metrics.
import { DAMAGE_ADVICE, describeDamage } from "../ledger/damage-watch.ts";
import { QUEUE_RECORDS_MAX } from "../ledger/client.ts";
import type { OpenLedger } from "../ledger/client.ts";

interface Health {
  ready: boolean;
  reasons: string[];
  /** States that need an operator and do not stop the service. */
  warnings: string[];
}

/**
 * Whether outcomes can be taken now, and if not, why. Damage in old segments is a warning: scores
 * and outcomes need none of them, only the next replay does. So is a store that does not follow:
 * SQL and the decision log lag, and come out whole once it does. `storeFailure` is its reason, or
 * empty.
 */
export function readiness(ledger: OpenLedger, storeFailure: string): Health {
  const reasons: string[] = [];
  if (ledger.disk.isLow) reasons.push("disk nearly full");
  else if (!ledger.isHealthy()) reasons.push("journal not writable");
  if (ledger.pendingCount >= QUEUE_RECORDS_MAX) reasons.push("too many outcomes waiting");
  const warnings = ledger.journal.damages.map(
    (damage) => `journal damaged: ${describeDamage(damage)}: ${DAMAGE_ADVICE}`,
  );
  if (storeFailure !== "") warnings.push(`store does not follow the journal: ${storeFailure}`);
  return { ready: reasons.length === 0, reasons, warnings };
}

/** Gauges of journal and disk; free space once the ledger has checked it. */
export function ledgerGauges(ledger: OpenLedger): Record<string, number> {
  const { freeBytes, ballastBytes, isLow } = ledger.disk;
  const { damages, verifiedMs } = ledger.journal;
  return {
    journal_position: ledger.position(),
    outcomes_pending: ledger.pendingCount,
    disk_low: isLow ? 1 : 0,
    disk_ballast_bytes: ballastBytes,
    journal_damages: damages.length,
    ...(verifiedMs === undefined ? {} : { journal_verified_seconds: verifiedMs / 1000 }),
    ...(Number.isFinite(freeBytes) ? { disk_free_bytes: freeBytes } : {}),
  };
}
