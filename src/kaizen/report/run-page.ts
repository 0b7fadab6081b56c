// HTML page of one run, self-contained: the decision and its reason, every gate with its numbers
// and intervals, the plots, the weights before and after, and the promoted weights since. Written
// for a person who has not read the code.
import type { ScoringModel } from "../../engine/config.ts";
import type { RunChartData, ModelChartData } from "../model/run-charts.ts";
import { findGateQuestion, listGateIntervals } from "../gates/register.ts";
import type { GateResult } from "../gates/register.ts";
import type { RunRecord, WatchRecord } from "../kaizen.ts";
import { POINTS_PER_LOGIT } from "../../contract/units.ts";
import { escapeHtml } from "../../markup/html.ts";
import { formatCount } from "./backtest-tables.ts";
import { renderReportPage, formatSentenceHtml } from "./document.ts";
import {
  renderIntervalPlot,
  renderPairedBars,
  countCalibratedBins,
  renderReliabilityPlot,
  renderScorePlot,
} from "./plots.ts";
import { EVIDENCE_KINDS } from "../../contract/vocabulary.ts";
import {
  EVIDENCE_LABELS,
  RUN_KIND_LABELS,
  RUN_STATE_HEADLINES,
  SCORE_TERMS,
  SIDE_LABELS,
} from "./labels.ts";
import { explainRun } from "./plain.ts";
import type { ScorecardFindings } from "../run.ts";

const escapeLabel = (text: string): string => escapeHtml(text.replaceAll("_", " "));
/** A count as it is; a measure with four significant digits. */
function formatValue(value: number): string {
  if (!Number.isFinite(value)) return "none";
  return Number.isInteger(value) ? formatCount(value) : String(Number(value.toPrecision(4)));
}
const formatSignedValue = (value: number): string => (value > 0 ? "+" : "") + formatValue(value);

const GATE_VERDICT_LABELS = {
  pass: "&#10003; passed",
  warn: "! passed, look",
  fail: "&#10007; failed",
} as const;

const LEGEND =
  `<p><span class="key old"><i></i>&#9632; weights that were live</span>` +
  `<span class="key new"><i></i>&#9679; weights that were tested</span></p>`;

function renderGateRow(gate: GateResult): string {
  const mark = gate.passed ? (gate.isWarning === true ? "warn" : "pass") : "fail";
  const numbers = Object.entries(gate.numbers)
    .map(([name, value]) => `${escapeLabel(name)} ${formatValue(value)}`)
    .join(", ");
  return (
    `<tr><td class="gate">${gate.id}</td><td class="${mark}">${GATE_VERDICT_LABELS[mark]}</td>` +
    `<td><span class="question">${findGateQuestion(gate) ?? escapeLabel(gate.name)}</span>` +
    `${formatSentenceHtml(gate.sentence)}.<details><summary>all numbers</summary>${numbers}` +
    `</details></td><td>${listGateIntervals(gate).map(renderIntervalPlot).join("")}</td></tr>`
  );
}

function renderGateTable(gates: readonly GateResult[]): string {
  return (
    `<h3>The gates</h3><table><tr><th></th><th>verdict</th><th>what was asked and found</th>` +
    `<th>90 % interval; the dashed line is its limit</th></tr>${gates.map(renderGateRow).join("")}</table>`
  );
}

/** Table of the three main measures. */
function renderMeasureTable({ champion, challenger }: RunChartData): string {
  const rows = [
    ["log-loss (lower is better)", champion.log_loss, challenger.log_loss],
    ["AUC, 0.5 guessing to 1 (higher is better)", champion.auc, challenger.auc],
    [
      "calibration error (lower is better)",
      champion.calibration_error,
      challenger.calibration_error,
    ],
  ] as const;
  const cells = rows.map(
    ([name, old, fresh]) =>
      `<tr><td>${name}</td><td class="n">${formatValue(old)}</td><td class="n">${formatValue(fresh)}</td>` +
      `<td class="n">${formatSignedValue(fresh - old)}</td></tr>`,
  );
  return (
    `<h3>On outcomes that neither had seen</h3><table><tr><th>measure</th><th class="n">live</th>` +
    `<th class="n">tested</th><th class="n">change</th></tr>${cells.join("")}</table>`
  );
}

/** How much of the distance to the dotted line chance alone explains. */
function describeCalibratedBins({ champion, challenger }: RunChartData): string {
  const of = (model: ModelChartData) =>
    `${countCalibratedBins(model)} of ${model.reliability.length}`;
  return (
    `What the live weights foretold is within the bar in ${of(champion)} groups, what the tested ` +
    `ones foretold in ${of(challenger)}; chance alone would leave about one in twenty outside if outcomes were ` +
    `independent. Those of one agent or reporter are not, so that more may lie outside: gate G4 counts them as ` +
    `clusters, and says above why it passed or failed.`
  );
}

