// Two decisions side by side: the members in which they differ.
import type { ReplayableLeg } from "../../../contract/schemas/decisions.ts";
import { get } from "../../api.ts";
import { html, type VNode } from "../../html.ts";
import { linkTo } from "../../location.ts";
import { Failure, Loading } from "../../parts/notices.ts";
import { Table } from "../../parts/table.ts";
import { Text } from "../../parts/words.ts";
import { useData } from "../../use-data.ts";
import { formatReplayValue } from "./replay.ts";

interface Member {
  readonly name: string;
  readonly here: unknown;
  readonly there: unknown;
}

interface Read {
  readonly legs: readonly ReplayableLeg[];
}

const COLUMNS = (here: string, there: string) => [
  { label: "member", cell: ({ name }: Member) => name },
  { label: here, cell: (each: Member) => html`<${Text} text=${formatReplayValue(each.here)} />` },
  { label: there, cell: (each: Member) => html`<${Text} text=${formatReplayValue(each.there)} />` },
];

interface CompareProps {
  readonly id: string;
  readonly other: string;
}

export function Compare({ id, other }: CompareProps): VNode {
  const read = (each: string, signal: AbortSignal) =>
    get<Read>(`/v1/decisions/${encodeURIComponent(each)}`, {}, signal);
  const { value, error, reload } = useData(
    async (signal) => [await read(id, signal), await read(other, signal)] as const,
    [id, other],
  );
  if (error !== undefined) return html`<${Failure} error=${error} onRetry=${reload} />`;
  if (value === undefined) return html`<${Loading} />`;
  const [mine, theirs] = value.map(({ legs }) => legs[0]) as [ReplayableLeg, ReplayableLeg];
  const members = differing(mine, theirs);
  return html`<p class="dim">
      This one against <a href=${linkTo("decision", { id: other })}>${other}</a>:${" "}
      ${members.length} members differ.
    </p>
    <${Table}
      label="members that differ"
      columns=${COLUMNS("this one", "the other")}
      rows=${members}
      keyOf=${({ name }: Member) => name}
      empty="They are the same but for what was not recorded."
    />`;
}

/** Members that differ, but for the ids, which always do; inputs are shown by the trace. */
function differing(mine: ReplayableLeg, theirs: ReplayableLeg): Member[] {
  const names = Object.keys(mine) as (keyof ReplayableLeg)[];
  return names
    .filter((name) => name !== "request_id" && name !== "inputs")
    .map((name) => ({ name, here: mine[name], there: theirs[name] }))
    .filter(({ here, there }) => formatReplayValue(here) !== formatReplayValue(there));
}
