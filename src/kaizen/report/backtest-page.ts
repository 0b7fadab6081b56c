// HTML page of a back-test, self-contained: what either policy would have let through, what it would
// have cost, whom it would have held back and why. Written for a person who sets a policy.
import type { LevelPolicy, Policy } from "../../contract/policy.ts";
import { fillPolicyDefaults } from "../../contract/complete-policy.ts";
import { BACKTEST_QUESTIONS } from "../../contract/schemas/backtest.ts";
import type {
  Backtest,
  BacktestFindings,
  BacktestQuestion,
  BacktestRow,
} from "../../contract/schemas/backtest.ts";
import { TOOL_LEVELS } from "../../contract/vocabulary.ts";
import type { ToolLevel } from "../../contract/vocabulary.ts";
import {
  renderAffectedAgentTable,
  renderChangeTable,
  renderResultTable,
  renderReasonTable,
  formatCount,
  formatMoney,
  BACKTEST_QUESTION_LABELS,
  describeAmountUnit,
  formatPercent,
} from "./backtest-tables.ts";
import { renderMoneySection } from "./backtest-money.ts";
import { escapeHtml } from "../../markup/html.ts";
import { renderReportPage, formatSentenceHtml } from "./document.ts";
import { renderAllowedPlot, hasBoundEffect, renderMoneyPlot } from "./plot-curves.ts";
import type { CurvePair } from "./plot-curves.ts";

function renderLegend(hasGiven: boolean): string {
  const policies = `<span class="key live"><i></i>&#9632; live policy</span>`;
  const given = `<span class="key given"><i></i>&#9679; given policy</span>`;
  return (
    `<p><span class="key good"><i></i>good outcomes</span>` +
    `<span class="key bad"><i></i>bad outcomes</span>${policies}${hasGiven ? given : ""}</p>`
  );
}

const formatDay = (time: string | null): string => (time === null ? "" : time.slice(0, 10));

function describeWindow(
  { from, to }: Backtest,
  { first_at: first, last_at: last }: BacktestFindings,
) {
  const asked = from === null && to === null ? "all outcomes" : "outcomes settled";
  const since = from === null ? "" : ` from ${from}`;
  const until = to === null ? "" : ` before ${to}`;
  const found =
    first === null ? "" : `; the first ${formatDay(first)}, the last ${formatDay(last)}`;
  return `${asked}${since}${until}${found}`;
}

function renderBacktestFacts(backtest: Backtest, findings: BacktestFindings): string {
  const { unvouched, counts_unvouched: areCounted } = findings;
  const rows = [
    ["tenant", backtest.tenant],
    ["window", describeWindow(backtest, findings)],
    [
      "outcomes",
      `${formatCount(findings.good)} good, ${formatCount(findings.bad)} bad, of all tenants together`,
    ],
    ["amounts", `in ${describeAmountUnit(backtest)}`],
    [
      "left out",
      unvouched === 0 || areCounted
        ? ""
        : `${formatCount(unvouched)} that came unsigned from keys that nobody vouches for`,
    ],
    ["live policy", backtest.live_version],
    ["given policy", backtest.given_version ?? ""],
    ["weights", backtest.config_version],
    [
      "made",
      `${backtest.started_at} by ${backtest.started_by}, journal position ${backtest.position}`,
    ],
  ].filter(([, value]) => value !== "");
  const cells = rows.map(
    ([name, value]) => `<tr><th>${name}</th><td>${escapeHtml(value!)}</td></tr>`,
  );
  return `<table class="facts">${cells.join("")}</table>`;
}

/** One sentence that says it all, on verify at the level that is used most. */
function summarizeVerifyResults({ rows }: BacktestFindings, unit: string): string {
  const told = (row: BacktestRow) => {
    const allowed =
      `the ${row.policy} policy allows ${formatPercent(row.good_allowed, row.good) || "none"} of the ` +
      `good outcomes and ${formatPercent(row.bad_allowed, row.bad) || "none"} of the bad ones`;
    if (row.stakes_good + row.stakes_bad === 0) return allowed;
    const lost = `stakes of ${formatMoney(row.stakes_lost)} ${unit} lost`;
    return `${allowed} (${lost}, of ${formatMoney(row.stakes_turned_away)} ${unit} turned away)`;
  };
  return (["L2", "L3"] as const)
    .map((level) => {
      const own = rows.filter((row) => row.level === level && row.question === "verify");
      return `${formatSentenceHtml(`at ${level} ${own.toReversed().map(told).join("; ")}`)}.`;
    })
    .join(" ");
}

