// Kaizen: which weights are live, what runs have found, and what a person may do about it.
import { getDocument } from "../api.ts";
import { formatDuration, formatNumber } from "../format.ts";
import { html, type VNode } from "../html.ts";
import { linkTo, usePageParameters } from "../location.ts";
import { CurlCommand } from "../parts/actions.ts";
import { Failure, Loading, Notice } from "../parts/notices.ts";
import { Card, MetricTile, MetricTiles, Page } from "../parts/page.ts";
import { Table } from "../parts/table.ts";
import { Tag, UntrustedText, Time } from "../parts/words.ts";
import { usePolledData } from "../use-data.ts";
import { KaizenTools } from "./kaizen/actions.ts";
import { GateMarks } from "./kaizen/gates.ts";
import { RunCard, WatchLines } from "./kaizen/run.ts";
import { describeRunState, type ListedRun, type KaizenStatusReply } from "./kaizen/shapes.ts";

const PATH = "/v1/kaizen/runs";
const EVERY_MS = 2000;

const STAGES: Readonly<Record<string, string>> = {
  waiting: "waiting for a thread",
  replay: "replaying the journal",
  attacks: "playing attacks",
  check: "testing the check",
  handshake: "testing the handshake",
};

const RUN_KIND_LABELS = {
  full: ["re-fit", "learns all weights; weekly, or by hand"],
  calibration: ["calibration", "learns how high the risk is as a whole; daily"],
} as const;

const COLUMNS = [
  {
    label: "run",
    cell: (run: ListedRun) =>
      html`<a class="id" href=${linkTo("kaizen", { run: run.run_id })}>${run.run_id}</a>`,
  },
  { label: "started", cell: (run: ListedRun) => html`<${Time} at=${run.started_at} />` },
  {
    label: "kind",
    cell: (run: ListedRun) => {
      const [word, what] = RUN_KIND_LABELS[run.kind ?? "full"];
      return html`<span title=${what}><${Tag} word=${word} /></span>`;
    },
  },
  { label: "by", cell: (run: ListedRun) => html`<${UntrustedText} text=${run.started_by} />` },
  {
    label: "state",
    cell: (run: ListedRun) => {
      const [word, tone] = describeRunState(run);
      return html`<${Tag} word=${word} tone=${tone} />`;
    },
  },
  {
    label: "gates, check",
    cell: (run: ListedRun) => html`<${GateMarks} gates=${selectGates(run, "check")} />`,
  },
  {
    label: "gates, handshake",
    cell: (run: ListedRun) => html`<${GateMarks} gates=${selectGates(run, "handshake")} />`,
  },
  { label: "outcomes", isNumber: true, cell: (run: ListedRun) => formatNumber(run.rows) },
  { label: "took", isNumber: true, cell: (run: ListedRun) => formatDuration(run.duration_ms) },
  {
    label: "why",
    isLong: true,
    cell: (run: ListedRun) =>
      html`<span class="dim clamp" title=${run.reason}
        ><${UntrustedText} text=${run.reason}
      /></span>`,
  },
];

const selectGates = ({ gates }: ListedRun, side: string) =>
  gates?.filter((gate) => gate.side === side);

function KaizenOverview({ status }: { status: KaizenStatusReply }): VNode {
  const { promoted_by: by, watch, next_run_at: next, cool_down_runs: pause } = status;
  const isDue = watch?.sides.some(({ rollback_due: due }) => due) === true;
  return html`<${MetricTiles}>
    <${MetricTile}
      label="Live weights"
      value=${by === undefined ? "as shipped" : "learnt"}
      note=${html`<code>${status.config_version}</code>${
          by !== undefined && html` since <${Time} at=${status.promoted_at} />`
        }`}
      href=${by === undefined ? undefined : linkTo("kaizen", { run: by })}
    />
    <${MetricTile}
      label="Next run"
      value=${next === undefined ? "by hand" : html`<${Time} at=${next} as="ago" />`}
      note=${next === undefined ? "the schedule is off" : html`<${Time} at=${next} as="full" />`}
    />
    <${MetricTile}
      label="Watch"
      value=${watch === undefined ? "–" : isDue ? "worse" : "holds"}
      tone=${watch === undefined ? undefined : isDue ? "deny" : "allow"}
      note=${
        watch === undefined
          ? "compares what was promoted with what it replaced, daily"
          : html`looked <${Time} at=${watch.at} as="ago" />`
      }
    />
    <${MetricTile}
      label="Pause"
      value=${pause === 0 ? "none" : `${pause} runs`}
      note=${pause === 0 ? "runs may promote" : "after a rollback runs only test"}
    />
  <//>`;
}

function RunProgress({ running }: { running: NonNullable<KaizenStatusReply["running"]> }): VNode {
  const what = STAGES[running.stage] ?? running.stage;
  return html`<${Notice}>
    <p>Run <b>${running.run_id}</b> is under way: ${what}.</p>
    <progress
      class="progress"
      max="1"
      value=${running.stage === "replay" ? running.share : undefined}
      aria-label=${what}
    ></progress>
  <//>`;
}

export default function KaizenPage(): VNode {
  const [{ run: chosen }, set] = usePageParameters();
  const { value, error, reload } = usePolledData(
    (signal) => getDocument<KaizenStatusReply>(PATH, {}, signal),
    EVERY_MS,
  );
  const onDone = (run?: string) => {
    if (run !== undefined) set({ run, side: undefined });
    reload();
  };
  const at = value?.runs.findIndex(({ run_id: id }) => id === chosen) ?? -1;
  const row = value?.runs[at];
  const stamp = [row?.state, row?.rolled_back?.at, row?.finished_at].join(" ");
  return html`<${Page}
    title="Kaizen"
    lead="New weights are learnt from settled outcomes of all tenants together, and go live only if every gate passes."
    tools=${value !== undefined && html`<${KaizenTools} status=${value} onDone=${onDone} />`}
  >
    ${error !== undefined && html`<${Failure} error=${error} onRetry=${reload} />`}
    ${value === undefined && error === undefined && html`<${Loading} />`}
    ${value !== undefined && html`<${KaizenOverview} status=${value} />`}
    ${value?.running !== undefined && html`<${RunProgress} running=${value.running} />`}
    ${
      value?.watch !== undefined &&
      html`<${Card} title="The live weights against those they replaced"
        ><${WatchLines} watch=${value.watch}
      /><//>`
    }
    ${
      value !== undefined &&
      html`<${Card} title="Runs">
        <${Table}
          label="runs"
          columns=${COLUMNS}
          rows=${value.runs}
          keyOf=${(run: ListedRun) => run.run_id}
          chosen=${at}
          onChoose=${(run: ListedRun) => set({ run: run.run_id, side: undefined })}
          empty="No runs yet: the schedule makes one every Monday at 03:00 UTC, and “Run now” one at once."
        />
        <${CurlCommand} path=${PATH} />
      <//>`
    }
    ${
      chosen !== undefined &&
      value !== undefined &&
      html`<${RunCard} key=${chosen} id=${chosen} stamp=${stamp} onDone=${() => onDone()} />`
    }
  <//>`;
}
