// Health: every part of the service, how it is, and what to do where it is not well.
import { get } from "../api.ts";
import { bytes, number } from "../format.ts";
import { html, type VNode } from "../html.ts";
import { AsCurl } from "../parts/actions.ts";
import { Chart } from "../parts/chart.ts";
import { Failure, Loading, Notice } from "../parts/notices.ts";
import { Card, Facts, Figure, Figures, Grid, Page } from "../parts/page.ts";
import { Table } from "../parts/table.ts";
import { Tag, Text } from "../parts/words.ts";
import { useSeries } from "../series.ts";
import { usePolled } from "../use-data.ts";
import { type Part, listHealthParts, type Status } from "./health/parts.ts";

const PATH = "/v1/service/status";
const EVERY_MS = 5000;
/** Of the chart of what SQL does not show yet. */
const SPAN_SECONDS = 300;
const TONES = { ok: "allow", look: "warn", act: "deny", off: "" } as const;

const COLUMNS = [
  {
    label: "part",
    cell: ({ name, href }: Part) => (href === undefined ? name : html`<a href=${href}>${name}</a>`),
  },
  {
    label: "state",
    cell: ({ state }: Part) => html`<${Tag} word=${state} tone=${TONES[state]} />`,
  },
  { label: "what it says", cell: ({ says }: Part) => html`<${Text} text=${says} />` },
  {
    label: "what to do",
    cell: ({ alert }: Part) =>
      alert === ""
        ? html`<span class="dim">nothing</span>`
        : html`<span>docs/operate/alerts.md, section <code>${alert}</code></span>`,
  },
];

export default function Health(): VNode {
  const { value, error, reload } = usePolled((signal) => get<Status>(PATH, {}, signal), EVERY_MS);
  return html`<${Page}
    title="Health"
    lead="Every part of the service, and what to do where one is not well."
  >
    ${error !== undefined && html`<${Failure} error=${error} onRetry=${reload} />`}
    ${value === undefined ? error === undefined && html`<${Loading} />` : html`<${Seen} status=${value} />`}
  <//>`;
}

function Seen({ status }: { status: Status }): VNode {
  const { journal, store, disk, reasons, warnings } = status;
  return html`${reasons.map(
      (reason) => html`<${Notice} kind="bad"><${Text} text=${`not ready: ${reason}`} /><//>`,
    )}
    ${warnings.map((warning) => html`<${Notice} kind="warn"><${Text} text=${warning} /><//>`)}
    <${Figures}>
      <${Figure}
        label="ready"
        value=${status.ready ? "yes" : "no"}
        tone=${status.ready ? "allow" : "deny"}
        note=${`${number(warnings.length)} warnings`}
      />
      <${Figure} label="journal" value=${number(journal.position)} note="position" />
      <${Figure}
        label="SQL is behind"
        value=${number(store.lag_records)}
        note="records"
        tone=${store.failure === null ? undefined : "deny"}
      />
      <${Figure}
        label="disk"
        value=${bytes(disk.free_bytes)}
        note="free"
        tone=${disk.is_low ? "deny" : undefined}
      />
    <//>
    <${Card} title="Parts">
      <${Table}
        label="parts of the service"
        columns=${COLUMNS}
        rows=${listHealthParts(status)}
        keyOf=${({ name }: Part) => name}
      />
      <${AsCurl} path=${PATH} />
    <//>
    <${Grid}>
      <${Card} title="Records that SQL does not show yet" span=${7}><${Lag} /><//>
      <${Card} title="This service" span=${5}>
        <${Facts}
          facts=${[
            ["version", status.version],
            ["Node", status.runtime],
            ["weights", status.config_version],
            ["console", status.http.console],
            [
              "store",
              `${number(store.rebuilds)} rebuilt, ${number(store.reopenings)} opened again`,
            ],
          ]}
        />
      <//>
    <//>`;
}

function Lag(): VNode {
  const { value, error, reload } = useSeries();
  if (error !== undefined) return html`<${Failure} error=${error} onRetry=${reload} />`;
  if (value === undefined || value.at.length === 0) return html`<${Loading} />`;
  return html`<${Chart}
    title="Records that SQL does not show yet"
    at=${value.at.map((time) => Date.parse(time) / 1000)}
    lines=${[{ label: "behind", color: "accent", values: value.store_lag_records }]}
    span=${SPAN_SECONDS}
    say=${number}
  />`;
}