/** Members of the stakes as the tenant wrote them, by level; what it left out is not among them. */
function collectWrittenStakes({ stakes = {} }: Pick<Policy, "stakes">): Map<string, string> {
  const { levels = {}, ...shared } = stakes;
  const found = new Map<string, string>();
  for (const [level, members] of Object.entries({ all: shared, ...levels })) {
    for (const [member, value] of Object.entries(members)) {
      found.set(`${level} stakes.${member}`, String(value));
    }
  }
  return found;
}

function listRuleDifferences(before: Policy, after: Policy): string[][] {
  // A back-test has no earlier calls: limits decide nothing in it.
  const rules = Object.keys(before.levels.L0) as Exclude<keyof LevelPolicy, "limits">[];
  const ofLevels = TOOL_LEVELS.flatMap((level) =>
    rules
      .filter((rule) => before.levels[level][rule] !== after.levels[level][rule])
      .map((rule) => [
        level,
        rule,
        String(before.levels[level][rule]),
        String(after.levels[level][rule]),
      ]),
  );
  const [one, other] = [collectWrittenStakes(before), collectWrittenStakes(after)];
  const ofStakes = [...new Set([...one.keys(), ...other.keys()])]
    .filter((name) => one.get(name) !== other.get(name))
    .map((name) => [...name.split(" "), one.get(name) ?? "not set", other.get(name) ?? "not set"]);
  return [...ofLevels, ...ofStakes];
}

function renderRuleDifferences({ live, given }: Backtest): string {
  if (live === undefined || given === undefined) return "";
  const differences = listRuleDifferences(
    fillPolicyDefaults(live.policy),
    fillPolicyDefaults(given.policy),
  );
  const rows = differences.map(
    ([level, rule, before, after]) =>
      `<tr><td>${level}</td><td><code>${rule}</code></td><td class="n">${before}</td>` +
      `<td class="n">${after}</td></tr>`,
  );
  if (rows.length === 0) return `<p>Both policies have the same rules.</p>`;
  return (
    `<h2>Rules that differ</h2><div class="wide"><table><tr><th>level</th><th>rule</th>` +
    `<th class="n">live</th><th class="n">given</th></tr>${rows.join("")}</table></div>`
  );
}

function findCurvePair(findings: BacktestFindings, level: ToolLevel, question: BacktestQuestion) {
  const of = (policy: "live" | "given") =>
    findings.curves.find(
      (curve) => curve.policy === policy && curve.level === level && curve.question === question,
    );
  const row = findings.rows.find((each) => each.level === level && each.question === question);
  const { bounds } = findings;
  const pair: CurvePair = {
    bounds,
    good: row?.good ?? 0,
    bad: row?.bad ?? 0,
    live: of("live"),
    given: of("given"),
  };
  return pair;
}

function renderLevelPlots(findings: BacktestFindings, level: ToolLevel, unit: string): string {
  const pairs = BACKTEST_QUESTIONS.map((question) => ({
    words: BACKTEST_QUESTION_LABELS[question],
    pair: findCurvePair(findings, level, question),
  })).filter(({ pair }) => pair.good + pair.bad > 0);
  const felt = pairs.filter(({ pair }) => hasBoundEffect(pair));
  const flat = pairs.filter(({ pair }) => !hasBoundEffect(pair));
  const figures = felt.map(
    ({ words, pair }) =>
      `<figure><h4>Allowed: ${words}</h4>` +
      `${renderAllowedPlot(pair, `${level}, ${words}: outcomes allowed by bound`)}</figure>`,
  );
  const note =
    flat.length === 0
      ? ""
      : `<p class="soft">Not drawn, because the bound decides next to nothing there: ` +
        `${flat.map(({ words }) => words).join("; ")}. The table below says what does.</p>`;
  return (
    `<h3>If the allow bound were another</h3><p class="soft">Everything else as the policy has it: ` +
    `thin records, the border of denial, minimum scores and stakes.</p>` +
    renderLegend(findings.changes.length > 0) +
    `<div class="plots">${figures.join("")}${renderMoneyFigure(findings, level, unit)}</div>${note}`
  );
}

