// SQL queries of the audit trail, and a one-line description of each kind of event.
import { formatNumber } from "../../format.ts";

export interface AuditEvent {
  readonly recorded_at: string;
  readonly position: number | null;
  readonly event: string;
  readonly tenant: string | null;
  readonly actor: string | null;
  readonly agent: string | null;
  readonly kid: string | null;
  /** As JSON. */
  readonly detail: string;
  readonly via: string | null;
}

export interface AuditFilter {
  readonly event?: string | undefined;
  readonly actor?: string | undefined;
  readonly tenant?: string | undefined;
  /** `console` or `api`. */
  readonly via?: string | undefined;
  /** In the detail, in either case. */
  readonly text?: string | undefined;
  readonly since?: string | undefined;
  /** Position in the journal: events before it. */
  readonly before?: string | undefined;
}

export const AUDIT_ROWS_MAX = 200;

/** Spans of time by their name in the address: words, SQL, and the step of the chart. */
export const TIME_SPANS: Readonly<
  Record<string, readonly [words: string, sql: string, step: string]>
> = {
  "1h": ["one hour", "INTERVAL 1 HOUR", "minute"],
  "1d": ["one day", "INTERVAL 1 DAY", "hour"],
  "7d": ["7 days", "INTERVAL 7 DAY", "hour"],
  "30d": ["30 days", "INTERVAL 30 DAY", "day"],
  all: ["all time", "INTERVAL 100 YEAR", "day"],
};
export const DEFAULT_TIME_SPAN = "7d";

/** Changes of namespaces name their key in the detail alone. */
const ACTOR_SQL = "coalesce(actor, CASE WHEN event LIKE 'namespace.%' THEN detail->>'$.by' END)";

const quoteSqlLiteral = (text: string) => `'${text.replaceAll("'", "''")}'`;

function selectTimeSpan({ since = DEFAULT_TIME_SPAN }: AuditFilter) {
  return TIME_SPANS[since] ?? TIME_SPANS[DEFAULT_TIME_SPAN]!;
}

function buildWhereClause(filter: AuditFilter): string {
  const { event, actor, tenant, via, text, before } = filter;
  const conditions = [`recorded_at > now()::TIMESTAMP - ${selectTimeSpan(filter)[1]}`];
  if (event) conditions.push(`event = ${quoteSqlLiteral(event)}`);
  if (actor) conditions.push(`${ACTOR_SQL} = ${quoteSqlLiteral(actor)}`);
  if (tenant) conditions.push(`tenant = ${quoteSqlLiteral(tenant)}`);
  if (via === "console") conditions.push("via LIKE 'console:%'");
  if (via === "api") conditions.push(`via IS NULL AND ${ACTOR_SQL} IS NOT NULL`);
  if (text) conditions.push(`contains(lower(detail::VARCHAR), lower(${quoteSqlLiteral(text)}))`);
  if (before && /^\d{1,15}$/.test(before)) conditions.push(`position < ${before}`);
  return conditions.join(" AND ");
}

/** Newest first; one more than is shown tells that there are others. */
export function buildAuditRowsSql(filter: AuditFilter): string {
  return `SELECT recorded_at, position, event, tenant, ${ACTOR_SQL} AS actor, agent, kid, detail, via
FROM audit_events WHERE ${buildWhereClause(filter)}
ORDER BY recorded_at DESC, position DESC LIMIT ${AUDIT_ROWS_MAX + 1}`;
}

export function buildAuditCountsSql(filter: AuditFilter): string {
  const where = buildWhereClause({ ...filter, before: undefined });
  return `SELECT event, count(*)::INTEGER AS n
FROM audit_events WHERE ${where} GROUP BY event ORDER BY n DESC LIMIT 12`;
}

export function buildAuditTimelineSql(filter: AuditFilter): string {
  const where = buildWhereClause({ ...filter, before: undefined });
  return `SELECT epoch(date_trunc('${selectTimeSpan(filter)[2]}', recorded_at))::BIGINT AS at, count(*)::INTEGER AS n
FROM audit_events WHERE ${where} GROUP BY 1 ORDER BY 1`;
}

