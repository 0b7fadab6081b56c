// Tables of a back-test's page: counts and money, what held agents back, what changes and for whom.
import { BACKTEST_QUESTIONS } from "../../contract/schemas/backtest.ts";
import type {
  BacktestFindings,
  BacktestQuestion,
  BacktestRow,
} from "../../contract/schemas/backtest.ts";
import type { ToolLevel } from "../../contract/vocabulary.ts";
import {
  counted,
  money,
  percent,
  QUESTION_WORDS,
  reasonWords,
  formatPercent,
} from "./backtest-words.ts";
import { escapeHtml } from "./document.ts";

/** A table that scrolls by itself where the screen is narrow. */
function table(caption: string, head: readonly string[], rows: readonly string[]): string {
  return (
    `<div class="wide" tabindex="0" role="region" aria-label="${caption}"><table>` +
    `<tr>${head.join("")}</tr>${rows.join("")}</table></div>`
  );
}

const th = (text: string): string => `<th scope="col">${text}</th>`;
const thn = (text: string): string => `<th scope="col" class="n">${text}</th>`;
const tdn = (text: string): string => `<td class="n">${text}</td>`;

/** A change of money, with its sign. */
function signed(change: number): string {
  if (change === 0) return "0";
  return `${change > 0 ? "+" : "&minus;"}${money(Math.abs(change))}`;
}

/** A count and its share of all, in two lines. */
function part(count: number, all: number): string {
  const share = formatPercent(count, all);
  return tdn(share === "" ? "" : `${share}<br><span class="soft">${counted(count)}</span>`);
}

/** Money, and under it all the money that it is a part of. */
function amount(sum: number, all: number): string {
  if (all === 0) return tdn("");
  return tdn(`${money(sum)}<br><span class="soft">of ${money(all)}</span>`);
}

function falseAlarms(row: BacktestRow): string {
  const { false_alarm_rate: rate, false_alarm_low: low, false_alarm_high: high } = row;
  if (rate === null || low === null || high === null) return tdn("");
  const interval = `${percent(low).replace(" %", "")} &ndash; ${percent(high)}`;
  return tdn(`${percent(rate)}<br><span class="soft">${interval}</span>`);
}

const POLICY_WORDS = {
  live: "&#9632; live",
  given: "&#9679; given",
  both: "both",
} as const;

function figureRow(row: BacktestRow, policy: keyof typeof POLICY_WORDS, heading: string): string {
  return [
    `<tr>${heading}<th scope="row"><span class="key ${policy}">${POLICY_WORDS[policy]}</span></th>`,
    part(row.good_allowed, row.good),
    part(row.good_challenged, row.good),
    falseAlarms(row),
    part(row.bad_allowed, row.bad),
    part(row.bad_challenged, row.bad),
    part(row.bad_quarantined + row.bad_blocked, row.bad),
    amount(row.stakes_lost, row.stakes_bad),
    amount(row.stakes_turned_away, row.stakes_good),
    `</tr>`,
  ].join("");
}

/** One question's rows under one heading; policies that give the same figures in one row. */
function figureGroup(rows: readonly BacktestRow[], question: BacktestQuestion): string {
  const own = rows.filter((row) => row.question === question);
  const cells = new Set(own.map((row) => figureRow(row, "both", "")));
  const shown = own.length > 1 && cells.size === 1 ? own.slice(0, 1) : own;
  const heading = `<th scope="rowgroup" rowspan="${shown.length}">${QUESTION_WORDS[question]}</th>`;
  return shown
    .map((row, at) => {
      const policy = shown.length < own.length ? "both" : row.policy;
      return figureRow(row, policy, at === 0 ? heading : "");
    })
    .join("");
}

/** Verdicts on good and bad outcomes, false alarms with their interval, money lost and turned away. */
export function figureTable({ rows }: BacktestFindings, level: ToolLevel): string {
  const own = rows.filter((row) => row.level === level && row.good + row.bad > 0);
  const head = [
    th("asked as"),
    th("policy"),
    thn("good allowed"),
    thn("good challenged"),
    thn("good denied"),
    thn("bad allowed"),
    thn("bad challenged"),
    thn("bad denied"),
    thn("stakes lost"),
    thn("stakes turned away"),
  ];
  return (
    table(
      `figures at ${level}`,
      head,
      BACKTEST_QUESTIONS.map((question) => figureGroup(own, question)),
    ) +
    `<p class="soft">Denied is quarantined or blocked; a good outcome denied is a false alarm, and ` +
    `under its rate stands the 95 % interval (outcomes of one agent count as one cluster). Lost: stakes of bad outcomes allowed. ` +
    `Turned away: stakes of good ones not allowed, though a challenge that is met lets them in.</p>`
  );
}

