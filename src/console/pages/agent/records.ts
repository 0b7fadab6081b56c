// Tables about one agent: latest decisions, latest outcomes, reporters and signing keys.
import { getDocument, buildPathWithQuery, querySql } from "../../api.ts";
import { formatNumber, formatPercent } from "../../format.ts";
import { html, type VNode } from "../../html.ts";
import { linkTo } from "../../location.ts";
import { CurlCommand } from "../../parts/actions.ts";
import { Failure, Loading } from "../../parts/notices.ts";
import { type Column, Table } from "../../parts/table.ts";
import { AgentLink, AnswerTag, Tag, UntrustedText, Time } from "../../parts/words.ts";
import { useData } from "../../use-data.ts";
import type { RecordedOutcome } from "../../../contract/schemas/agents.ts";
import type { LoggedLeg } from "../../../contract/schemas/decisions.ts";
import type { ReporterKeyDescription } from "../../../contract/schemas/reporter-keys.ts";

const ROWS = 8;

interface LoadedTableProps<Row> {
  readonly label: string;
  readonly empty: string;
  readonly columns: readonly Column<Row>[];
  readonly load: (signal: AbortSignal) => Promise<readonly Row[]>;
  readonly id: string;
}

/** A table that loads itself, with what to do when it cannot. */
function LoadedTable<Row>({ label, empty, columns, load, id }: LoadedTableProps<Row>): VNode {
  const { value, error, reload } = useData(load, [id]);
  if (error !== undefined) return html`<${Failure} error=${error} onRetry=${reload} />`;
  if (value === undefined) return html`<${Loading} />`;
  return html`<${Table} label=${label} columns=${columns} rows=${value} empty=${empty} />`;
}

const DECISION_COLUMNS: readonly Column<LoggedLeg>[] = [
  { label: "at", cell: (row) => html`<${Time} at=${row.evaluated_at} />` },
  {
    label: "asked",
    cell: (row) =>
      html`<a href=${linkTo("decision", { id: row.request_id })}
        >${row.kind} ${row.tool_level} <${UntrustedText} text=${row.action ?? ""}
      /></a>`,
  },
  {
    label: "answer",
    cell: (row) =>
      html`<${AnswerTag} word=${row.verdict ?? row.decision} disposition=${row.disposition} />`,
  },
  { label: "score", isNumber: true, cell: (row) => formatNumber(row.internal_score) },
  {
    label: "rule",
    isLong: true,
    cell: (row) => html`<span class="dim">${row.log_reason ?? row.reason_codes.join(", ")}</span>`,
  },
];

export function LastDecisions({ id }: { id: string }): VNode {
  const asked = { subject: id, limit: ROWS };
  return html`<${LoadedTable}
      id=${id}
      label="last decisions"
      columns=${DECISION_COLUMNS}
      load=${async (signal: AbortSignal) =>
        (await getDocument<{ decisions: LoggedLeg[] }>("/v1/decisions", asked, signal)).decisions}
      empty="Nobody has asked about this agent yet."
    />
    <p class="small"><a href=${linkTo("decisions", { subject: id })}>All its decisions</a></p>
    <${CurlCommand} path=${buildPathWithQuery("/v1/decisions", asked)} />`;
}

const OUTCOME_COLUMNS: readonly Column<RecordedOutcome>[] = [
  { label: "settled", cell: (row) => html`<${Time} at=${row.settled_at} />` },
  {
    label: "outcome",
    cell: (row) =>
      html`<${Tag}
        word=${row.outcome === 1 ? "success" : row.agent_fault ? "failure" : "not its fault"}
        tone=${row.outcome === 1 ? "allow" : row.agent_fault ? "deny" : ""}
      />`,
  },
  { label: "stakes", isNumber: true, cell: (row) => formatNumber(row.stakes, 2) },
  { label: "reporter", cell: (row) => html`<${AgentLink} id=${row.reporter} />` },
  { label: "grade", cell: (row) => row.grade },
  { label: "signature", cell: (row) => row.signature },
];

export function LastOutcomes({ id }: { id: string }): VNode {
  const asked = { subject: id, limit: ROWS };
  return html`<${LoadedTable}
      id=${id}
      label="last outcomes"
      columns=${OUTCOME_COLUMNS}
      load=${async (signal: AbortSignal) =>
        (await getDocument<{ outcomes: RecordedOutcome[] }>("/v1/outcomes", asked, signal))
          .outcomes}
      empty="No outcome about this agent is kept: reports show here."
    />
    <${CurlCommand} path=${buildPathWithQuery("/v1/outcomes", asked)} />`;
}

