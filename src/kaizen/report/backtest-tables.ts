// Tables of a back-test's page: counts and money, what held agents back, what changes and for whom.
import type {
  Backtest,
  BacktestFindings,
  BacktestQuestion,
  BacktestRow,
} from "../../contract/schemas/backtest.ts";
import { BACKTEST_QUESTIONS } from "../../contract/schemas/backtest.ts";
import type { ToolLevel } from "../../contract/vocabulary.ts";
import { escapeHtml } from "../../markup/html.ts";

export const BACKTEST_QUESTION_LABELS: Readonly<Record<BacktestQuestion, string>> = {
  verify: "verify, no stakes named",
  verify_with_stakes: "verify, its stakes named",
  handshake: "handshake, no stakes",
  handshake_with_stakes: "handshake, its stakes named",
};

const REASON_LABELS: Readonly<Record<string, string>> = {
  RISK_ABOVE_BOUND: "risk above the allow bound",
  THIN_FILE: "too few outcomes on record",
  BELOW_TENANT_MINIMUM: "score below the policy's minimum",
  RISK_ABOVE_BORDER: "risk above the border of denial",
  REFUSE_RULE: "a revoked key or a fraud mark, or risk above the border even at best",
  STALE_RECORD: "no word of it for too long",
  STAKES_NEED_VERIFICATION: "its stakes ask for verification",
  STAKES_NEED_APPROVAL: "its stakes ask for a person",
};

/** A label of the policy in plain words; one without is its own. */
export function formatReasonLabel(logReason: string): string {
  return REASON_LABELS[logReason] ?? logReason;
}

