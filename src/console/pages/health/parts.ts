// Parts of the service in the words of the Health page: state, figures, and where red is mended.
// The bounds are those of the alerts (deploy/prometheus/alerts.yaml), so that page and pager agree.
import {
  formatRelativeTime,
  formatBytes,
  formatDuration,
  formatNumber,
  formatPercent,
} from "../../format.ts";
import { linkTo } from "../../location.ts";
import type { ClusterNode } from "../../../contract/schemas/cluster/state.ts";
import type { ServiceStatus } from "../../../contract/schemas/series.ts";

type PartState = "ok" | "look" | "act" | "off";

export interface HealthPart {
  readonly name: string;
  readonly state: PartState;
  readonly says: string;
  /** Where the rows behind it are. */
  readonly href?: string;
  /** Section of docs/operate/alerts.md; empty while there is nothing to do. */
  readonly alert: string;
}

const STORE_BEHIND_SEC = 300;
const REVIEW_OLD_SEC = 86_400;
const WEBHOOK_OLD_SEC = 1800;
const TABLE_FULL_SHARE = 0.8;
const NODE_LATE_MS = 5000;
const NODE_LOST_MS = 30_000;
const NODE_LAG_MESSAGES_MAX = 10_000;
const MS_PER_SEC = 1000;
const UNVERIFIED_MS = 2 * 86_400 * MS_PER_SEC;

/** `isBad` and `isOdd` choose the state; the alert is told only with one of them. */
function createHealthPart(
  name: string,
  says: string,
  alert: string,
  { isBad = false, isOdd = false, href }: { isBad?: boolean; isOdd?: boolean; href?: string } = {},
): HealthPart {
  const state: PartState = isBad ? "act" : isOdd ? "look" : "ok";
  const known = { name, state, says, alert: state === "ok" ? "" : alert };
  return href === undefined ? known : { ...known, href };
}

export function listHealthParts(status: ServiceStatus): HealthPart[] {
  const { http, table, reviews } = status;
  const isTableFull = table.share > TABLE_FULL_SHARE;
  return [
    createHealthPart(
      "HTTP threads",
      `${formatNumber(http.threads)} serve, at most ${formatNumber(http.connections_max)} connections; ` +
        (http.queue_ms_max === 0
          ? "nobody is turned away"
          : `turned away are those who would wait ${formatNumber(http.queue_ms_max)} ms`),
      "TrustRankDown",
      { isBad: !status.ready },
    ),
    ...listDiskParts(status),
    ...listClusterParts(status),
    ...listStoreParts(status),
    createHealthPart(
      "Agent table",
      `${formatNumber(table.agents)} agents in ${formatBytes(table.bytes)} of ${formatBytes(table.bytes_max)}, ${formatPercent(table.share)} used`,
      "TrustRankTableFilling",
      { isOdd: isTableFull, href: linkTo("agents") },
    ),
    createHealthPart(
      "Reviews",
      reviews.undecided === 0
        ? "nobody waits for a person"
        : `${formatNumber(reviews.undecided)} wait, the oldest for ${formatDuration(reviews.oldest_seconds * MS_PER_SEC)}`,
      "TrustRankReviewsOverdue",
      { isOdd: reviews.oldest_seconds > REVIEW_OLD_SEC, href: linkTo("reviews") },
    ),
    ...listOutboundParts(status),
  ];
}

/** Nothing where the process is the whole bureau. */
function listClusterParts({ stream }: ServiceStatus): HealthPart[] {
  if (stream === undefined) return [];
  const { node, position, lag_messages: behind, lag_ms: lagMs } = stream;
  const isAway = stream.away_since !== null;
  const why = !stream.connected
    ? "no connection"
    : stream.leader_known
      ? "no majority"
      : "no server leads";
  const age = lagMs === null ? "of unknown age" : `${formatDuration(lagMs)} old`;
  const isLost = lagMs === null || lagMs > NODE_LOST_MS;
  return [
    createHealthPart(
      "Cluster",
      `node ${node} at message ${formatNumber(position)}, ${formatNumber(behind)} behind, answers ${age}` +
        (isAway ? `; records are refused: ${why}` : ""),
      isAway ? "TrustRankStreamAway" : "TrustRankNodeBehind",
      { isBad: isAway || isLost, isOdd: lagMs !== null && lagMs > NODE_LATE_MS },
    ),
  ];
}

/** The state of a node of the cluster by its last report, as a word and its color. */
export function describeNodeState(node: ClusterNode): readonly [word: string, tone: string] {
  if (node.age_seconds * MS_PER_SEC > NODE_LOST_MS) return ["no report", "deny"];
  return node.lag_messages > NODE_LAG_MESSAGES_MAX ? ["behind", "warn"] : ["current", "allow"];
}