interface ReporterRow {
  readonly reporter: string;
  readonly outcomes: number;
  readonly failures: number;
  readonly stakes: number;
  readonly credibility: number | null;
}

const buildReportersSql = (id: string) => `SELECT o.reporter, count(*)::INTEGER AS outcomes,
  (count(*) FILTER (o.outcome = 0))::INTEGER AS failures, sum(o.stakes) AS stakes,
  any_value(r.credibility) AS credibility
FROM outcomes AS o LEFT JOIN reporters AS r ON r.reporter = o.reporter
WHERE o.subject = '${id.replaceAll("'", "''")}' AND o.agent_fault GROUP BY o.reporter ORDER BY outcomes DESC LIMIT ${ROWS}`;

const REPORTER_COLUMNS: readonly Column<ReporterRow>[] = [
  { label: "reporter", cell: (row) => html`<${AgentLink} id=${row.reporter} />` },
  { label: "outcomes", isNumber: true, cell: (row) => formatNumber(row.outcomes) },
  {
    label: "failed",
    isNumber: true,
    cell: (row) => formatPercent(row.outcomes === 0 ? 0 : row.failures / row.outcomes, 0),
  },
  { label: "stakes", isNumber: true, cell: (row) => formatNumber(row.stakes) },
  {
    label: "credibility",
    isNumber: true,
    cell: (row) => (row.credibility === null ? "stranger" : formatNumber(row.credibility, 2)),
  },
];

export function AgentReporters({ id }: { id: string }): VNode {
  return html`<${LoadedTable}
      id=${id}
      label="reporters about this agent"
      columns=${REPORTER_COLUMNS}
      load=${(signal: AbortSignal) => querySql<ReporterRow>(buildReportersSql(id), signal)}
      empty="Nobody has reported on this agent yet."
    />
    <${CurlCommand} method="POST" path="/v1/query" body=${{ sql: buildReportersSql(id) }} />`;
}

interface FindingRow {
  readonly kind: string;
  readonly about: string | null;
  readonly outcomes: number;
  readonly observed: number;
  readonly expected: number | null;
}

const buildFindingsSql = (
  id: string,
) => `SELECT kind, about, outcomes::INTEGER AS outcomes, observed, expected
FROM findings WHERE agent = '${id.replaceAll("'", "''")}' LIMIT ${ROWS}`;

const FINDING_COLUMNS: readonly Column<FindingRow>[] = [
  {
    label: "finding",
    cell: (row) =>
      html`${row.kind}${" "} ${row.about !== null && html`about <${AgentLink} id=${row.about} />`}`,
  },
  { label: "outcomes", isNumber: true, cell: (row) => formatNumber(row.outcomes) },
  { label: "observed", isNumber: true, cell: (row) => formatPercent(row.observed) },
  {
    label: "expected",
    isNumber: true,
    cell: (row) => (row.expected === null ? "" : formatPercent(row.expected)),
  },
];

export function AgentFindings({ id }: { id: string }): VNode {
  return html`<${LoadedTable}
      id=${id}
      label="findings about this agent"
      columns=${FINDING_COLUMNS}
      load=${(signal: AbortSignal) => querySql<FindingRow>(buildFindingsSql(id), signal)}
      empty="None: in no ring, neither lenient nor harsh, no repeated times and amounts."
    />
    <${CurlCommand} method="POST" path="/v1/query" body=${{ sql: buildFindingsSql(id) }} />`;
}

const SIGNING_KEY_COLUMNS: readonly Column<ReporterKeyDescription>[] = [
  { label: "key", isLong: true, cell: (row) => html`<code>${row.kid}</code>` },
  { label: "state", cell: (row) => html`<${Tag} word=${row.state} />` },
  {
    label: "registered",
    cell: (row) => html`<${Time} at=${row.registered_at} /> by ${row.tenant}`,
  },
  {
    label: "ends",
    cell: (row) => html`<${Time} at=${row.revoked_at ?? row.retires_at ?? row.expires_at} />`,
  },
];

export function AgentSigningKeys({ id }: { id: string }): VNode {
  const path = `/v1/agents/${encodeURIComponent(id)}/keys`;
  if (!id.startsWith("agent://")) {
    return html`<p class="empty dim">Only agents with a name of the form agent:// have keys.</p>`;
  }
  return html`<${LoadedTable}
      id=${id}
      label="signing keys"
      columns=${SIGNING_KEY_COLUMNS}
      load=${async (signal: AbortSignal) =>
        (await getDocument<{ keys: ReporterKeyDescription[] }>(path, {}, signal)).keys}
      empty="It has no key: what is reported in its name is not signed by it."
    />
    <${CurlCommand} path=${path} />`;
}
