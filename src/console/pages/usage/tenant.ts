// One tenant: its quota, what each of its keys has read and reported, and the ways to its keys, agents, decisions and
// changes.
import type { UsageReport } from "../../../contract/schemas/service.ts";
import { query } from "../../api.ts";
import { number } from "../../format.ts";
import { html, type VNode } from "../../html.ts";
import { linkTo } from "../../location.ts";
import { Card, Facts } from "../../parts/page.ts";
import { type Column, Table } from "../../parts/table.ts";
import { Text, Time } from "../../parts/words.ts";
import { useData } from "../../use-data.ts";
import { QuotaUse } from "./quota.ts";
import { type Days, KINDS, type TenantRow } from "./shapes.ts";

export type Doing = "set" | "remove";

type KeyRow = UsageReport["keys"][number];

const KEY_COLUMNS: readonly Column<KeyRow>[] = [
  {
    label: "key",
    cell: ({ key_id: key }) =>
      html`<a class="agent" href=${linkTo("keys", { key, state: "all" })}><code>${key}</code></a>`,
  },
  { label: "paid reads", isNumber: true, cell: (row) => number(row.paid_reads) },
  ...KINDS.map((kind) => ({
    label: kind,
    isNumber: true,
    cell: (row: KeyRow) => number(row.reads[kind]),
  })),
  { label: "of test agents", isNumber: true, cell: (row) => number(row.test_reads) },
  { label: "reported", isNumber: true, cell: (row) => number(row.outcomes_reported) },
];

interface TenantProps {
  readonly row: TenantRow;
  readonly report: UsageReport;
  readonly days: Days;
  readonly mayChange: boolean;
  readonly onDo: (doing: Doing) => void;
  readonly onClose: () => void;
}

export function Tenant({ row, report, days, mayChange, onDo, onClose }: TenantProps): VNode {
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
  return html`<${Card} title=${html`Tenant <${Text} text=${tenant} />`} tools=${tools}>
    <${Facts}
      facts=${[
        ["quota of this month", html`<${QuotaUse} row=${row} />`],
        [
          "next month begins",
          quota === undefined ? "–" : html`<${Time} at=${quota.resets_at} as="full" />`,
        ],
        ["keys", html`<${KeysLink} row=${row} />`],
        ["agents it reported on", html`<${ReportedOn} tenant=${tenant} days=${days} />`],
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
      keyOf=${({ key_id: id }: KeyRow) => id}
      empty="None of its keys was used in this time."
    />
  <//>`;
}

/** Its keys that work, and how many it ever had. */
export function KeysLink({ row }: { row: TenantRow }): VNode {
  if (row.keys === undefined) return html`<span class="dim">–</span>`;
  return html`<a href=${linkTo("keys", { tenant: row.tenant, state: "all" })}
    >${number(row.keys_active)} of ${number(row.keys)}</a
  >`;
}

function reportedSql(tenant: string, { from, to }: Days, what: string): string {
  return `SELECT ${what} FROM outcomes
WHERE tenant = '${tenant.replaceAll("'", "''")}' AND recorded_at::DATE BETWEEN '${from}' AND '${to}'`;
}

/** A count that the store makes; the rows behind it are a question of the page SQL. */
function ReportedOn({ tenant, days }: { tenant: string; days: Days }): VNode {
  const counted = reportedSql(tenant, days, "count(DISTINCT subject)::INTEGER AS agents");
  const { value, error } = useData(
    (signal) => query<{ agents: number }>(counted, signal),
    [counted],
  );
  if (error !== undefined) return html`<span class="dim" title=${error.message}>not known</span>`;
  if (value === undefined) return html`<span class="dim">…</span>`;
  const rows = `${reportedSql(tenant, days, "subject, count(*)::INTEGER AS outcomes")}
GROUP BY 1 ORDER BY 2 DESC`;
  return html`<a href=${linkTo("sql", { q: rows })}>${number(value[0]?.agents ?? 0)}</a>`;
}
