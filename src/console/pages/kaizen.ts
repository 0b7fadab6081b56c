// Kaizen: which weights are live, what runs have found, and what a person may do about it.
import { get } from "../api.ts";
import { duration, number } from "../format.ts";
import { html, type VNode } from "../html.ts";
import { linkTo, useParameters } from "../location.ts";
import { AsCurl } from "../parts/actions.ts";
import { Failure, Loading, Notice } from "../parts/notices.ts";
import { Card, Figure, Figures, Page } from "../parts/page.ts";
import { Table } from "../parts/table.ts";
import { Tag, Text, Time } from "../parts/words.ts";
import { usePolled } from "../use-data.ts";
import { Tools } from "./kaizen/actions.ts";
import { Passes } from "./kaizen/gates.ts";
import { RunCard, WatchLines } from "./kaizen/run.ts";
import { describeRunState, type RunRow, type Status } from "./kaizen/shapes.ts";

const PATH = "/v1/kaizen/runs";
const EVERY_MS = 2000;

const STAGES: Readonly<Record<string, string>> = {
  waiting: "waiting for a thread",
  replay: "replaying the journal",
  attacks: "playing attacks",
  check: "testing the check",
  handshake: "testing the handshake",
};

const COLUMNS = [
  {
    label: "run",
    cell: (run: RunRow) =>
      html`<a class="id" href=${linkTo("kaizen", { run: run.run_id })}>${run.run_id}</a>`,
  },
  { label: "started", cell: (run: RunRow) => html`<${Time} at=${run.started_at} />` },
  { label: "by", cell: (run: RunRow) => html`<${Text} text=${run.started_by} />` },
  {
    label: "state",
    cell: (run: RunRow) => {
      const [word, tone] = describeRunState(run);
      return html`<${Tag} word=${word} tone=${tone} />`;
    },
  },
  {
    label: "gates, check",
    cell: (run: RunRow) => html`<${Passes} gates=${ofSide(run, "check")} />`,
  },
  {
    label: "gates, handshake",
    cell: (run: RunRow) => html`<${Passes} gates=${ofSide(run, "handshake")} />`,
  },
  { label: "outcomes", isNumber: true, cell: (run: RunRow) => number(run.rows) },
  { label: "took", isNumber: true, cell: (run: RunRow) => duration(run.duration_ms) },
  {
    label: "why",
    isLong: true,
    cell: (run: RunRow) =>
      html`<span class="dim" title=${run.reason}><${Text} text=${run.reason} /></span>`,
  },
];

const ofSide = ({ gates }: RunRow, side: string) => gates?.filter((gate) => gate.side === side);

function Now({ status }: { status: Status }): VNode {
  const { promoted_by: by, watch, next_run_at: next, cool_down_runs: pause } = status;
  const isDue = watch?.sides.some(({ rollback_due: due }) => due) === true;
  return html`<${Figures}>
    <${Figure}
      label="Live weights"
      value=${by === undefined ? "as shipped" : "learnt"}
      note=${html`<code>${status.config_version}</code>${
          by !== undefined && html` since <${Time} at=${status.promoted_at} />`
        }`}
      href=${by === undefined ? undefined : linkTo("kaizen", { run: by })}
    />
    <${Figure}
      label="Next run"
      value=${next === undefined ? "by hand" : html`<${Time} at=${next} as="ago" />`}
      note=${next === undefined ? "the schedule is off" : html`<${Time} at=${next} as="full" />`}
    />
    <${Figure}
      label="Watch"
      value=${watch === undefined ? "–" : isDue ? "worse" : "holds"}
      tone=${watch === undefined ? undefined : isDue ? "deny" : "allow"}
      note=${
        watch === undefined
          ? "compares what was promoted with what it replaced, daily"
          : html`looked <${Time} at=${watch.at} as="ago" />`
      }
    />
    <${Figure}
      label="Pause"
      value=${pause === 0 ? "none" : `${pause} runs`}
      note=${pause === 0 ? "runs may promote" : "after a rollback runs only test"}
    />
  <//>`;
}

function Progress({ running }: { running: NonNullable<Status["running"]> }): VNode {
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

export default function Kaizen(): VNode {
  const [{ run: chosen }, set] = useParameters();
  const { value, error, reload } = usePolled((signal) => get<Status>(PATH, {}, signal), EVERY_MS);
  const onDone = (run?: string) => {
    if (run !== undefined) set({ run, side: undefined });
    reload();
  };
  const at = value?.runs.findIndex(({ run_id: id }) => id === chosen) ?? -1;
  const row = value?.runs[at];
  const stamp = [row?.state, row?.rolled_back?.at, row?.finished_at].join(" ");
  return html`<${Page}
    title="Kaizen"
    lead="New weights are learnt from settled outcomes, and go live only if every gate passes."
    tools=${value !== undefined && html`<${Tools} status=${value} onDone=${onDone} />`}
  >
    ${error !== undefined && html`<${Failure} error=${error} onRetry=${reload} />`}
    ${value === undefined && error === undefined && html`<${Loading} />`}
    ${value !== undefined && html`<${Now} status=${value} />`}
    ${value?.running !== undefined && html`<${Progress} running=${value.running} />`}
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
          keyOf=${(run: RunRow) => run.run_id}
          chosen=${at}
          onChoose=${(run: RunRow) => set({ run: run.run_id, side: undefined })}
          empty="No runs yet: the schedule makes one every Monday at 03:00 UTC, and “Run now” one at once."
        />
        <${AsCurl} path=${PATH} />
      <//>`
    }
    ${
      chosen !== undefined &&
      value !== undefined &&
      html`<${RunCard} key=${chosen} id=${chosen} stamp=${stamp} onDone=${() => onDone()} />`
    }
  <//>`;
}
