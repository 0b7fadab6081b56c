// Comparisons of a decision: with its replay under another config, and with another decision.
import type {
  DecisionReplay,
  ReplayableLeg,
  DecisionRecord,
} from "../../../contract/schemas/decisions.ts";
import type { ConfigList } from "../../../contract/schemas/kaizen.ts";
import type { MessageOf } from "../../../contract/schemas/schema.ts";
import { getDocument, sendDocument } from "../../api.ts";
import { html, useEffect, useState, type VNode } from "../../html.ts";
import { CurlCommand } from "../../parts/actions.ts";
import { SelectField } from "../../parts/fields.ts";
import { Failure, Loading, Notice } from "../../parts/notices.ts";
import { type Column, Table } from "../../parts/table.ts";
import { UntrustedText } from "../../parts/words.ts";
import { useData } from "../../use-data.ts";
import { linkTo } from "../../location.ts";

type ReplayDifference = DecisionReplay["differences"][number];

const COLUMNS: readonly Column<ReplayDifference>[] = [
  { label: "leg", cell: (each) => each.leg },
  { label: "member", cell: (each) => each.member },
  {
    label: "recorded",
    cell: (each) => html`<${UntrustedText} text=${formatReplayValue(each.recorded)} />`,
  },
  {
    label: "now",
    cell: (each) => html`<${UntrustedText} text=${formatReplayValue(each.replayed)} />`,
  },
];

export function formatReplayValue(value: unknown): string {
  if (value === null || value === undefined) return "–";
  return typeof value === "string" ? value : JSON.stringify(value);
}

interface ReplayFormProps {
  /** `/v1/decisions/{id}/replay`, with its tenant. */
  readonly path: string;
  readonly config: string | undefined;
  readonly onConfig: (config: string | undefined) => void;
}

export function ReplayForm({ path, config, onConfig }: ReplayFormProps): VNode {
  // Who may not see configs can still judge again under the live one.
  const configs = useData(
    (signal) =>
      getDocument<MessageOf<typeof ConfigList>>("/v1/configs", {}, signal).catch(() => ({
        configs: [],
      })),
    [],
  );
  const [asked, setAsked] = useState(config);
  useEffect(() => setAsked(config), [config]);
  const others = (configs.value?.configs ?? [])
    .filter((each) => each.replayable && !each.in_force)
    .map(({ version, shipped }) => [version, `${version}${shipped ? " (shipped)" : ""}`]);
  const body = config === undefined || config === "active" ? {} : { config };
  const submit = (event: Event) => {
    event.preventDefault();
    onConfig(asked ?? "active");
  };
  return html`<form class="filters" onSubmit=${submit}>
      <${SelectField}
        id="replay-config"
        label="Under which scoring config"
        value=${asked ?? "active"}
        options=${[["active", "the live one"], ...others]}
        onValue=${setAsked}
      />
      <button type="submit" class="primary">Judge again</button>
    </form>
    ${config !== undefined && html`<${ReplayResult} path=${path} body=${body} key=${config} />`}
    <${CurlCommand} method="POST" path=${path} body=${body} />`;
}

function ReplayResult({ path, body }: { path: string; body: object }): VNode {
  const { value, error, reload } = useData(
    (signal) => sendDocument<DecisionReplay>("POST", path, body, signal),
    [path, JSON.stringify(body)],
  );
  if (error !== undefined) return html`<${Failure} error=${error} onRetry=${reload} />`;
  if (value === undefined) return html`<${Loading} />`;
  const under = `${value.replayed_config} and ${value.replayed_policy}`;
  if (value.identical) {
    return html`<${Notice} kind="good">The same to the last bit, under ${under}.<//>`;
  }
  return html`<p>Under ${under} this would differ:</p>
    <${Table} label="differences" columns=${COLUMNS} rows=${value.differences} />`;
}

interface MemberDifference {
  readonly name: string;
  readonly here: unknown;
  readonly there: unknown;
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
    getDocument<MessageOf<typeof DecisionRecord>>(
      `/v1/decisions/${encodeURIComponent(each)}`,
      {},
      signal,
    );
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
