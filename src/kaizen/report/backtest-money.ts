// Section of a back-test's page on money: what every way to decide would have cost by the tenant's own
// numbers, and what check would do if one of its two main numbers were another.
import type { Policy } from "../../contract/policy.ts";
import type {
  Backtest,
  BacktestFindings,
  BacktestMoneyCurve,
  BacktestMoneyPlan,
  BacktestMoneyQuestion,
  BacktestMoneyRow,
} from "../../contract/schemas/backtest.ts";
import {
  CATCH_RATES_DEFAULT,
  computeBaseFriction,
  computeReviewFriction,
  resolveStakesTerms,
} from "../../contract/stakes-policy.ts";
import { escapeHtml } from "../../markup/html.ts";
import {
  describeAmountUnit,
  formatCount,
  formatMoney,
  formatRatioAsPercent,
  renderHeaderCell,
  renderNumberCell,
  renderNumberHeaderCell,
  renderScrollableTable,
} from "./backtest-tables.ts";
import { renderMoneyCurve } from "./plot-money-curves.ts";

/** Who asks, in words. */
export const MONEY_QUESTION_LABELS: Readonly<Record<BacktestMoneyQuestion, string>> = {
  check: "check",
  L2: "verify at L2",
  L3: "verify at L3",
};

/** Whose decisions, in words. */
export const MONEY_PLAN_LABELS: Readonly<Record<BacktestMoneyPlan, string>> = {
  live: "live policy",
  given: "given policy",
  always_verify: "verify every deal",
  connect_all: "connect every deal",
};

/** A share of the money's rows; empty where there is nothing to have a share of. */
export function formatMoneyShare(share: number | null): string {
  return share === null ? "" : formatRatioAsPercent(share);
}

/** The amounts that the costs are counted by, in `name` (describeAmountUnit), as a sentence. */
export function describeMoneyTerms({ stakes }: Pick<Policy, "stakes">, name: string): string {
  const { connect: terms } = resolveStakesTerms(stakes);
  const { unit } = terms;
  const amount = (value: number) => `${formatMoney(value / unit)} ${name}`;
  const share = (value: number) => formatRatioAsPercent(value);
  const worth =
    unit === 1
      ? ""
      : ` Amounts are in the tenant's unit, worth ${formatMoney(unit)} units of account each.`;
  return (
    `a person's look at one deal costs ${amount(terms.reviewCost)} and ` +
    `${share(computeReviewFriction(terms, CATCH_RATES_DEFAULT))} of a good deal's volume, ` +
    `verifying one ${amount(terms.verificationCost)} and ` +
    `${share(computeBaseFriction(terms, CATCH_RATES_DEFAULT))}.${worth}`
  );
}

/** The section; empty where no deal had stakes that were known beforehand. */
export function renderMoneySection(backtest: Backtest): string {
  const { live, given, findings } = backtest;
  const unit = describeAmountUnit(backtest);
  const deals = findings?.money[0]?.deals ?? 0;
  const counted = given ?? live;
  if (findings === undefined || deals === 0 || counted === undefined) return "";
  const owner = given === undefined ? "live" : "given";
  return (
    `<h2>Cost by your own numbers</h2><p>${formatCount(deals)} deals had stakes that were known ` +
    `beforehand. Costs are counted by the amounts of the ${owner} policy: ` +
    `${describeMoneyTerms(counted.policy, escapeHtml(unit))}</p>` +
    renderMoneyTable(findings, unit) +
    renderMoneyCurves(findings, owner)
  );
}

function renderMoneyRow(row: BacktestMoneyRow, heading: string): string {
  return [
    `<tr>${heading}<th scope="row">${MONEY_PLAN_LABELS[row.plan]}</th>`,
    ...[row.lost, row.friction, row.review, row.cost].map((sum) =>
      renderNumberCell(formatMoney(sum)),
    ),
    renderNumberCell(formatMoneyShare(row.cost_share)),
    renderNumberCell(formatMoneyShare(row.good_connected)),
    renderNumberCell(formatMoneyShare(row.good_held)),
    `</tr>`,
  ].join("");
}

function renderMoneyTable({ money }: BacktestFindings, unit: string): string {
  const questions = Object.keys(MONEY_QUESTION_LABELS) as BacktestMoneyQuestion[];
  const rows = questions.flatMap((question) => {
    const own = money.filter(({ asked }) => asked === question);
    const words = MONEY_QUESTION_LABELS[question];
    const heading = `<th scope="rowgroup" rowspan="${own.length}">${words}</th>`;
    return own.map((row, at) => renderMoneyRow(row, at === 0 ? heading : ""));
  });
  const head = [
    renderHeaderCell("asked as"),
    renderHeaderCell("decided by"),
    ...["lost", "friction", "review", "cost"].map((name) =>
      renderNumberHeaderCell(`${name}, ${escapeHtml(unit)}`),
    ),
    ...["cost, % of volume", "good connected, %", "good held, %"].map(renderNumberHeaderCell),
  ];
  return (
    renderScrollableTable("cost by your own numbers", head, rows) +
    `<p class="soft">Lost: stakes of bad deals that were connected, or that verification or a person ` +
    `misses. Friction: volume of good deals lost to delay and to being turned away. Review: fees of ` +
    `verifying and of people. Cost is the sum of the three. Good connected: good deals that connect ` +
    `without verification; good held: those that wait for a person or are refused.</p>`
  );
}

function renderMoneyCurves({ money_curves: curves }: BacktestFindings, owner: string): string {
  const figures = curves.flatMap((curve) => [
    renderCurveFigure(curve, "good_connected", "Good deals connected"),
    renderCurveFigure(curve, "cost_share", "Cost, share of volume"),
  ]);
  return (
    `<h3>If one number were another</h3><p class="soft">What check would do with one number of the ` +
    `${owner} policy replaced, the costs counted by its own numbers as above. The upright marks the ` +
    `number in force.</p><div class="plots">${figures.join("")}</div>`
  );
}

function renderCurveFigure(
  curve: BacktestMoneyCurve,
  share: "good_connected" | "cost_share",
  title: string,
): string {
  const named = `${title} by <code>${curve.member}</code>`;
  return `<figure><h4>${named}</h4>${renderMoneyCurve(curve, share, title)}</figure>`;
}
