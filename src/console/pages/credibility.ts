// Credibility: whose word counts, from which seeds, who stands together, and who vouched for whom.
import { get, pathWith, send } from "../api.ts";
import { duration, number, percent } from "../format.ts";
import { html, useState, type VNode } from "../html.ts";
import { linkTo, useParameters } from "../location.ts";
import { AsCurl, Confirm } from "../parts/actions.ts";
import { Failure, Loading, Notice } from "../parts/notices.ts";
import { Card, Figure, Figures, Grid, Page } from "../parts/page.ts";
import { Table } from "../parts/table.ts";
import { Tag, Text, Time } from "../parts/words.ts";
import { Typed } from "../parts/typed.ts";
import { useData, usePolled } from "../use-data.ts";
import { Picture } from "./credibility/picture.ts";
import { ReporterCard } from "./credibility/reporter.ts";
import {
  here,
  KINDS,
  TONES,
  type Graph,
  type Reporter,
  type Status,
} from "./credibility/shapes.ts";

const PATH = "/v1/kaizen/credibility";
const EVERY_MS = 5000;
const SIZES = ["50", "200", "500"];

function Now({ status }: { status: Status }): VNode {
  const { last, is_wanted: isWanted, in_force: isInForce } = status;
  const found = last?.figures;
  const strangers = found && found.reporters - found.believed;
  return html`<${Figures}>
    <${Figure}
      label="Switch"
      value=${isInForce ? "in force" : isWanted ? "waiting" : "off"}
      tone=${isInForce ? "allow" : undefined}
      note=${isWanted ? "switched on" : "switched off: every reporter counts fully"}
    />
    <${Figure}
      label="Seeds"
      value=${number(found?.seeds)}
      note=${status.has_seeds ? "named by TRUSTRANK_SEEDS" : "none named: set TRUSTRANK_SEEDS"}
      href=${found && linkTo("credibility", { kind: "seed" })}
    />
    <${Figure}
      label="Believed"
      value=${found === undefined ? "–" : `${number(found.believed)} of ${number(found.reporters)}`}
      note=${found && `${percent(found.believed_share)} of all outcomes`}
      href=${found && linkTo("credibility", { kind: "believed" })}
    />
    <${Figure}
      label="Strangers"
      value=${number(strangers)}
      note=${found && `${number(found.discounted)} agents rest on them`}
      href=${found && linkTo("credibility", { kind: "stranger" })}
    />
    <${Figure}
      label="Clusters"
      value=${number(found?.clusters)}
      note="reporters that count as one voice"
    />
    <${Figure}
      label="Last batch"
      value=${last === undefined ? "none yet" : html`<${Time} at=${last.at} as="ago" />`}
      note=${last === undefined ? "one an hour, with new outcomes" : `${last.reason}, ${duration(last.duration_ms)}`}
    />
  <//>`;
}

function Filters({ isDisabled }: { isDisabled: boolean }): VNode {
  const [{ kind = "", around = "", limit = "200" }, set] = useParameters();
  const valueOf = (event: Event) => (event.target as HTMLInputElement).value;
  return html`<div class="filters">
    <div class="field">
      <label for="around">Around</label>
      <${Typed}
        id="around"
        value=${around}
        placeholder="agent://…"
        isDisabled=${isDisabled}
        onDone=${(text: string) => set({ around: text || undefined })}
      />
    </div>
    <div class="field">
      <label for="limit">At most</label>
      <select
        id="limit"
        value=${limit}
        onChange=${(event: Event) => set({ limit: valueOf(event) })}
      >
        ${SIZES.map((size) => html`<option value=${size}>${size} reporters</option>`)}
      </select>
    </div>
    <div class="field">
      <label for="kind">In the table</label>
      <select
        id="kind"
        value=${kind}
        onChange=${(event: Event) => set({ kind: valueOf(event) || undefined })}
      >
        <option value="">all kinds</option>
        ${KINDS.map((each) => html`<option value=${each}>${each}</option>`)}
      </select>
    </div>
    ${around !== "" && html`<button type="button" onClick=${() => set({ around: undefined })}>Show all</button>`}
  </div>`;
}

