// State of every part of the service in one document, for whoever runs it: what readiness, metrics and
// settings say in three places. Readiness is added by the route, which knows of draining.
import type { ServiceStatus } from "../../contract/schemas/series.ts";
import { computeQuantileMs } from "../../http/metrics/series.ts";
import { describeDamage } from "../../ledger/damage-watch.ts";
import { computeThreadLimits } from "../connection-limits.ts";
import { readPackageVersion } from "../identity.ts";
import type { ServeConfig } from "../settings/config.ts";
import {
  collectArchiveMetrics,
  type MetricSources,
  collectReviewMetrics,
  collectStoreMetrics,
} from "./metrics.ts";

const MS_PER_S = 1000;
const P50 = 0.5;
const P99 = 0.99;

type ServiceStatusParts = Omit<ServiceStatus, "ready" | "reasons" | "warnings" | "stream">;

export function buildServiceStatus(config: ServeConfig, parts: MetricSources): ServiceStatusParts {
  const { evidence, clock } = parts;
  const nowMs = clock.now();
  const reviews = collectReviewMetrics(evidence.reviews, nowMs);
  return {
    at: new Date(nowMs).toISOString(),
    version: readPackageVersion(),
    runtime: process.version,
    config_version: evidence.engine.activeConfigVersion,
    http: {
      threads: config.httpThreads,
      connections_max: computeThreadLimits(config).connectionsMax * config.httpThreads,
      queue_ms_max: config.queueMsMax,
      console: config.console.mode,
    },
    ...buildJournalStatus(parts),
    ...buildStoreStatus(parts, nowMs),
    table: buildTableStatus(parts),
    reviews: {
      undecided: Number(reviews.reviews_undecided),
      oldest_seconds: Number(reviews.reviews_oldest_seconds),
    },
    archive: buildArchiveStatus(parts),
    webhooks: buildWebhookStatus(parts, nowMs),
  };
}

function buildJournalStatus({
  evidence: { ledger },
}: MetricSources): Pick<ServiceStatusParts, "journal" | "disk"> {
  const { syncs, snapshotMs } = ledger.figures.counts();
  const { damages, verifiedMs } = ledger.journal;
  const { isLow, freeBytes, ballastBytes } = ledger.disk;
  return {
    journal: {
      position: ledger.position(),
      pending: ledger.pendingCount,
      sync_p50_ms: computeQuantileMs(syncs.buckets, P50),
      sync_p99_ms: computeQuantileMs(syncs.buckets, P99),
      damages: damages.map(describeDamage),
      verified_at: formatTimeOrNull(verifiedMs),
      snapshot_at: formatTimeOrNull(snapshotMs),
    },
    disk: {
      is_low: isLow,
      free_bytes: Number.isFinite(freeBytes) ? freeBytes : null,
      ballast_bytes: ballastBytes,
    },
  };
}

function buildStoreStatus(
  { store, evidence, decisions }: MetricSources,
  nowMs: number,
): Pick<ServiceStatusParts, "store" | "decisions"> {
  const state = store.status();
  return {
    store: {
      position: state.appliedLsn,
      lag_records: Math.max(0, evidence.ledger.position() - state.appliedLsn),
      behind_seconds: Number(collectStoreMetrics(state, nowMs).store_behind_seconds),
      is_rebuilding: state.isBuilding,
      rebuilds: state.rebuildCount,
      reopenings: state.reopenCount,
      failure: state.failure === "" ? null : state.failure,
    },
    decisions: {
      segments: state.segmentCount,
      bytes: state.segmentBytes,
      waiting_bytes: state.spoolBytes,
      damaged_records: state.damagedRecords,
      sample_one_in: decisions.gauges().decisions_sample_one_in,
    },
  };
}

function buildTableStatus({ evidence: { engine } }: MetricSources): ServiceStatusParts["table"] {
  const { bytes, bytesMax, share } = engine.readTableUse();
  return { agents: engine.agentCount, bytes, bytes_max: bytesMax, share };
}

function buildArchiveStatus({ archive, evidence }: MetricSources): ServiceStatusParts["archive"] {
  const status = archive.status();
  const figures = collectArchiveMetrics(status, evidence.ledger.position());
  const orNull = (value: unknown) => (typeof value === "number" ? value : null);
  return {
    is_set: status !== undefined,
    age_seconds: orNull(figures.archive_age_seconds),
    interval_seconds: orNull(figures.archive_interval_seconds),
    lag_records: orNull(figures.archive_lag_records),
    failures: status?.failures ?? 0,
    failure: status === undefined || status.why === "" ? null : status.why,
  };
}

function buildWebhookStatus(
  { webhooks }: MetricSources,
  nowMs: number,
): ServiceStatusParts["webhooks"] {
  const { endpoints = [], waiting = 0, dead = 0, oldestMs = nowMs } = webhooks.figures ?? {};
  const count = (isCounted: (state: string) => boolean) =>
    endpoints.reduce((sum, [state, value]) => sum + (isCounted(state) ? value : 0), 0);
  return {
    endpoints: count(() => true),
    failing: count((state) => state === "failing" || state === "stopped"),
    waiting,
    dead,
    oldest_seconds: Math.max(0, nowMs - oldestMs) / MS_PER_S,
  };
}

/** What is not known yet is null; a time of 0 is none. */
function formatTimeOrNull(timeMs: number | undefined): string | null {
  return timeMs === undefined || timeMs === 0 ? null : new Date(timeMs).toISOString();
}
