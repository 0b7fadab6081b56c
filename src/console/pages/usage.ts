// Usage and tenants: who reads and reports how much, day by day, and how much of its quota each tenant has used.
// The days, what is shown and the chosen tenant are in the address.
import type { UsageReport } from "../../contract/schemas/service.ts";
import type { TenantList } from "../../contract/schemas/tenants.ts";
import { ApiError, askRaw, get, pathWith } from "../api.ts";
import { saveAs } from "../download.ts";
import { number } from "../format.ts";
import { html, useState, type VNode } from "../html.ts";
import { linkTo, type Parameters, useParameters } from "../location.ts";
import { AsCurl } from "../parts/actions.ts";
import { Bars } from "../parts/bars.ts";
import { Chart } from "../parts/chart.ts";
import { Failure, Loading } from "../parts/notices.ts";
import { Card, Figure, Figures, Grid, Page } from "../parts/page.ts";
import { type Column, Table } from "../parts/table.ts";
import { Text, Time } from "../parts/words.ts";
import { session } from "../session.ts";
import { useData } from "../use-data.ts";
import { QuotaUse, RemoveQuota, SetQuota } from "./usage/quota.ts";
import {
  byDay,
  csvSql,
  type Days,
  computeFirstAndLastDay,
  isShown,
  KINDS,
  readRange,
  RANGES,
  SHOWN,
  readShownCount,
  sumCounts,
  type TenantRow,
  tenantRows,
} from "./usage/shapes.ts";
import { type Doing, KeysLink, Tenant } from "./usage/tenant.ts";

const LEAD = "Reading a score is paid for; being scored and reporting are free. Days are UTC.";
const EMPTY =
  "No tenant fits. A tenant appears with its first key, and its sums with the first use.";
const PATH = "/v1/usage";
/** Rows that the answer to a query has at most. */
const QUERY_ROWS_MAX = 10_000;

interface Loaded {
  readonly report: UsageReport;
  /** Undefined where the session may see its own tenant alone. */
  readonly tenants: TenantList["tenants"] | undefined;
}

export default function Usage(): VNode {
  const [parameters] = useParameters();
  const days = computeFirstAndLastDay(readRange(parameters), Date.now());
  const asked = { ...days, group_by: "day,tenant" };
  const { value, error, reload } = useData(
    async (signal): Promise<Loaded> => {
      const [report, tenants] = await Promise.all([
        get<UsageReport>(PATH, asked, signal),
        loadTenantUsage(signal),
      ]);
      return { report, tenants };
    },
    [days.from, days.to],
  );
  const tools = html`
    <${Csv} days=${days} />
    <button type="button" onClick=${reload}>Refresh</button>
  `;
  return html`<${Page} title="Usage" lead=${LEAD} tools=${tools}>
    <${Filters} parameters=${parameters} />
    ${error !== undefined && html`<${Failure} error=${error} onRetry=${reload} />`}
    ${
      value === undefined
        ? error === undefined && html`<${Loading} />`
        : html`<${Shown}
            loaded=${value}
            days=${days}
            parameters=${parameters}
            onChange=${reload}
          />`
    }
    <${AsCurl} path=${pathWith(PATH, asked)} />
  <//>`;
}

async function loadTenantUsage(signal: AbortSignal): Promise<Loaded["tenants"]> {
  try {
    return (await get<TenantList>("/v1/tenants", {}, signal)).tenants;
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return undefined;
    throw error;
  }
}

/** Each key and day of the time that is shown. */
function Csv({ days }: { days: Days }): VNode {
  const [error, setError] = useState<Error>();
  const save = async () => {
    setError(undefined);
    try {
      const body = { sql: csvSql(days), format: "csv" };
      const text = await (await askRaw("POST", "/v1/query", body)).text();
      // The head is a line too. A bill that lacks rows is worse than none.
      if (text.trimEnd().split("\n").length > QUERY_ROWS_MAX) {
        throw new Error("too many rows: choose fewer days, or use `trustrank usage --format csv`");
      }
      saveAs(new Blob([text], { type: "text/csv" }), `usage-${days.from}-${days.to}.csv`);
    } catch (thrown) {
      setError(thrown as Error);
    }
  };
  return html`
    ${error !== undefined && html`<span class="deny small" role="alert">${error.message}</span>`}
    <button type="button" onClick=${save}>CSV by day and key</button>
  `;
}

function Filters({ parameters }: { parameters: Parameters }): VNode {
  const [, set] = useParameters();
  const choice = (name: string, label: string, value: string, options: Record<string, string>) =>
    html`<div class="field">
      <label for=${`usage-${name}`}>${label}</label>
      <select
        id=${`usage-${name}`}
        value=${value}
        onChange=${(event: Event) => set({ [name]: (event.target as HTMLSelectElement).value })}
      >
        ${Object.entries(options).map(([each, words]) => html`<option value=${each}>${words}</option>`)}
      </select>
    </div>`;
  return html`<div class="filters">
    ${choice("range", "Time", readRange(parameters), RANGES)}
    ${choice("show", "Tenants", readShownCount(parameters), SHOWN)}
    <a class="button" href=${linkTo("usage")}>Clear</a>
  </div>`;
}

interface ShownProps {
  readonly loaded: Loaded;
  readonly days: Days;
  readonly parameters: Parameters;
  readonly onChange: () => void;
}

