// Two decisions side by side: the members in which they differ.
import type { ReplayableLeg } from "../../../contract/schemas/decisions.ts";
import { getDocument } from "../../api.ts";
import { html, type VNode } from "../../html.ts";
import { linkTo } from "../../location.ts";
import { Failure, Loading } from "../../parts/notices.ts";
import { Table } from "../../parts/table.ts";
import { UntrustedText } from "../../parts/words.ts";
import { useData } from "../../use-data.ts";
import { formatReplayValue } from "./replay.ts";

interface MemberDifference {
  readonly name: string;
  readonly here: unknown;
  readonly there: unknown;
}

interface DecisionReply {
  readonly legs: readonly ReplayableLeg[];
}

const buildCompareColumns = (here: string, there: string) => [
  { label: "member", cell: ({ name }: MemberDifference) => name },
  {
    label: here,
    cell: (each: MemberDifference) =>
      html`<${UntrustedText} text=${formatReplayValue(each.here)} />`,
  },
  {
    label: there,
    cell: (each: MemberDifference) =>
      html`<${UntrustedText} text=${formatReplayValue(each.there)} />`,
  },
];

interface DecisionComparisonProps {
  readonly id: string;
  readonly other: string;
}

export function DecisionComparison({ id, other }: DecisionComparisonProps): VNode {
  const read = (each: string, signal: AbortSignal) =>
    getDocument<DecisionReply>(`/v1/decisions/${encodeURIComponent(each)}`, {}, signal);
  const { value, error, reload } = useData(
    async (signal) => [await read(id, signal), await read(other, signal)] as const,
    [id, other],
  );
  if (error !== undefined) return html`<${Failure} error=${error} onRetry=${reload} />`;
  if (value === undefined) return html`<${Loading} />`;
  const [mine, theirs] = value.map(({ legs }) => legs[0]) as [ReplayableLeg, ReplayableLeg];
  const members = listDifferingMembers(mine, theirs);
  return html`<p class="dim">
      This one against <a href=${linkTo("decision", { id: other })}>${other}</a>:${" "}
      ${members.length} members differ.
    </p>
    <${Table}
      label="members that differ"
      columns=${buildCompareColumns("this one", "the other")}
      rows=${members}
      keyOf=${({ name }: MemberDifference) => name}
      empty="They are the same but for what was not recorded."
    />`;
}

/** Members that differ, but for the ids, which always do; inputs are shown by the trace. */
function listDifferingMembers(mine: ReplayableLeg, theirs: ReplayableLeg): MemberDifference[] {
  const names = Object.keys(mine) as (keyof ReplayableLeg)[];
  return names
    .filter((name) => name !== "request_id" && name !== "inputs")
    .map((name) => ({ name, here: mine[name], there: theirs[name] }))
    .filter(({ here, there }) => formatReplayValue(here) !== formatReplayValue(there));
}
