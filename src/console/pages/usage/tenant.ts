// One tenant: its quota, what each of its keys has read and reported, and the ways to its keys, agents, decisions and
// changes.
import type { UsageReport } from "../../../contract/schemas/service.ts";
import { querySql } from "../../api.ts";
import { formatNumber } from "../../format.ts";
import { html, type VNode } from "../../html.ts";
import { linkTo } from "../../location.ts";
import { Card, FactList } from "../../parts/page.ts";
import { type Column, Table } from "../../parts/table.ts";
import { UntrustedText, Time } from "../../parts/words.ts";
import { useData } from "../../use-data.ts";
import { QuotaMeter } from "./quota.ts";
import { type UsageDays, READ_KINDS, type TenantUsageRow } from "./shapes.ts";

export type QuotaAction = "set" | "remove";

type KeyUsageRow = UsageReport["keys"][number];

const KEY_COLUMNS: readonly Column<KeyUsageRow>[] = [
  {
    label: "key",
    cell: ({ key_id: key }) =>
      html`<a class="agent" href=${linkTo("keys", { key, state: "all" })}><code>${key}</code></a>`,
  },
  { label: "paid reads", isNumber: true, cell: (row) => formatNumber(row.paid_reads) },
  ...READ_KINDS.map((kind) => ({
    label: kind,
    isNumber: true,
    cell: (row: KeyUsageRow) => formatNumber(row.reads[kind]),
  })),
  { label: "of test agents", isNumber: true, cell: (row) => formatNumber(row.test_reads) },
  { label: "reported", isNumber: true, cell: (row) => formatNumber(row.outcomes_reported) },
];

interface TenantCardProps {
  readonly row: TenantUsageRow;
  readonly report: UsageReport;
  readonly days: UsageDays;
  readonly mayChange: boolean;
  readonly onDo: (doing: QuotaAction) => void;
  readonly onClose: () => void;
}

export function TenantCard({
  row,
  report,
  days,
  mayChange,
  onDo,
  onClose,
}: TenantCardProps): VNode {
  const { tenant, quota } = row;
  const tools = html`
    ${
      mayChange &&
      html`<button type="button" class="small" onClick=${() => onDo("set")}>
        ${quota === undefined ? "Set a quota…" : "Change its quota…"}
      </button>`
    }
    ${
      mayChange &&
      quota !== undefined &&
      html`<button type="button" class="small" onClick=${() => onDo("remove")}>
        Remove its quota…
      </button>`
    }
    <button type="button" class="small" onClick=${onClose}>Close</button>
  `;
  return html`<${Card} title=${html`Tenant <${UntrustedText} text=${tenant} />`} tools=${tools}>
    <${FactList}
      facts=${[
        ["quota of this month", html`<${QuotaMeter} row=${row} />`],
        [
          "next month begins",
          quota === undefined ? "–" : html`<${Time} at=${quota.resets_at} as="full" />`,
        ],
        ["keys", html`<${KeysLink} row=${row} />`],
        ["agents it reported on", html`<${ReportedAgentsLink} tenant=${tenant} days=${days} />`],
        [
          "agents named after it",
          html`<a href=${linkTo("agents", { q: `${tenant}/`, order: "-outcomes" })}
            >look for them</a
          >`,
        ],
        ["decisions it asked for", html`<a href=${linkTo("decisions", { tenant })}>show them</a>`],
        ["changes", html`<a href=${linkTo("audit", { tenant, since: "all" })}>audit trail</a>`],
      ]}
    />
    <${Table}
      label=${`keys of ${tenant}`}
      columns=${KEY_COLUMNS}
      rows=${report.keys.filter((key) => key.tenant === tenant)}
      keyOf=${({ key_id: id }: KeyUsageRow) => id}
      empty="None of its keys was used in this time."
    />
  <//>`;
}

/** Its keys that work, and how many it ever had. */
export function KeysLink({ row }: { row: TenantUsageRow }): VNode {
  if (row.keys === undefined) return html`<span class="dim">–</span>`;
  return html`<a href=${linkTo("keys", { tenant: row.tenant, state: "all" })}
    >${formatNumber(row.keys_active)} of ${formatNumber(row.keys)}</a
  >`;
}

function buildReportedSql(tenant: string, { from, to }: UsageDays, what: string): string {
  return `SELECT ${what} FROM outcomes
WHERE tenant = '${tenant.replaceAll("'", "''")}' AND recorded_at::DATE BETWEEN '${from}' AND '${to}'`;
}

/** A count that the store makes; the rows behind it are a question of the page SQL. */
function ReportedAgentsLink({ tenant, days }: { tenant: string; days: UsageDays }): VNode {
  const counted = buildReportedSql(tenant, days, "count(DISTINCT subject)::INTEGER AS agents");
  const { value, error } = useData(
    (signal) => querySql<{ agents: number }>(counted, signal),
    [counted],
  );
  if (error !== undefined) return html`<span class="dim" title=${error.message}>not known</span>`;
  if (value === undefined) return html`<span class="dim">…</span>`;
  const rows = `${buildReportedSql(tenant, days, "subject, count(*)::INTEGER AS outcomes")}
GROUP BY 1 ORDER BY 2 DESC`;
  return html`<a href=${linkTo("sql", { q: rows })}>${formatNumber(value[0]?.agents ?? 0)}</a>`;
}
