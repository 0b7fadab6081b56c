// Figures of the service for /metrics, from the parts that count: ledger, agent table, store, decision
// log, vault, kaizen, pools, clock. The names are those of the table of metrics (src/http/metrics).
import { TIERS } from "../../contract/vocabulary.ts";
import type { TableUse } from "../../engine/table-use.ts";
import type { MetricValues } from "../../http/metrics/metric-values.ts";
import type { KaizenMetrics } from "../../kaizen/service/health-metrics.ts";
import type { AdmissionStatus } from "../../ledger/admission/admission.ts";
import type { AssessmentQueue } from "../../ledger/assessment-queue.ts";
import type { OpenLedger } from "../../ledger/client.ts";
import type { SteadyClockWriter } from "../../platform/steady-clock.ts";
import type { OpenStore } from "../../store/client.ts";
import type { StoreState } from "../../store/messages.ts";
import type { ArchiveStatus } from "../../threads/archive/scheduler.ts";
import type { WebhookMetrics } from "../../webhooks/endpoint-status.ts";
import type { OpenCluster } from "../cluster/cluster.ts";
import type { ServiceCore } from "../core.ts";
import type { OpenActivity } from "../activity.ts";
import type { OpenDecisionLog } from "../decision-log.ts";
import { readPackageVersion } from "../identity.ts";
import type { ReporterServices } from "../reporters.ts";
import type { UsageJournalWriter } from "../usage/usage-journal-writer.ts";
import type { QuotaManager } from "../usage/quota-manager.ts";
import { collectStreamMetrics } from "./cluster-health.ts";

const MS_PER_S = 1000;

/** Parts of the service that have figures. */
export interface MetricSources {
  readonly evidence: ServiceCore;
  readonly store: OpenStore;
  readonly decisions: OpenDecisionLog;
  readonly activity: Pick<OpenActivity, "activity">;
  readonly reporting: Pick<ReporterServices, "reporterKeys" | "pool">;
  readonly clock: SteadyClockWriter;
  readonly usageKeeper: UsageJournalWriter;
  readonly quotas: QuotaManager;
  readonly archive: { status(): ArchiveStatus | undefined };
  readonly webhooks: { readonly figures: WebhookMetrics | undefined };
  readonly kaizen: { readonly kaizen: { readonly measured: { figures(): KaizenMetrics } } };
  readonly memory: { figures(): MetricValues };
  /** Undefined where the process is the whole bureau. */
  readonly cluster: Pick<OpenCluster, "figures"> | undefined;
  /** Tasks that wait for a thread of each pool; the scoring pool's is undefined without one. */
  readonly scorer: { readonly waiting: number } | undefined;
}

export function collectMetrics(parts: MetricSources): MetricValues {
  const { evidence, store, decisions, reporting, clock } = parts;
  const { engine, ledger, sources, assessments } = evidence;
  const state = store.status();
  return {
    build_info: [{ labels: [readPackageVersion(), process.version], value: 1 }],
    config_info: [{ labels: [engine.activeConfigVersion], value: 1 }],
    agents: engine.agentCount,
    ...collectLedgerMetrics(ledger, assessments),
    ...collectArchiveMetrics(parts.archive.status(), ledger.position()),
    ...collectTableMetrics(engine.readTableUse(), ledger.admission),
    evidence_unindexed: sources.vault.backlogCount,
    ...sources.vault.gauges(),
    ...reporting.reporterKeys.gauges(),
    ...collectStoreMetrics(state, clock.now()),
    store_lag_records: Math.max(0, ledger.position() - state.appliedLsn),
    ...decisions.gauges(),
    limits_exceeded_total: parts.activity.activity
      .listLimitCounts()
      .map(({ code, mode, count }) => ({ labels: [code, mode], value: count })),
    ...collectReviewMetrics(evidence.reviews, clock.now()),
    ...collectKaizenMetrics(parts.kaizen.kaizen.measured.figures()),
    ...collectWebhookMetrics(parts.webhooks.figures, clock.now()),
    pool_tasks_waiting: [
      { labels: ["scoring"], value: parts.scorer?.waiting ?? 0 },
      { labels: ["signatures"], value: reporting.pool.waiting },
      { labels: ["texts"], value: sources.waiting },
    ],
    ...collectUsageMetrics(parts),
    ...parts.memory.figures(),
    clock_lead_seconds: Math.round(clock.leadMs / MS_PER_S),
    clock_confirmed: clock.isConfirmed ? 1 : 0,
    ...collectStreamMetrics(parts.cluster?.figures, clock.now()),
  };
}

/** Usage on its way to the journal, and how far quotas are used. */
function collectUsageMetrics({
  usageKeeper,
  quotas,
}: Pick<MetricSources, "usageKeeper" | "quotas">): MetricValues {
  return {
    usage_rows_journaled_total: usageKeeper.journaledCount,
    usage_journal_failures_total: usageKeeper.failedCount,
    quota_used_ratio: quotas.list().map(({ tenant, used, paid_reads_per_month: limit }) => ({
      labels: [tenant],
      value: limit === 0 ? 1 : used / limit,
    })),
  };
}

