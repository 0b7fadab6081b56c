// Flagged decisions: allowed on a low score, or pending review when they were made. A reviewer records what
// was found; nothing else changes.
import { getDocument, sendDocument } from "../../api.ts";
import { formatNumber } from "../../format.ts";
import { html, useState, type VNode } from "../../html.ts";
import { linkTo } from "../../location.ts";
import { CurlCommand } from "../../parts/actions.ts";
import { ListCard } from "../../parts/list-page.ts";
import { Failure, renderLoaded } from "../../parts/notices.ts";
import type { Column } from "../../parts/table.ts";
import { AgentLink, AnswerTag, Time } from "../../parts/words.ts";
import { hasAnyScope } from "../../session.ts";
import { usePolledData } from "../../use-data.ts";

/** A row of the view `reviews`, as far as the page shows it. */
interface FlaggedDecision {
  readonly evaluated_at: string;
  readonly request_id: string;
  readonly tenant: string;
  readonly subject: string;
  readonly tool_level: string | null;
  readonly verdict: string | null;
  readonly decision: string;
  readonly stakes: number;
  readonly internal_score: number;
  readonly reason_codes: readonly string[];
}

const EVERY_MS = 5000;
const ROWS_MAX = 200;
const PATH = "/v1/reviews";
const QUERY = { open: "1", limit: ROWS_MAX };

const RESOLUTIONS = [
  ["upheld", "Uphold"],
  ["overturned", "Overturn"],
  ["dismissed", "Dismiss"],
] as const;
type Resolution = (typeof RESOLUTIONS)[number][0];

function ResolveButtons({
  row,
  isBusy,
  onResolve,
}: {
  row: FlaggedDecision;
  isBusy: boolean;
  onResolve: (row: FlaggedDecision, resolution: Resolution) => void;
}): VNode {
  return html`<span class="nowrap">
    ${RESOLUTIONS.map(
      ([resolution, label]) =>
        html`<button
          type="button"
          class="small"
          disabled=${isBusy}
          onClick=${() => onResolve(row, resolution)}
        >
          ${label}
        </button> `,
    )}
  </span>`;
}

const COLUMNS: readonly Column<FlaggedDecision>[] = [
  { label: "at", cell: (row) => html`<${Time} at=${row.evaluated_at} />` },
  {
    label: "answer",
    cell: (row) =>
      html`<a href=${linkTo("decision", { id: row.request_id, tenant: row.tenant })}
        ><${AnswerTag} word=${row.verdict ?? row.decision}
      /></a>`,
  },
  { label: "agent", cell: (row) => html`<${AgentLink} id=${row.subject} />` },
  { label: "level", cell: (row) => row.tool_level ?? "connect" },
  { label: "stakes", isNumber: true, cell: (row) => formatNumber(row.stakes, 2) },
  { label: "score", isNumber: true, cell: (row) => formatNumber(row.internal_score) },
  {
    label: "reasons",
    isLong: true,
    cell: (row) => html`<span class="small">${row.reason_codes.join(", ")}</span>`,
  },
];

/** The unresolved ones, newest first. Resolving needs the scope `admin`. */
export function FlaggedDecisions(): VNode {
  const data = usePolledData(
    (signal) => getDocument<{ reviews: FlaggedDecision[] }>(PATH, QUERY, signal),
    EVERY_MS,
  );
  const [state, setState] = useState<{ isBusy: boolean; error?: Error }>({ isBusy: false });
  const resolve = async (row: FlaggedDecision, resolution: Resolution) => {
    setState({ isBusy: true });
    const path = `${PATH}/${encodeURIComponent(row.request_id)}?tenant=${encodeURIComponent(row.tenant)}`;
    try {
      await sendDocument("POST", path, { resolution });
      setState({ isBusy: false });
    } catch (error) {
      setState({ isBusy: false, error: error as Error });
    }
    data.reload();
  };
  const action: Column<FlaggedDecision> = {
    label: "resolve",
    cell: (row) =>
      html`<${ResolveButtons} row=${row} isBusy=${state.isBusy} onResolve=${resolve} />`,
  };
  const columns = hasAnyScope("admin") ? [...COLUMNS, action] : COLUMNS;
  return html`<div>
    ${state.error !== undefined && html`<${Failure} error=${state.error} />`}
    ${renderLoaded(
      data,
      ({ reviews }) =>
        html`<${ListCard}
          noun=${reviews.length === ROWS_MAX ? "newest flagged decision" : "flagged decision"}
          label="flagged decisions"
          columns=${columns}
          rows=${reviews}
          keyOf=${(row: FlaggedDecision) => `${row.tenant} ${row.request_id}`}
          empty="No unresolved flagged decisions: a low score that L0 or L1 allows shows here."
        />`,
    )}
    <${CurlCommand} path=${`${PATH}?open=1&limit=${ROWS_MAX}`} />
  </div>`;
}