type EventDetail = Readonly<Record<string, unknown>>;

const describeKeyChange = ({ key_id: id, label, scopes }: EventDetail) =>
  `key ${formatDetailValue(id)}${label ? ` “${formatDetailValue(label)}”` : ""}${scopes ? `: ${formatDetailValue(scopes)}` : ""}`;
const describeNamespaceChange = ({ namespace, owner, tenant }: EventDetail) =>
  `${formatDetailValue(namespace)}, ${formatDetailValue(owner ?? tenant)}`;
const describeReviewChange = ({ agent, level, who, decision, note }: EventDetail) =>
  `${formatDetailValue(agent)} at ${formatDetailValue(level)} by ${formatDetailValue(who)}${decision ? `: ${formatDetailValue(decision)}` : ""}` +
  (note ? `, “${formatDetailValue(note)}”` : "");

const DESCRIBERS_BY_EVENT: Readonly<Record<string, (detail: EventDetail) => string>> = {
  "api_key.created": describeKeyChange,
  "api_key.changed": describeKeyChange,
  "api_key.rotated": describeKeyChange,
  "api_key.revoked": describeKeyChange,
  "policy.set": ({ version, reason }) =>
    `${formatDetailValue(version)}${reason ? `: “${formatDetailValue(reason)}”` : ""}`,
  "policy.backtested": ({ backtest }) => {
    const { policy_version: tried, compared_with: live, changed } = (backtest ?? {}) as EventDetail;
    return `${formatDetailValue(tried)} beside ${formatDetailValue(live)}: ${formatDetailValue(changed)} outcomes ruled otherwise`;
  },
  "access.denied": ({ reason, count, address, route }) =>
    `${formatDetailValue(reason)}, ${formatDetailValue(count ?? 1)} times from ${formatDetailValue(address)} at ${formatDetailValue(route)}`,
  "namespace.granted": describeNamespaceChange,
  "namespace.transferred": describeNamespaceChange,
  "namespace.revoked": describeNamespaceChange,
  "review.claimed": describeReviewChange,
  "review.decided": describeReviewChange,
  "config.promoted": ({ config_version: version }) => formatDetailValue(version),
  "quota.removed": ({ paid_reads_per_month: reads }) =>
    `no bound any more, it was ${formatDetailValue(reads)} paid reads a month`,
  "evidence.revoked": ({ source_id: id }) => formatDetailValue(id),
  "kaizen.promoted": ({ run_id: run, config_to: to, reason }) =>
    `${formatDetailValue(to)} by run ${formatDetailValue(run)}${reason ? `: “${formatDetailValue(reason)}”` : ""}`,
  "kaizen.rolled_back": ({ config_version: version, run_id: run, reason }) =>
    `${formatDetailValue(run)} taken back, ${formatDetailValue(version)} again${reason ? `: “${formatDetailValue(reason)}”` : ""}`,
  "quota.set": ({ paid_reads_per_month: reads }) =>
    `${formatDetailValue(reads)} paid reads a month`,
};
/** How an event is drawn that has no words of its own. */
const DETAIL_LENGTH_MAX = 160;

/** What happened, from the detail. Nothing is left out that the words do not say: the detail has it all. */
export function describeAuditEvent({ event, detail }: AuditEvent): string {
  const words = DESCRIBERS_BY_EVENT[event];
  if (words !== undefined) return words(parseEventDetail(detail));
  return detail.length > DETAIL_LENGTH_MAX ? `${detail.slice(0, DETAIL_LENGTH_MAX)}…` : detail;
}

export function parseEventDetail(detail: string): EventDetail {
  try {
    const value: unknown = JSON.parse(detail);
    return typeof value === "object" && value !== null ? (value as EventDetail) : {};
  } catch {
    return {};
  }
}

function formatDetailValue(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return formatNumber(value);
  if (Array.isArray(value)) return value.map(formatDetailValue).join(", ");
  return typeof value === "string" ? value : JSON.stringify(value);
}
