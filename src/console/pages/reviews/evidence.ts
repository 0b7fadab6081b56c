// The evidence on one review: the few signals that decide at a glance, what a dispute says, and the
// report that can be shared with whoever was refused.
import type { AgentReport, ReportLink } from "../../../contract/schemas/disputes.ts";
import { get, send } from "../../api.ts";
import { number, percent } from "../../format.ts";
import { html, useEffect, useState, type VNode } from "../../html.ts";
import { linkTo } from "../../location.ts";
import { Copy } from "../../parts/actions.ts";
import { Empty, Failure, Loading } from "../../parts/notices.ts";
import { Facts } from "../../parts/page.ts";
import { AgentLink, Tag, Text, Time } from "../../parts/words.ts";
import { BASE, mayUse } from "../../session.ts";
import { useData } from "../../use-data.ts";
import { atRisk, type Entry } from "./queue.ts";

const DENIALS_SHOWN = 5;

export function Evidence({ entry }: { entry: Entry }): VNode {
  return html`<div class="evidence">
    <h2>
      <${AgentLink} id=${entry.agent} />${" "}
      <${Tag} word=${entry.kind === "dispute" ? "dispute" : "held back"} tone="warn" />${" "}
      <${Tag} word=${entry.level} />${" "}
      ${entry.claimed_by !== null && html`<span class="dim">claimed by <${Text} text=${entry.claimed_by} /></span>`}
    </h2>
    ${entry.waiting > 0 && html`<p class="warn"><b>${number(entry.waiting)}</b> ${entry.waiting === 1 ? "caller waits" : "callers wait"} for this decision right now: it lets them go.</p>`}
    <${Said} entry=${entry} />
    <${Facts}
      facts=${[
        ["held back by", entry.reason === "" ? "–" : entry.reason],
        ["highest stakes", number(entry.stakes_max, 2)],
        ["risk of failure", percent(entry.risk)],
        ["at risk", number(atRisk(entry), 2)],
        ["calls", number(entry.count)],
        [
          "last call",
          html`<a href=${linkTo("decision", { id: entry.last_request_id })}
            ><${Time} at=${entry.last_at} as="ago"
          /></a>`,
        ],
        ["tenant", html`<${Text} text=${entry.tenant} />`],
      ]}
    />
    <${Record} key=${entry.id} entry=${entry} />
  </div>`;
}

function Said({ entry: { dispute } }: { entry: Entry }): VNode | null {
  if (dispute === null) return null;
  const lines = dispute.statement.split("\n");
  return html`<blockquote>
    ${lines.map((line, at) => [at > 0 && html`<br />`, html`<${Text} text=${line} />`])}
    <footer class="dim small">
      ${dispute.by_link ? "by a shared link" : "by an API key"}
      ${dispute.contact !== null && html`, answer to <${Text} text=${dispute.contact} />`}
    </footer>
  </blockquote>`;
}

/** What the record says: the report that the agent's own people would see. */
function Record({ entry }: { entry: Entry }): VNode {
  const { agent, tenant } = entry;
  const path = `/v1/agents/${encodeURIComponent(agent)}/report`;
  const { value, error, reload } = useData(
    (signal) => get<AgentReport>(path, { tenant, format: "json" }, signal),
    [agent, tenant],
  );
  if (error !== undefined) return html`<${Failure} error=${error} onRetry=${reload} />`;
  if (value === undefined) return html`<${Loading} />`;
  const { score, tier, known, evidence, max_stakes: stakes, against, denials } = value;
  return html`<div>
    <h3>The record</h3>
    <${Facts}
      facts=${[
        ["score", `${number(score)} of 100, tier ${tier}`],
        ["outcomes", known ? number(evidence.outcomes) : "none: nobody knows it"],
        [
          "failures, 90 days",
          `${number(evidence.failures_90d, 1)} of ${number(evidence.failures_90d + evidence.successes_90d, 1)}`,
        ],
        ["last failure", html`<${Time} at=${evidence.last_failure_at} as="ago" />`],
        ["connects up to", stakes === null ? "any stakes" : number(stakes, 2)],
        ["denied of late", number(denials.length)],
      ]}
    />
    <h3>Against it</h3>
    ${against.length === 0 && html`<${Empty}>Nothing in its record: the stakes alone.<//>`}
    <ul class="against">
      ${against.map(({ code, sentence }) => html`<li>${sentence} <code class="dim">${code}</code></li>`)}
    </ul>
    ${denials.length > 0 && html`<p class="dim small">Denied: ${denials.slice(0, DENIALS_SHOWN).map(({ request_id: id, evaluated_at: at, level, stakes: asked }, index) => html`${index > 0 ? ", " : ""}<a href=${linkTo("decision", { id })}>${level} at ${number(asked)}</a> <${Time} at=${at} as="ago" />`)}</p>`}
    ${mayUse("reviews:decide") && html`<${Share} key=${agent} path=${path} tenant=${tenant} />`}
  </div>`;
}

/** A link for whoever was refused, made when it is asked for. */
function Share({ path, tenant }: { path: string; tenant: string }): VNode {
  const [state, setState] = useState<{ link?: ReportLink; error?: Error }>({});
  useEffect(() => setState({}), [path]);
  const make = () =>
    send<ReportLink>("POST", `${path}/links?tenant=${encodeURIComponent(tenant)}`).then(
      (link) => setState({ link }),
      (error: unknown) => setState({ error: error as Error }),
    );
  const { link, error } = state;
  if (error !== undefined) return html`<${Failure} error=${error} onRetry=${() => void make()} />`;
  if (link === undefined) {
    return html`<p>
      <button type="button" class="small" onClick=${() => void make()}>
        Share the report by a link</button
      >${" "}
      <span class="dim small">
        for whoever was refused: why, what helps, and a form to dispute</span
      >
    </p>`;
  }
  const address = new URL(`..${link.url}`, BASE).href;
  return html`<div>
    <p class="dim small">
      Opens without a key until <${Time} at=${link.expires_at} as="full" />. Send it as you would a
      password.
    </p>
    <div class="code">
      <pre tabindex="0">${address}</pre>
      <${Copy} text=${address} />
    </div>
  </div>`;
}