/** Rules that held good and bad outcomes back, for each question. */
export function reasonTable({ reasons, rows }: BacktestFindings, level: ToolLevel): string {
  const own = reasons.filter((reason) => reason.level === level);
  if (own.length === 0) return "";
  const policies = [...new Set(rows.map((row) => row.policy))];
  const lines = BACKTEST_QUESTIONS.flatMap((question) => {
    const asked = own.filter((reason) => reason.question === question);
    const labels = [...new Set(asked.map((reason) => reason.log_reason))];
    return labels.map((label, at) => {
      const words = QUESTION_WORDS[question];
      const heading = `<th scope="rowgroup" rowspan="${labels.length}">${words}</th>`;
      const cells = policies.flatMap((policy) => {
        const found = asked.find((each) => each.policy === policy && each.log_reason === label);
        return [tdn(counted(found?.good ?? 0)), tdn(counted(found?.bad ?? 0))];
      });
      const { verdict } = asked.find((reason) => reason.log_reason === label)!;
      return (
        `<tr>${at === 0 ? heading : ""}<td>${escapeHtml(reasonWords(label))} ` +
        `<span class="soft">${verdict}</span></td>${cells.join("")}</tr>`
      );
    });
  });
  const columns = policies.flatMap((policy) => [thn(`good, ${policy}`), thn(`bad, ${policy}`)]);
  return (
    `<h3>What held back</h3>` +
    table(`what held back at ${level}`, [th("asked as"), th("because"), ...columns], lines)
  );
}

const isChanged = (change: {
  good_newly_allowed: number;
  bad_newly_allowed: number;
  good_newly_turned_away: number;
  bad_newly_turned_away: number;
}): boolean =>
  change.good_newly_allowed +
    change.bad_newly_allowed +
    change.good_newly_turned_away +
    change.bad_newly_turned_away >
  0;

/** Outcomes that the given policy decides otherwise than the live one. */
export function changeTable({ changes }: BacktestFindings, level: ToolLevel): string {
  const own = changes.filter((change) => change.level === level);
  if (own.length === 0) return "";
  if (!own.some(isChanged)) {
    return `<h3>What changes</h3><p>Nothing: both policies allow the same outcomes.</p>`;
  }
  const lines = own
    .filter(isChanged)
    .map(
      (change) =>
        `<tr><td>${QUESTION_WORDS[change.question]}</td>` +
        tdn(counted(change.good_newly_allowed)) +
        tdn(counted(change.bad_newly_allowed)) +
        tdn(counted(change.good_newly_turned_away)) +
        tdn(counted(change.bad_newly_turned_away)) +
        tdn(signed(change.stakes_newly_lost - change.stakes_newly_saved)) +
        tdn(signed(change.stakes_newly_turned_away - change.stakes_newly_admitted)) +
        `</tr>`,
    );
  const head = [
    th("asked as"),
    thn("good, now allowed"),
    thn("bad, now allowed"),
    thn("good, now held back"),
    thn("bad, now held back"),
    thn("stakes lost"),
    thn("stakes turned away"),
  ];
  return `<h3>What changes</h3>${table(`what changes at ${level}`, head, lines)}`;
}

/** Agents with the most changes. */
export function agentTable({ agents }: BacktestFindings, level: ToolLevel): string {
  const of = (question: BacktestQuestion) =>
    agents.filter((agent) => agent.level === level && agent.question === question);
  const question = BACKTEST_QUESTIONS.find((each) => of(each).length > 0);
  if (question === undefined) return "";
  const lines = of(question).map(
    (agent) =>
      `<tr><td><code>${escapeHtml(agent.agent)}</code></td>` +
      tdn(counted(agent.good_newly_allowed)) +
      tdn(counted(agent.bad_newly_allowed)) +
      tdn(counted(agent.good_newly_turned_away)) +
      tdn(counted(agent.bad_newly_turned_away)) +
      `</tr>`,
  );
  const head = [
    th("agent"),
    thn("good, now allowed"),
    thn("bad, now allowed"),
    thn("good, now held back"),
    thn("bad, now held back"),
  ];
  return (
    `<h3>Agents most affected</h3><p class="soft">Asked as ${QUESTION_WORDS[question]}.</p>` +
    table(`agents most affected at ${level}`, head, lines)
  );
}
