// Figures of the service under the names of the table of metrics.
import { expect, test } from "vitest";
import { buildMetricFamilies, METRICS } from "../../../src/http/metrics/metric-values.ts";
import { LedgerMetrics } from "../../../src/ledger/metrics.ts";
import type { OpenLedger } from "../../../src/ledger/client.ts";
import {
  collectKaizenMetrics,
  collectLedgerMetrics,
  collectStoreMetrics,
  collectTableMetrics,
  collectWebhookMetrics,
} from "../../../src/service/health/metrics.ts";
import { INITIAL_STORE_STATE } from "../../../src/store/options.ts";

const NOW_MS = 1_700_000_000_000;
const NOTHING = { buckets: [0], sum: 0 };

function ledgerLike(changes: Partial<OpenLedger> = {}): OpenLedger {
  const ledger = {
    disk: { freeBytes: 5e9, ballastBytes: 1024, isLow: false },
    pendingCount: 7,
    position: () => 42,
    journal: { damages: [], verifiedMs: undefined },
    notes: { count: 3, bytes: 99 },
    figures: new LedgerMetrics(),
    appendDurations: () => NOTHING,
    ...changes,
  };
  return ledger as unknown as OpenLedger;
}

test("journal and disk; what is not known yet is left out", () => {
  const assessments = { gauges: () => ({ assessments_dropped_total: 3 }) };
  const figures = collectLedgerMetrics(ledgerLike(), assessments);
  expect(figures).toMatchObject({
    assessments_dropped_total: 3,
    journal_position: 42,
    outcomes_pending: 7,
    notes_pending: 3,
    notes_pending_bytes: 99,
    disk_low: 0,
    disk_ballast_bytes: 1024,
    disk_free_bytes: 5e9,
    journal_damages: 0,
    journal_append_duration_seconds: NOTHING,
  });
  for (const name of ["journal_verified_timestamp_seconds", "snapshot_timestamp_seconds"]) {
    expect(figures).not.toHaveProperty(name);
  }
  const damage = { segment: "seg-1.log", offset: 9, afterLsn: 4, reason: "a batch is bad" };
  const counted = new LedgerMetrics();
  counted.setSnapshotTime(NOW_MS);
  const later = collectLedgerMetrics(
    ledgerLike({
      disk: { freeBytes: Infinity, ballastBytes: 0, isLow: true },
      journal: { damages: [damage], verifiedMs: NOW_MS + 500 },
      figures: counted,
    }),
    assessments,
  );
  expect(later).toMatchObject({
    disk_low: 1,
    journal_damages: 1,
    journal_verified_timestamp_seconds: 1_700_000_000.5,
    snapshot_timestamp_seconds: 1_700_000_000,
  });
  expect(later).not.toHaveProperty("disk_free_bytes");
});

test("the store, with agents by tier once they were read", () => {
  const troubled = {
    ...INITIAL_STORE_STATE,
    appliedLsn: 10,
    behindSinceMs: NOW_MS - 45_000,
    reopenCount: 2,
    rebuildCount: 1,
    restoringCount: 3,
    damagedRecords: 4,
  };
  const figures = collectStoreMetrics(troubled, NOW_MS);
  expect(figures).toMatchObject({
    store_position: 10,
    store_behind_seconds: 45,
    store_reopenings_total: 2,
    store_rebuilds_total: 1,
    store_restoring_files: 3,
    decision_records_damaged_total: 4,
  });
  expect(figures).not.toHaveProperty("agents_scored");
  const tiers = { counts: { A: 5, REVIEW: 2 }, readMs: NOW_MS };
  expect(collectStoreMetrics({ ...troubled, tiers }, NOW_MS)).toMatchObject({
    agents_scored: [
      { labels: ["A"], value: 5 },
      { labels: ["B"], value: 0 },
      { labels: ["C"], value: 0 },
      { labels: ["D"], value: 0 },
      { labels: ["REVIEW"], value: 2 },
    ],
    agents_scored_timestamp_seconds: 1_700_000_000,
  });
});

test("kaizen says only what was measured", () => {
  const side = { side: "check" as const, logLoss: 0.2, calibrationError: 0.01 };
  const unknown = { logLoss: undefined, calibrationError: undefined, watchLossIncrease: undefined };
  const figures = collectKaizenMetrics({
    lastRun: { state: "kept", endedMs: NOW_MS },
    championMs: undefined,
    sides: [
      { ...side, watchLossIncrease: undefined },
      { side: "handshake", ...unknown },
    ],
  });
  expect(figures).toEqual({
    kaizen_last_run_timestamp_seconds: 1_700_000_000,
    kaizen_last_run_info: [{ labels: ["kept"], value: 1 }],
    kaizen_log_loss: [{ labels: ["check"], value: 0.2 }],
    kaizen_calibration_error: [{ labels: ["check"], value: 0.01 }],
    kaizen_watch_loss_increase: [],
  });
});

test("every name is in the table, and one that is not ends the scrape", () => {
  const admission = { refusedFull: 1, refusedLimited: 2, keysLimited: 3 };
  const use = { bytes: 1, bytesMax: 2, share: 0.5, pairs: 3, overflow: 0 };
  const figures = {
    ...collectTableMetrics(use as never, admission),
    ...collectStoreMetrics(INITIAL_STORE_STATE, 0),
  };
  expect(buildMetricFamilies(figures)).toHaveLength(Object.keys(METRICS).length);
  expect(() => buildMetricFamilies({ lag: 2 } as never)).toThrow("lag");
});

test("webhooks; nothing before the first endpoint", () => {
  expect(collectWebhookMetrics(undefined, NOW_MS)).toEqual({});
  const figures = collectWebhookMetrics(
    {
      endpoints: [
        ["active", 2],
        ["stopped", 1],
      ],
      waiting: 5,
      dead: 3,
      delivered: 70,
      failed: 8,
      oldestMs: NOW_MS - 90_000,
    },
    NOW_MS,
  );
  expect(figures).toMatchObject({
    webhook_endpoints: [
      { labels: ["active"], value: 2 },
      { labels: ["stopped"], value: 1 },
    ],
    webhook_attempts_total: [
      { labels: ["delivered"], value: 70 },
      { labels: ["failed"], value: 8 },
    ],
    webhook_events_waiting: 5,
    webhook_dead_letters: 3,
    webhook_oldest_seconds: 90,
  });
});