/** `12,345`. */
export function formatCount(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** Stakes, with cents only where they matter. */
export function formatMoney(value: number): string {
  const maximumFractionDigits = Math.abs(value) < 1000 && !Number.isInteger(value) ? 2 : 0;
  return value.toLocaleString("en-US", { maximumFractionDigits });
}

/** Name of the unit of account where the operator has given it none. */
const NAMELESS_UNIT = "unit";

/** What the amounts of a back-test are in: the tenant's own unit, or what the service counts stakes in. */
export function describeAmountUnit({
  live,
  unit_of_account: name = NAMELESS_UNIT,
}: Pick<Backtest, "live" | "unit_of_account">): string {
  if ((live?.policy.stakes?.unit ?? 1) !== 1) return "the tenant's units";
  return name === NAMELESS_UNIT ? "units of account" : name;
}

/** Digits after the point up to which a share near 0 or 1 is told from it. */
const SHARE_DIGITS_MAX = 6;

/** A share as per cent, with enough digits to tell it from 0 and from 1. */
export function formatRatioAsPercent(share: number): string {
  const value = share * 100;
  if (value === 0) return "0 %";
  if (value === 100) return "100 %";
  const distance = Math.min(value, 100 - value);
  if (distance >= 1 || (value > 1 && distance >= 0.5)) return `${value.toFixed(1)} %`;
  const digits = Math.max(2, -Math.floor(Math.log10(distance)));
  return `${value.toFixed(Math.min(SHARE_DIGITS_MAX, digits))} %`;
}

/**
 * The rate of false alarms with its 95 % interval; the count instead of a rate of 0, which has no lower end.
 * Empty where no good outcome was judged.
 */
export function formatFalseAlarms(row: BacktestRow): { rate: string; interval: string } {
  const { false_alarm_rate: rate, false_alarm_low: low, false_alarm_high: high } = row;
  if (rate === null || low === null || high === null) return { rate: "", interval: "" };
  if (rate === 0) {
    const none = `0 of ${formatCount(row.good)}`;
    return { rate: none, interval: `at most ${formatRatioAsPercent(high)}` };
  }
  const interval = `${formatRatioAsPercent(low)} to ${formatRatioAsPercent(high)}`;
  return { rate: formatRatioAsPercent(rate), interval };
}

/** `part of whole` as per cent; empty where there is nothing to have a part of. */
export function formatPercent(part: number, whole: number): string {
  return whole === 0 ? "" : formatRatioAsPercent(part / whole);
}

function listWindowWarnings(findings: BacktestFindings): string[] {
  const { outcomes, unvouched, counts_unvouched: areCounted } = findings;
  if (outcomes === 0) return ["no outcome that counts settled in this window"];
  if (!areCounted) return [];
  const all = unvouched === outcomes ? "all" : formatCount(unvouched);
  return [
    `${all} of these outcomes came unsigned from keys that nobody vouches for: whoever holds such ` +
      `a key can invent them; make the keys of your own gateways first-party`,
  ];
}

/** What to know before the figures are believed, in sentences; none where all is well. */
export function listWarnings(findings: BacktestFindings, promotedAt: string | undefined): string[] {
  const { first_at: firstAt, outcomes, without_stakes: withoutStakes } = findings;
  const warnings = listWindowWarnings(findings);
  if (promotedAt !== undefined && firstAt !== null && firstAt < promotedAt) {
    warnings.push(
      `the live weights were promoted on ${promotedAt.slice(0, 10)} and learned from outcomes ` +
        `before that: expect new outcomes to be told apart a little less well`,
    );
  }
  if (withoutStakes > 0) {
    warnings.push(
      withoutStakes === outcomes
        ? `no outcome has stakes that were known beforehand: no money is counted`
        : `${formatCount(withoutStakes)} of ${formatCount(outcomes)} outcomes have no stakes that were ` +
            `known beforehand: no money is counted of these`,
    );
  }
  return warnings;
}

/** A table that scrolls by itself where the screen is narrow. */
export function renderScrollableTable(
  caption: string,
  head: readonly string[],
  rows: readonly string[],
): string {
  return (
    `<div class="wide" tabindex="0" role="region" aria-label="${caption}"><table>` +
    `<tr>${head.join("")}</tr>${rows.join("")}</table></div>`
  );
}

/** Cells of these tables. `text` is HTML. */
export const renderHeaderCell = (text: string): string => `<th scope="col">${text}</th>`;
export const renderNumberHeaderCell = (text: string): string =>
  `<th scope="col" class="n">${text}</th>`;
export const renderNumberCell = (text: string): string => `<td class="n">${text}</td>`;

const renderStakesHeaderCells = (unit: string): string[] =>
  ["stakes lost", "stakes turned away"].map((name) =>
    renderNumberHeaderCell(`${name}, ${escapeHtml(unit)}`),
  );

/** A change of money, with its sign. */
function formatMoneyChange(change: number): string {
  if (change === 0) return "0";
  return `${change > 0 ? "+" : "&minus;"}${formatMoney(Math.abs(change))}`;
}

/** A count and its share of all, in two lines. */
function renderShareCell(count: number, all: number): string {
  const share = formatPercent(count, all);
  return renderNumberCell(
    share === "" ? "" : `${share}<br><span class="soft">${formatCount(count)}</span>`,
  );
}

/** Money, and under it all the money that it is a part of. */
function renderMoneyCell(sum: number, all: number): string {
  if (all === 0) return renderNumberCell("");
  return renderNumberCell(
    `${formatMoney(sum)}<br><span class="soft">of ${formatMoney(all)}</span>`,
  );
}

function renderFalseAlarmCell(row: BacktestRow): string {
  const { rate, interval } = formatFalseAlarms(row);
  if (rate === "") return renderNumberCell("");
  return renderNumberCell(`${rate}<br><span class="soft">${interval}</span>`);
}

const BACKTEST_POLICY_LABELS = {
  live: "&#9632; live",
  given: "&#9679; given",
  both: "both",
} as const;

function renderResultRow(
  row: BacktestRow,
  policy: keyof typeof BACKTEST_POLICY_LABELS,
  heading: string,
): string {
  return [
    `<tr>${heading}<th scope="row"><span class="key ${policy}">${BACKTEST_POLICY_LABELS[policy]}</span></th>`,
    renderShareCell(row.good_allowed, row.good),
    renderShareCell(row.good_challenged, row.good),
    renderFalseAlarmCell(row),
    renderShareCell(row.bad_allowed, row.bad),
    renderShareCell(row.bad_challenged, row.bad),
    renderShareCell(row.bad_quarantined + row.bad_blocked, row.bad),
    renderMoneyCell(row.stakes_lost, row.stakes_bad),
    renderMoneyCell(row.stakes_turned_away, row.stakes_good),
    `</tr>`,
  ].join("");
}

/** One question's rows under one heading; policies that give the same figures in one row. */
function renderResultRowGroup(rows: readonly BacktestRow[], question: BacktestQuestion): string {
  const own = rows.filter((row) => row.question === question);
  const cells = new Set(own.map((row) => renderResultRow(row, "both", "")));
  const shown = own.length > 1 && cells.size === 1 ? own.slice(0, 1) : own;
  const heading = `<th scope="rowgroup" rowspan="${shown.length}">${BACKTEST_QUESTION_LABELS[question]}</th>`;
  return shown
    .map((row, at) => {
      const policy = shown.length < own.length ? "both" : row.policy;
      return renderResultRow(row, policy, at === 0 ? heading : "");
    })
    .join("");
}

/**
 * Verdicts on good and bad outcomes, false alarms with their interval, money lost and turned away in `unit`
 * (describeAmountUnit).
 */
export function renderResultTable(
  { rows }: BacktestFindings,
  level: ToolLevel,
  unit: string,
): string {
  const own = rows.filter((row) => row.level === level && row.good + row.bad > 0);
  const head = [
    renderHeaderCell("asked as"),
    renderHeaderCell("policy"),
    renderNumberHeaderCell("good allowed"),
    renderNumberHeaderCell("good challenged"),
    renderNumberHeaderCell("good denied, 95 % interval"),
    renderNumberHeaderCell("bad allowed"),
    renderNumberHeaderCell("bad challenged"),
    renderNumberHeaderCell("bad denied"),
    ...renderStakesHeaderCells(unit),
  ];
  return (
    renderScrollableTable(
      `figures at ${level}`,
      head,
      BACKTEST_QUESTIONS.map((question) => renderResultRowGroup(own, question)),
    ) +
    `<p class="soft">Denied is quarantined or blocked; a good outcome denied is a false alarm, and ` +
    `under its rate stands the 95 % interval (outcomes of one agent count as one cluster). Lost: stakes of bad outcomes allowed. ` +
    `Turned away: stakes of good ones not allowed, though a challenge that is met lets them in.</p>`
  );
}

/** Rules that held good and bad outcomes back, for each question. */
export function renderReasonTable({ reasons, rows }: BacktestFindings, level: ToolLevel): string {
  const own = reasons.filter((reason) => reason.level === level);
  if (own.length === 0) return "";
  const policies = [...new Set(rows.map((row) => row.policy))];
  const lines = BACKTEST_QUESTIONS.flatMap((question) => {
    const asked = own.filter((reason) => reason.question === question);
    const labels = [...new Set(asked.map((reason) => reason.log_reason))];
    return labels.map((label, at) => {
      const words = BACKTEST_QUESTION_LABELS[question];
      const heading = `<th scope="rowgroup" rowspan="${labels.length}">${words}</th>`;
      const cells = policies.flatMap((policy) => {
        const found = asked.find((each) => each.policy === policy && each.log_reason === label);
        return [
          renderNumberCell(formatCount(found?.good ?? 0)),
          renderNumberCell(formatCount(found?.bad ?? 0)),
        ];
      });
      const { verdict } = asked.find((reason) => reason.log_reason === label)!;
      return (
        `<tr>${at === 0 ? heading : ""}<td>${escapeHtml(formatReasonLabel(label))} ` +
        `<span class="soft">${verdict}</span></td>${cells.join("")}</tr>`
      );
    });
  });
  const columns = policies.flatMap((policy) => [
    renderNumberHeaderCell(`good, ${policy}`),
    renderNumberHeaderCell(`bad, ${policy}`),
  ]);
  return (
    `<h3>What held back</h3>` +
    renderScrollableTable(
      `what held back at ${level}`,
      [renderHeaderCell("asked as"), renderHeaderCell("because"), ...columns],
      lines,
    )
  );
}

const hasChanges = (change: {
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

/** Outcomes that the given policy decides otherwise than the live one; amounts in `unit`. */
export function renderChangeTable(
  { changes }: BacktestFindings,
  level: ToolLevel,
  unit: string,
): string {
  const own = changes.filter((change) => change.level === level);
  if (own.length === 0) return "";
  if (!own.some(hasChanges)) {
    return `<h3>What changes</h3><p>Nothing: both policies allow the same outcomes.</p>`;
  }
  const lines = own
    .filter(hasChanges)
    .map(
      (change) =>
        `<tr><td>${BACKTEST_QUESTION_LABELS[change.question]}</td>` +
        renderNumberCell(formatCount(change.good_newly_allowed)) +
        renderNumberCell(formatCount(change.bad_newly_allowed)) +
        renderNumberCell(formatCount(change.good_newly_turned_away)) +
        renderNumberCell(formatCount(change.bad_newly_turned_away)) +
        renderNumberCell(formatMoneyChange(change.stakes_newly_lost - change.stakes_newly_saved)) +
        renderNumberCell(
          formatMoneyChange(change.stakes_newly_turned_away - change.stakes_newly_admitted),
        ) +
        `</tr>`,
    );
  const head = [
    renderHeaderCell("asked as"),
    renderNumberHeaderCell("good, now allowed"),
    renderNumberHeaderCell("bad, now allowed"),
    renderNumberHeaderCell("good, now held back"),
    renderNumberHeaderCell("bad, now held back"),
    ...renderStakesHeaderCells(unit),
  ];
  return `<h3>What changes</h3>${renderScrollableTable(`what changes at ${level}`, head, lines)}`;
}

/** Agents with the most changes. */
export function renderAffectedAgentTable({ agents }: BacktestFindings, level: ToolLevel): string {
  const of = (question: BacktestQuestion) =>
    agents.filter((agent) => agent.level === level && agent.question === question);
  const question = BACKTEST_QUESTIONS.find((each) => of(each).length > 0);
  if (question === undefined) return "";
  const lines = of(question).map(
    (agent) =>
      `<tr><td><code>${escapeHtml(agent.agent)}</code></td>` +
      renderNumberCell(formatCount(agent.good_newly_allowed)) +
      renderNumberCell(formatCount(agent.bad_newly_allowed)) +
      renderNumberCell(formatCount(agent.good_newly_turned_away)) +
      renderNumberCell(formatCount(agent.bad_newly_turned_away)) +
      `</tr>`,
  );
  const head = [
    renderHeaderCell("agent"),
    renderNumberHeaderCell("good, now allowed"),
    renderNumberHeaderCell("bad, now allowed"),
    renderNumberHeaderCell("good, now held back"),
    renderNumberHeaderCell("bad, now held back"),
  ];
  return (
    `<h3>Agents most affected</h3><p class="soft">Asked as ${BACKTEST_QUESTION_LABELS[question]}.</p>` +
    renderScrollableTable(`agents most affected at ${level}`, head, lines)
  );
}
