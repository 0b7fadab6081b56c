// Agent: what it scores and why, how that came about, who speaks for it, and what it would be answered
// now.
import { getDocument, buildPathWithQuery } from "../api.ts";
import { formatNumber, formatPercent } from "../format.ts";
import { html, type VNode } from "../html.ts";
import { linkTo, usePageParameters } from "../location.ts";
import { AgentConditions } from "./agent/conditions.ts";
import { VerifyForm } from "./agent/verify-form.ts";
import { ScoreWaterfall } from "./agent/points.ts";
import {
  AgentSigningKeys,
  LastDecisions,
  LastOutcomes,
  AgentFindings,
  AgentReporters,
} from "./agent/records.ts";
import { CurlCommand } from "../parts/actions.ts";
import { Empty, Failure, Loading, Notice } from "../parts/notices.ts";
import { Card, FactList, MetricTile, MetricTiles, Grid, Page } from "../parts/page.ts";
import { type Column, Table } from "../parts/table.ts";
import { AnswerTag, TIER_TONES, UntrustedText, Time } from "../parts/words.ts";
import { useData } from "../use-data.ts";
import type { AgentExplanation } from "../../contract/schemas/scores.ts";
import { Chart } from "../parts/chart.ts";
import { Select } from "../parts/fields.ts";
import type { AgentDay } from "../../contract/schemas/agents.ts";

const SCORE_RANGE = [300, 850] as const;
const RANGES = ["30", "90", "365"];

function AgentHistoryCharts({ id, path }: { id: string; path: string }): VNode {
  const [{ days = "90" }, setParameters] = usePageParameters();
  const { value, error, reload } = useData(
    (signal) => getDocument<{ days: AgentDay[] }>(`${path}/history`, { days }, signal),
    [id, days],
  );
  const range = html`<${Select}
    label="days shown"
    value=${days}
    options=${RANGES.map((each) => [each, `${each} days`])}
    onValue=${(chosen: string) => setParameters({ days: chosen })}
  />`;
  if (error !== undefined) return html`<${Failure} error=${error} onRetry=${reload} />`;
  if (value === undefined) return html`<${Card} title="Days"><${Loading} /><//>`;
  const curl = html`<${CurlCommand} path=${buildPathWithQuery(`${path}/history`, { days })} />`;
  const scored = value.days.filter((day) => day.internal_score !== null);
  return html`<${Grid}>
      <${Card} title="Outcomes by day" span=${7} tools=${range}>
        <${DailyOutcomesChart} days=${value.days} />
        ${curl}
      <//>
      <${Card} title="Score as it was given" span=${5}>
        <${DailyScoreChart} days=${scored} />
      <//>
    <//>
    <div class="gap"></div>`;
}

const convertDayToSeconds = ({ day }: AgentDay) => Date.parse(`${day}T00:00:00Z`) / 1000;

function DailyOutcomesChart({ days }: { days: readonly AgentDay[] }): VNode {
  const told = days.filter(({ outcomes, decisions }) => outcomes + decisions > 0);
  if (told.length === 0) {
    return html`<${Empty}>No outcome settled in these days: reports about it show here.<//>`;
  }
  const lines = [
    {
      label: "successes",
      color: "allow",
      values: told.map(({ outcomes, failures }) => outcomes - failures),
    },
    { label: "failures", color: "deny", values: told.map(({ failures }) => failures) },
    { label: "denials", color: "warn", isDashed: true, values: told.map(({ denials }) => denials) },
  ];
  return html`<${Chart}
    title="Outcomes by day"
    unit="outcomes per day"
    at=${told.map(convertDayToSeconds)}
    lines=${lines}
    say=${formatNumber}
  />`;
}

function DailyScoreChart({ days }: { days: readonly AgentDay[] }): VNode {
  if (days.length === 0) {
    return html`<${Empty}>
      Nobody asked in these days, and no daily reading has it yet. The next verdict shows here.
    <//>`;
  }
  const [only] = days;
  if (days.length === 1) {
    return html`<${Empty}>
      ${formatNumber(only!.internal_score)} on ${only!.day}, the one day on which it was asked for
      or read. Every further day with a verdict adds a point.
    <//>`;
  }
  const line = {
    label: "score",
    color: "accent",
    values: days.map(({ internal_score: score }) => score),
  };
  return html`<${Chart}
    title="Score by day"
    unit="score, points"
    at=${days.map(convertDayToSeconds)}
    lines=${[line]}
    range=${SCORE_RANGE}
    say=${formatNumber}
  />`;
}

export default function AgentDetailsPage(): VNode {
  const [{ id = "" }] = usePageParameters();
  if (id === "") {
    return html`<${Page} title="Agent">
      <${Empty}>No agent is named: <a href=${linkTo("agents")}>choose one</a>.<//>
    <//>`;
  }
  return html`<${AgentContent} key=${id} id=${id} />`;
}

function AgentContent({ id }: { id: string }): VNode {
  const path = `/v1/agents/${encodeURIComponent(id)}`;
  const { value, error, reload } = useData(
    (signal) => getDocument<AgentExplanation>(path, {}, signal),
    [id],
  );
  return html`<${Page}
    title=${html`<${UntrustedText} text=${id} />`}
    tools=${html`<a class="button" href=${linkTo("agents")}>All agents</a>
      <button type="button" onClick=${reload}>Read again</button>`}
  >
    ${error !== undefined && html`<${Failure} error=${error} onRetry=${reload} />`}
    ${
      value === undefined
        ? error === undefined && html`<${Loading} />`
        : html`<${AgentCards} id=${id} path=${path} agent=${value} onChange=${reload} />`
    }
  <//>`;
}

