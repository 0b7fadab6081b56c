// Health of the service for /readyz, /metrics and its log: the ledger, the store, and whether anyone
// answers for the outcomes that come in.
import type { AssessmentQueue } from "../ledger/assessment-queue.ts";
import { DAMAGE_ADVICE, describeDamage } from "../ledger/damage-watch.ts";
import { QUEUE_RECORDS_MAX } from "../ledger/client.ts";
import type { OpenLedger } from "../ledger/client.ts";
import { vouchingWarning } from "../http/access/vouching.ts";
import type { Keyring } from "../http/access/keyring.ts";
import type { OpenStore } from "../store/client.ts";
import type { StoreState } from "../store/messages.ts";
import type { Log } from "../platform/log.ts";
import { isTrustNamed, type ServeConfig } from "./config.ts";

interface Health {
  ready: boolean;
  reasons: string[];
  /** States that need an operator and do not stop the service. */
  warnings: string[];
}

/** A store that is behind for this long is worth a word. */
const BEHIND_MS = 30_000;
/** Time for which a reopening stays in the warnings. */
const REOPENED_TOLD_MS = 3_600_000;

/** What an operator should know of the store; scores and outcomes wait for none of it. */
export function storeWarnings(store: StoreState, nowMs: number): string[] {
  const { failure, appliedLsn, durableLsn, restoringCount, behindSinceMs, reopenedAtMs } = store;
  const warnings: string[] = [];
  if (failure !== "") warnings.push(`store does not follow the journal: ${failure}`);
  const places = `at position ${appliedLsn} of ${durableLsn}`;
  if (store.isBuilding) warnings.push(`store is being rebuilt: ${places}`);
  else if (behindSinceMs > 0 && nowMs - behindSinceMs >= BEHIND_MS) {
    const seconds = Math.round((nowMs - behindSinceMs) / 1000);
    warnings.push(`store is behind for ${seconds} s: ${places}`);
  }
  if (restoringCount > 0) {
    warnings.push(`decision log is being restored: ${restoringCount} files are left`);
  }
  if (reopenedAtMs > 0 && nowMs - reopenedAtMs < REOPENED_TOLD_MS) {
    const at = new Date(reopenedAtMs).toISOString();
    warnings.push(`store was opened again after an error at ${at}, the log says which`);
  }
  return warnings;
}

/** Gauges of the store, the decision log's files among them. */
export function storeGauges(store: StoreState, nowMs: number): Record<string, number> {
  const { behindSinceMs } = store;
  return {
    store_position: store.appliedLsn,
    store_behind_seconds: behindSinceMs === 0 ? 0 : Math.max(0, nowMs - behindSinceMs) / 1000,
    store_reopenings: store.reopenCount,
    store_rebuilds: store.rebuildCount,
    store_restoring_files: store.restoringCount,
    decision_records_damaged: store.damagedRecords,
    decision_segments: store.segmentCount,
    decision_segment_bytes: store.segmentBytes,
    decision_spool_bytes: store.spoolBytes,
  };
}

/**
 * Whether outcomes can be taken now, and if not, why. Damage in old segments is a warning: scores
 * and outcomes need none of them, only the next replay does. So is a store that does not follow:
 * SQL and the decision log lag, and come out whole once it does. `ofStore` are the lines of
 * `storeWarnings`, and `voices` the line of `vouchingWarning`, which may be empty.
 */
export function readiness(ledger: OpenLedger, ofStore: readonly string[], voices = ""): Health {
  const reasons: string[] = [];
  if (ledger.disk.isLow) reasons.push("disk nearly full");
  else if (!ledger.isHealthy()) reasons.push("journal not writable");
  if (ledger.pendingCount >= QUEUE_RECORDS_MAX) reasons.push("too many outcomes waiting");
  const warnings = ledger.journal.damages.map(
    (damage) => `journal damaged: ${describeDamage(damage)}: ${DAMAGE_ADVICE}`,
  );
  warnings.push(...ofStore);
  if (voices !== "") warnings.push(voices);
  return { ready: reasons.length === 0, reasons, warnings };
}

/** Gauges of journal, its queues and disk; free space once the ledger has checked it. */
export function ledgerGauges(
  ledger: OpenLedger,
  assessments: Pick<AssessmentQueue, "gauges">,
): Record<string, number> {
  const { freeBytes, ballastBytes, isLow } = ledger.disk;
  const { damages, verifiedMs } = ledger.journal;
  return {
    journal_position: ledger.position(),
    outcomes_pending: ledger.pendingCount,
    notes_pending: ledger.notes.count,
    notes_pending_bytes: ledger.notes.bytes,
    ...assessments.gauges(),
    disk_low: isLow ? 1 : 0,
    disk_ballast_bytes: ballastBytes,
    journal_damages: damages.length,
    ...(verifiedMs === undefined ? {} : { journal_verified_seconds: verifiedMs / 1000 }),
    ...(Number.isFinite(freeBytes) ? { disk_free_bytes: freeBytes } : {}),
  };
}

/** Readiness as `/readyz` asks for it; the log hears at once when nothing is vouched for. */
export function healthOf(
  config: ServeConfig,
  log: Log,
  keyring: Keyring,
  ledger: OpenLedger,
  store: OpenStore,
): { isReady(): Health } {
  const unvouched = () => vouchingWarning(keyring.storedKeys(), Date.now(), isTrustNamed(config));
  const detail = unvouched();
  if (detail !== "") log.warn("nothing_vouched_for", { detail });
  return {
    isReady: () => readiness(ledger, storeWarnings(store.status(), Date.now()), unvouched()),
  };
}
