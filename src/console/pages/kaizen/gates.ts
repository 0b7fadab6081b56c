// The gates of a run: verdict, what was asked and found, each number beside its bound.
import { formatNumber, formatPercent } from "../../format.ts";
import { html, type VNode } from "../../html.ts";
import { IntervalLine } from "../../parts/plots.ts";
import { Table } from "../../parts/table.ts";
import { Tag } from "../../parts/words.ts";
import type { RunGate, RunGateInterval, RunGateMeasure, ListedGateVerdict } from "./shapes.ts";

const COMPARISON_SIGNS: Readonly<Record<RunGateMeasure["comparison"], string>> = {
  at_least: "≥",
  above: ">",
  at_most: "≤",
  within: "in",
};

/** Measures that are shares of 1. */
const SHARES = new Set([
  "ece",
  "relative_gain",
  "tier_migration",
  "upper_bound",
  "worst_community_relative_gain",
]);
const UNITS: Readonly<Record<string, string>> = {
  rows: "outcomes",
  failures: "outcomes",
  successes: "outcomes",
  effective_reporters: "reporters",
  effective_subjects: "agents",
  intercept: "log-odds",
  largest_step: "points",
  median_shift: "points",
};

/** With its unit, where it has one. */
function formatMeasureValue(name: string, value: number): string {
  if (SHARES.has(name)) return formatPercent(value, 2);
  const unit = UNITS[name];
  const digits = Math.abs(value) >= 100 ? 0 : 4;
  if (unit === undefined) return formatNumber(value, digits);
  return `${formatNumber(value, Math.min(digits, 2))} ${unit}`;
}

function formatBound({ name, comparison, bound, bound_high: high }: RunGateMeasure): string {
  const low = `${COMPARISON_SIGNS[comparison]} ${formatMeasureValue(name, bound)}`;
  return high === undefined ? low : `${low} … ${formatMeasureValue(name, high)}`;
}

/** Measures whose names say too little by themselves. */
const MEASURE_LABELS: Readonly<Record<string, string>> = {
  lower: "AUC changes by at least",
  ece: "calibration error",
  intercept: "offset",
  brier_z: "Brier score, z",
  upper_bound: "good outcomes denied, at most",
  mcnemar_p: "no more denials, p",
  not_finite: "scores that are no number",
  largest_step: "largest change by one report",
  population: "stability index",
  median_shift: "median score moves",
  tier_migration: "share that changes tier",
  harms: "prizes that attacks win more often",
  others_z: "z without the teachers",
  worst_community_relative_gain: "gain without any one community",
};

const formatMeasureLabel = (name: string): string =>
  MEASURE_LABELS[name] ?? name.replaceAll("_", " ");

function describeGateVerdict({
  passed,
  is_warning: isWarning,
}: Pick<RunGate, "passed" | "is_warning">) {
  if (!passed) return ["failed", "deny"] as const;
  return isWarning ? (["passed, look", "warn"] as const) : (["passed", "allow"] as const);
}

const describeInterval = ({ label, low, high, border }: RunGateInterval): string =>
  `${label}: ${formatNumber(low, 3)} to ${formatNumber(high, 3)}, limit ${formatNumber(border, 3)}`;

const COLUMNS = [
  { label: "gate", cell: (gate: RunGate) => html`<b>${gate.id}</b>` },
  {
    label: "verdict",
    cell: (gate: RunGate) => {
      const [word, tone] = describeGateVerdict(gate);
      return html`<${Tag} word=${word} tone=${tone} />`;
    },
  },
  {
    label: "asked and found",
    cell: (gate: RunGate) =>
      html`<div class="found">
        <b>${gate.question}</b><br /><span class="dim">${gate.sentence}</span>
      </div>`,
  },
  {
    label: "number and bound",
    cell: (gate: RunGate) =>
      html`<ul class="measures">
        ${gate.measures.map(
          (measure) =>
            html`<li>
              ${formatMeasureLabel(measure.name)}${" "}<b>${formatMeasureValue(measure.name, measure.value)}</b>${" "}
              <span class=${measure.is_within ? "dim" : "warn"}>${formatBound(measure)}</span>
            </li>`,
        )}
      </ul>`,
  },
  {
    label: "90 % interval",
    cell: (gate: RunGate) =>
      gate.intervals.map(
        (each) =>
          html`<${IntervalLine} ...${each} /><span class="dim small"
              >${describeInterval(each)}</span
            >`,
      ),
  },
];

export function GateTable({ gates }: { gates: readonly RunGate[] }): VNode {
  return html`<${Table}
    label="gates"
    columns=${COLUMNS}
    rows=${gates}
    keyOf=${(gate: RunGate) => gate.id}
    empty="No gate was asked: there was not enough evidence to test on."
  />`;
}

/** Verdicts of a run as marks, one for each gate; words for those who do not see them. */
export function GateMarks({ gates }: { gates: readonly ListedGateVerdict[] | undefined }): VNode {
  if (gates === undefined || gates.length === 0) return html`<span class="dim">–</span>`;
  const failed = gates.filter(({ passed }) => !passed);
  const said =
    failed.length === 0
      ? `all ${gates.length} passed`
      : `${failed.map(({ side, id }) => `${id} of ${side}`).join(", ")} failed`;
  return html`<span class="passes" role="img" aria-label=${said} title=${said}>
    ${gates.map((gate) => html`<i class=${describeGateVerdict(gate)[1]}></i>`)}
  </span>`;
}
