// Results of a back-test: changed outcomes and stakes by level, most affected agents, rules that denied.
import type {
  Backtest,
  BacktestAgent,
  BacktestFindings,
  BacktestReason,
  BacktestRow,
} from "../../../contract/schemas/backtest.ts";
import { formatDuration, formatNumber, formatPercent, formatSmallShare } from "../../format.ts";
import { html, type VNode } from "../../html.ts";
import { nameUnit } from "../../parts/amounts.ts";
import { SelectField } from "../../parts/fields.ts";
import { Notice } from "../../parts/notices.ts";
import { Card, MetricTile, MetricTiles, Grid } from "../../parts/page.ts";
import { type Column, Table } from "../../parts/table.ts";
import { AgentLink, Tag, Time } from "../../parts/words.ts";
import { RiskBoundCurve } from "./curve.ts";
import { LEVELS, type Level } from "./draft.ts";
import { BacktestMoneyCards } from "./money.ts";

const QUESTION_LABELS: Readonly<Record<string, string>> = {
  verify: "verify, no stakes named",
  verify_with_stakes: "verify, with the outcome's stakes",
  handshake: "handshake, no stakes named",
  handshake_with_stakes: "handshake, with the outcome's stakes",
};
export const DEFAULT_QUESTION = "verify";

interface BacktestResultsProps {
  readonly backtest: Backtest;
  readonly question: string;
  readonly level: Level;
  readonly onChoice: (change: Readonly<Record<string, string>>) => void;
  /** Bound of the draft at that level, for that question; and of the policy in force. */
  readonly bound: number;
  readonly liveBound: number;
  readonly onBound: (bound: number) => void;
}

export function BacktestResults(props: BacktestResultsProps): VNode | null {
  const { backtest, question, level } = props;
  const { findings, warnings = [], given } = backtest;
  if (findings === undefined) return null;
  const isMatch = (each: { question: string; level: string }) =>
    each.question === question && each.level === level;
  const policy = given === undefined ? "live" : "given";
  const ofPolicy = (each: { policy: string; question: string; level: string }) =>
    each.policy === policy && isMatch(each);
  const curve = findings.curves.find(ofPolicy);
  const row = findings.rows.find(ofPolicy);
  return html`
    ${warnings.map((warning) => html`<${Notice} kind="warn">${warning}<//>`)}
    <${BacktestSummary} findings=${findings} durationMs=${backtest.duration_ms} />
    <${QuestionFilters} ...${props} />
    ${given !== undefined && html`<${ChangeMetrics} ...${props} />`}
    <${Grid}>
      <${Card} title="Risk bound" span=${7}>
        ${
          curve === undefined || row === undefined
            ? html`<p class="dim">No outcome answers this question at this level.</p>`
            : html`<${RiskBoundCurve}
                ...${props}
                bounds=${findings.bounds}
                curve=${curve}
                row=${row}
                unit=${nameBacktestUnit(backtest)}
              />`
        }
      <//>
      <${Card} title="Agents most affected, by outcomes" span=${5}>
        <${Table}
          label="agents most affected"
          columns=${AGENT_COLUMNS}
          rows=${findings.agents.filter(isMatch)}
          empty="No agent would be treated otherwise here (agents are listed at L2 and L3)."
        />
      <//>
      <${Card} title="By level">
        <${Table}
          label="back-test by level"
          columns=${listRowColumns(nameBacktestUnit(backtest))}
          rows=${findings.rows
            .filter((each) => each.question === question)
            .toSorted((one, other) => one.level.localeCompare(other.level))}
        />
      <//>
      <${Card} title="Rules that held back, by outcomes">
        <${Table}
          label="rules that held back"
          columns=${REASON_COLUMNS}
          rows=${findings.reasons.filter(isMatch)}
          empty="Nothing is held back at this level."
        />
      <//>
      <${BacktestMoneyCards} findings=${findings} unit=${nameBacktestUnit(backtest)} />
    <//>
  `;
}

function BacktestSummary(props: {
  readonly findings: BacktestFindings;
  readonly durationMs: number | undefined;
}): VNode {
  const { findings, durationMs } = props;
  const { outcomes, good, bad, first_at: first, last_at: last } = findings;
  const counts = `${formatNumber(outcomes)} outcomes judged again (${formatNumber(good)} good, ${formatNumber(bad)} bad) of all tenants together, settled`;
  return html`<p class="dim small">
    ${counts} <${Time} at=${first} as="full" /> to <${Time} at=${last} as="full" />
    ${`${describeUnvouched(findings)}; took ${formatDuration(durationMs)}`}
  </p>`;
}

function describeUnvouched({ unvouched, counts_unvouched: areCounted }: BacktestFindings): string {
  if (unvouched === 0) return "";
  const what = areCounted ? "count too" : "are left out";
  return `; ${formatNumber(unvouched)} of keys that nobody vouches for ${what}`;
}

function QuestionFilters({ question, level, onChoice }: BacktestResultsProps): VNode {
  return html`<div class="filters">
    <${SelectField}
      id="question"
      label="Asked as"
      value=${question}
      options=${Object.entries(QUESTION_LABELS)}
      onValue=${(chosen: string) => onChoice({ question: chosen })}
    />
    <${SelectField}
      id="level"
      label="Level"
      value=${level}
      options=${LEVELS}
      onValue=${(chosen: string) => onChoice({ level: chosen })}
    />
  </div>`;
}

/** The unit of all amounts of a back-test: the live policy's. */
export const nameBacktestUnit = ({ live }: Pick<Backtest, "live">): string =>
  nameUnit(live?.policy.stakes?.unit ?? 1);

/** People and money on either side of the change. */
function ChangeMetrics({ backtest, question, level }: BacktestResultsProps): VNode | null {
  const change = backtest.findings?.changes.find(
    (each) => each.question === question && each.level === level,
  );
  if (change === undefined) return null;
  const unit = nameBacktestUnit(backtest);
  const formatStakes = (stakes: number) => `${formatNumber(stakes)} ${unit}`;
  return html`<${MetricTiles}>
    <${MetricTile}
      label="bad, newly let through"
      value=${formatNumber(change.bad_newly_allowed)}
      note=${`outcomes; ${formatStakes(change.stakes_newly_lost)} more lost`}
      tone=${change.bad_newly_allowed > 0 ? "deny" : undefined}
    />
    <${MetricTile}
      label="good, newly turned away"
      value=${formatNumber(change.good_newly_turned_away)}
      note=${`outcomes; ${formatStakes(change.stakes_newly_turned_away)} more turned away`}
      tone=${change.good_newly_turned_away > 0 ? "warn" : undefined}
    />
    <${MetricTile}
      label="good, newly let through"
      value=${formatNumber(change.good_newly_allowed)}
      note=${`outcomes; ${formatStakes(change.stakes_newly_admitted)} more admitted`}
      tone=${change.good_newly_allowed > 0 ? "allow" : undefined}
    />
    <${MetricTile}
      label="bad, newly held back"
      value=${formatNumber(change.bad_newly_turned_away)}
      note=${`outcomes; ${formatStakes(change.stakes_newly_saved)} saved`}
      tone=${change.bad_newly_turned_away > 0 ? "allow" : undefined}
    />
  <//>`;
}

