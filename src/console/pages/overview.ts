// Overview: what happens now, each figure with the rows behind it.
import { get, query } from "../api.ts";
import { number, percent } from "../format.ts";
import { html, type VNode } from "../html.ts";
import { linkTo } from "../location.ts";
import { AsCurl } from "../parts/actions.ts";
import { Bars } from "../parts/bars.ts";
import { Chart } from "../parts/chart.ts";
import { Failure, Loading } from "../parts/notices.ts";
import { Card, Grid, Page } from "../parts/page.ts";
import { Table } from "../parts/table.ts";
import { AgentLink, Tag, Time } from "../parts/words.ts";
import { Live } from "./overview/live.ts";
import { useData, usePolled } from "../use-data.ts";

interface Decision {
  readonly request_id: string;
  readonly evaluated_at: string;
  readonly subject: string;
  readonly kind: string;
  readonly tool_level: string | null;
  readonly action: string | null;
  readonly verdict: string | null;
  readonly decision: string;
  readonly internal_score: number;
  readonly failure_probability: number;
  readonly reason_codes: readonly string[];
}

const LATEST = "/v1/decisions?limit=14";
const EVERY_MS = 2000;

const COLUMNS = [
  { label: "at", cell: (row: Decision) => html`<${Time} at=${row.evaluated_at} />` },
  { label: "agent", cell: (row: Decision) => html`<${AgentLink} id=${row.subject} />` },
  {
    label: "asked",
    cell: (row: Decision) =>
      html`<a href=${linkTo("decision", { id: row.request_id })}
        >${row.kind} ${row.tool_level} ${row.action}</a
      >`,
  },
  {
    label: "answer",
    cell: (row: Decision) => html`<${Tag} word=${row.verdict ?? row.decision} />`,
  },
  { label: "score", isNumber: true, cell: (row: Decision) => number(row.internal_score) },
  { label: "risk", isNumber: true, cell: (row: Decision) => percent(row.failure_probability) },
  {
    label: "reasons",
    isLong: true,
    cell: (row: Decision) => html`<span class="dim">${row.reason_codes.join(", ")}</span>`,
  },
];

interface Reason {
  readonly reason: string;
  readonly denials: number;
}

interface Minute {
  readonly at: number;
  readonly allowed: number;
  readonly denied: number;
}

const REASONS = `SELECT coalesce(log_reason, decision) AS reason, count(*)::INTEGER AS denials FROM decisions
WHERE effective = 'deny' AND evaluated_at > now()::TIMESTAMP - INTERVAL 1 DAY
GROUP BY 1 ORDER BY 2 DESC LIMIT 8`;
const MINUTES = `SELECT epoch(date_trunc('minute', evaluated_at))::INTEGER AS at,
(count(*) FILTER (effective = 'allow'))::INTEGER AS allowed,
(count(*) FILTER (effective = 'deny'))::INTEGER AS denied
FROM decisions WHERE evaluated_at > now()::TIMESTAMP - INTERVAL 1 DAY GROUP BY 1 ORDER BY 1`;

function Recent(): VNode {
  const { value, error, reload } = useData(
    async (signal) => ({
      reasons: await query<Reason>(REASONS, signal),
      minutes: await query<Minute>(MINUTES, signal),
    }),
    [],
  );
  if (error !== undefined) return html`<${Failure} error=${error} onRetry=${reload} />`;
  if (value === undefined) return html`<${Loading} />`;
  const lines = [
    { label: "let through", color: "allow", values: value.minutes.map(({ allowed }) => allowed) },
    { label: "denied", color: "deny", values: value.minutes.map(({ denied }) => denied) },
  ];
  return html`<${Grid}>
    <${Card} title="Decisions a minute, one day" span=${7}>
      <${Chart}
        title="Decisions a minute"
        at=${value.minutes.map(({ at }) => at)}
        lines=${lines}
        say=${number}
      />
    <//>
    <${Card} title="Denials by reason, one day" span=${5}>
      <${Bars}
        bars=${value.reasons.map(({ reason, denials }) => ({ label: reason, value: denials }))}
        empty="No denials in the last day."
      />
    <//>
  <//>`;
}

export default function Overview(): VNode {
  const { value, error, reload } = usePolled(
    (signal) => get<{ decisions: Decision[] }>(LATEST, {}, signal),
    EVERY_MS,
  );
  return html`<${Page} title="Overview" lead="What happens now.">
    ${error !== undefined && html`<${Failure} error=${error} onRetry=${reload} />`}
    <${Live} />
    <${Recent} />
    <${Card} title="Latest decisions">
      ${
        value === undefined
          ? html`<${Loading} />`
          : html`<${Table}
              label="latest decisions"
              columns=${COLUMNS}
              rows=${value.decisions}
              keyOf=${(row: Decision) => row.request_id}
              empty="No decisions yet: the first verify, check or handshake shows here."
            />`
      }
      <${AsCurl} path=${LATEST} />
    <//>
  <//>`;
}
