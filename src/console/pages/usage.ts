// Usage page: paid reads and reported outcomes by day and tenant, and the share of each quota in use.
import type { UsageReport } from "../../contract/schemas/service.ts";
import type { TenantList } from "../../contract/schemas/tenants.ts";
import { ApiError, fetchApiResponse, getDocument, buildPathWithQuery } from "../api.ts";
import { downloadBlob } from "../download.ts";
import { formatNumber } from "../format.ts";
import { html, useState, type VNode } from "../html.ts";
import { linkTo, type PageParameters, usePageParameters } from "../location.ts";
import { Bars } from "../parts/bars.ts";
import { Chart } from "../parts/chart.ts";
import { type PageFilter, PageFilters } from "../parts/fields.ts";
import { ListCard, ListPage } from "../parts/list-page.ts";
import { Card, MetricTile, MetricTiles, Grid } from "../parts/page.ts";
import type { Column } from "../parts/table.ts";
import { UntrustedText, Time } from "../parts/words.ts";
import { readSession } from "../session.ts";
import { useData } from "../use-data.ts";
import {
  QuotaMeter,
  RemoveQuotaDialog,
  SetQuotaDialog,
  type QuotaAction,
  KeysLink,
  TenantCard,
} from "./usage/tenant.ts";
import {
  sumByDay,
  buildUsageCsvSql,
  type UsageDays,
  computeFirstAndLastDay,
  isTenantShown,
  READ_KINDS,
  readRange,
  RANGE_LABELS,
  TENANT_FILTER_LABELS,
  readTenantFilter,
  sumCounts,
  type TenantUsageRow,
  buildTenantRows,
} from "./usage/tenant-usage.ts";

const LEAD = "Reading a score is paid for; being scored and reporting are free. Days are UTC.";
const EMPTY =
  "No tenant fits. A tenant appears with its first key, and its sums with the first use.";
const PATH = "/v1/usage";
/** Rows that the answer to a query has at most. */
const QUERY_ROWS_MAX = 10_000;

interface UsageData {
  readonly report: UsageReport;
  /** Undefined where the session may see its own tenant alone. */
  readonly tenants: TenantList["tenants"] | undefined;
}

export default function UsagePage(): VNode {
  const [parameters] = usePageParameters();
  const days = computeFirstAndLastDay(readRange(parameters), Date.now());
  const asked = { ...days, group_by: "day,tenant" };
  const data = useData(
    async (signal): Promise<UsageData> => {
      const [report, tenants] = await Promise.all([
        getDocument<UsageReport>(PATH, asked, signal),
        loadTenants(signal),
      ]);
      return { report, tenants };
    },
    [days.from, days.to],
  );
  const tools = html`
    <${CsvDownload} days=${days} />
    <button type="button" onClick=${data.reload}>Refresh</button>
  `;
  const sections = (loaded: UsageData) =>
    html`<${UsageSections} ...${{ loaded, days, parameters }} onChange=${data.reload} />`;
  return html`<${ListPage}
    title="Usage"
    lead=${LEAD}
    tools=${tools}
    filters=${html`<${PageFilters} filters=${FILTERS} canClear />`}
    data=${data}
    draw=${sections}
    curl=${{ path: buildPathWithQuery(PATH, asked) }}
  />`;
}

const FILTERS: readonly PageFilter[] = [
  {
    name: "range",
    label: "Time",
    options: Object.entries(RANGE_LABELS),
    fallback: readRange({}),
  },
  {
    name: "show",
    label: "Tenants",
    options: Object.entries(TENANT_FILTER_LABELS),
    fallback: readTenantFilter({}),
  },
];

async function loadTenants(signal: AbortSignal): Promise<UsageData["tenants"]> {
  try {
    return (await getDocument<TenantList>("/v1/tenants", {}, signal)).tenants;
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return undefined;
    throw error;
  }
}

/** Each key and day of the time that is shown. */
function CsvDownload({ days }: { days: UsageDays }): VNode {
  const [error, setError] = useState<Error>();
  const save = async () => {
    setError(undefined);
    try {
      const body = { sql: buildUsageCsvSql(days), format: "csv" };
      const text = await (await fetchApiResponse("POST", "/v1/query", body)).text();
      // The head is a line too. A bill that lacks rows is worse than none.
      if (text.trimEnd().split("\n").length > QUERY_ROWS_MAX) {
        throw new Error("too many rows: choose fewer days, or use `trustrank usage --format csv`");
      }
      downloadBlob(new Blob([text], { type: "text/csv" }), `usage-${days.from}-${days.to}.csv`);
    } catch (thrown) {
      setError(thrown as Error);
    }
  };
  return html`
    ${error !== undefined && html`<span class="deny small" role="alert">${error.message}</span>`}
    <button type="button" onClick=${save}>CSV by day and key</button>
  `;
}

interface UsageSectionsProps {
  readonly loaded: UsageData;
  readonly days: UsageDays;
  readonly parameters: PageParameters;
  readonly onChange: () => void;
}