const AGENT_COLUMNS: readonly Column<BacktestAgent>[] = [
  { label: "agent", cell: ({ agent }) => html`<${AgentLink} id=${agent} />` },
  { label: "good in", isNumber: true, cell: (row) => formatNumber(row.good_newly_allowed) },
  { label: "bad in", isNumber: true, cell: (row) => formatNumber(row.bad_newly_allowed) },
  { label: "good out", isNumber: true, cell: (row) => formatNumber(row.good_newly_turned_away) },
  { label: "bad out", isNumber: true, cell: (row) => formatNumber(row.bad_newly_turned_away) },
];

const POLICY_LABELS: Readonly<Record<string, string>> = { live: "in force", given: "draft" };
const formatShare = (part: number, of: number) => formatPercent(of === 0 ? null : part / of, 1);

/** Stakes are in `unit`. */
const listRowColumns = (unit: string): readonly Column<BacktestRow>[] => [
  { label: "level", cell: ({ level }) => level },
  {
    label: "policy",
    cell: ({ policy }) => html`<span class="agent">${POLICY_LABELS[policy]}</span>`,
  },
  { label: "good let in", isNumber: true, cell: (row) => formatShare(row.good_allowed, row.good) },
  { label: "bad let in", isNumber: true, cell: (row) => formatShare(row.bad_allowed, row.bad) },
  { label: `lost, ${unit}`, isNumber: true, cell: (row) => formatNumber(row.stakes_lost) },
  {
    label: `turned away, ${unit}`,
    isNumber: true,
    cell: (row) => formatNumber(row.stakes_turned_away),
  },
  {
    label: "good denied, 95 % interval",
    isNumber: true,
    cell: (row) => formatFalseAlarms(row),
  },
];

/** The rate with its interval; the count instead of a rate of 0, which has no lower end. */
function formatFalseAlarms(row: BacktestRow): string {
  const { false_alarm_rate: rate, false_alarm_low: low, false_alarm_high: high } = row;
  if (rate === null) return "–";
  if (rate === 0) return `0 of ${formatNumber(row.good)}, at most ${formatSmallShare(high)}`;
  return `${formatSmallShare(rate)}, ${formatSmallShare(low)} to ${formatSmallShare(high)}`;
}

const REASON_COLUMNS: readonly Column<BacktestReason>[] = [
  {
    label: "policy",
    cell: ({ policy }) => html`<span class="agent">${POLICY_LABELS[policy]}</span>`,
  },
  { label: "rule", cell: ({ log_reason: reason }) => reason },
  { label: "verdict", cell: ({ verdict }) => html`<${Tag} word=${verdict} />` },
  { label: "good", isNumber: true, cell: ({ good }) => formatNumber(good) },
  { label: "bad", isNumber: true, cell: ({ bad }) => formatNumber(bad) },
];
