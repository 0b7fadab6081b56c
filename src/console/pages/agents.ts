// Agents page: scored agents, searched by name, filtered by tier and sorted.
import { getDocument, buildPathWithQuery } from "../api.ts";
import { formatNumber, formatPercent } from "../format.ts";
import { html, type VNode } from "../html.ts";
import { usePageParameters } from "../location.ts";
import { type PageFilter, PageFilters } from "../parts/fields.ts";
import { ListCard, ListPage, Pager } from "../parts/list-page.ts";
import { Notice } from "../parts/notices.ts";
import type { Column } from "../parts/table.ts";
import { AgentLink, Tag, TIER_TONES, Time } from "../parts/words.ts";
import { useData } from "../use-data.ts";
import type { AgentList, ListedAgent } from "../../contract/schemas/agents.ts";

const LIMIT = 50;
const ORDERS = [
  ["-last_outcome", "newest outcome first"],
  ["score", "lowest score first"],
  ["-score", "highest score first"],
  ["-outcomes", "most outcomes first"],
  ["name", "by name"],
] as const;
const DEFAULT_ORDER = ORDERS[0][0];

const COLUMNS: readonly Column<ListedAgent>[] = [
  { label: "agent", cell: (row) => html`<${AgentLink} id=${row.agent_id} />` },
  {
    label: "tier",
    cell: (row) => html`<${Tag} word=${row.tier} tone=${TIER_TONES[row.tier] ?? ""} />`,
  },
  { label: "score", isNumber: true, cell: (row) => formatNumber(row.internal_score) },
  { label: "risk", isNumber: true, cell: (row) => formatPercent(row.failure_probability) },
  {
    label: "between",
    isNumber: true,
    cell: (row) =>
      html`<span class="dim"
        >${formatPercent(row.failure_optimistic)} – ${formatPercent(row.failure_pessimistic)}</span
      >`,
  },
  { label: "outcomes", isNumber: true, cell: (row) => formatNumber(row.outcomes) },
  { label: "lately", cell: (row) => row.regime ?? "–" },
  { label: "last outcome", cell: (row) => html`<${Time} at=${row.last_outcome_at} as="ago" />` },
  { label: "last failure", cell: (row) => html`<${Time} at=${row.last_failure_at} as="ago" />` },
];

const FILTERS: readonly PageFilter[] = [
  { name: "q", label: "Name has", type: "typing", placeholder: "part of the name" },
  { name: "tier", label: "Tier", options: [["", "all"], "A", "B", "C", "D", "REVIEW"] },
  { name: "order", label: "Order", options: ORDERS },
];

export default function AgentsPage(): VNode {
  const [{ q = "", tier = "", order = DEFAULT_ORDER, after }] = usePageParameters();
  const asked = { contains: q, tier, order, after, limit: LIMIT };
  const data = useData(
    (signal) => getDocument<AgentList>("/v1/agents", asked, signal),
    [q, tier, order, after],
  );
  return html`<${ListPage}
    title="Agents"
    lead="All agents with recorded outcomes. Risk is the expected share of failures at stakes of 0."
    filters=${html`<${PageFilters} filters=${FILTERS} resets=${["after"]} />`}
    data=${data}
    draw=${(list: AgentList) => html`<${AgentTable} list=${list} onReload=${data.reload} />`}
    curl=${{ path: buildPathWithQuery("/v1/agents", asked) }}
  />`;
}

function AgentTable({ list, onReload }: { list: AgentList; onReload: () => void }): VNode {
  if (list.as_of === null && list.agents.length === 0) {
    return html`<${Notice}>
      Scores are being read for the first time, or no outcome has been recorded yet.${" "}
      <button type="button" class="small" onClick=${onReload}>Reload</button>
    <//>`;
  }
  return html`<${ListCard}
    noun="agent"
    count=${list.total}
    tools=${list.as_of !== null && html`<span class="dim small">as of <${Time} at=${list.as_of} /></span>`}
    label="agents"
    columns=${COLUMNS}
    rows=${list.agents}
    keyOf=${(row: ListedAgent) => row.agent_id}
    empty="No agent is called so. Agents appear with their first outcome."
  >
    <${Pager} parameter="after" next=${list.next} labels=${["First page", `Next ${LIMIT}`]} />
  <//>`;
}