function renderMoneyFigure(findings: BacktestFindings, level: ToolLevel, unit: string): string {
  const hasMoney = findings.rows.some(({ stakes_good: good, stakes_bad: bad }) => good + bad > 0);
  const pair = findCurvePair(findings, level, "verify");
  if (!hasMoney || !hasBoundEffect(pair)) return "";
  return (
    `<figure><h4>Money: ${BACKTEST_QUESTION_LABELS.verify}</h4>` +
    `${renderMoneyPlot(pair, `${level}: stakes lost and turned away by bound`, unit)}<figcaption>Falling: ` +
    `stakes of good outcomes not allowed. Rising: stakes of bad ones allowed.</figcaption></figure>`
  );
}

function renderLevelSection(findings: BacktestFindings, level: ToolLevel, unit: string): string {
  return [
    `<h2>${level}</h2>`,
    renderResultTable(findings, level, unit),
    renderLevelPlots(findings, level, unit),
    renderReasonTable(findings, level),
    renderChangeTable(findings, level, unit),
    renderAffectedAgentTable(findings, level),
  ].join("");
}

/** Levels where a policy holds back, the most sensitive first; the others are all allowed. */
function renderLevelSections(findings: BacktestFindings, unit: string): string {
  const isHeld = (level: ToolLevel) => findings.curves.some((curve) => curve.level === level);
  const held = TOOL_LEVELS.filter(isHeld).toReversed();
  const open = TOOL_LEVELS.filter((level) => !isHeld(level));
  const rest =
    open.length === 0
      ? ""
      : `<h2>${open.join(" and ")}</h2><p>Nothing is held back at ${open.join(" and ")}: every ` +
        `outcome is allowed.</p>${open.map((level) => renderFlaggedNote(findings, level)).join("")}`;
  return held.map((level) => renderLevelSection(findings, level, unit)).join("") + rest;
}

function renderFlaggedNote({ rows }: BacktestFindings, level: ToolLevel): string {
  return rows
    .filter((row) => row.level === level && row.question === "verify")
    .filter((row) => row.good_flagged + row.bad_flagged > 0)
    .map(
      (row) =>
        `<p>At ${level} the ${row.policy} policy flags ${formatCount(row.good_flagged)} good and ` +
        `${formatCount(row.bad_flagged)} bad outcomes for a person; thin records count each time here, ` +
        `and are flagged once a day at most when they are asked about.</p>`,
    )
    .join("");
}

/** Names in backticks as code. */
function renderBackticksAsCode(html: string): string {
  return html.replaceAll(/`([^`]*)`/g, "<code>$1</code>");
}

const METHOD_NOTE = [
  `<p class="soft">Each outcome of the journal is judged as if its reporter had asked right before `,
  `it settled: by all that was on record then, and nothing later. <em>Good</em> and <em>bad</em> is `,
  `how it went. A policy is good when it allows the good ones and not the bad ones. Dealings that `,
  `were turned away left no outcome: history has those that took place. What content `,
  `and sources would have added is not part of history.</p>`,
].join("");

/** Renders the page, without scripts or loaded resources. */
export function renderBacktestPage(backtest: Backtest): string {
  const { backtest_id: id, findings, given_version: given } = backtest;
  const title =
    given === null ? "Back-test of the live policy" : "Back-test of a policy beside the live one";
  if (findings === undefined) {
    const why = backtest.reason ?? "it is under way";
    const body = `<h1>${escapeHtml(title)}</h1><p class="lead">No figures: ${escapeHtml(why)}.</p>`;
    return renderReportPage(`${id}: ${title}`, body);
  }
  const warnings = (backtest.warnings ?? []).map(
    (text) =>
      `<li><strong class="warn">!</strong> ${renderBackticksAsCode(formatSentenceHtml(text))}.</li>`,
  );
  const body = [
    `<h1>${escapeHtml(title)}</h1><p class="lead">${summarizeVerifyResults(findings, describeAmountUnit(backtest))}</p>`,
    warnings.length === 0 ? "" : `<ul class="warnings">${warnings.join("")}</ul>`,
    METHOD_NOTE,
    renderBacktestFacts(backtest, findings),
    renderRuleDifferences(backtest),
    renderMoneySection(backtest),
    renderLevelSections(findings, describeAmountUnit(backtest)),
  ].join("");
  return renderReportPage(`${id}: ${title}`, body);
}
