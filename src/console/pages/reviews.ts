// Reviews: agents that are held back until a person has looked, and disputes. Decided by keyboard alone;
// what was decided is a second view.
import { html, type VNode } from "../html.ts";
import { linkTo, usePageParameters } from "../location.ts";
import { Page, Card, MetricTile, MetricTiles, Grid } from "../parts/page.ts";
import { FlaggedDecisions } from "./reviews/flagged.ts";
import { WaitingReviews } from "./reviews/waiting.ts";
import { querySql } from "../api.ts";
import { formatDuration, formatNumber, formatPercent } from "../format.ts";
import { CurlCommand } from "../parts/actions.ts";
import { Failure, Loading } from "../parts/notices.ts";
import { type Column, Table } from "../parts/table.ts";
import { AgentLink, Tag, UntrustedText, Time } from "../parts/words.ts";
import { useData } from "../use-data.ts";

interface DecidedReviewRow {
  readonly review_id: string;
  readonly decided_at: string;
  readonly agent: string;
  readonly level: string;
  readonly kind: string;
  readonly reason: string;
  readonly decision: string;
  readonly decided_by: string;
  readonly until: string;
  readonly note: string | null;
  readonly last_request_id: string;
}

interface OverturnRate {
  readonly reason: string;
  readonly decided: number;
  readonly overturned: number;
  readonly minutes: number;
}

interface ReviewerCounts {
  readonly who: string;
  readonly decided: number;
  readonly overturned: number;
}

const LAST_30_DAYS_SQL = "decision IS NOT NULL AND decided_at > now()::TIMESTAMP - INTERVAL 30 DAY";
const RATES_SQL = `SELECT coalesce(nullif(reason, ''), 'dispute of the standing') AS reason, count(*)::INTEGER AS decided,
(count(*) FILTER (decision = 'overturned'))::INTEGER AS overturned,
median(epoch(decided_at - opened_at)) / 60 AS minutes
FROM review_queue WHERE ${LAST_30_DAYS_SQL} GROUP BY 1 ORDER BY 2 DESC LIMIT 20`;
const REVIEWERS_SQL = `SELECT decided_by AS who, count(*)::INTEGER AS decided,
(count(*) FILTER (decision = 'overturned'))::INTEGER AS overturned
FROM review_queue WHERE ${LAST_30_DAYS_SQL} GROUP BY 1 ORDER BY 2 DESC LIMIT 20`;
const ROWS_SQL = `SELECT review_id, decided_at, agent, level, kind, reason, decision, decided_by, until, note,
last_request_id FROM review_queue WHERE ${LAST_30_DAYS_SQL}`;

const DECISION_TONES: Readonly<Record<string, string>> = { overturned: "allow", upheld: "deny" };

const COLUMNS: readonly Column<DecidedReviewRow>[] = [
  {
    label: "decided",
    cell: (row) =>
      html`<a href=${linkTo("decision", { id: row.last_request_id })}
        ><${Time} at=${row.decided_at}
      /></a>`,
  },
  { label: "agent", cell: (row) => html`<${AgentLink} id=${row.agent} />` },
  { label: "level", cell: (row) => row.level },
  { label: "kind", cell: (row) => row.kind },
  {
    label: "decision",
    cell: (row) => html`<${Tag} word=${row.decision} tone=${DECISION_TONES[row.decision]} />`,
  },
  { label: "by", cell: (row) => html`<${UntrustedText} text=${row.decided_by} />` },
  { label: "until", cell: (row) => html`<span class="nowrap"><${Time} at=${row.until} /></span>` },
  { label: "rule", cell: (row) => html`<span class="dim">${row.reason}</span>` },
  { label: "note", isLong: true, cell: (row) => html`<${UntrustedText} text=${row.note} />` },
];

const RATE_COLUMNS: readonly Column<OverturnRate>[] = [
  {
    label: "rule",
    cell: (row) =>
      html`<a href=${linkTo("reviews", { view: "decided", rule: row.reason })}>${row.reason}</a>`,
  },
  { label: "decided", isNumber: true, cell: (row) => formatNumber(row.decided) },
  { label: "overturned", isNumber: true, cell: (row) => formatNumber(row.overturned) },
  { label: "share", isNumber: true, cell: (row) => formatPercent(row.overturned / row.decided, 0) },
  { label: "median wait", isNumber: true, cell: (row) => formatDuration(row.minutes * 60_000) },
];