function renderRunPlots(figures: RunChartData): string {
  return [
    `<h3>The pictures</h3>${LEGEND}<div class="plots">`,
    `<figure><h4>Does 10 % mean 10 %?</h4>${renderReliabilityPlot(figures)}<figcaption>Ten groups of `,
    `equal size, from the safest to the riskiest. On the dotted line as many fail as was `,
    `foretold; above it more do. A bar is where the true share lies in 95 of 100 cases. `,
    `${describeCalibratedBins(figures)}</figcaption></figure>`,
    `<figure><h4>Scores of what went well</h4>${renderScorePlot(figures, "successes")}<figcaption>The `,
    `further right, the better.</figcaption></figure>`,
    `<figure><h4>Scores of what failed</h4>${renderScorePlot(figures, "failures")}<figcaption>The `,
    `further left, the better.</figcaption></figure></div>`,
  ].join("");
}

const formatDenialThreshold = ({ deny_at: denyAt }: ScoringModel): string =>
  denyAt === undefined || denyAt > 1 ? "closed" : formatValue(denyAt);

function renderWeightSection(
  before: ScoringModel,
  after: ScoringModel,
  spreads: readonly number[],
) {
  const used = SCORE_TERMS.filter(({ of }) => of(before) !== 0 || of(after) !== 0);
  const formatPoints = (weight: number, column: number) =>
    Math.abs(weight) * (spreads[column] ?? 0) * POINTS_PER_LOGIT;
  const bars = used
    .filter(({ column }) => column > 0)
    .map(({ name, column, of }) => ({
      name,
      live: formatPoints(of(before), column),
      tested: formatPoints(of(after), column),
    }));
  const rows = used.map(
    ({ name, of }) =>
      `<tr><td>${name}</td><td class="n">${formatValue(of(before))}</td>` +
      `<td class="n">${formatValue(of(after))}</td><td class="n">${formatSignedValue(of(after) - of(before))}` +
      `</td><td class="n">${formatValue(-POINTS_PER_LOGIT * of(after))}</td></tr>`,
  );
  const refuse =
    `<tr><td>denied from this probability on</td><td class="n">${formatDenialThreshold(before)}</td>` +
    `<td class="n">${formatDenialThreshold(after)}</td>` +
    `<td class="n"></td><td></td></tr>`;
  return [
    `<h3>What a score is made of</h3>${LEGEND}<figure>`,
    renderPairedBars(bars, "points that a usual difference in each ingredient moves a score"),
    `<figcaption>Points by which a usual difference (one standard deviation among these outcomes) `,
    `in each ingredient moves a score.</figcaption></figure>`,
    `<table><tr><th>weight (log-odds of failure)</th><th class="n">live</th>`,
    `<th class="n">tested</th><th class="n">change</th><th class="n">points per unit</th></tr>`,
    `${rows.join("")}${refuse}</table>`,
  ].join("");
}

/** Runs recorded by older releases do not count such rows. */
function describeRowsWithoutStakes({ rows }: ScorecardFindings): string {
  if (!(rows.without_stakes > 0)) return "";
  return (
    ` ${formatCount(rows.without_stakes)} of all are ratings: their stakes are told by the outcome itself, so ` +
    `that nothing is learned from them about stakes.`
  );
}

/**
 * What was denied never settles, so that no fit sees it: how many of these outcomes name a decision of
 * ours, and how many would not have come in if all had followed the live weights.
 */
function describeWithheldRows({ rows }: ScorecardFindings): string {
  if (rows.held_back === undefined || rows.holdout === 0) return "";
  const own =
    rows.decided === undefined
      ? ""
      : ` ${formatCount(rows.decided)} of the newer ones name the decision they came of.`;
  return (
    own +
    ` ${formatCount(rows.held_back)} of the newer ones are of agents whom the live weights would hold back from ` +
    `sensitive tools (L2): what a service denies never settles, and where these become few, a fit ` +
    `sees only what was let through. An audit sample (audit_one_in of the policy) keeps some coming.`
  );
}

