// Health of a node by its place along the ordered log of its cluster: readiness, state and figures.
import type { StreamState } from "../../contract/schemas/series.ts";
import type { MetricValues } from "../../http/metrics/metric-values.ts";
import type { StreamMetrics } from "../../stream/metrics.ts";
import type { OpenStore } from "../../store/client.ts";
import type { OpenCluster } from "../cluster/cluster.ts";

/** Age of a node's answers that is worth a word. */
const LAG_WARNED_MS = 5000;
/** Age from which traffic should go elsewhere. */
const LAG_MAX_MS = 30_000;
const MS_PER_S = 1000;

interface ClusterReadiness {
  readonly reasons: readonly string[];
  readonly warnings: readonly string[];
}

/** Neither reasons nor warnings where the process is the whole bureau. */
export function checkClusterLag(
  figures: Pick<StreamMetrics, "applied" | "known" | "answeredMs" | "lagMs"> | undefined,
  nowMs: number,
): ClusterReadiness {
  const lagMs = figures?.lagMs(nowMs) ?? 0;
  if (figures === undefined || lagMs <= LAG_WARNED_MS) return { reasons: [], warnings: [] };
  const { applied, known, answeredMs } = figures;
  const since = answeredMs === 0 ? "the start" : new Date(answeredMs).toISOString();
  const places = `at message ${applied} of ${known}`;
  const age = Number.isFinite(lagMs) ? `by ${Math.round(lagMs / 1000)} s ` : "";
  const detail =
    nowMs - answeredMs > LAG_WARNED_MS
      ? `ordered log unreachable since ${since}: ${places}`
      : `behind the cluster ${age}${places}`;
  return lagMs > LAG_MAX_MS
    ? { reasons: [detail], warnings: [] }
    : { reasons: [], warnings: [detail] };
}

/** Time in ms for which a message that was passed over is worth a word. */
const IGNORED_WARNED_MS = 86_400_000;

interface IgnoredMessages {
  readonly count: number;
  /** Place of the newest, and its time in epoch ms. */
  readonly seq: number;
  readonly atMs: number;
}

const NONE_IGNORED: IgnoredMessages = { count: 0, seq: 0, atMs: 0 };

/**
 * Messages of the last day that were passed over, by the audit trail: a restart does not forget them. Read in the
 * background whenever readiness is asked for and there may be more; until then what this process has seen counts.
 */
export class IgnoredMessageHistory {
  readonly #store: Pick<OpenStore, "queryTrusted" | "status">;
  readonly #figures: Pick<StreamMetrics, "ignored"> | undefined;
  #stored = NONE_IGNORED;
  /** Messages that this process had seen at the last reading; negative before the first. */
  #seenCount = -1;
  #isReading = false;

  /** Without figures the process is the whole bureau: nothing is read or told. */
  constructor(
    store: Pick<OpenStore, "queryTrusted" | "status">,
    figures: Pick<StreamMetrics, "ignored"> | undefined,
  ) {
    this.#store = store;
    this.#figures = figures;
  }

  /** `nowMs` in epoch ms. */
  listWarnings(nowMs: number): string[] {
    const seen = this.#figures?.ignored ?? NONE_IGNORED;
    void this.#readIfDue(seen.count, nowMs - IGNORED_WARNED_MS);
    const { count, seq, atMs } = seen.count > this.#stored.count ? seen : this.#stored;
    if (count === 0 || nowMs - atMs > IGNORED_WARNED_MS) return [];
    return [
      `${count} messages of the cluster's log were passed over, the newest at message ${seq} (${new Date(atMs).toISOString()}): not from a node of this cluster, see the log's \`stream_message_ignored\``,
    ];
  }

  async #readIfDue(seenCount: number, sinceMs: number): Promise<void> {
    if (this.#figures === undefined || this.#isReading || seenCount === this.#seenCount) return;
    const { isBuilding, appliedLsn, durableLsn } = this.#store.status();
    if (isBuilding) return;
    this.#isReading = true;
    try {
      const [row] = await this.#store.queryTrusted(
        `SELECT count(*), max(CAST(detail->>'$.seq' AS BIGINT)), max(epoch_ms(recorded_at))
         FROM audit_rows WHERE event = 'stream.message_ignored'
         AND recorded_at >= epoch_ms(CAST(${Math.floor(sinceMs)} AS BIGINT))`,
      );
      const [count, seq, atMs] = row!.map((value) => Number(value ?? 0));
      this.#stored = { count: count!, seq: seq!, atMs: atMs! };
      // A store that is behind may lack some: it is read again.
      if (appliedLsn >= durableLsn) this.#seenCount = seenCount;
    } catch {
      // The store says itself what it lacks; asked again with the next look.
    } finally {
      this.#isReading = false;
    }
  }
}

/** Undefined where the process is the whole bureau. */
export function describeStream(
  cluster: Pick<OpenCluster, "figures" | "node" | "link"> | undefined,
  nowMs: number,
): StreamState | undefined {
  if (cluster === undefined) return undefined;
  const { node, figures, link } = cluster;
  const lagMs = figures.lagMs(nowMs);
  return {
    node,
    generation: link.generation,
    position: figures.applied,
    lag_messages: countMessagesBehind(figures),
    lag_ms: Number.isFinite(lagMs) ? Math.round(lagMs) : null,
    connected: figures.isConnected,
    leader_known: figures.hasLeader(),
    away_since:
      figures.unavailableSinceMs === 0 ? null : new Date(figures.unavailableSinceMs).toISOString(),
  };
}

/** None where the process is the whole bureau. */
export function collectStreamMetrics(
  figures: StreamMetrics | undefined,
  nowMs: number,
): MetricValues {
  if (figures === undefined) return {};
  const lagMs = figures.lagMs(nowMs);
  return {
    stream_connected: figures.isConnected ? 1 : 0,
    stream_leader_known: figures.hasLeader() ? 1 : 0,
    stream_away: figures.unavailableSinceMs === 0 ? 0 : 1,
    stream_position: figures.applied,
    stream_lag_messages: countMessagesBehind(figures),
    ...(Number.isFinite(lagMs) ? { stream_lag_seconds: lagMs / MS_PER_S } : {}),
    stream_log_bytes: figures.size.bytes,
    stream_log_bytes_max: figures.size.bytesMax,
    stream_tables_differ: figures.tablesDiffer ? 1 : 0,
    stream_ignored_messages_total: figures.ignored.count,
    stream_applied_messages_total: figures.appliedMessages,
    stream_decision_bytes_shipped_total: figures.shippedBytes,
    stream_decision_bytes_collected_total: figures.collected.bytes,
    stream_decision_parts_behind: figures.collected.behind,
    stream_publish_duration_seconds: figures.publishDurationsSec,
    stream_publish_failures_total: figures.failedMessages,
    stream_reconnects_total: figures.connectionsLost,
    stream_readings_total: figures.followCount,
  };
}

function countMessagesBehind({ applied, known }: Pick<StreamMetrics, "applied" | "known">): number {
  return Math.max(0, known - applied);
}
