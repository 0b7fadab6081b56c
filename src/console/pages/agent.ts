// Agent: what it scores and why, how that came about, who speaks for it, and what it would be answered
// now.
import { get } from "../api.ts";
import { number, percent } from "../format.ts";
import { html, type VNode } from "../html.ts";
import { linkTo, useParameters } from "../location.ts";
import { AskNow } from "../agent/ask-now.ts";
import { History } from "../agent/history.ts";
import { Points } from "../agent/points.ts";
import { Keys, LastDecisions, LastOutcomes, Voices } from "../agent/records.ts";
import { AsCurl } from "../parts/actions.ts";
import { Empty, Failure, Loading, Notice } from "../parts/notices.ts";
import { Card, Facts, Figure, Figures, Grid, Page } from "../parts/page.ts";
import { Table } from "../parts/table.ts";
import { Tag, Text, Time } from "../parts/words.ts";
import { useData } from "../use-data.ts";
import type { AgentExplanation } from "../../contract/schemas/scores.ts";

const TONES: Readonly<Record<string, "allow" | "warn" | "deny">> = {
  A: "allow",
  B: "allow",
  C: "warn",
  D: "deny",
};

export default function Agent(): VNode {
  const [{ id = "" }] = useParameters();
  if (id === "") {
    return html`<${Page} title="Agent">
      <${Empty}>No agent is named: <a href=${linkTo("agents")}>choose one</a>.<//>
    <//>`;
  }
  return html`<${Known} key=${id} id=${id} />`;
}

function Known({ id }: { id: string }): VNode {
  const path = `/v1/agents/${encodeURIComponent(id)}`;
  const { value, error, reload } = useData(
    (signal) => get<AgentExplanation>(path, {}, signal),
    [id],
  );
  return html`<${Page}
    title=${html`<${Text} text=${id} />`}
    tools=${html`<a class="button" href=${linkTo("agents")}>All agents</a>
      <button type="button" onClick=${reload}>Read again</button>`}
  >
    ${error !== undefined && html`<${Failure} error=${error} onRetry=${reload} />`}
    ${
      value === undefined
        ? error === undefined && html`<${Loading} />`
        : html`<${Explained} id=${id} path=${path} agent=${value} />`
    }
  <//>`;
}

interface ExplainedProps {
  readonly id: string;
  readonly path: string;
  readonly agent: AgentExplanation;
}

function Explained({ id, path, agent }: ExplainedProps): VNode {
  return html`
    ${
      !agent.known &&
      html`<${Notice} kind="warn">
        No outcome about this agent is on record: it is scored as a stranger.
      <//>`
    }
    <${Head} agent=${agent} />
    <${History} id=${id} path=${path} />
    <${Grid}>
      <${Card} title="Why it scores so" span=${7}>
        <${Points} agent=${agent} />
        <h3>Standing</h3>
        <${Standing} agent=${agent} />
        <${AsCurl} path=${path} />
      <//>
      <${Card} title="By what is at stake" span=${5}>
        <${Stakes} agent=${agent} />
        <h3>What would help</h3>
        ${
          agent.improvements.length === 0
            ? html`<${Empty}>Nothing stands in its way.<//>`
            : html`<ul>
                ${agent.improvements.map((each) => html`<li>${each}</li>`)}
              </ul>`
        }
      <//>
    <//>
    <div class="gap"></div>
    <${Card} title="Ask now">
      <${AskNow} id=${id} />
    <//>
    <${Grid}>
      <${Card} title="Last decisions" span=${6}><${LastDecisions} id=${id} /><//>
      <${Card} title="Last outcomes about it" span=${6}><${LastOutcomes} id=${id} /><//>
      <${Card} title="Who speaks for and against it" span=${6}><${Voices} id=${id} /><//>
      <${Card} title="Signing keys" span=${6}><${Keys} id=${id} /><//>
    <//>
  `;
}

function Head({ agent }: { agent: AgentExplanation }): VNode {
  const { expected, optimistic, pessimistic } = agent.failure_probability;
  const { evidence } = agent;
  const outcomes = linkTo("sql", {
    sql: `SELECT settled_at, reporter, outcome, stakes, grade FROM outcomes
WHERE subject = '${agent.agent_id.replaceAll("'", "''")}' ORDER BY settled_at DESC LIMIT 200`,
  });
  return html`<${Figures}>
    <${Figure}
      label="Score, 300 to 850"
      value=${number(agent.internal_score)}
      note=${`${agent.score} of 100 on the wire`}
      tone=${TONES[agent.tier]}
    />
    <${Figure}
      label="Expected failures"
      value=${percent(expected)}
      note=${`between ${percent(optimistic)} and ${percent(pessimistic)}`}
    />
    <${Figure}
      label="Tier"
      value=${agent.tier}
      tone=${TONES[agent.tier]}
      note=${agent.regime === undefined ? "no history" : `lately ${agent.regime}`}
    />
    <${Figure}
      label="Outcomes"
      value=${number(evidence.outcomes)}
      note=${`${number(evidence.failures_90d, 1)} failures weigh in`}
      href=${outcomes}
    />
    <${Figure}
      label="Allowed up to"
      value=${agent.tool_level_max}
      note="by the key's policy, at no stakes"
    />
    <${Figure}
      label="Last outcome"
      value=${html`<${Time} at=${evidence.last_outcome_at} as="ago" />`}
      note=${html`failed <${Time} at=${evidence.last_failure_at} as="ago" />`}
    />
  <//>`;
}

type AtStakes = AgentExplanation["decisions"][number];

/** A decision that is stricter than what smaller stakes get ends nowhere that is told. */
function heldUpTo({ stakes, max_stakes: most }: AtStakes): string {
  if (most === null) return "any";
  return most < stakes ? "–" : number(most, 2);
}

const STAKES_COLUMNS = [
  { label: "stakes", isNumber: true, cell: (row: AtStakes) => number(row.stakes) },
  { label: "decision", cell: (row: AtStakes) => html`<${Tag} word=${row.decision} />` },
  {
    label: "holds up to",
    isNumber: true,
    cell: (row: AtStakes) => heldUpTo(row),
  },
];

function Stakes({ agent }: { agent: AgentExplanation }): VNode {
  return html`<${Table}
    label="decisions by stakes"
    columns=${STAKES_COLUMNS}
    rows=${agent.decisions}
  />`;
}

function Standing({ agent }: { agent: AgentExplanation }): VNode {
  const { standing, vouched } = agent;
  return html`<${Facts}
    facts=${[
      ["Its word counts", `${percent(standing.weight, 0)} of a full voice`],
      [
        "Credibility",
        standing.credibility === null ? "a stranger's" : number(standing.credibility, 2),
      ],
      ["Seed", standing.is_seed ? "yes" : "no"],
      ["Cluster", standing.cluster === null ? "none" : `voice ${standing.cluster}`],
      ["Own record from", standing.discounted ? "mostly strangers" : "known reporters"],
      ["Vouched for", vouched === null ? "no" : "by the policy"],
    ]}
  />`;
}