function renderSideSection(side: ScorecardFindings): string {
  const { figures, challenger, bootstrap } = side;
  const { title, about } = SIDE_LABELS[side.side];
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  const parts = [
    `<h2>${title}</h2><p class="soft">${about}</p>`,
    `<p><strong class="${side.passed ? "pass" : "fail"}">`,
    side.passed ? "&#10003; Every gate passed." : "&#10007; Not promoted.",
    `</strong> ${side.passed ? "" : `${formatSentenceHtml(side.reason)}.`}</p>`,
    `<p>${formatCount(side.rows.training)} outcomes to learn from; ${formatCount(side.rows.holdout)} newer ones, used in no `,
    `test before, to test on (${day(side.holdout_from_ms)} to ${day(side.holdout_to_ms)}).`,
    `${describeRowsWithoutStakes(side)}${describeWithheldRows(side)}</p>`,
  ];
  if (side.denial_border !== undefined) {
    parts.push(`<p>Denials: ${escapeHtml(side.denial_border)}.</p>`);
  }
  if (figures !== undefined) parts.push(renderMeasureTable(figures));
  if (bootstrap !== undefined) {
    const { auc, log_loss: loss, resamples } = bootstrap;
    parts.push(
      `<p class="soft">Drawn anew ${resamples} times by agent and by reporter: in 90 % of the `,
      `draws log-loss changes by ${formatValue(loss.low)} to ${formatValue(loss.high)} and AUC by `,
      `${formatValue(auc.low)} to ${formatValue(auc.high)}.</p>`,
    );
  }
  parts.push(renderGateTable(side.gates));
  if (figures !== undefined) parts.push(renderRunPlots(figures));
  if (challenger !== undefined && figures !== undefined) {
    parts.push(renderWeightSection(side.champion, challenger, figures.spreads));
  }
  return parts.join("");
}

function renderWatchSection(watch: WatchRecord): string {
  const rows = watch.sides.map((side) => {
    const numbers = Object.entries(side.numbers).map(
      ([name, value]) => `${escapeLabel(name)} ${formatValue(value)}`,
    );
    const mark = side.rollback_due ? "fail" : "pass";
    return (
      `<tr><td>${SIDE_LABELS[side.side].title}</td><td class="${mark}">` +
      `${side.rollback_due ? "&#10007; taken back" : "&#10003; stays"}</td>` +
      `<td>${formatSentenceHtml(side.sentence)}.<details><summary>all numbers</summary>` +
      `${numbers.join(", ")}</details></td></tr>`
    );
  });
  return (
    `<h2>Since the promotion</h2><p class="soft">The weights that were replaced go on scoring in ` +
    `the shadow; both are compared on every outcome that has settled since, last on ${watch.at}.` +
    `</p><table><tr><th>scorecard</th><th>verdict</th><th>new against old weights</th></tr>` +
    `${rows.join("")}</table>`
  );
}

function describeEvidenceRows({ rows, rows_of: all }: RunRecord): string {
  const count = `${formatCount(rows)} outcomes of all tenants together`;
  return all === undefined ? count : `${count}, a random sample of ${formatCount(all)}`;
}

/** Runs recorded by older releases do not count by signer. */
function describeSigners({ rows_by_kind: rows, evidence_kinds: kinds }: RunRecord): string {
  if (rows === undefined) return "";
  const counts = EVIDENCE_KINDS.map(
    (kind) => `${formatCount(rows[kind])} ${EVIDENCE_LABELS[kind]}`,
  ).join(", ");
  const left = EVIDENCE_KINDS.filter((kind) => kinds?.includes(kind) === false);
  return left.length === 0 ? counts : `${counts}; left out: ${left.join(", ")}`;
}

/** Renders the page, without scripts or loaded resources. */
export function renderRunReportPage(run: RunRecord): string {
  const back = run.rolled_back;
  const headline =
    back === undefined ? RUN_STATE_HEADLINES[run.state] : "Promoted, then taken back";
  const facts = [
    ["kind", RUN_KIND_LABELS[run.kind ?? "full"].title],
    ["started", `${run.started_at} by ${run.started_by}`],
    ["as of", run.as_of === undefined ? "" : `${run.as_of}: nothing that came in later is in it`],
    ["took", run.duration_ms === undefined ? "" : `${(run.duration_ms / 1000).toFixed(1)} s`],
    ["evidence", `${describeEvidenceRows(run)}, journal position ${run.position}`],
    ["signed by", describeSigners(run)],
    ["live weights then", run.champion_version],
    ["tested weights", run.challenger_version ?? ""],
    ["taken back", back === undefined ? "" : `${back.at}: ${back.reason}`],
  ].filter(([, value]) => value !== "");
  const rows = facts.map(
    ([name, value]) => `<tr><th>${name}</th><td>${escapeHtml(value!)}</td></tr>`,
  );
  const body = [
    `<h1>${headline}</h1><p class="lead">${formatSentenceHtml(run.reason)}.</p>`,
    `<table class="facts">${rows.join("")}</table>`,
    `<h2>In plain words</h2>`,
    ...explainRun(run).map((sentence) => `<p>${escapeHtml(sentence)}</p>`),
    `<p class="soft">Kaizen learns new weights from settled outcomes and puts them live only if `,
    `every gate passes. A score runs from 300 to 850; 40 points more halve the odds of failure.`,
    `</p>`,
    run.watch === undefined ? "" : renderWatchSection(run.watch),
    ...(run.findings?.sides ?? []).map(renderSideSection),
  ].join("");
  return renderReportPage(`${run.run_id}: ${headline}`, body);
}
