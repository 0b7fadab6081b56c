// One decision: what was asked, why it came out so as a chain from the row to the verdict, what it would be
// now, and how it differs from another.
import type { DecisionTrace } from "../../contract/schemas/trace.ts";
import { getDocument, buildPathWithQuery, sendDocument } from "../api.ts";
import { TraceChain } from "./decisions/trace.ts";
import { html, type VNode, useEffect, useState } from "../html.ts";
import { linkTo, type PageParameters, usePageParameters } from "../location.ts";
import { CurlCommand } from "../parts/actions.ts";
import { Empty, Failure, Loading, Notice } from "../parts/notices.ts";
import { Card, FactList, Grid, Page } from "../parts/page.ts";
import { AgentLink, AnswerTag, UntrustedText, Time, WhySentence } from "../parts/words.ts";
import { useData } from "../use-data.ts";
import type {
  DecisionRecord,
  DecisionReplay,
  ReplayableLeg,
} from "../../contract/schemas/decisions.ts";
import type { ConfigList } from "../../contract/schemas/kaizen.ts";
import type { MessageOf } from "../../contract/schemas/schema.ts";
import { SelectField } from "../parts/fields.ts";
import { type Column, Table } from "../parts/table.ts";

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

function formatReplayValue(value: unknown): string {
  if (value === null || value === undefined) return "–";
  return typeof value === "string" ? value : JSON.stringify(value);
}

interface ReplayFormProps {
  /** `/v1/decisions/{id}/replay`, with its tenant. */
  readonly path: string;
  readonly config: string | undefined;
  readonly onConfig: (config: string | undefined) => void;
}

function ReplayForm({ path, config, onConfig }: ReplayFormProps): VNode {
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

function DecisionComparison({ id, other }: DecisionComparisonProps): VNode {
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

type ChangeParameters = ReturnType<typeof usePageParameters>[1];

function RequestFacts({ trace }: { trace: DecisionTrace }): VNode {
  const { subject, stakes } = trace.legs[0]!;
  const said = trace.verdict ?? trace.decision;
  const asked = `${trace.kind} ${trace.tool_level ?? ""}`;
  const rows = (name: string, value: string) => linkTo("decisions", { [name]: value });
  return html`<${FactList}
    facts=${[
      ["answer", html`<${AnswerTag} word=${said} disposition=${trace.disposition} />`],
      ["agent", html`<${AgentLink} id=${subject} />`],
      ["asked", asked],
      ["action", html`<${UntrustedText} text=${trace.action} />`],
      ["stakes", stakes.stakes],
      ["at", html`<${Time} at=${trace.evaluated_at} as="full" />`],
      ["enforced", trace.enforced ? "yes" : "no (shadow mode): the caller was let through"],
      ["flagged for a person", trace.flagged ? "yes" : "no"],
      [
        "tenant",
        html`<a href=${rows("tenant", trace.tenant)}><${UntrustedText} text=${trace.tenant} /></a>`,
      ],
      ...(trace.node === null ? [] : [["node", trace.node]]),
      ["key", html`<code><${UntrustedText} text=${trace.key_id} /></code>`],
      [
        "scoring config",
        html`<a href=${rows("config", trace.config_version)}>${trace.config_version}</a>${
            trace.config_in_force ? " (live)" : ""
          }`,
      ],
      ["policy", `${trace.policy_version ?? "–"}${trace.policy_in_force ? " (in force)" : ""}`],
    ]}
  />`;
}

function DecisionCards({
  trace,
  parameters,
  onChange,
}: {
  trace: DecisionTrace;
  parameters: PageParameters;
  onChange: ChangeParameters;
}) {
  const { request_id: id } = trace;
  const { leg: named, with: other, tenant, config } = parameters;
  const leg = trace.legs.find((each) => each.leg === named) ?? trace.legs[0]!;
  const own = `/v1/decisions/${encodeURIComponent(id)}`;
  return html`<${WhySentence} why=${trace.why} disposition=${trace.disposition} />
    <${Grid}>
      <${Card} title="What was asked"><${RequestFacts} trace=${trace} /><//>
      ${
        other !== undefined &&
        html`<${Card}
          title="Compared"
          tools=${html`<button type="button" class="small" onClick=${() => onChange({ with: undefined })}>Close</button>`}
        >
          <${DecisionComparison} id=${id} other=${other} />
        <//>`
      }
      <${Card}
        title="Why"
        span=${8}
        tools=${trace.legs.length > 1 && html`<${LegButtons} trace=${trace} leg=${leg.leg} onChange=${onChange} />`}
      >
        <${TraceChain} trace=${trace} leg=${leg} />
        <${CurlCommand} path=${buildPathWithQuery(`${own}/trace`, { tenant })} />
      <//>
      <div class="span-4 stack">
        <${Card} title="Judge again">
          <${ReplayForm}
            path=${buildPathWithQuery(`${own}/replay`, { tenant })}
            config=${config}
            onConfig=${(chosen: string | undefined) => onChange({ config: chosen })}
          />
        <//>
        <${Card} title="What is not on record">
          ${
            leg.not_recorded.length === 0
              ? html`<${Empty}>Everything that the answer depended on is shown.<//>`
              : html`<ul>
                  ${leg.not_recorded.map((each) => html`<li><${UntrustedText} text=${each} /></li>`)}
                </ul>`
          }
        <//>
      </div>
    <//>`;
}

function LegButtons({
  trace,
  leg,
  onChange,
}: {
  trace: DecisionTrace;
  leg: string;
  onChange: ChangeParameters;
}): VNode {
  return html`${trace.legs.map(
    (each) =>
      html`<button
        type="button"
        class="small"
        key=${each.leg}
        aria-pressed=${each.leg === leg ? "true" : "false"}
        onClick=${() => onChange({ leg: each.leg })}
      >
        <${UntrustedText} text=${each.subject.replace(/^agent:\/\//, "")} />
      </button>`,
  )}`;
}

export default function DecisionDetailsPage(): VNode {
  const [parameters, change] = usePageParameters();
  const { id, tenant } = parameters;
  const path = buildPathWithQuery(`/v1/decisions/${encodeURIComponent(id ?? "")}/trace`, {
    tenant,
  });
  const { value, error, reload } = useData(
    async (signal) => (id === undefined ? undefined : getDocument<DecisionTrace>(path, {}, signal)),
    [path],
  );
  const tools = html`<a class="button" href=${linkTo("decisions", { mark: id })}
      >Compare with another</a
    >
    <a class="button" href=${linkTo("decisions", { agent: value?.legs[0]?.subject })}
      >All of this agent</a
    >`;
  return html`<${Page}
    title="Decision"
    lead=${html`<code><${UntrustedText} text=${id} /></code>`}
    tools=${tools}
  >
    ${error !== undefined && html`<${Failure} error=${error} onRetry=${reload} />`}
    ${
      id === undefined
        ? html`<${Empty}
            >No decision is named: choose one of the
            <a href=${linkTo("decisions")}>decisions</a>.<//
          >`
        : value === undefined
          ? error === undefined && html`<${Loading} />`
          : html`<${DecisionCards} trace=${value} parameters=${parameters} onChange=${change} />`
    }
  <//>`;
}
