// Rows of the audit trail: the questions that find them, and each in a few words.
import { number } from "../format.ts";

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

export interface Filter {
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

export const ROWS_MAX = 200;

/** Spans of time by their name in the address: words, SQL, and the step of the chart. */
export const SPANS: Readonly<Record<string, readonly [words: string, sql: string, step: string]>> =
  {
    "1h": ["one hour", "INTERVAL 1 HOUR", "minute"],
    "1d": ["one day", "INTERVAL 1 DAY", "hour"],
    "7d": ["7 days", "INTERVAL 7 DAY", "hour"],
    "30d": ["30 days", "INTERVAL 30 DAY", "day"],
    all: ["all time", "INTERVAL 100 YEAR", "day"],
  };
export const SPAN_FIRST = "7d";

/** Changes of namespaces name their key in the detail alone. */
const ACTOR = "coalesce(actor, CASE WHEN event LIKE 'namespace.%' THEN detail->>'$.by' END)";

const literal = (text: string) => `'${text.replaceAll("'", "''")}'`;

function selectTimeSpan({ since = SPAN_FIRST }: Filter) {
  return SPANS[since] ?? SPANS[SPAN_FIRST]!;
}

function buildWhereClause(filter: Filter): string {
  const { event, actor, tenant, via, text, before } = filter;
  const conditions = [`recorded_at > now()::TIMESTAMP - ${selectTimeSpan(filter)[1]}`];
  if (event) conditions.push(`event = ${literal(event)}`);
  if (actor) conditions.push(`${ACTOR} = ${literal(actor)}`);
  if (tenant) conditions.push(`tenant = ${literal(tenant)}`);
  if (via === "console") conditions.push("via LIKE 'console:%'");
  if (via === "api") conditions.push(`via IS NULL AND ${ACTOR} IS NOT NULL`);
  if (text) conditions.push(`contains(lower(detail::VARCHAR), lower(${literal(text)}))`);
  if (before && /^\d{1,15}$/.test(before)) conditions.push(`position < ${before}`);
  return conditions.join(" AND ");
}

/** Newest first; one more than is shown tells that there are others. */
export function rowsSql(filter: Filter): string {
  return `SELECT recorded_at, position, event, tenant, ${ACTOR} AS actor, agent, kid, detail, via
FROM audit_events WHERE ${buildWhereClause(filter)}
ORDER BY recorded_at DESC, position DESC LIMIT ${ROWS_MAX + 1}`;
}

export function countsSql(filter: Filter): string {
  const where = buildWhereClause({ ...filter, before: undefined });
  return `SELECT event, count(*)::INTEGER AS n
FROM audit_events WHERE ${where} GROUP BY event ORDER BY n DESC LIMIT 12`;
}

export function timesSql(filter: Filter): string {
  const where = buildWhereClause({ ...filter, before: undefined });
  return `SELECT epoch(date_trunc('${selectTimeSpan(filter)[2]}', recorded_at))::BIGINT AS at, count(*)::INTEGER AS n
FROM audit_events WHERE ${where} GROUP BY 1 ORDER BY 1`;
}

type Detail = Readonly<Record<string, unknown>>;

const KEY = ({ key_id: id, label, scopes }: Detail) =>
  `key ${said(id)}${label ? ` “${said(label)}”` : ""}${scopes ? `: ${said(scopes)}` : ""}`;
const NAMESPACE = ({ namespace, owner, tenant }: Detail) =>
  `${said(namespace)}, ${said(owner ?? tenant)}`;
const REVIEW = ({ agent, level, who, decision, note }: Detail) =>
  `${said(agent)} at ${said(level)} by ${said(who)}${decision ? `: ${said(decision)}` : ""}` +
  (note ? `, “${said(note)}”` : "");

const WORDS: Readonly<Record<string, (detail: Detail) => string>> = {
  "api_key.created": KEY,
  "api_key.changed": KEY,
  "api_key.rotated": KEY,
  "api_key.revoked": KEY,
  "policy.set": ({ version, reason }) => `${said(version)}${reason ? `: “${said(reason)}”` : ""}`,
  "policy.backtested": ({ backtest }) => {
    const { policy_version: tried, compared_with: live, changed } = (backtest ?? {}) as Detail;
    return `${said(tried)} beside ${said(live)}: ${said(changed)} outcomes ruled otherwise`;
  },
  "access.denied": ({ reason, count, address, route }) =>
    `${said(reason)}, ${said(count ?? 1)} times from ${said(address)} at ${said(route)}`,
  "namespace.granted": NAMESPACE,
  "namespace.transferred": NAMESPACE,
  "namespace.revoked": NAMESPACE,
  "review.claimed": REVIEW,
  "review.decided": REVIEW,
  "config.promoted": ({ config_version: version }) => said(version),
  "quota.removed": ({ paid_reads_per_month: reads }) =>
    `no bound any more, it was ${said(reads)} paid reads a month`,
  "evidence.revoked": ({ source_id: id }) => said(id),
  "kaizen.promoted": ({ run_id: run, config_to: to, reason }) =>
    `${said(to)} by run ${said(run)}${reason ? `: “${said(reason)}”` : ""}`,
  "kaizen.rolled_back": ({ config_version: version, run_id: run, reason }) =>
    `${said(run)} taken back, ${said(version)} again${reason ? `: “${said(reason)}”` : ""}`,
  "quota.set": ({ paid_reads_per_month: reads }) => `${said(reads)} paid reads a month`,
};
/** How an event is drawn that has no words of its own. */
const DETAIL_LENGTH_MAX = 160;

/** What happened, from the detail. Nothing is left out that the words do not say: the detail has it all. */
export function describeAuditEvent({ event, detail }: AuditEvent): string {
  const words = WORDS[event];
  if (words !== undefined) return words(parseEventDetail(detail));
  return detail.length > DETAIL_LENGTH_MAX ? `${detail.slice(0, DETAIL_LENGTH_MAX)}…` : detail;
}

export function parseEventDetail(detail: string): Detail {
  try {
    const value: unknown = JSON.parse(detail);
    return typeof value === "object" && value !== null ? (value as Detail) : {};
  } catch {
    return {};
  }
}

function said(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return number(value);
  if (Array.isArray(value)) return value.map(said).join(", ");
  return typeof value === "string" ? value : JSON.stringify(value);
}