function Shown({ loaded, days, parameters, onChange }: ShownProps): VNode {
  const [, set] = useParameters();
  const [doing, setDoing] = useState<Doing>();
  const { report, tenants } = loaded;
  const all = tenantRows(report, tenants, session()?.tenant);
  const rows = all.filter((row) => isShown(row, readShownCount(parameters)));
  const target = all.find(({ tenant }) => tenant === parameters["tenant"]);
  const dialog = { row: target, onDone: onChange, onClose: () => setDoing(undefined) };
  return html`
    <${Totals} rows=${all} days=${days} />
    <${Drawn} report=${report} days=${days} target=${target} rows=${all} />
    ${
      target !== undefined &&
      html`<${Tenant}
        row=${target}
        report=${report}
        days=${days}
        mayChange=${tenants !== undefined}
        onDo=${setDoing}
        onClose=${() => set({ tenant: undefined })}
      />`
    }
    <${Card} title=${`${number(rows.length)} ${rows.length === 1 ? "tenant" : "tenants"}`}>
      <${Table}
        label="tenants"
        columns=${columnsFor(parameters)}
        rows=${rows}
        keyOf=${({ tenant }: TenantRow) => tenant}
        chosen=${target === undefined ? undefined : rows.indexOf(target)}
        empty=${EMPTY}
      />
    <//>
    ${doing === "set" && target !== undefined && html`<${SetQuota} ...${dialog} />`}
    ${doing === "remove" && target !== undefined && html`<${RemoveQuota} ...${dialog} />`}
  `;
}

/** Rows of the view behind a sum. */
function behind({ from, to }: Days, column: string): string {
  const q = `SELECT day, tenant, key_id, ${column} FROM usage
WHERE day BETWEEN '${from}' AND '${to}' AND ${column} > 0 ORDER BY day DESC, ${column} DESC`;
  return linkTo("sql", { q });
}

function Totals({ rows, days }: { rows: readonly TenantRow[]; days: Days }): VNode {
  const sum = sumCounts(rows);
  const near = rows.filter((row) => isShown(row, "near")).length;
  const used = rows.filter((row) => isShown(row, "used")).length;
  return html`<${Figures}>
    <${Figure}
      label="paid reads"
      value=${number(sum.paid_reads)}
      href=${behind(days, "paid_reads")}
    />
    <${Figure}
      label="reads of test agents"
      value=${number(sum.test_reads)}
      note="free"
      href=${behind(days, "test_reads")}
    />
    <${Figure}
      label="outcomes reported"
      value=${number(sum.outcomes_reported)}
      note="free"
      href=${behind(days, "outcomes_reported")}
    />
    <${Figure}
      label="tenants with a use"
      value=${number(used)}
      note=${`of ${number(rows.length)}`}
      href=${linkTo("usage", { show: "used" })}
    />
    <${Figure}
      label="quotas nearly used"
      value=${number(near)}
      note="80 % or more"
      tone=${near > 0 ? "warn" : undefined}
      href=${linkTo("usage", { show: "near" })}
    />
  <//>`;
}

interface DrawnProps {
  readonly report: UsageReport;
  readonly days: Days;
  readonly target: TenantRow | undefined;
  readonly rows: readonly TenantRow[];
}

/** By day and by kind, of the chosen tenant or of all. */
function Drawn({ report, days, target, rows }: DrawnProps): VNode {
  const { at, paid, reported } = byDay(report, days, target?.tenant);
  const { reads, test_reads: tests } = sumCounts(target === undefined ? rows : [target]);
  const lines = [
    { label: "paid reads", color: "accent", values: paid },
    { label: "outcomes reported", color: "second", values: reported },
  ];
  const bars = [
    ...KINDS.map((kind) => ({ label: kind, value: reads[kind] })),
    { label: "of test agents", value: tests },
  ];
  const whose = html`${target === undefined ? "all tenants" : html`<${Text} text=${target.tenant} />`}`;
  return html`<${Grid}>
    <${Card} title=${html`By day, ${whose}`} span=${7}>
      <${Chart} title="Usage by day" at=${at} lines=${lines} say=${number} />
    <//>
    <${Card} title="What was read" span=${5}><${Bars} bars=${bars} /><//>
  <//>`;
}

function columnsFor(parameters: Parameters): Column<TenantRow>[] {
  return [
    {
      label: "tenant",
      cell: ({ tenant }) =>
        html`<a class="agent" href=${linkTo("usage", { ...parameters, tenant })}
          ><${Text} text=${tenant}
        /></a>`,
    },
    { label: "paid reads", isNumber: true, cell: (row) => number(row.paid_reads) },
    { label: "of test agents", isNumber: true, cell: (row) => number(row.test_reads) },
    { label: "reported", isNumber: true, cell: (row) => number(row.outcomes_reported) },
    { label: "quota of this month", cell: (row) => html`<${QuotaUse} row=${row} />` },
    { label: "keys that work", cell: (row) => html`<${KeysLink} row=${row} />` },
    {
      label: "agents",
      cell: ({ tenant }) => html`<a href=${linkTo("agents", { q: `${tenant}/` })}>find</a>`,
    },
    {
      label: "asked for",
      cell: ({ tenant }) => html`<a href=${linkTo("decisions", { tenant })}>decisions</a>`,
    },
    { label: "last use", cell: (row) => html`<${Time} at=${row.last_used_at} as="ago" />` },
  ];
}
