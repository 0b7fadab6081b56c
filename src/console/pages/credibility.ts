// Credibility: whose word counts, from which seeds, who stands together, and who vouched for whom.
import { getDocument, buildPathWithQuery, sendDocument } from "../api.ts";
import { formatDuration, formatNumber, formatPercent } from "../format.ts";
import { html, useState, type VNode } from "../html.ts";
import { linkTo, usePageParameters } from "../location.ts";
import { CurlCommand, ConfirmDialog } from "../parts/actions.ts";
import { Failure, Loading, Notice, renderLoaded } from "../parts/notices.ts";
import { Card, MetricTile, MetricTiles, Grid, Page } from "../parts/page.ts";
import { type Column, Table } from "../parts/table.ts";
import { Tag, UntrustedText, Time } from "../parts/words.ts";
import { type PageFilter, PageFilters } from "../parts/fields.ts";
import { useData, usePolledData } from "../use-data.ts";
import { VouchingGraph } from "./credibility/vouching-graph.ts";
import { ReporterCard } from "./credibility/reporter.ts";
import {
  linkWithChange,
  VOUCHING_NODE_KINDS,
  VOUCHING_NODE_TONES,
  type VouchingGraphReply,
  type VouchingNode,
  type CredibilityStatusReply,
} from "./credibility/vouching-graph.ts";

const PATH = "/v1/kaizen/credibility";
const EVERY_MS = 5000;
const SIZES = ["50", "200", "500"];

function CredibilityMetrics({ status }: { status: CredibilityStatusReply }): VNode {
  const { last, is_wanted: isWanted, in_force: isInForce } = status;
  const found = last?.figures;
  const strangers = found && found.reporters - found.believed;
  return html`<${MetricTiles}>
    <${MetricTile}
      label="Switch"
      value=${isInForce ? "in force" : isWanted ? "waiting" : "off"}
      tone=${isInForce ? "allow" : undefined}
      note=${isWanted ? "switched on" : "switched off: every reporter counts fully"}
    />
    <${MetricTile}
      label="Seeds"
      value=${formatNumber(found?.seeds)}
      note=${status.has_seeds ? "named by TRUSTRANK_SEEDS" : "none named: set TRUSTRANK_SEEDS"}
      href=${found && linkTo("credibility", { kind: "seed" })}
    />
    <${MetricTile}
      label="Believed"
      value=${found === undefined ? "–" : `${formatNumber(found.believed)} of ${formatNumber(found.reporters)}`}
      note=${found && `${formatPercent(found.believed_share)} of all outcomes`}
      href=${found && linkTo("credibility", { kind: "believed" })}
    />
    <${MetricTile}
      label="Strangers"
      value=${formatNumber(strangers)}
      note=${found && `${formatNumber(found.discounted)} agents rest on them`}
      href=${found && linkTo("credibility", { kind: "stranger" })}
    />
    <${MetricTile}
      label="Clusters"
      value=${formatNumber(found?.clusters)}
      note=${last === undefined ? "reporters that count as one voice" : `and ${formatNumber(last.rings)} rings that fail outsiders`}
    />
    <${MetricTile}
      label="Last batch"
      value=${last === undefined ? "none yet" : html`<${Time} at=${last.at} as="ago" />`}
      note=${last === undefined ? "one an hour, with new outcomes" : `${last.reason}, ${formatDuration(last.duration_ms)}`}
    />
  <//>`;
}

function StatusSummary({ status }: { status: CredibilityStatusReply }): VNode {
  const { warning } = status;
  return html`${warning !== undefined && html`<${Notice} kind="warn">${warning}<//>`}
    <${CredibilityMetrics} status=${status} />`;
}

const FILTERS: readonly PageFilter[] = [
  { name: "around", label: "Around", placeholder: "agent://…" },
  {
    name: "limit",
    label: "At most",
    options: SIZES.map((size) => [size, `${size} reporters`]),
    fallback: "200",
  },
  { name: "kind", label: "In the table", options: [["", "all kinds"], ...VOUCHING_NODE_KINDS] },
];

function GraphFilters({ isDisabled }: { isDisabled: boolean }): VNode {
  const [{ around }, set] = usePageParameters();
  const filters = FILTERS.map((filter) => ({ ...filter, isDisabled }));
  return html`<${PageFilters} filters=${filters}>
    ${around !== undefined && html`<button type="button" onClick=${() => set({ around: undefined })}>Show all</button>`}
  <//>`;
}

const COLUMNS: readonly Column<VouchingNode>[] = [
  {
    label: "reporter",
    cell: ({ id }) =>
      html`<a class="agent" href=${linkWithChange({ reporter: id })}
        ><${UntrustedText} text=${id.replace(/^agent:\/\//, "")}
      /></a>`,
  },
  {
    label: "kind",
    cell: ({ kind }) => html`<${Tag} word=${kind} tone=${VOUCHING_NODE_TONES[kind]} />`,
  },
  { label: "credibility", isNumber: true, cell: ({ credibility }) => formatNumber(credibility, 2) },
  { label: "mass", isNumber: true, cell: ({ mass }) => formatPercent(mass) },
  {
    label: "cluster",
    isNumber: true,
    cell: ({ cluster }) => (cluster === 0 ? "" : formatNumber(cluster)),
  },
  { label: "outcomes", isNumber: true, cell: ({ reports }) => formatNumber(reports) },
];

