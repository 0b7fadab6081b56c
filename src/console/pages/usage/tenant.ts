// Usage of one tenant: its quota with the dialogs that change it, and the reads and reports of each key.
import type { UsageReport } from "../../../contract/schemas/service.ts";
import { querySql, sendDocument } from "../../api.ts";
import { formatNumber, formatPercent } from "../../format.ts";
import { html, readInputValue, type VNode, useId, useState } from "../../html.ts";
import { linkTo } from "../../location.ts";
import { Field } from "../../parts/fields.ts";
import { Card, FactList } from "../../parts/page.ts";
import { type Column, Table } from "../../parts/table.ts";
import { UntrustedText, Time } from "../../parts/words.ts";
import { useData } from "../../use-data.ts";
import {
  type UsageDays,
  READ_KINDS,
  type TenantUsageRow,
  computeQuotaShare,
  selectShareTone,
} from "./tenant-usage.ts";
import { ConfirmDialog } from "../../parts/actions.ts";
import { Notice } from "../../parts/notices.ts";

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
    >${formatNumber(row.keys_active)} of ${formatNumber(row.keys)} keys</a
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

/** Used beside the bound, as a bar and in words. */
export function QuotaMeter({ row }: { row: TenantUsageRow }): VNode {
  const { quota } = row;
  if (quota === undefined) return html`<span class="dim">no bound</span>`;
  const share = computeQuotaShare(row)!;
  const tone = selectShareTone(share) ?? "";
  return html`<div class="meter">
    <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
      <rect class=${`bar ${tone}`} width=${Math.min(100, 100 * share)} height="6" />
    </svg>
    <span class=${tone}>${formatPercent(share)}</span>
    <span class="dim small"
      >${formatNumber(quota.used)} of ${formatNumber(quota.paid_reads_per_month)} reads</span
    >
  </div>`;
}

interface QuotaDialogProps {
  readonly row: TenantUsageRow;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

function buildQuotaPath({ tenant }: TenantUsageRow): string {
  return `/v1/quotas/${encodeURIComponent(tenant)}`;
}

export function SetQuotaDialog({ row, onDone, onClose }: QuotaDialogProps): VNode {
  const id = useId();
  const { quota, tenant } = row;
  const [typed, setTyped] = useState(String(quota?.paid_reads_per_month ?? ""));
  const limit = Number(typed);
  const isUsedUp = typed !== "" && quota !== undefined && limit <= quota.used;
  const set = async () => {
    if (typed.trim() === "") throw new Error("say how many paid reads a month");
    await sendDocument("PUT", buildQuotaPath(row), { paid_reads_per_month: limit });
    onDone();
  };
  return html`<${ConfirmDialog}
    title=${`Quota of ${tenant}`}
    action="Set"
    isDangerous=${isUsedUp}
    onConfirm=${set}
    onClose=${onClose}
  >
    <p>
      Paid reads that all its keys may make in a calendar month, UTC. It holds at once, for this
      month too. Reports and reads of test agents are not limited.
    </p>
    <${Field} id=${id} label="Paid reads a month">
      <input
        id=${id}
        type="number"
        min="0"
        step="1"
        value=${typed}
        onInput=${(event: Event) => setTyped(readInputValue(event))}
      />
    <//>
    ${
      isUsedUp &&
      html`<${Notice} kind="warn">
        ${formatNumber(quota.used)} are used already: its paid reads are refused until next month.
      <//>`
    }
  <//>`;
}

export function RemoveQuotaDialog({ row, onDone, onClose }: QuotaDialogProps): VNode {
  const remove = async () => {
    await sendDocument("DELETE", buildQuotaPath(row));
    onDone();
  };
  return html`<${ConfirmDialog}
    title=${`Take the quota of ${row.tenant} away?`}
    name=${row.tenant}
    action="Remove"
    onConfirm=${remove}
    onClose=${onClose}
  >
    <p>Its reads are still counted, and no longer limited.</p>
  <//>`;
}