/** Journal, its queues, its disk; free space once the ledger has checked it. */
export function collectLedgerMetrics(
  ledger: OpenLedger,
  assessments: Pick<AssessmentQueue, "gauges">,
): MetricValues {
  const { freeBytes, ballastBytes, isLow } = ledger.disk;
  const { damages, verifiedMs } = ledger.journal;
  const { outcomes, syncs, commits, snapshotMs } = ledger.figures.counts();
  return {
    outcomes_total: outcomes,
    outcomes_pending: ledger.pendingCount,
    journal_position: ledger.position(),
    journal_append_duration_seconds: ledger.appendDurations(),
    journal_sync_duration_seconds: syncs,
    journal_commit_records: commits,
    journal_damages: damages.length,
    ...buildTimestampMetric("journal_verified_timestamp_seconds", verifiedMs),
    ...buildTimestampMetric("snapshot_timestamp_seconds", snapshotMs),
    notes_pending: ledger.notes.count,
    notes_pending_bytes: ledger.notes.bytes,
    ...assessments.gauges(),
    disk_low: isLow ? 1 : 0,
    disk_ballast_bytes: ballastBytes,
    ...(Number.isFinite(freeBytes) ? { disk_free_bytes: freeBytes } : {}),
  };
}

/** The archive; none without one. */
export function collectArchiveMetrics(
  archive: ArchiveStatus | undefined,
  position: number,
): MetricValues {
  if (archive === undefined) return {};
  return {
    archive_age_seconds: archive.ageMs / MS_PER_S,
    archive_interval_seconds: archive.everyMs / MS_PER_S,
    archive_lag_records: Math.max(0, position - (archive.position ?? 0)),
    archive_failures_total: archive.failures,
    archive_parted: archive.parted === undefined ? 0 : 1,
  };
}

/** The review queue. */
export function collectReviewMetrics(
  { book, waiters, refusedCount }: ServiceCore["reviews"],
  nowMs: number,
): MetricValues {
  const oldestMs = book.findOldestUndecidedMs() ?? nowMs;
  return {
    reviews_undecided: book.undecidedCount,
    reviews_oldest_seconds: Math.max(0, nowMs - oldestMs) / MS_PER_S,
    reviews_waiting: waiters.count,
    reviews_unopened_total: refusedCount,
  };
}

/** Webhooks; none before the first endpoint. */
export function collectWebhookMetrics(
  webhooks: WebhookMetrics | undefined,
  nowMs: number,
): MetricValues {
  if (webhooks === undefined) return {};
  const { endpoints, waiting, dead, delivered, failed, oldestMs = nowMs } = webhooks;
  return {
    webhook_endpoints: endpoints.map(([state, value]) => ({ labels: [state], value })),
    webhook_attempts_total: [
      { labels: ["delivered"], value: delivered },
      { labels: ["failed"], value: failed },
    ],
    webhook_events_waiting: waiting,
    webhook_dead_letters: dead,
    webhook_oldest_seconds: Math.max(0, nowMs - oldestMs) / MS_PER_S,
  };
}

/** The agent table's room, and whom the limits on what is new hold back now. */
export function collectTableMetrics(use: TableUse, { keysLimited }: AdmissionStatus): MetricValues {
  return {
    table_bytes: use.bytes,
    table_bytes_max: use.bytesMax,
    table_share: use.share,
    table_pairs: use.pairs,
    table_overflow: use.overflow,
    keys_newcomers_limited: keysLimited,
  };
}

/** The store, the decision log's files and callers' queries among them. */
export function collectStoreMetrics(store: StoreState, nowMs: number): MetricValues {
  const { behindSinceMs, queries, tiers } = store;
  return {
    store_position: store.appliedLsn,
    store_behind_seconds: behindSinceMs === 0 ? 0 : Math.max(0, nowMs - behindSinceMs) / MS_PER_S,
    store_reopenings_total: store.reopenCount,
    store_rebuilds_total: store.rebuildCount,
    store_restoring_files: store.restoringCount,
    decision_records_damaged_total: store.damagedRecords,
    decision_segments: store.segmentCount,
    decision_segment_bytes: store.segmentBytes,
    decision_log_waiting_bytes: store.spoolBytes,
    decisions_counted_total: store.decisionsCounted,
    queries_waiting: queries.waiting,
    query_process_running: queries.running,
    query_process_restarts_total: queries.restarts,
    query_process_memory_bytes: queries.memoryBytes,
    ...(tiers === undefined
      ? {}
      : {
          agents_scored: TIERS.map((tier) => ({
            labels: [tier],
            value: tiers.counts[tier] ?? 0,
          })),
          agents_scored_timestamp_seconds: tiers.readMs / MS_PER_S,
        }),
  };
}

export function collectKaizenMetrics(kaizen: KaizenMetrics): MetricValues {
  const { lastRun, sides } = kaizen;
  const ofSides = (pick: (figures: (typeof sides)[number]) => number | undefined) =>
    sides.flatMap((figures) => {
      const value = pick(figures);
      return value === undefined ? [] : [{ labels: [figures.side], value }];
    });
  return {
    ...buildTimestampMetric("kaizen_last_run_timestamp_seconds", lastRun?.endedMs),
    kaizen_last_run_info: lastRun === undefined ? [] : [{ labels: [lastRun.state], value: 1 }],
    ...buildTimestampMetric("kaizen_champion_timestamp_seconds", kaizen.championMs),
    kaizen_log_loss: ofSides((each) => each.logLoss),
    kaizen_calibration_error: ofSides((each) => each.calibrationError),
    kaizen_watch_loss_increase: ofSides((each) => each.watchLossIncrease),
  };
}

/** A time in seconds that is left out while it is not known. */
function buildTimestampMetric(name: keyof MetricValues, timeMs: number | undefined): MetricValues {
  return timeMs === undefined ? {} : { [name]: timeMs / MS_PER_S };
}
