// Audit page: changes of keys, policies and configs, review decisions and denied access, with filters.
import { querySql } from "../api.ts";
import { formatNumber } from "../format.ts";
import { html, type VNode } from "../html.ts";
import { linkTo, type PageParameters, usePageParameters } from "../location.ts";
import {
  type AuditEvent,
  buildAuditCountsSql,
  parseEventDetail,
  AUDIT_ROWS_MAX,
  buildAuditRowsSql,
  DEFAULT_TIME_SPAN,
  TIME_SPANS,
  buildAuditTimelineSql,
  describeAuditEvent,
} from "./audit/events.ts";
import { CopyButton } from "../parts/actions.ts";
import { Bars } from "../parts/bars.ts";
import { Chart } from "../parts/chart.ts";
import { Card, FactList, Grid } from "../parts/page.ts";
import { type Column, Table } from "../parts/table.ts";
import { type PageFilter, PageFilters } from "../parts/fields.ts";
import { ListPage } from "../parts/list-page.ts";
import { AgentLink, Tag, UntrustedText, Time } from "../parts/words.ts";
import { useData } from "../use-data.ts";

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
          at=${value.times.map(({ at: time }) => time)}
          lines=${lines}
          height=${150}
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