/** Seeds, believed, strangers; within each the weightiest first. */
function byRank(a: VouchingNode, b: VouchingNode): number {
  const kinds = VOUCHING_NODE_KINDS.indexOf(a.kind) - VOUCHING_NODE_KINDS.indexOf(b.kind);
  return kinds || b.mass - a.mass || b.cluster - a.cluster || b.reports - a.reports;
}

function GraphAndTable({ graph }: { graph: VouchingGraphReply }): VNode {
  const [{ kind, reporter }, set] = usePageParameters();
  const rows = graph.nodes
    .filter((node) => kind === undefined || node.kind === kind)
    .toSorted(byRank);
  const at = graph.nodes.findIndex(({ id }) => id === reporter);
  const choose = (id: string) => set({ reporter: id });
  return html`<${Grid}>
      <${Card} title="Who vouches for whom" span=${6}>
        <${VouchingGraph} graph=${graph} chosen=${at} onChoose=${choose} />
        <p class="dim small">
          ${formatNumber(graph.nodes.length)} of ${formatNumber(graph.reporters)} reporters. A line
          is a success that one has reported of another; a strong one carries mass of the seeds.
        </p>
      <//>
      <${Card} title="Reporters" span=${6}>
        <div class="tall">
          <${Table}
            label="reporters"
            columns=${COLUMNS}
            rows=${rows}
            keyOf=${({ id }: VouchingNode) => id}
            chosen=${rows.findIndex(({ id }) => id === reporter)}
            onChoose=${({ id }: VouchingNode) => choose(id)}
            empty="None of this kind in the picture."
          />
        </div>
      <//>
    <//>
    <div class="below">
      ${at >= 0 && html`<${ReporterCard} graph=${graph} at=${at} />`}
      ${
        at < 0 &&
        reporter !== undefined &&
        html`<${Notice}>
          <${UntrustedText} text=${reporter} /> is not in this picture.${" "}
          <button type="button" onClick=${() => set({ around: reporter })}>Draw around it</button>
        <//>`
      }
    </div>`;
}

const getStatus = (signal: AbortSignal) => getDocument<CredibilityStatusReply>(PATH, {}, signal);

interface ComputeButtonProperties {
  readonly status: CredibilityStatusReply | undefined;
  readonly onComputed: () => void;
}

function ComputeButton({ status, onComputed }: ComputeButtonProperties): VNode {
  const [isAsking, setIsAsking] = useState(false);
  return html`<button
      type="button"
      disabled=${status?.has_seeds !== true || !status.is_wanted || status.is_running}
      onClick=${() => setIsAsking(true)}
    >
      ${status?.is_running === true ? "Under way…" : "Compute now…"}
    </button>
    ${
      isAsking &&
      html`<${ConfirmDialog}
        title="Weigh every reporter anew"
        action="Compute"
        onConfirm=${async () => {
          await sendDocument("POST", PATH);
          onComputed();
        }}
        onClose=${() => setIsAsking(false)}
      >
        <p>
          Reads the whole history on a thread of its own. What changed counts for outcomes from then
          on.
        </p>
      <//>`
    }`;
}

export default function CredibilityPage(): VNode {
  const [{ around, limit = "200" }, set] = usePageParameters();
  const polled = usePolledData(getStatus, EVERY_MS);
  const { value, reload } = polled;
  const path = buildPathWithQuery(`${PATH}/graph`, { around, limit });
  const graph = useData(
    (signal) => getDocument<VouchingGraphReply>(path, {}, signal),
    [path, value?.last?.at],
  );
  return html`<${Page}
    title="Credibility"
    lead="What a reporter's word counts follows from the seeds: whom those whom you trust deal with."
    tools=${html`<${ComputeButton} status=${value} onComputed=${reload} />`}
  >
    ${renderLoaded(polled, (status) => html`<${StatusSummary} status=${status} />`)}
    <${GraphFilters} isDisabled=${graph.value?.reporters === 0} />
    ${graph.error !== undefined && html`<${Failure} error=${graph.error} onRetry=${() => set({ around: undefined })} />`}
    ${graph.value === undefined && graph.error === undefined && html`<${Loading} />`}
    ${
      graph.error === undefined &&
      graph.value !== undefined &&
      (graph.value.nodes.length > 0
        ? html`<${GraphAndTable} graph=${graph.value} />`
        : html`<${Card} title="Who vouches for whom">
            <p class="empty dim">
              No reporters yet: name seeds (TRUSTRANK_SEEDS, such as agent://audit/*), report
              outcomes, and the next batch fills this.
            </p>
          <//>`)
    }
    <${CurlCommand} path=${path} />
  <//>`;
}
