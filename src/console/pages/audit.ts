// Audit page: changes of keys, policies and configs, review decisions and denied access, with filters:
// SQL queries of the audit trail, and a one-line description of each kind of event.
import { querySql } from "../api.ts";
import { formatNumber } from "../format.ts";
import { html, type VNode } from "../html.ts";
import { linkTo, type PageParameters, usePageParameters } from "../location.ts";
import { CopyButton } from "../parts/actions.ts";
import { Bars } from "../parts/bars.ts";
import { Chart } from "../parts/chart.ts";
import { Card, FactList, Grid } from "../parts/page.ts";
import { type Column, Table } from "../parts/table.ts";
import { type PageFilter, PageFilters } from "../parts/fields.ts";
import { ListPage } from "../parts/list-page.ts";
import { AgentLink, Tag, UntrustedText, Time } from "../parts/words.ts";
import { useData } from "../use-data.ts";

interface AuditEvent {
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

interface AuditFilter {
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

const AUDIT_ROWS_MAX = 200;

/** Spans of time by their name in the address: words, SQL, and the step of the chart. */
const TIME_SPANS: Readonly<Record<string, readonly [words: string, sql: string, step: string]>> = {
  "1h": ["one hour", "INTERVAL 1 HOUR", "minute"],
  "1d": ["one day", "INTERVAL 1 DAY", "hour"],
  "7d": ["7 days", "INTERVAL 7 DAY", "hour"],
  "30d": ["30 days", "INTERVAL 30 DAY", "day"],
  all: ["all time", "INTERVAL 100 YEAR", "day"],
};
const DEFAULT_TIME_SPAN = "7d";

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
function buildAuditRowsSql(filter: AuditFilter): string {
  return `SELECT recorded_at, position, event, tenant, ${ACTOR_SQL} AS actor, agent, kid, detail, via
FROM audit_events WHERE ${buildWhereClause(filter)}
ORDER BY recorded_at DESC, position DESC LIMIT ${AUDIT_ROWS_MAX + 1}`;
}

function buildAuditCountsSql(filter: AuditFilter): string {
  const where = buildWhereClause({ ...filter, before: undefined });
  return `SELECT event, count(*)::INTEGER AS n
FROM audit_events WHERE ${where} GROUP BY event ORDER BY n DESC LIMIT 12`;
}

function buildAuditTimelineSql(filter: AuditFilter): string {
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
function describeAuditEvent({ event, detail }: AuditEvent): string {
  const words = DESCRIBERS_BY_EVENT[event];
  if (words !== undefined) return words(parseEventDetail(detail));
  return detail.length > DETAIL_LENGTH_MAX ? `${detail.slice(0, DETAIL_LENGTH_MAX)}…` : detail;
}

function parseEventDetail(detail: string): EventDetail {
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

const LEAD =
  "Who did what, in the console and by the API. It is part of the journal: nothing here can be edited.";
const EMPTY =
  "Nothing was done in this time that fits. Creating a key, setting a policy, deciding a review or a refused login makes an entry.";
/** Fewer are no course over time. */
const POINTS_MIN = 3;

interface AuditData {
  readonly rows: readonly AuditEvent[];
  readonly counts: readonly { readonly event: string; readonly n: number }[];
  readonly times: readonly { readonly at: number; readonly n: number }[];
}

export default function AuditPage(): VNode {
  const [parameters] = usePageParameters();
  const { row: _, ...filter } = parameters;
  const data = useData<AuditData>(
    async (signal) => ({
      rows: await querySql<AuditEvent>(buildAuditRowsSql(filter), signal),
      counts: await querySql(buildAuditCountsSql(filter), signal),
      times: await querySql(buildAuditTimelineSql(filter), signal),
    }),
    [JSON.stringify(filter)],
  );
  return html`<${ListPage}
    title="Audit"
    lead=${LEAD}
    tools=${html`<button type="button" onClick=${data.reload}>Refresh</button>`}
    filters=${html`<${PageFilters} filters=${FILTERS} resets=${["before", "row"]} canClear />`}
    data=${data}
    draw=${(value: AuditData) => html`<${AuditTrail} value=${value} parameters=${parameters} />`}
    curl=${{ method: "POST", path: "/v1/query", body: { sql: buildAuditRowsSql(filter) } }}
  />`;
}

const FILTERS: readonly PageFilter[] = [
  {
    name: "since",
    label: "Last",
    options: Object.entries(TIME_SPANS).map(([name, [words]]) => [name, words]),
    fallback: DEFAULT_TIME_SPAN,
  },
  {
    name: "via",
    label: "Through",
    options: [
      ["", "any way"],
      ["console", "the console"],
      ["api", "the API"],
    ],
  },
  { name: "event", label: "Event", placeholder: "policy.set" },
  { name: "actor", label: "By key", placeholder: "id of a key" },
  { name: "tenant", label: "Tenant", placeholder: "any" },
  { name: "text", label: "In the detail", type: "search", placeholder: "words" },
];

interface AuditTrailProps {
  readonly value: AuditData;
  readonly parameters: PageParameters;
}

function AuditTrail({ value, parameters }: AuditTrailProps): VNode {
  const rows = value.rows.slice(0, AUDIT_ROWS_MAX);
  const at = rows.findIndex(({ position }) => String(position) === parameters["row"]);
  const last = rows.at(-1)?.position;
  const hasMore = value.rows.length > AUDIT_ROWS_MAX && last !== null && last !== undefined;
  const bars = value.counts.map(({ event, n }) => ({
    label: event,
    value: n,
    href: linkTo("audit", { ...parameters, event, before: undefined, row: undefined }),
    ...(event === "access.denied" ? { tone: "deny" as const } : {}),
  }));
  const lines = [{ label: "events", color: "accent", values: value.times.map(({ n }) => n) }];
  const isDrawn = value.times.length >= POINTS_MIN;
  return html`<${Grid}>
    ${
      isDrawn &&
      html`<${Card} title="Events over time" span=${7}>
        <${Chart}
          title="Events over time"
          unit="events"
          at=${value.times.map(({ at: time }) => time)}
          lines=${lines}
          height=${190}
          say=${formatNumber}
        />
      <//>`
    }
    ${
      rows.length > 0 &&
      html`<${Card} title="By event" span=${isDrawn ? 5 : 12}><${Bars} bars=${bars} /><//>`
    }
    ${at >= 0 && html`<${AuditEntry} entry=${rows[at]!} parameters=${parameters} />`}
    <${Card} title=${`${formatNumber(rows.length)}${hasMore ? "+" : ""} events`}>
      <${Table}
        label="audit events"
        columns=${buildAuditColumns(parameters)}
        rows=${rows}
        keyOf=${(row: AuditEvent, index: number) => row.position ?? `old-${index}`}
        chosen=${at < 0 ? undefined : at}
        empty=${EMPTY}
      />
      ${
        hasMore &&
        html`<a
          class="button"
          href=${linkTo("audit", { ...parameters, before: last, row: undefined })}
          >Older</a
        >`
      }
    <//>
  <//>`;
}

function buildAuditColumns(parameters: PageParameters): Column<AuditEvent>[] {
  const filtered = (name: string, value: string) =>
    linkTo("audit", { ...parameters, [name]: value, before: undefined, row: undefined });
  return [
    { label: "at", cell: (row) => html`<${Time} at=${row.recorded_at} />` },
    {
      label: "event",
      cell: (row) =>
        html`<a href=${linkTo("audit", { ...parameters, row: row.position ?? undefined })}
          ><${Tag} word=${row.event} tone=${row.event === "access.denied" ? "deny" : undefined}
        /></a>`,
    },
    {
      label: "by",
      cell: ({ actor }) =>
        actor === null
          ? html`<span class="dim">–</span>`
          : html`<a class="agent" href=${filtered("actor", actor)}
              ><${UntrustedText} text=${actor}
            /></a>`,
    },
    { label: "through", cell: ({ via, actor }) => renderAccessPath(via, actor) },
    {
      label: "tenant",
      cell: ({ tenant }) =>
        tenant === null
          ? html`<span class="dim">–</span>`
          : html`<a href=${filtered("tenant", tenant)}><${UntrustedText} text=${tenant} /></a>`,
    },
    { label: "what", cell: (row) => html`<${UntrustedText} text=${describeAuditEvent(row)} />` },
  ];
}

/** The console, with the beginning of its session, or the API; nothing for what the service did itself. */
function renderAccessPath(via: string | null, actor: string | null): VNode {
  if (via !== null) return html`<${Tag} word=${via} tone="allow" />`;
  return html`<span class="dim">${actor === null ? "–" : "API"}</span>`;
}

/** One event with all that is known. */
function AuditEntry(props: { entry: AuditEvent; parameters: PageParameters }): VNode {
  const { entry, parameters } = props;
  const detail = JSON.stringify(parseEventDetail(entry.detail), null, 2);
  const close = html`
    <${CopyButton} text=${detail} label="Copy JSON" />
    <a class="button" href=${linkTo("audit", { ...parameters, row: undefined })}>Close</a>
  `;
  const agent = entry.agent?.startsWith("agent://") && html`<${AgentLink} id=${entry.agent} />`;
  return html`<${Card} title=${entry.event} tools=${close}>
    <${FactList}
      facts=${[
        ["recorded", html`<${Time} at=${entry.recorded_at} as="full" />`],
        ["position in the journal", formatNumber(entry.position)],
        ["by key", html`<${UntrustedText} text=${entry.actor} />`],
        ["through", renderAccessPath(entry.via, entry.actor)],
        ["tenant", html`<${UntrustedText} text=${entry.tenant} />`],
        ["agent", agent || "–"],
      ]}
    />
    <pre class="code detail" tabindex="0" role="region" aria-label="detail">
${detail.split("\n").map((line) => html`<${UntrustedText} text=${line} />${"\n"}`)}</pre>
  <//>`;
}
