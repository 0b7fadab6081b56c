// The evidence on one review: the few signals that decide at a glance, what a dispute says, and the
// report that can be shared with whoever was refused.
import type { AgentReport, ReportLink } from "../../../contract/schemas/disputes.ts";
import type { DecisionTrace } from "../../../contract/schemas/trace.ts";
import { getDocument, sendDocument } from "../../api.ts";
import { formatNumber, formatPercent } from "../../format.ts";
import { html, useEffect, useState, type VNode } from "../../html.ts";
import { linkTo } from "../../location.ts";
import { CopyButton } from "../../parts/actions.ts";
import { Empty, Failure, Loading } from "../../parts/notices.ts";
import { FactList } from "../../parts/page.ts";
import { AgentLink, Tag, UntrustedText, Time, WhySentence } from "../../parts/words.ts";
import { CONSOLE_URL, hasAnyScope } from "../../session.ts";
import { useData } from "../../use-data.ts";
import { computeExpectedLoss, type QueuedReviewWithRisk } from "./queue.ts";

const DENIALS_SHOWN = 5;

export function ReviewEvidence({ entry }: { entry: QueuedReviewWithRisk }): VNode {
  return html`<div class="evidence">
    <h2>
      <${AgentLink} id=${entry.agent} />${" "}
      <${Tag}
        word=${entry.kind === "dispute" ? "dispute" : "held for a person"}
        tone="person"
      />${" "} <${Tag} word=${entry.level} tone="" />${" "}
      ${entry.claimed_by !== null && html`<span class="dim">claimed by <${UntrustedText} text=${entry.claimed_by} /></span>`}
    </h2>
    ${entry.waiting > 0 && html`<p class="warn"><b>${formatNumber(entry.waiting)}</b> ${entry.waiting === 1 ? "caller waits" : "callers wait"} for this decision right now: it lets them go.</p>`}
    <${DecisionReason} key=${entry.last_request_id} entry=${entry} />
    <${DisputeStatement} entry=${entry} />
    <${FactList}
      facts=${[
        ["held back by", entry.reason === "" ? "–" : entry.reason],
        ["highest stakes", formatNumber(entry.stakes_max, 2)],
        ["risk of failure", formatPercent(entry.risk)],
        ["at risk", formatNumber(computeExpectedLoss(entry), 2)],
        ["calls", formatNumber(entry.count)],
        [
          "last call",
          html`<a href=${linkTo("decision", { id: entry.last_request_id })}
            ><${Time} at=${entry.last_at} as="ago"
          /></a>`,
        ],
        ["tenant", html`<${UntrustedText} text=${entry.tenant} />`],
      ]}
    />
    <${AgentRecord} key=${entry.id} entry=${entry} />
  </div>`;
}

/** Why the last call was answered so; nothing where its decision is not on record. */
function DecisionReason({ entry }: { entry: QueuedReviewWithRisk }): VNode | null {
  const { last_request_id: id, tenant } = entry;
  const path = `/v1/decisions/${encodeURIComponent(id)}/trace`;
  const { value } = useData(
    (signal) => getDocument<DecisionTrace>(path, { tenant }, signal),
    [path, tenant],
  );
  if (value === undefined) return null;
  return html`<${WhySentence} why=${value.why} disposition=${value.disposition} />`;
}

function DisputeStatement({ entry: { dispute } }: { entry: QueuedReviewWithRisk }): VNode | null {
  if (dispute === null) return null;
  const lines = dispute.statement.split("\n");
  return html`<blockquote>
    ${lines.map((line, at) => [at > 0 && html`<br />`, html`<${UntrustedText} text=${line} />`])}
    <footer class="dim small">
      ${dispute.by_link ? "by a shared link" : "by an API key"}
      ${dispute.contact !== null && html`, answer to <${UntrustedText} text=${dispute.contact} />`}
    </footer>
  </blockquote>`;
}

/** What the record says: the report that the agent's own people would see. */
function AgentRecord({ entry }: { entry: QueuedReviewWithRisk }): VNode {
  const { agent, tenant } = entry;
  const path = `/v1/agents/${encodeURIComponent(agent)}/report`;
  const { value, error, reload } = useData(
    (signal) => getDocument<AgentReport>(path, { tenant, format: "json" }, signal),
    [agent, tenant],
  );
  if (error !== undefined) return html`<${Failure} error=${error} onRetry=${reload} />`;
  if (value === undefined) return html`<${Loading} />`;
  const { score, tier, known, evidence, max_stakes: stakes, against, denials } = value;
  return html`<div>
    <h3>The record</h3>
    <${FactList}
      facts=${[
        ["score", `${formatNumber(score)} of 100, tier ${tier}`],
        ["outcomes", known ? formatNumber(evidence.outcomes) : "none: nobody knows it"],
        [
          "failures, 90 days",
          `${formatNumber(evidence.failures_90d, 1)} of ${formatNumber(evidence.failures_90d + evidence.successes_90d, 1)}`,
        ],
        ["last failure", html`<${Time} at=${evidence.last_failure_at} as="ago" />`],
        ["connects up to", stakes === null ? "any stakes" : formatNumber(stakes, 2)],
        ["denied of late", formatNumber(denials.length)],
      ]}
    />
    <h3>Against it</h3>
    ${against.length === 0 && html`<${Empty}>Nothing in its record: only the stakes.<//>`}
    <ul class="against">
      ${against.map(({ code, sentence }) => html`<li>${sentence} <code class="dim">${code}</code></li>`)}
    </ul>
    ${denials.length > 0 && html`<p class="dim small">Denied: ${denials.slice(0, DENIALS_SHOWN).map(({ request_id: id, evaluated_at: at, level, stakes: asked }, index) => html`${index > 0 ? ", " : ""}<a href=${linkTo("decision", { id })}>${level} at ${formatNumber(asked)}</a> <${Time} at=${at} as="ago" />`)}</p>`}
    ${hasAnyScope("reviews:decide") && html`<${ShareReport} key=${agent} path=${path} tenant=${tenant} />`}
  </div>`;
}

/** A link for whoever was refused, made when it is asked for. */
function ShareReport({ path, tenant }: { path: string; tenant: string }): VNode {
  const [state, setState] = useState<{ link?: ReportLink; error?: Error }>({});
  useEffect(() => setState({}), [path]);
  const make = () =>
    sendDocument<ReportLink>("POST", `${path}/links?tenant=${encodeURIComponent(tenant)}`).then(
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
  const address = new URL(`..${link.url}`, CONSOLE_URL).href;
  return html`<div>
    <p class="dim small">
      Opens without a key until <${Time} at=${link.expires_at} as="full" />. Send it as you would a
      password.
    </p>
    <div class="code">
      <pre tabindex="0">${address}</pre>
      <${CopyButton} text=${address} />
    </div>
  </div>`;
}
