// A run as one HTML page that needs nothing else: what was decided and why, every gate with its
// numbers, the plots, the weights before and after. For a person who has not read the code.
import { FEATURES } from "../contract/vocabulary.ts";
import type { ScoringModel } from "../engine/config.ts";
import type { GateResult } from "./gate.ts";
import type { RunRecord } from "./kaizen.ts";
import { reliabilityPlot, scorePlot } from "./plots.ts";
import type { SideRecord } from "./run.ts";

const STYLE = `
:root{color-scheme:light dark;--ink:#1a1a1a;--paper:#fff;--soft:#666;--rule:#d0d0d0;
--old:#7a5cc4;--new:#0a7d5a;--bad:#b3261e;--warn:#8a5a00}
@media(prefers-color-scheme:dark){:root{--ink:#ececec;--paper:#161616;--soft:#a8a8a8;
--rule:#444;--old:#b9a3f0;--new:#5fd3a8;--bad:#ff8a80;--warn:#ffc46b}}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);
max-width:62rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%;margin:1rem 0}
th,td{text-align:left;padding:.35rem .6rem;border-bottom:1px solid var(--rule);vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
.pass{color:var(--new);font-weight:600}.fail{color:var(--bad);font-weight:600}
.warn{color:var(--warn);font-weight:600}.soft,details{color:var(--soft)}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(18rem,1fr));gap:1rem}
svg{width:100%;height:auto}svg text{fill:var(--soft);font-size:11px}
.middle{text-anchor:middle}.end{text-anchor:end}.tick{font-size:10px}
.frame{fill:none;stroke:var(--rule)}.axis{stroke:var(--soft)}
.perfect{stroke:var(--soft);stroke-dasharray:4 4}
.line{fill:none;stroke-width:2}.champion{stroke:var(--old)}.challenger{stroke:var(--new)}
.line.champion{stroke-dasharray:6 3}
circle.champion{fill:var(--old)}circle.challenger{fill:var(--new)}
.key{display:inline-block;width:1.6em;border-top:3px solid;vertical-align:middle;margin:0 .4em}
.key.old{border-color:var(--old);border-top-style:dashed}.key.new{border-color:var(--new)}
h1{line-height:1.2}`;

/** Text for HTML: the record holds words that came from outside. */
function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

const words = (text: string): string => escapeHtml(text.replaceAll("_", " "));
const digits = (value: number): string =>
  Number.isFinite(value) ? String(Number(value.toPrecision(4))) : "none";

function gateRow(gate: GateResult): string {
  const mark = gate.passed ? (gate.isWarning === true ? "warn" : "pass") : "fail";
  const verdict = { pass: "passed", warn: "passed, look", fail: "failed" }[mark];
  const numbers = Object.entries(gate.numbers)
    .map(([name, value]) => `${words(name)} ${digits(value)}`)
    .join(", ");
  return (
    `<tr><td>${gate.id}</td><td>${words(gate.name)}</td><td class="${mark}">${verdict}</td>` +
    `<td>${escapeHtml(gate.sentence)}<details><summary>all numbers</summary>${numbers}` +
    `</details></td></tr>`
  );
}

interface Weight {
  name: string;
  of: (model: ScoringModel) => number;
}

const WEIGHTS: readonly Weight[] = [
  { name: "intercept", of: (model) => model.intercept },
  { name: "base rate", of: (model) => model.base },
  { name: "record of the agent", of: (model) => model.mean },
  { name: "severity of the viewer", of: (model) => model.viewer },
  ...FEATURES.map((name) => ({ name, of: (model: ScoringModel) => model.weights[name] ?? 0 })),
  { name: "refuse from (optimistic probability)", of: (model) => model.refuse_at },
];

/** 40 points double the odds (scoring 3). */
const POINTS_PER_LOGIT = 57.7078;

