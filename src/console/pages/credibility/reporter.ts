// One reporter: what its word counts, who vouched for it, for whom it vouched, what it has reported.
import { querySql } from "../../api.ts";
import { formatNumber, formatPercent } from "../../format.ts";
import { html, type VNode } from "../../html.ts";
import { usePageParameters } from "../../location.ts";
import { Failure, Loading } from "../../parts/notices.ts";
import { Card, FactList } from "../../parts/page.ts";
import { type Column, Table } from "../../parts/table.ts";
import { AgentLink, Tag, UntrustedText, Time } from "../../parts/words.ts";
import { useData } from "../../use-data.ts";
import {
  linkWithChange,
  VOUCHING_NODE_TONES,
  type VouchingGraphReply,
  type VouchingNode,
} from "./vouching-graph.ts";

interface ReporterCounts {
  readonly outcomes: number;
  readonly subjects: number;
  readonly failure_rate: number;
  readonly signed_share: number;
  readonly first_settled_at: string;
  readonly last_settled_at: string;
}

/** A reporter is an agent identifier: it holds no quotes; they are doubled all the same. */
const buildReporterCountsSql = (
  id: string,
) => `SELECT outcomes::INTEGER AS outcomes, subjects::INTEGER AS subjects, failure_rate, signed_share,
first_settled_at, last_settled_at FROM reporters WHERE reporter = '${id.replaceAll("'", "''")}'`;

/** The other end of an edge. */
interface Neighbor {
  readonly node: VouchingNode;
  readonly direction: "vouched for by" | "vouches for";
  readonly weight: number;
  readonly mass: number;
}

function listNeighbors({ nodes, edges }: VouchingGraphReply, at: number): Neighbor[] {
  return edges.flatMap(({ from, to, weight, mass }): Neighbor[] => {
    if (from !== at && to !== at) return [];
    const node = nodes[from === at ? to : from];
    if (node === undefined) return [];
    const direction = from === at ? "vouches for" : "vouched for by";
    return [{ node, direction, weight, mass }];
  });
}

const COLUMNS: readonly Column<Neighbor>[] = [
  { label: "direction", cell: ({ direction }) => html`<span class="dim">${direction}</span>` },
  {
    label: "reporter",
    cell: ({ node }) =>
      html`<a class="agent" href=${linkWithChange({ reporter: node.id })}
        ><${UntrustedText} text=${node.id.replace(/^agent:\/\//, "")}
      /></a>`,
  },
  {
    label: "kind",
    cell: ({ node }) => html`<${Tag} word=${node.kind} tone=${VOUCHING_NODE_TONES[node.kind]} />`,
  },
  { label: "successes, bounded", isNumber: true, cell: ({ weight }) => formatNumber(weight, 2) },
  { label: "mass that went along", isNumber: true, cell: ({ mass }) => formatPercent(mass, 2) },
];

export function ReporterCard({
  graph,
  at,
}: {
  graph: VouchingGraphReply;
  at: number;
}): VNode | null {
  const node = graph.nodes[at];
  const id = node?.id ?? "";
  const { value, error, reload } = useData(
    (signal) => querySql<ReporterCounts>(buildReporterCountsSql(id), signal),
    [id],
  );
  const [{ around }, set] = usePageParameters();
  if (node === undefined) return null;
  const [counts] = value ?? [];
  return html`<${Card}
    title=${html`<${UntrustedText} text=${node.id} />`}
    tools=${html`${
        around !== node.id &&
        html`<button type="button" onClick=${() => set({ around: node.id })}>
          Draw around it
        </button>`
      } <button type="button" onClick=${() => set({ reporter: undefined })}>Close</button>`}
  >
    <${FactList}
      facts=${[
        ["kind", html`<${Tag} word=${node.kind} tone=${VOUCHING_NODE_TONES[node.kind]} />`],
        ["credibility", formatNumber(node.credibility, 3)],
        ["share of the seeds' mass", formatPercent(node.mass, 2)],
        ["cluster", node.cluster === 0 ? "none" : formatNumber(node.cluster)],
        ["outcomes in the batch", formatNumber(node.reports)],
        ["as an agent", html`<${AgentLink} id=${node.id} />`],
        ...(counts === undefined ? [] : countFacts(counts)),
      ]}
    />
    ${error !== undefined && html`<${Failure} error=${error} onRetry=${reload} />`}
    ${value === undefined && error === undefined && html`<${Loading} />`}
    <h3>Who vouches</h3>
    <${Table}
      label="who vouches"
      columns=${COLUMNS}
      rows=${listNeighbors(graph, at)}
      empty="Nobody in this picture: an edge is a success that one reporter has reported of another."
    />
  <//>`;
}

function countFacts(counts: ReporterCounts) {
  return [
    ["reported on", html`${formatNumber(counts.subjects)} agents`],
    ["failures among its reports", formatPercent(counts.failure_rate)],
    ["signed with its key", formatPercent(counts.signed_share)],
    [
      "first, newest",
      html`<${Time} at=${counts.first_settled_at} as="full" />${", "}<${Time}
          at=${counts.last_settled_at}
          as="ago"
        />`,
    ],
  ];
}
