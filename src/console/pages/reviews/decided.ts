// Decided reviews: by whom, for how long, and how often a rule was overturned.
import { query } from "../../api.ts";
import { duration, number, percent } from "../../format.ts";
import { html, type VNode } from "../../html.ts";
import { linkTo, useParameters } from "../../location.ts";
import { AsCurl } from "../../parts/actions.ts";
import { Failure, Loading } from "../../parts/notices.ts";
import { Card, Figure, Figures, Grid } from "../../parts/page.ts";
import { Table } from "../../parts/table.ts";
import { AgentLink, Tag, Text, Time } from "../../parts/words.ts";
import { useData } from "../../use-data.ts";

interface Row {
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

interface Rate {
  readonly reason: string;
  readonly decided: number;
  readonly overturned: number;
  readonly minutes: number;
}

interface Person {
  readonly who: string;
  readonly decided: number;
  readonly overturned: number;
}

const WITHIN = "decision IS NOT NULL AND decided_at > now()::TIMESTAMP - INTERVAL 30 DAY";
const RATES = `SELECT coalesce(nullif(reason, ''), 'dispute of the standing') AS reason, count(*)::INTEGER AS decided,
(count(*) FILTER (decision = 'overturned'))::INTEGER AS overturned,
median(epoch(decided_at - opened_at)) / 60 AS minutes
FROM review_queue WHERE ${WITHIN} GROUP BY 1 ORDER BY 2 DESC LIMIT 20`;
const PEOPLE = `SELECT decided_by AS who, count(*)::INTEGER AS decided,
(count(*) FILTER (decision = 'overturned'))::INTEGER AS overturned
FROM review_queue WHERE ${WITHIN} GROUP BY 1 ORDER BY 2 DESC LIMIT 20`;
const ROWS = `SELECT review_id, decided_at, agent, level, kind, reason, decision, decided_by, until, note,
last_request_id FROM review_queue WHERE ${WITHIN}`;

const TONES: Readonly<Record<string, string>> = { overturned: "allow", upheld: "deny" };

const COLUMNS = [
  {
    label: "decided",
    cell: (row: Row) =>
      html`<a href=${linkTo("decision", { id: row.last_request_id })}
        ><${Time} at=${row.decided_at}
      /></a>`,
  },
  { label: "agent", cell: (row: Row) => html`<${AgentLink} id=${row.agent} />` },
  { label: "level", cell: (row: Row) => row.level },
  { label: "kind", cell: (row: Row) => row.kind },
  {
    label: "decision",
    cell: (row: Row) => html`<${Tag} word=${row.decision} tone=${TONES[row.decision]} />`,
  },
  { label: "by", cell: (row: Row) => html`<${Text} text=${row.decided_by} />` },
  {
    label: "until",
    cell: (row: Row) => html`<span class="nowrap"><${Time} at=${row.until} /></span>`,
  },
  { label: "rule", cell: (row: Row) => html`<span class="dim">${row.reason}</span>` },
  { label: "note", isLong: true, cell: (row: Row) => html`<${Text} text=${row.note} />` },
];

const RATE_COLUMNS = [
  {
    label: "rule",
    cell: (row: Rate) =>
      html`<a href=${linkTo("reviews", { view: "decided", rule: row.reason })}>${row.reason}</a>`,
  },
  { label: "decided", isNumber: true, cell: (row: Rate) => number(row.decided) },
  { label: "overturned", isNumber: true, cell: (row: Rate) => number(row.overturned) },
  { label: "share", isNumber: true, cell: (row: Rate) => percent(row.overturned / row.decided, 0) },
  { label: "median wait", isNumber: true, cell: (row: Rate) => duration(row.minutes * 60_000) },
];

const PEOPLE_COLUMNS = [
  { label: "who", cell: (row: Person) => html`<${Text} text=${row.who} />` },
  { label: "decided", isNumber: true, cell: (row: Person) => number(row.decided) },
  { label: "overturned", isNumber: true, cell: (row: Person) => number(row.overturned) },
  {
    label: "share",
    isNumber: true,
    cell: (row: Person) => percent(row.overturned / row.decided, 0),
  },
];

function Sums({ rates }: { rates: readonly Rate[] }): VNode {
  const sum = (of: (rate: Rate) => number) => rates.reduce((total, rate) => total + of(rate), 0);
  const decided = sum((rate) => rate.decided);
  const overturned = sum((rate) => rate.overturned);
  return html`<${Figures}>
    <${Figure}
      label="decided, 30 days"
      value=${number(decided)}
      href=${linkTo("reviews", { view: "decided" })}
    />
    <${Figure} label="overturned" value=${number(overturned)} />
    <${Figure}
      label="share overturned"
      value=${decided === 0 ? "–" : percent(overturned / decided, 0)}
      note="a high share: the rule asks too often"
    />
  <//>`;
}

export function Decided(): VNode {
  const [{ rule = "" }, set] = useParameters();
  const isRule = /^[A-Z_]{1,64}$/.test(rule);
  const where = isRule ? ` AND reason = '${rule}'` : rule === "" ? "" : " AND reason = ''";
  const sql = `${ROWS}${where} ORDER BY decided_at DESC LIMIT 200`;
  const { value, error, reload } = useData(
    async (signal) => ({
      rates: await query<Rate>(RATES, signal),
      people: await query<Person>(PEOPLE, signal),
      rows: await query<Row>(sql, signal),
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
    <${Sums} rates=${rates} />
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
          columns=${PEOPLE_COLUMNS}
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
          keyOf=${(row: Row) => row.review_id}
          empty="Nothing was decided in the last 30 days."
        />
      <//>
    <//>
    <${AsCurl} method="POST" path="/v1/query" body=${{ sql }} />
  </div>`;
}
