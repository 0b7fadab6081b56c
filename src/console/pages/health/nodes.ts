// Nodes of the cluster: what each does for all of them, how far behind the log it is, and how old its report is.
import type { ClusterNode, ClusterState } from "../../../contract/schemas/cluster/state.ts";
import { getDocument } from "../../api.ts";
import { formatDuration, formatNumber } from "../../format.ts";
import { html, type VNode } from "../../html.ts";
import { CurlCommand } from "../../parts/actions.ts";
import { Failure, Loading, Notice } from "../../parts/notices.ts";
import { Card } from "../../parts/page.ts";
import { type Column, Table } from "../../parts/table.ts";
import { Tag, UntrustedText } from "../../parts/words.ts";
import { usePolledData } from "../../use-data.ts";
import { describeNodeState } from "./parts.ts";

const PATH = "/v1/cluster";
/** Nodes report every five seconds. */
const EVERY_MS = 5000;
const ROLES: Readonly<Record<string, string>> = {
  analytics: "answers, and keeps the decisions of all nodes",
  serve: "answers",
};

const listColumns = (own: string): readonly Column<ClusterNode>[] => [
  {
    label: "node",
    cell: ({ node }) =>
      html`<b><${UntrustedText} text=${node} /></b
        >${node === own && html`${" "}<span class="dim">this one</span>`}`,
  },
  {
    label: "state",
    cell: (node) => {
      const [word, tone] = describeNodeState(node);
      return html`<${Tag} word=${word} tone=${tone} />`;
    },
  },
  { label: "role", cell: ({ role }) => ROLES[role] ?? role },
  {
    label: "leases (jobs that it does for all)",
    cell: ({ leads }) =>
      leads.length === 0
        ? html`<span class="dim">none</span>`
        : html`<span class="tags">${leads.map((job) => html`<${Tag} word=${job} />`)}</span>`,
  },
  {
    label: "behind the log",
    isNumber: true,
    cell: ({ lag_messages: lag }) => `${formatNumber(lag)} messages`,
  },
  {
    label: "last report",
    isNumber: true,
    cell: ({ age_seconds: age }) => `${formatDuration(Math.round(age) * 1000)} ago`,
  },
  { label: "release", cell: ({ release }) => release },
  {
    label: "address",
    cell: ({ url }) => html`<${UntrustedText} text=${url} />`,
  },
];

/** `own`: the name of the node that answers. */
export function ClusterNodesCard({ own }: { own: string }): VNode {
  const { value, error, reload } = usePolledData(
    (signal) => getDocument<ClusterState>(PATH, {}, signal),
    EVERY_MS,
  );
  return html`<${Card} title="Nodes of the cluster">
    ${error !== undefined && html`<${Failure} error=${error} onRetry=${reload} />`}
    ${value === undefined ? error === undefined && html`<${Loading} />` : html`<${ClusterNodes} own=${own} state=${value} />`}
    <${CurlCommand} path=${PATH} />
  <//>`;
}

function ClusterNodes({ own, state }: { own: string; state: ClusterState }): VNode {
  const { name, generation, leader, problems, nodes, last_message: last } = state;
  return html`${problems.map((problem) => html`<${Notice} kind="warn"><${UntrustedText} text=${problem} /><//>`)}
    <${Table}
      label="nodes of the cluster"
      columns=${listColumns(own)}
      rows=${nodes}
      keyOf=${({ node }: ClusterNode) => node}
      empty="No node has reported yet: reports come every 5 seconds."
    />
    <p class="dim small">
      Log <${UntrustedText} text=${name} />, generation ${formatNumber(generation)},
      ${" "}${formatNumber(last)} messages, led by${" "}
      ${leader === null ? "no server" : html`server <${UntrustedText} text=${leader} />`}.
    </p>`;
}
