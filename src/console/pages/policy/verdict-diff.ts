// Card that judges the newest logged verdicts by the draft as well: which would change, and for whom.
import { buildPathWithQuery, sendDocument } from "../../api.ts";
import { formatNumber } from "../../format.ts";
import { html, useEffect, useState, type VNode } from "../../html.ts";
import { linkTo } from "../../location.ts";
import { CurlCommand } from "../../parts/actions.ts";
import { Failure, Notice } from "../../parts/notices.ts";
import { Card } from "../../parts/page.ts";
import { type Column, Table } from "../../parts/table.ts";
import type { PolicyDiff } from "../../../contract/schemas/policy-diff.ts";
import type { DraftCheck } from "./draft.ts";

type VerdictChange = PolicyDiff["changes"][number];
type AffectedAgent = PolicyDiff["agents"][number];

const CHANGE_COLUMNS: readonly Column<VerdictChange>[] = [
  { label: "verdict now", cell: ({ before }) => html`<code>${before}</code>` },
  { label: "under the draft", cell: ({ after }) => html`<code>${after}</code>` },
  { label: "entries", isNumber: true, cell: ({ entries }) => formatNumber(entries) },
  { label: "decisions", isNumber: true, cell: ({ decisions }) => formatNumber(decisions) },
];

const AGENT_COLUMNS: readonly Column<AffectedAgent>[] = [
  {
    label: "agent",
    cell: ({ agent }) => html`<a href=${linkTo("agent", { id: agent })}>${agent}</a>`,
  },
  { label: "changed", isNumber: true, cell: ({ changed }) => formatNumber(changed) },
  { label: "newly withheld", isNumber: true, cell: (row) => formatNumber(row.newly_withheld) },
  { label: "newly allowed", isNumber: true, cell: (row) => formatNumber(row.newly_allowed) },
];

interface VerdictDiffProps {
  readonly tenant: string;
  readonly check: DraftCheck;
}

export function VerdictDiffCard({ tenant, check }: VerdictDiffProps): VNode {
  const { made } = check;
  const [state, setState] = useState<{ diff?: PolicyDiff; error?: Error; isBusy: boolean }>({
    isBusy: false,
  });
  // Of another draft it would be wrong.
  useEffect(() => setState({ isBusy: false }), [made?.version]);
  const path = buildPathWithQuery("/v1/policy/diff", { tenant });
  const body = { policy: made?.policy };
  const compare = async () => {
    setState({ isBusy: true });
    try {
      setState({ diff: await sendDocument<PolicyDiff>("POST", path, body), isBusy: false });
    } catch (error) {
      setState({ error: error as Error, isBusy: false });
    }
  };
  const isReady = !state.isBusy && !check.isAsking && made !== undefined;
  return html`<${Card}
    title="On real verdicts"
    tools=${html`<button type="button" disabled=${!isReady} onClick=${compare}>
      ${state.isBusy ? "Comparing…" : "Compare"}
    </button>`}
  >
    <p class="dim small">
      Judges the newest 10,000 verifies of the decision log by the draft as well, each with the
      record of its moment.
    </p>
    ${state.error !== undefined && html`<${Failure} error=${state.error} />`}
    <div role="status">
      ${state.diff !== undefined && html`<${VerdictDiff} diff=${state.diff} />`}
    </div>
    ${made !== undefined && html`<${CurlCommand} method="POST" path=${path} body=${body} />`}
  <//>`;
}

function VerdictDiff({ diff }: { diff: PolicyDiff }): VNode {
  const { judged, skipped, changed, changes, agents } = diff;
  const left = skipped === 0 ? "" : ` ${formatNumber(skipped)} could not be judged.`;
  if (changed === 0) {
    return html`<${Notice} kind="good">
      None of ${formatNumber(judged)} verdicts would change.${left}
    <//>`;
  }
  return html`<p>
      <b>${formatNumber(changed)}</b> of ${formatNumber(judged)} verdicts would change.${left}
    </p>
    <${Table} label="verdicts that would change" columns=${CHANGE_COLUMNS} rows=${changes} />
    <${Table} label="agents most affected" columns=${AGENT_COLUMNS} rows=${agents} />`;
}
