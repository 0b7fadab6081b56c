// Charts of an agent's score, outcomes and denials by day.
import { getDocument, buildPathWithQuery } from "../../api.ts";
import { formatNumber } from "../../format.ts";
import { html, type VNode } from "../../html.ts";
import { usePageParameters } from "../../location.ts";
import { CurlCommand } from "../../parts/actions.ts";
import { Chart } from "../../parts/chart.ts";
import { Select } from "../../parts/fields.ts";
import { Empty, Failure, Loading } from "../../parts/notices.ts";
import { Card, Grid } from "../../parts/page.ts";
import { useData } from "../../use-data.ts";
import type { AgentDay } from "../../../contract/schemas/agents.ts";

const SCORE_RANGE = [300, 850] as const;
const RANGES = ["30", "90", "365"];

export function AgentHistoryCharts({ id, path }: { id: string; path: string }): VNode {
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
    at=${days.map(convertDayToSeconds)}
    lines=${[line]}
    range=${SCORE_RANGE}
    say=${formatNumber}
  />`;
}
