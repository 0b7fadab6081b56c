// One decision: what was asked, why it came out so as a chain from the row to the verdict, what it would be
// now, and how it differs from another.
import type { DecisionTrace } from "../../contract/schemas/trace.ts";
import { getDocument, buildPathWithQuery } from "../api.ts";
import { DecisionComparison, ReplayForm } from "./decisions/comparisons.ts";
import { TraceChain } from "./decisions/trace.ts";
import { html, type VNode } from "../html.ts";
import { linkTo, type PageParameters, usePageParameters } from "../location.ts";
import { CurlCommand } from "../parts/actions.ts";
import { Empty, Failure, Loading } from "../parts/notices.ts";
import { Card, FactList, Grid, Page } from "../parts/page.ts";
import { AgentLink, Tag, UntrustedText, Time } from "../parts/words.ts";
import { useData } from "../use-data.ts";

type ChangeParameters = ReturnType<typeof usePageParameters>[1];

function RequestFacts({ trace }: { trace: DecisionTrace }): VNode {
  const { subject, stakes } = trace.legs[0]!;
  const asked = `${trace.kind} ${trace.tool_level ?? ""}`;
  const rows = (name: string, value: string) => linkTo("decisions", { [name]: value });
  return html`<${FactList}
    facts=${[
      ["answer", html`<${Tag} word=${trace.verdict ?? trace.decision} />`],
      ["agent", html`<${AgentLink} id=${subject} />`],
      ["asked", asked],
      ["action", html`<${UntrustedText} text=${trace.action} />`],
      ["stakes", stakes.stakes],
      ["at", html`<${Time} at=${trace.evaluated_at} as="full" />`],
      [
        "outcome",
        html`<${Tag} word=${trace.effective} />${trace.enforced ? "" : " in shadow mode"}`,
      ],
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
  return html`<${Grid}>
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
        ? html`<${Empty}>Choose one among the <a href=${linkTo("decisions")}>decisions</a>.<//>`
        : value === undefined
          ? error === undefined && html`<${Loading} />`
          : html`<${DecisionCards} trace=${value} parameters=${parameters} onChange=${change} />`
    }
  <//>`;
}
