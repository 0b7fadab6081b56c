// Health: every part of the service, how it is, and what to do where it is not well.
import type { ServiceStatus } from "../../contract/schemas/series.ts";
import { getDocument } from "../api.ts";
import { formatBytes, formatNumber } from "../format.ts";
import { html, type VNode } from "../html.ts";
import { CurlCommand } from "../parts/actions.ts";
import { Chart } from "../parts/chart.ts";
import { Failure, Loading, Notice } from "../parts/notices.ts";
import { Card, FactList, MetricTile, MetricTiles, Grid, Page } from "../parts/page.ts";
import { type Column, Table } from "../parts/table.ts";
import { Tag, UntrustedText } from "../parts/words.ts";
import { useServiceSeries } from "../series.ts";
import { usePolledData } from "../use-data.ts";
import { ClusterNodesCard } from "./health/nodes.ts";
import { type HealthPart, listHealthParts } from "./health/parts.ts";

const PATH = "/v1/service/status";
const EVERY_MS = 5000;
/** Of the chart of what SQL does not show yet. */
const SPAN_SECONDS = 300;
const TONES = { ok: "allow", look: "warn", act: "deny", off: "" } as const;

const COLUMNS: readonly Column<HealthPart>[] = [
  {
    label: "part",
    cell: ({ name, href }) => (href === undefined ? name : html`<a href=${href}>${name}</a>`),
  },
  { label: "state", cell: ({ state }) => html`<${Tag} word=${state} tone=${TONES[state]} />` },
  {
    label: "what it says",
    cell: ({ says }) => html`<span class="sentence"><${UntrustedText} text=${says} /></span>`,
  },
  {
    label: "what to do",
    cell: ({ alert }) =>
      alert === ""
        ? html`<span class="dim">nothing</span>`
        : html`<span>docs/operate/alerts.md, section <code>${alert}</code></span>`,
  },
];

export default function HealthPage(): VNode {
  const { value, error, reload } = usePolledData(
    (signal) => getDocument<ServiceStatus>(PATH, {}, signal),
    EVERY_MS,
  );
  return html`<${Page}
    title="Health"
    lead="Every part of the service, and what to do where one is not well."
  >
    ${error !== undefined && html`<${Failure} error=${error} onRetry=${reload} />`}
    ${value === undefined ? error === undefined && html`<${Loading} />` : html`<${HealthCards} status=${value} />`}
  <//>`;
}

function HealthCards({ status }: { status: ServiceStatus }): VNode {
  const { journal, store, disk, reasons, warnings } = status;
  return html`${reasons.map(
      (reason) =>
        html`<${Notice} kind="bad"><${UntrustedText} text=${`not ready: ${reason}`} /><//>`,
    )}
    ${warnings.map((warning) => html`<${Notice} kind="warn"><${UntrustedText} text=${warning} /><//>`)}
    <${MetricTiles}>
      <${MetricTile}
        label="ready"
        value=${status.ready ? "yes" : "no"}
        tone=${status.ready ? "allow" : "deny"}
        note=${`${formatNumber(warnings.length)} warnings`}
      />
      <${MetricTile}
        label="journal"
        value=${formatNumber(journal.position)}
        note="records written"
      />
      <${MetricTile}
        label="SQL is behind"
        value=${formatNumber(store.lag_records)}
        note="records of the journal"
        tone=${store.failure === null ? undefined : "deny"}
      />
      <${MetricTile}
        label="disk"
        value=${formatBytes(disk.free_bytes)}
        note="free space"
        tone=${disk.is_low ? "deny" : undefined}
      />
    <//>
    <${Card} title="Parts">
      <${Table}
        label="parts of the service"
        columns=${COLUMNS}
        rows=${listHealthParts(status)}
        keyOf=${({ name }: HealthPart) => name}
      />
      <${CurlCommand} path=${PATH} />
    <//>
    ${status.stream !== undefined && html`<${ClusterNodesCard} own=${status.stream.node} />`}
    <${Grid}>
      <${Card} title="Records that SQL does not show yet" span=${7}><${StoreLagChart} /><//>
      <${Card} title="This service" span=${5}>
        <${FactList}
          facts=${[
            ["version", status.version],
            ["Node", status.runtime],
            ["weights", status.config_version],
            ["console", status.http.console],
            [
              "store",
              `${formatNumber(store.rebuilds)} rebuilt, ${formatNumber(store.reopenings)} opened again`,
            ],
          ]}
        />
      <//>
    <//>`;
}

function StoreLagChart(): VNode {
  const { value, error, reload } = useServiceSeries();
  if (error !== undefined) return html`<${Failure} error=${error} onRetry=${reload} />`;
  if (value === undefined || value.at.length === 0) return html`<${Loading} />`;
  return html`<${Chart}
    title="Records that SQL does not show yet"
    at=${value.at.map((time) => Date.parse(time) / 1000)}
    lines=${[{ label: "records that SQL is behind", color: "accent", values: value.store_lag_records }]}
    unit="records"
    span=${SPAN_SECONDS}
    say=${formatNumber}
  />`;
}
