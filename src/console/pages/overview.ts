// Overview: what happens now, each figure with the rows behind it.
import type { LoggedLeg } from "../../contract/schemas/decisions.ts";
import { getDocument } from "../api.ts";
import { formatNumber, formatPercent } from "../format.ts";
import { html, type VNode } from "../html.ts";
import { linkTo } from "../location.ts";
import { CurlCommand } from "../parts/actions.ts";
import { Failure, Loading } from "../parts/notices.ts";
import { Card, Page } from "../parts/page.ts";
import { type Column, Table } from "../parts/table.ts";
import { AgentLink, Tag, Time } from "../parts/words.ts";
import { LiveCharts } from "./overview/live.ts";
import { RecentCharts } from "./overview/recent.ts";
import { Tour, useTour } from "./overview/tour.ts";
import { usePolledData } from "../use-data.ts";

const LATEST = "/v1/decisions?limit=14";
const EVERY_MS = 5000;

const COLUMNS: readonly Column<LoggedLeg>[] = [
  { label: "at", cell: (row) => html`<${Time} at=${row.evaluated_at} />` },
  { label: "agent", cell: (row) => html`<${AgentLink} id=${row.subject} />` },
  {
    label: "asked",
    cell: (row) =>
      html`<a href=${linkTo("decision", { id: row.request_id })}
        >${row.kind} ${row.tool_level} ${row.action}</a
      >`,
  },
  { label: "answer", cell: (row) => html`<${Tag} word=${row.verdict ?? row.decision} />` },
  { label: "score", isNumber: true, cell: (row) => formatNumber(row.internal_score) },
  { label: "risk", isNumber: true, cell: (row) => formatPercent(row.failure_probability) },
  {
    label: "reasons",
    isLong: true,
    cell: (row) => html`<span class="dim">${row.reason_codes.join(", ")}</span>`,
  },
];

export default function OverviewPage(): VNode {
  const { value, error, reload } = usePolledData(
    (signal) => getDocument<{ decisions: LoggedLeg[] }>(LATEST, {}, signal),
    EVERY_MS,
  );
  const [isTouring, showTour] = useTour();
  const tools =
    !isTouring &&
    html`<button type="button" class="small" onClick=${() => showTour(true)}>
      Show the tour
    </button>`;
  return html`<${Page} title="Overview" lead="What happens now." tools=${tools}>
    ${isTouring && html`<${Tour} onDismiss=${() => showTour(false)} />`}
    ${error !== undefined && html`<${Failure} error=${error} onRetry=${reload} />`}
    <${LiveCharts} />
    <${RecentCharts} />
    <${Card} title="Latest decisions">
      ${
        value === undefined
          ? html`<${Loading} />`
          : html`<${Table}
              label="latest decisions"
              columns=${COLUMNS}
              rows=${value.decisions}
              keyOf=${(row: LoggedLeg) => row.request_id}
              empty="No decisions yet: the first verify, check or handshake shows here."
            />`
      }
      <${CurlCommand} path=${LATEST} />
    <//>
  <//>`;
}