function weightRows(before: ScoringModel, after: ScoringModel): string {
  return WEIGHTS.filter(({ of }) => of(before) !== 0 || of(after) !== 0)
    .map(({ name, of }) => {
      const [old, fresh] = [of(before), of(after)];
      const points = name.startsWith("refuse") ? "" : digits(-POINTS_PER_LOGIT * fresh);
      return (
        `<tr><td>${words(name)}</td><td class="n">${digits(old)}</td>` +
        `<td class="n">${digits(fresh)}</td><td class="n">${digits(fresh - old)}</td>` +
        `<td class="n">${points}</td></tr>`
      );
    })
    .join("");
}

function sideSection(side: SideRecord): string {
  const { figures, challenger, bootstrap } = side;
  const parts = [
    `<h2>${words(side.side)}</h2>`,
    `<p><strong>${side.passed ? "Every gate passed." : "Not promoted."}</strong> `,
    `${escapeHtml(side.reason)}.</p>`,
    `<p class="soft">${side.rows.training} outcomes to learn from, ${side.rows.holdout} newer `,
    `ones, never used before, to test on`,
    side.lambda === undefined ? ".</p>" : `; pull towards the champion ${side.lambda}.</p>`,
    `<table><tr><th></th><th>gate</th><th>verdict</th><th>what was found</th></tr>`,
    side.gates.map(gateRow).join(""),
    `</table>`,
  ];
  if (figures !== undefined) {
    parts.push(
      `<p><span class="key old"></span>weights that are live`,
      `<span class="key new"></span>weights that were tested</p><div class="plots">`,
      `<figure>${reliabilityPlot(figures)}<figcaption class="soft">On the dotted line a forecast `,
      `means what it says.</figcaption></figure>`,
      `<figure>${scorePlot(figures, "successes")}</figure>`,
      `<figure>${scorePlot(figures, "failures")}</figure></div>`,
    );
  }
  if (bootstrap !== undefined) {
    const { auc, log_loss: loss, resamples } = bootstrap;
    parts.push(
      `<p class="soft">Resampled ${resamples} times by subject and reporter, 90 % of the time `,
      `log-loss changes by ${digits(loss.low)} to ${digits(loss.high)} and AUC by `,
      `${digits(auc.low)} to ${digits(auc.high)}.</p>`,
    );
  }
  if (challenger !== undefined) {
    parts.push(
      `<table><tr><th>weight</th><th class="n">live</th><th class="n">tested</th>`,
      `<th class="n">change</th><th class="n">points per unit</th></tr>`,
      `${weightRows(side.champion, challenger)}</table>`,
    );
  }
  return parts.join("");
}

const HEADLINES: Record<RunRecord["state"], string> = {
  running: "Under way",
  kept: "The weights stay as they are",
  promoted: "New weights are live",
  dry_run: "A trial: nothing was changed",
  failed: "The run broke; the weights stay as they are",
};

/** The page. Self-contained: no script, nothing loaded. */
export function reportPage(run: RunRecord): string {
  const back = run.rolled_back;
  const headline = back === undefined ? HEADLINES[run.state] : "Promoted, then taken back";
  const facts = [
    ["started", `${run.started_at} by ${run.started_by}`],
    ["took", run.duration_ms === undefined ? "" : `${(run.duration_ms / 1000).toFixed(1)} s`],
    ["evidence", `${run.rows} signed outcomes, journal position ${run.position}`],
    ["live weights then", run.champion_version],
    ["tested weights", run.challenger_version ?? ""],
    ["taken back", back === undefined ? "" : `${back.at}: ${back.reason}`],
  ].filter(([, value]) => value !== "");
  const rows = facts.map(
    ([name, value]) => `<tr><th>${name}</th><td>${escapeHtml(value!)}</td></tr>`,
  );
  return [
    `<!doctype html><html lang="en"><head><meta charset="utf-8">`,
    `<meta name="viewport" content="width=device-width,initial-scale=1">`,
    `<title>${escapeHtml(run.run_id)}: ${headline}</title><style>${STYLE}</style></head><body>`,
    `<h1>${headline}</h1><p>${escapeHtml(run.reason)}.</p>`,
    `<table>${rows.join("")}</table>`,
    ...(run.findings?.sides ?? []).map(sideSection),
    `</body></html>`,
  ].join("");
}