function UsageSections({ loaded, days, parameters, onChange }: UsageSectionsProps): VNode {
  const [, set] = usePageParameters();
  const [doing, setDoing] = useState<QuotaAction>();
  const { report, tenants } = loaded;
  const all = buildTenantRows(report, tenants, readSession()?.tenant);
  const rows = all.filter((row) => isTenantShown(row, readTenantFilter(parameters)));
  const target = all.find(({ tenant }) => tenant === parameters["tenant"]);
  const dialog = { row: target, onDone: onChange, onClose: () => setDoing(undefined) };
  return html`
    <${UsageMetrics} rows=${all} days=${days} />
    <${UsageCharts} report=${report} days=${days} target=${target} rows=${all} />
    ${
      target !== undefined &&
      html`<${TenantCard}
        row=${target}
        report=${report}
        days=${days}
        mayChange=${tenants !== undefined}
        onDo=${setDoing}
        onClose=${() => set({ tenant: undefined })}
      />`
    }
    <${ListCard}
      noun="tenant"
      label="tenants"
      columns=${buildTenantColumns(parameters)}
      rows=${rows}
      keyOf=${({ tenant }: TenantUsageRow) => tenant}
      chosen=${target === undefined ? undefined : rows.indexOf(target)}
      empty=${EMPTY}
    />
    ${doing === "set" && target !== undefined && html`<${SetQuotaDialog} ...${dialog} />`}
    ${doing === "remove" && target !== undefined && html`<${RemoveQuotaDialog} ...${dialog} />`}
  `;
}

/** Rows of the view behind a sum. */
function linkToUsageRows({ from, to }: UsageDays, column: string): string {
  const q = `SELECT day, tenant, key_id, ${column} FROM usage
WHERE day BETWEEN '${from}' AND '${to}' AND ${column} > 0 ORDER BY day DESC, ${column} DESC`;
  return linkTo("sql", { q });
}

function UsageMetrics({ rows, days }: { rows: readonly TenantUsageRow[]; days: UsageDays }): VNode {
  const sum = sumCounts(rows);
  const near = rows.filter((row) => isTenantShown(row, "near")).length;
  const used = rows.filter((row) => isTenantShown(row, "used")).length;
  return html`<${MetricTiles}>
    <${MetricTile}
      label="paid reads"
      value=${formatNumber(sum.paid_reads)}
      note="reads in this time"
      href=${linkToUsageRows(days, "paid_reads")}
    />
    <${MetricTile}
      label="reads of test agents"
      value=${formatNumber(sum.test_reads)}
      note="reads, free"
      href=${linkToUsageRows(days, "test_reads")}
    />
    <${MetricTile}
      label="outcomes reported"
      value=${formatNumber(sum.outcomes_reported)}
      note="reports, free"
      href=${linkToUsageRows(days, "outcomes_reported")}
    />
    <${MetricTile}
      label="tenants with a use"
      value=${formatNumber(used)}
      note=${`of ${formatNumber(rows.length)} tenants`}
      href=${linkTo("usage", { show: "used" })}
    />
    <${MetricTile}
      label="quotas nearly used"
      value=${formatNumber(near)}
      note="80 % or more used"
      tone=${near > 0 ? "warn" : undefined}
      href=${linkTo("usage", { show: "near" })}
    />
  <//>`;
}

interface UsageChartsProps {
  readonly report: UsageReport;
  readonly days: UsageDays;
  readonly target: TenantUsageRow | undefined;
  readonly rows: readonly TenantUsageRow[];
}

/** By day and by kind, of the chosen tenant or of all. */
function UsageCharts({ report, days, target, rows }: UsageChartsProps): VNode {
  const { at, paid, reported } = sumByDay(report, days, target?.tenant);
  const { reads, test_reads: tests } = sumCounts(target === undefined ? rows : [target]);
  const lines = [
    { label: "paid reads", color: "accent", values: paid },
    { label: "outcomes reported", color: "second", values: reported },
  ];
  const bars = [
    ...READ_KINDS.map((kind) => ({ label: kind, value: reads[kind] })),
    { label: "of test agents", value: tests },
  ];
  const whose = html`${target === undefined ? "all tenants" : html`<${UntrustedText} text=${target.tenant} />`}`;
  return html`<${Grid}>
    <${Card} title=${html`By day, ${whose}`} span=${7}>
      <${Chart}
        title="Usage by day"
        at=${at}
        lines=${lines}
        unit="reads or reports per day"
        say=${formatNumber}
      />
    <//>
    <${Card} title="Reads by kind" span=${5}>
      <${Bars} bars=${bars} say=${(count: number) => `${formatNumber(count)} reads`} />
    <//>
  <//>`;
}

function buildTenantColumns(parameters: PageParameters): Column<TenantUsageRow>[] {
  return [
    {
      label: "tenant",
      cell: ({ tenant }) =>
        html`<a class="agent" href=${linkTo("usage", { ...parameters, tenant })}
          ><${UntrustedText} text=${tenant}
        /></a>`,
    },
    { label: "paid reads", isNumber: true, cell: (row) => formatNumber(row.paid_reads) },
    { label: "test reads", isNumber: true, cell: (row) => formatNumber(row.test_reads) },
    {
      label: "outcomes reported",
      isNumber: true,
      cell: (row) => formatNumber(row.outcomes_reported),
    },
    { label: "quota of this month", cell: (row) => html`<${QuotaMeter} row=${row} />` },
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
