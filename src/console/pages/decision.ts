// One decision: what was asked, why it came out so as a chain from the row to the verdict, what it would be
// now, and how it differs from another.
import type { DecisionTrace } from "../../contract/schemas/trace.ts";
import { get, pathWith } from "../api.ts";
import { Compare } from "./decisions/compare.ts";
import { Replay } from "./decisions/replay.ts";
import { Chain } from "./decisions/trace.ts";
import { html, type VNode } from "../html.ts";
import { linkTo, type Parameters, useParameters } from "../location.ts";
import { AsCurl } from "../parts/actions.ts";
import { Empty, Failure, Loading } from "../parts/notices.ts";
import { Card, Facts, Grid, Page } from "../parts/page.ts";
import { AgentLink, Tag, Text, Time } from "../parts/words.ts";
import { useData } from "../use-data.ts";

type Change = ReturnType<typeof useParameters>[1];

function Asked({ trace }: { trace: DecisionTrace }): VNode {
  const { subject, stakes } = trace.legs[0]!;
  const asked = `${trace.kind} ${trace.tool_level ?? ""}`;
  const rows = (name: string, value: string) => linkTo("decisions", { [name]: value });
  return html`<${Facts}
    facts=${[
      ["answer", html`<${Tag} word=${trace.verdict ?? trace.decision} />`],
      ["agent", html`<${AgentLink} id=${subject} />`],
      ["asked", asked],
      ["action", html`<${Text} text=${trace.action} />`],
      ["stakes", stakes.stakes],
      ["at", html`<${Time} at=${trace.evaluated_at} as="full" />`],
      [
        "outcome",
        html`<${Tag} word=${trace.effective} />${trace.enforced ? "" : " in shadow mode"}`,
      ],
      ["flagged for a person", trace.flagged ? "yes" : "no"],
      [
        "tenant",
        html`<a href=${rows("tenant", trace.tenant)}><${Text} text=${trace.tenant} /></a>`,
      ],
      ...(trace.node === null ? [] : [["node", trace.node]]),
      ["key", html`<code><${Text} text=${trace.key_id} /></code>`],
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

function Whole({
  trace,
  parameters,
  onChange,
}: {
  trace: DecisionTrace;
  parameters: Parameters;
  onChange: Change;
}) {
  const { request_id: id } = trace;
  const { leg: named, with: other, tenant, config } = parameters;
  const leg = trace.legs.find((each) => each.leg === named) ?? trace.legs[0]!;
  const own = `/v1/decisions/${encodeURIComponent(id)}`;
  return html`<${Grid}>
    <${Card} title="What was asked"><${Asked} trace=${trace} /><//>
    ${
      other !== undefined &&
      html`<${Card}
        title="Compared"
        tools=${html`<button type="button" class="small" onClick=${() => onChange({ with: undefined })}>Close</button>`}
      >
        <${Compare} id=${id} other=${other} />
      <//>`
    }
    <${Card}
      title="Why"
      span=${8}
      tools=${trace.legs.length > 1 && html`<${Legs} trace=${trace} leg=${leg.leg} onChange=${onChange} />`}
    >
      <${Chain} trace=${trace} leg=${leg} />
      <${AsCurl} path=${pathWith(`${own}/trace`, { tenant })} />
    <//>
    <div class="span-4 stack">
      <${Card} title="Judge again">
        <${Replay}
          path=${pathWith(`${own}/replay`, { tenant })}
          config=${config}
          onConfig=${(chosen: string | undefined) => onChange({ config: chosen })}
        />
      <//>
      <${Card} title="What is not on record">
        ${
          leg.not_recorded.length === 0
            ? html`<${Empty}>Everything that the answer depended on is shown.<//>`
            : html`<ul>
                ${leg.not_recorded.map((each) => html`<li><${Text} text=${each} /></li>`)}
              </ul>`
        }
      <//>
    </div>
  <//>`;
}

function Legs({
  trace,
  leg,
  onChange,
}: {
  trace: DecisionTrace;
  leg: string;
  onChange: Change;
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
        <${Text} text=${each.subject.replace(/^agent:\/\//, "")} />
      </button>`,
  )}`;
}

export default function Decision(): VNode {
  const [parameters, change] = useParameters();
  const { id, tenant } = parameters;
  const path = pathWith(`/v1/decisions/${encodeURIComponent(id ?? "")}/trace`, { tenant });
  const { value, error, reload } = useData(
    async (signal) => (id === undefined ? undefined : get<DecisionTrace>(path, {}, signal)),
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
    lead=${html`<code><${Text} text=${id} /></code>`}
    tools=${tools}
  >
    ${error !== undefined && html`<${Failure} error=${error} onRetry=${reload} />`}
    ${
      id === undefined
        ? html`<${Empty}>Choose one among the <a href=${linkTo("decisions")}>decisions</a>.<//>`
        : value === undefined
          ? error === undefined && html`<${Loading} />`
          : html`<${Whole} trace=${value} parameters=${parameters} onChange=${change} />`
    }
  <//>`;
}