const COLUMNS = [
  {
    label: "reporter",
    cell: ({ id }: Reporter) =>
      html`<a class="agent" href=${here({ reporter: id })}
        ><${Text} text=${id.replace(/^agent:\/\//, "")}
      /></a>`,
  },
  {
    label: "kind",
    cell: ({ kind }: Reporter) => html`<${Tag} word=${kind} tone=${TONES[kind]} />`,
  },
  {
    label: "credibility",
    isNumber: true,
    cell: ({ credibility }: Reporter) => number(credibility, 2),
  },
  { label: "mass", isNumber: true, cell: ({ mass }: Reporter) => percent(mass) },
  {
    label: "cluster",
    isNumber: true,
    cell: ({ cluster }: Reporter) => (cluster === 0 ? "" : number(cluster)),
  },
  { label: "outcomes", isNumber: true, cell: ({ reports }: Reporter) => number(reports) },
];

/** Seeds, believed, strangers; within each the weightiest first. */
function byRank(a: Reporter, b: Reporter): number {
  const kinds = KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind);
  return kinds || b.mass - a.mass || b.cluster - a.cluster || b.reports - a.reports;
}

function Drawn({ graph }: { graph: Graph }): VNode {
  const [{ kind, reporter }, set] = useParameters();
  const rows = graph.nodes
    .filter((node) => kind === undefined || node.kind === kind)
    .toSorted(byRank);
  const at = graph.nodes.findIndex(({ id }) => id === reporter);
  const choose = (id: string) => set({ reporter: id });
  return html`<${Grid}>
      <${Card} title="Who vouches for whom" span=${6}>
        <${Picture} graph=${graph} chosen=${at} onChoose=${choose} />
        <p class="dim small">
          ${number(graph.nodes.length)} of ${number(graph.reporters)} reporters. A line is a success
          that one has reported of another; a strong one carries mass of the seeds.
        </p>
      <//>
      <${Card} title="Reporters" span=${6}>
        <div class="tall">
          <${Table}
            label="reporters"
            columns=${COLUMNS}
            rows=${rows}
            keyOf=${({ id }: Reporter) => id}
            chosen=${rows.findIndex(({ id }) => id === reporter)}
            onChoose=${({ id }: Reporter) => choose(id)}
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
          <${Text} text=${reporter} /> is not in this picture.${" "}
          <button type="button" onClick=${() => set({ around: reporter })}>Draw around it</button>
        <//>`
      }
    </div>`;
}

export default function CredibilityPage(): VNode {
  const [{ around, limit = "200" }, set] = useParameters();
  const [isAsking, setIsAsking] = useState(false);
  const { value, error, reload } = usePolled((signal) => get<Status>(PATH, {}, signal), EVERY_MS);
  const path = pathWith(`${PATH}/graph`, { around, limit });
  const graph = useData((signal) => get<Graph>(path, {}, signal), [path, value?.last?.at]);
  return html`<${Page}
    title="Credibility"
    lead="What a reporter's word counts follows from the seeds: whom those whom you trust deal with."
    tools=${html`<button
        type="button"
        disabled=${value?.has_seeds !== true || !value.is_wanted || value.is_running}
        onClick=${() => setIsAsking(true)}
      >
        ${value?.is_running === true ? "Under way…" : "Compute now…"}
      </button>
      ${
        isAsking &&
        html`<${Confirm}
          title="Weigh every reporter anew"
          action="Compute"
          onConfirm=${async () => {
            await send("POST", PATH);
            reload();
          }}
          onClose=${() => setIsAsking(false)}
        >
          <p>
            Reads the whole history on a thread of its own. What changed counts for outcomes from
            then on.
          </p>
        <//>`
      }`}
  >
    ${error !== undefined && html`<${Failure} error=${error} onRetry=${reload} />`}
    ${value === undefined && error === undefined && html`<${Loading} />`}
    ${value !== undefined && html`<${Now} status=${value} />`}
    <${Filters} isDisabled=${graph.value?.reporters === 0} />
    ${graph.error !== undefined && html`<${Failure} error=${graph.error} onRetry=${() => set({ around: undefined })} />`}
    ${graph.value === undefined && graph.error === undefined && html`<${Loading} />`}
    ${
      graph.error === undefined &&
      graph.value !== undefined &&
      (graph.value.nodes.length > 0
        ? html`<${Drawn} graph=${graph.value} />`
        : html`<${Card} title="Who vouches for whom">
            <p class="empty dim">
              No reporters yet: name seeds (TRUSTRANK_SEEDS, such as agent://audit/*), report
              outcomes, and the next batch fills this.
            </p>
          <//>`)
    }
    <${AsCurl} path=${path} />
  <//>`;
}
