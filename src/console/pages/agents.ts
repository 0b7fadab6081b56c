// Agents: all of them with their scores, found by name, chosen by tier, in the order that is asked for.
import { getDocument, buildPathWithQuery } from "../api.ts";
import { formatNumber, formatPercent } from "../format.ts";
import { html, useEffect, useState, type VNode } from "../html.ts";
import { usePageParameters } from "../location.ts";
import { CurlCommand } from "../parts/actions.ts";
import { Failure, Loading, Notice } from "../parts/notices.ts";
import { Card, Field, Page } from "../parts/page.ts";
import { type Column, Table } from "../parts/table.ts";
import { AgentLink, Tag, Time } from "../parts/words.ts";
import { useData } from "../use-data.ts";
import type { AgentList, ListedAgent } from "../../contract/schemas/agents.ts";

const LIMIT = 50;
/** Pause in typing after which it is looked up. */
const TYPING_MS = 250;
const TIERS = ["A", "B", "C", "D", "REVIEW"];
export const TIER_TONES: Readonly<Record<string, string>> = {
  A: "allow",
  B: "allow",
  C: "warn",
  D: "deny",
};
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

export default function AgentsPage(): VNode {
  const [{ q = "", tier = "", order = DEFAULT_ORDER, after }] = usePageParameters();
  const asked = { contains: q, tier, order, after, limit: LIMIT };
  const { value, error, reload } = useData(
    (signal) => getDocument<AgentList>("/v1/agents", asked, signal),
    [q, tier, order, after],
  );
  return html`<${Page}
    title="Agents"
    lead="Everybody with a record. Risk is the expected share of failures at stakes of 0."
  >
    <${AgentFilters} q=${q} tier=${tier} order=${order} />
    ${error !== undefined && html`<${Failure} error=${error} onRetry=${reload} />`}
    <${Card}
      title=${value === undefined ? "Agents" : `${formatNumber(value.total)} ${value.total === 1 ? "agent" : "agents"}`}
      tools=${
        value?.as_of != null &&
        html`<span class="dim small">as of <${Time} at=${value.as_of} /></span>`
      }
    >
      ${
        value === undefined
          ? error === undefined && html`<${Loading} />`
          : html`<${AgentTable} list=${value} isFirst=${after === undefined} onAgain=${reload} />`
      }
      <${CurlCommand} path=${buildPathWithQuery("/v1/agents", asked)} />
    <//>
  <//>`;
}

interface AgentTableProps {
  readonly list: AgentList;
  readonly isFirst: boolean;
  readonly onAgain: () => void;
}

function AgentTable({ list, isFirst, onAgain }: AgentTableProps): VNode {
  const [, setParameters] = usePageParameters();
  if (list.as_of === null && list.agents.length === 0) {
    return html`<${Notice}>
      Scores are being read for the first time, or no outcome is on record yet.${" "}
      <button type="button" class="small" onClick=${onAgain}>Look again</button>
    <//>`;
  }
  return html`<${Table}
      label="agents"
      columns=${COLUMNS}
      rows=${list.agents}
      keyOf=${(row: ListedAgent) => row.agent_id}
      empty="No agent is called so. Agents appear with their first outcome."
    />
    <div class="tools">
      ${
        !isFirst &&
        html`<button type="button" onClick=${() => setParameters({ after: undefined })}>
          First page
        </button>`
      }
      ${
        list.next !== null &&
        html`<button type="button" onClick=${() => setParameters({ after: list.next! })}>
          Next ${LIMIT}
        </button>`
      }
    </div>`;
}

function AgentFilters({ q, tier, order }: { q: string; tier: string; order: string }): VNode {
  const [, setParameters] = usePageParameters();
  const [typed, setTyped] = useState(q);
  useEffect(() => setTyped(q), [q]);
  useEffect(() => {
    if (typed === q) return undefined;
    const change = { q: typed || undefined, after: undefined };
    const timer = setTimeout(() => setParameters(change, true), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed, q]);
  const choose = (name: string) => (event: Event) => {
    const { value } = event.target as HTMLSelectElement;
    setParameters({ [name]: value || undefined, after: undefined });
  };
  return html`<div class="filters">
    <${Field} label="Name has" id="search">
      <input
        id="search"
        type="search"
        value=${typed}
        placeholder="part of the name"
        maxlength="256"
        autocomplete="off"
        spellcheck=${false}
        onInput=${(event: Event) => setTyped((event.target as HTMLInputElement).value)}
      />
    <//>
    <${Field} label="Tier" id="tier">
      <select id="tier" value=${tier} onChange=${choose("tier")}>
        <option value="">all</option>
        ${TIERS.map((each) => html`<option value=${each}>${each}</option>`)}
      </select>
    <//>
    <${Field} label="Order" id="order">
      <select id="order" value=${order} onChange=${choose("order")}>
        ${ORDERS.map(([value, label]) => html`<option value=${value}>${label}</option>`)}
      </select>
    <//>
  </div>`;
}