interface AgentCardsProps {
  readonly id: string;
  readonly path: string;
  readonly agent: AgentExplanation;
  /** Reads the agent again. */
  readonly onChange: () => void;
}

function AgentCards({ id, path, agent, onChange }: AgentCardsProps): VNode {
  return html`
    ${
      !agent.known &&
      html`<${Notice} kind="warn">
        No outcome about this agent is on record: it is scored as a stranger.
      <//>`
    }
    <${AgentMetrics} agent=${agent} />
    <${AgentConditions} id=${id} onChange=${onChange} />
    <${AgentHistoryCharts} id=${id} path=${path} />
    <${Grid}>
      <${Card} title="Why it scores so" span=${7}>
        <${ScoreWaterfall} agent=${agent} />
        <h3>Standing</h3>
        <${StandingFacts} agent=${agent} />
        <${CurlCommand} path=${path} />
      <//>
      <${Card} title="By what is at stake" span=${5}>
        <${DecisionsByStakes} agent=${agent} />
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
      <${VerifyForm} id=${id} />
    <//>
    <${Grid}>
      <${Card} title="Last decisions" span=${6}><${LastDecisions} id=${id} /><//>
      <${Card} title="Last outcomes about it" span=${6}><${LastOutcomes} id=${id} /><//>
      <${Card} title="Who speaks for and against it" span=${6}><${AgentReporters} id=${id} /><//>
      <${Card} title="Findings about its reports" span=${6}><${AgentFindings} id=${id} /><//>
      <${Card} title="Signing keys" span=${6}><${AgentSigningKeys} id=${id} /><//>
    <//>
  `;
}

function AgentMetrics({ agent }: { agent: AgentExplanation }): VNode {
  const { expected, optimistic, pessimistic } = agent.failure_probability;
  const { evidence } = agent;
  const outcomes = linkTo("sql", {
    sql: `SELECT settled_at, reporter, outcome, stakes, grade FROM outcomes
WHERE subject = '${agent.agent_id.replaceAll("'", "''")}' ORDER BY settled_at DESC LIMIT 200`,
  });
  return html`<${MetricTiles}>
    <${MetricTile}
      label="Score, 300 to 850"
      value=${formatNumber(agent.internal_score)}
      note=${`${agent.score} of 100 on the wire`}
      tone=${TIER_TONES[agent.tier]}
    />
    <${MetricTile}
      label="Expected failures"
      value=${formatPercent(expected)}
      note=${`between ${formatPercent(optimistic)} and ${formatPercent(pessimistic)}`}
    />
    <${MetricTile}
      label="Tier"
      value=${agent.tier}
      tone=${TIER_TONES[agent.tier]}
      note=${agent.regime === undefined ? "no history" : `lately ${agent.regime}`}
    />
    <${MetricTile}
      label="Outcomes"
      value=${formatNumber(evidence.outcomes)}
      note=${`${formatNumber(evidence.failures_90d, 1)} failures weigh in`}
      href=${outcomes}
    />
    <${MetricTile}
      label="Allowed up to"
      value=${agent.tool_level_max}
      note="by the key's policy, at no stakes"
    />
    <${MetricTile}
      label="Last outcome"
      value=${html`<${Time} at=${evidence.last_outcome_at} as="ago" />`}
      note=${html`failed <${Time} at=${evidence.last_failure_at} as="ago" />`}
    />
  <//>`;
}

type DecisionAtStakes = AgentExplanation["decisions"][number];

/** A decision that is stricter than what smaller stakes get ends nowhere that is told. */
function formatHoldsUpTo({ stakes, max_stakes: most }: DecisionAtStakes): string {
  if (most === null) return "any";
  return most < stakes ? "–" : formatNumber(most, 2);
}

const STAKES_COLUMNS: readonly Column<DecisionAtStakes>[] = [
  { label: "stakes", isNumber: true, cell: (row) => formatNumber(row.stakes) },
  { label: "decision", cell: (row) => html`<${AnswerTag} word=${row.decision} />` },
  { label: "holds up to", isNumber: true, cell: (row) => formatHoldsUpTo(row) },
];

function DecisionsByStakes({ agent }: { agent: AgentExplanation }): VNode {
  return html`<${Table}
    label="decisions by stakes"
    columns=${STAKES_COLUMNS}
    rows=${agent.decisions}
  />`;
}

function StandingFacts({ agent }: { agent: AgentExplanation }): VNode {
  const { standing, vouched } = agent;
  return html`<${FactList}
    facts=${[
      ["Its word counts", `${formatPercent(standing.weight, 0)} of a full voice`],
      [
        "Credibility",
        standing.credibility === null ? "a stranger's" : formatNumber(standing.credibility, 2),
      ],
      ["Seed", standing.is_seed ? "yes" : "no"],
      ["Cluster", standing.cluster === null ? "none" : `voice ${standing.cluster}`],
      ["In a ring", standing.in_ring ? "yes: it counts as thin" : "no"],
      ["Own record from", standing.discounted ? "mostly strangers" : "known reporters"],
      ["Vouched for", vouched === null ? "no" : "by the policy"],
    ]}
  />`;
}