function listDiskParts({ at, journal, disk }: ServiceStatus): HealthPart[] {
  const nowMs = Date.parse(at);
  const when = (time: string | null) =>
    time === null ? "not yet" : formatRelativeTime(Date.parse(time), nowMs);
  const { damages } = journal;
  const { verified_at: verifiedAt } = journal;
  const isUnverified = verifiedAt !== null && nowMs - Date.parse(verifiedAt) > UNVERIFIED_MS;
  return [
    createHealthPart(
      "Journal",
      `position ${formatNumber(journal.position)}, ${formatNumber(journal.pending)} outcomes on their way, ` +
        `p99 of a sync ${formatDuration(journal.sync_p99_ms)}`,
      "TrustRankSlowAppends",
    ),
    createHealthPart(
      "Scrub",
      damages.length === 0
        ? `no damage; verified: ${when(journal.verified_at)}`
        : `damaged: ${damages.join("; ")}`,
      damages.length > 0 ? "TrustRankJournalDamaged" : "TrustRankJournalUnverified",
      { isBad: damages.length > 0, isOdd: isUnverified },
    ),
    createHealthPart("Snapshot", `written: ${when(journal.snapshot_at)}`, "TrustRankSnapshotOld"),
    createHealthPart(
      "Disk",
      `${disk.free_bytes === null ? "not looked at yet" : `${formatBytes(disk.free_bytes)} free`}, ` +
        `${formatBytes(disk.ballast_bytes)} in reserve`,
      "TrustRankDiskLow",
      { isBad: disk.is_low },
    ),
  ];
}

function listStoreParts({ store, decisions }: ServiceStatus): HealthPart[] {
  const isBehind = store.behind_seconds > STORE_BEHIND_SEC || store.is_rebuilding;
  return [
    createHealthPart(
      "Store",
      store.failure ??
        `position ${formatNumber(store.position)}, ${formatNumber(store.lag_records)} records behind` +
          (store.is_rebuilding ? ", is being rebuilt" : ""),
      "TrustRankStoreBehind",
      { isBad: store.failure !== null, isOdd: isBehind, href: linkTo("sql") },
    ),
    createHealthPart(
      "Decision log",
      describeSample(decisions.sample_one_in) +
        `${formatBytes(decisions.bytes)} in ${formatNumber(decisions.segments)} segments, ` +
        `${formatBytes(decisions.waiting_bytes)} on their way, ${formatNumber(decisions.damaged_records)} records damaged`,
      "TrustRankDecisionLogWaits",
      {
        isOdd: decisions.damaged_records > 0 || decisions.sample_one_in > 1,
        href: linkTo("decisions"),
      },
    ),
  ];
}

/** Beyond its budget the log keeps a sample; counts stay exact. */
function describeSample(oneIn: number): string {
  return oneIn === 1
    ? ""
    : `over its daily budget: keeps one in ${formatNumber(oneIn)} decisions, `;
}

function listOutboundParts({ archive, webhooks }: ServiceStatus): HealthPart[] {
  const none = (name: string, says: string): HealthPart => ({
    name,
    state: "off",
    says,
    alert: "",
  });
  return [
    archive.is_set
      ? createHealthPart(
          "Archive",
          archive.failure ??
            `${formatDuration((archive.age_seconds ?? 0) * MS_PER_SEC)} old, ` +
              `${formatNumber(archive.lag_records)} records behind, ${formatNumber(archive.failures)} failures`,
          "TrustRankArchiveBehind",
          {
            isBad: (archive.age_seconds ?? 0) > 60 + 3 * (archive.interval_seconds ?? 0),
            isOdd: archive.failure !== null,
          },
        )
      : none("Archive", "none is set: --archive ships all that a backup has to another disk"),
    webhooks.endpoints === 0
      ? none("Webhooks", "no endpoint is told of anything")
      : createHealthPart(
          "Webhooks",
          `${formatNumber(webhooks.endpoints)} endpoints, ${formatNumber(webhooks.waiting)} events wait, ` +
            `${formatNumber(webhooks.dead)} were given up`,
          webhooks.failing > 0 ? "TrustRankWebhookStopped" : "TrustRankWebhookBehind",
          {
            isOdd:
              webhooks.failing > 0 ||
              webhooks.dead > 0 ||
              webhooks.oldest_seconds > WEBHOOK_OLD_SEC,
          },
        ),
  ];
}
