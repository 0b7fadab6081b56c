// Quota of a tenant: how much of its month is used, and the dialogs that set it and take it away.
import { sendDocument } from "../../api.ts";
import { formatNumber, formatPercent } from "../../format.ts";
import { html, useId, useState, type VNode } from "../../html.ts";
import { ConfirmDialog } from "../../parts/actions.ts";
import { Notice } from "../../parts/notices.ts";
import { Field } from "../../parts/page.ts";
import { computeQuotaShare, type TenantUsageRow, selectShareTone } from "./shapes.ts";

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
      >${formatNumber(quota.used)} of ${formatNumber(quota.paid_reads_per_month)}</span
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
        onInput=${(event: Event) => setTyped((event.target as HTMLInputElement).value)}
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