const REVIEWER_COLUMNS: readonly Column<ReviewerCounts>[] = [
  { label: "who", cell: (row) => html`<${UntrustedText} text=${row.who} />` },
  { label: "decided", isNumber: true, cell: (row) => formatNumber(row.decided) },
  { label: "overturned", isNumber: true, cell: (row) => formatNumber(row.overturned) },
  { label: "share", isNumber: true, cell: (row) => formatPercent(row.overturned / row.decided, 0) },
];

function DecidedMetrics({ rates }: { rates: readonly OverturnRate[] }): VNode {
  const sum = (of: (rate: OverturnRate) => number) =>
    rates.reduce((total, rate) => total + of(rate), 0);
  const decided = sum((rate) => rate.decided);
  const overturned = sum((rate) => rate.overturned);
  return html`<${MetricTiles}>
    <${MetricTile}
      label="decided, 30 days"
      value=${formatNumber(decided)}
      href=${linkTo("reviews", { view: "decided" })}
    />
    <${MetricTile} label="overturned" value=${formatNumber(overturned)} />
    <${MetricTile}
      label="share overturned"
      value=${decided === 0 ? "–" : formatPercent(overturned / decided, 0)}
      note="a high share: the rule asks too often"
    />
  <//>`;
}

function DecidedReviews(): VNode {
  const [{ rule = "" }, set] = usePageParameters();
  const isRule = /^[A-Z_]{1,64}$/.test(rule);
  const where = isRule ? ` AND reason = '${rule}'` : rule === "" ? "" : " AND reason = ''";
  const sql = `${ROWS_SQL}${where} ORDER BY decided_at DESC LIMIT 200`;
  const { value, error, reload } = useData(
    async (signal) => ({
      rates: await querySql<OverturnRate>(RATES_SQL, signal),
      people: await querySql<ReviewerCounts>(REVIEWERS_SQL, signal),
      rows: await querySql<DecidedReviewRow>(sql, signal),
    }),
    [sql],
  );
  if (error !== undefined) return html`<${Failure} error=${error} onRetry=${reload} />`;
  if (value === undefined) return html`<${Loading} />`;
  const { rates, people, rows } = value;
  const clear = html`<button type="button" class="small" onClick=${() => set({ rule: undefined })}>
    All rules
  </button>`;
  return html`<div>
    <${DecidedMetrics} rates=${rates} />
    <${Grid}>
      <${Card} title="By the rule that held it back" span=${6}>
        <${Table}
          label="overturned by rule"
          columns=${RATE_COLUMNS}
          rows=${rates}
          empty="Nothing was decided in the last 30 days: decisions on the other view fill this."
        />
      <//>
      <${Card} title="By person" span=${6}>
        <${Table}
          label="decided by person"
          columns=${REVIEWER_COLUMNS}
          rows=${people}
          empty="Nobody has decided anything in the last 30 days."
        />
      <//>
      <${Card}
        title=${rule === "" ? "Latest" : `Latest, ${rule}`}
        tools=${rule === "" ? null : clear}
      >
        <${Table}
          label="decided reviews"
          columns=${COLUMNS}
          rows=${rows}
          keyOf=${(row: DecidedReviewRow) => row.review_id}
          empty="Nothing was decided in the last 30 days."
        />
      <//>
    <//>
    <${CurlCommand} method="POST" path="/v1/query" body=${{ sql }} />
  </div>`;
}

const VIEWS = [
  ["", "Waiting"],
  ["flagged", "Flagged"],
  ["decided", "Decided"],
] as const;

function ReviewView({ view }: { view: string }): VNode {
  if (view === "decided") return html`<${DecidedReviews} />`;
  return view === "flagged" ? html`<${FlaggedDecisions} />` : html`<${WaitingReviews} />`;
}

export default function ReviewsPage(): VNode {
  const [{ view = "" }] = usePageParameters();
  const tabs = VIEWS.map(
    ([name, label]) =>
      html`<a
        class="button"
        href=${linkTo("reviews", { view: name })}
        aria-current=${name === view ? "page" : undefined}
        >${label}</a
      >`,
  );
  return html`<${Page}
    title="Reviews"
    lead="Agents withheld until a reviewer decides, disputes of refusals, and allowed calls flagged for review."
    tools=${tabs}
  >
    <${ReviewView} view=${view} />
  <//>`;
}
