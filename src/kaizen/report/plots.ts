// SVG plots of a run's report: reliability diagram, score distributions, intervals and paired bars.
// Colors come from the page's variables, so that light and dark are legible; champion and challenger
// differ by shape and dash as well.
import type { IntervalMark } from "../gates/register.ts";
import type { RunChartData, ModelChartData } from "../model/run-charts.ts";
import { computeWilsonInterval } from "../../policy/confidence-interval.ts";

export const REPORT_PLOT_WIDTH = 460;
export const REPORT_PLOT_HEIGHT = 300;
export const MARGIN_LEFT = 58;
export const MARGIN_BOTTOM = 44;
export const MARGIN_TOP = 12;
export const MARGIN_RIGHT = 24;

export const PLOT_AREA_WIDTH = REPORT_PLOT_WIDTH - MARGIN_LEFT - MARGIN_RIGHT;
export const PLOT_AREA_HEIGHT = REPORT_PLOT_HEIGHT - MARGIN_TOP - MARGIN_BOTTOM;
export const formatPixels = (x: number): string => x.toFixed(1);

/** An SVG with a frame, the names of its axes and `inner`. */
export function renderPlotFrame(
  title: string,
  xLabel: string,
  yLabel: string,
  inner: string,
): string {
  const bottom = REPORT_PLOT_HEIGHT - MARGIN_BOTTOM;
  return [
    `<svg viewBox="0 0 ${REPORT_PLOT_WIDTH} ${REPORT_PLOT_HEIGHT}" role="img" aria-label="${title}">`,
    `<rect x="${MARGIN_LEFT}" y="${MARGIN_TOP}" width="${PLOT_AREA_WIDTH}" height="${PLOT_AREA_HEIGHT}" class="frame"/>`,
    inner,
    `<text x="${MARGIN_LEFT + PLOT_AREA_WIDTH / 2}" y="${REPORT_PLOT_HEIGHT - 6}" class="middle">${xLabel}</text>`,
    `<text x="14" y="${MARGIN_TOP + PLOT_AREA_HEIGHT / 2}" class="middle"`,
    ` transform="rotate(-90 14 ${MARGIN_TOP + PLOT_AREA_HEIGHT / 2})">${yLabel}</text>`,
    `<line x1="${MARGIN_LEFT}" y1="${bottom}" x2="${REPORT_PLOT_WIDTH - MARGIN_RIGHT}" y2="${bottom}" class="axis"/>`,
    `</svg>`,
  ].join("");
}

/** Probabilities on a square-root axis: most of them are small, and all of them matter. */
export const scaleBySquareRoot = (p: number): number => Math.sqrt(Math.max(0, Math.min(1, p)));

const INTERVAL_WIDTH = 220;
const INTERVAL_HEIGHT = 30;
const INTERVAL_EDGE = 10;

const formatThreeDigits = (value: number): string => String(Number(value.toPrecision(3)));

/** A line with a dot, and the border as a dashed upright. */
export function renderIntervalPlot({ label, low, value, high, border }: IntervalMark): string {
  const from = Math.min(low, border, value);
  const to = Math.max(high, border, value);
  const span = to - from || 1;
  const at = (x: number) =>
    formatPixels(INTERVAL_EDGE + ((x - from) / span) * (INTERVAL_WIDTH - 2 * INTERVAL_EDGE));
  const text = `${label}: ${formatThreeDigits(value)}, 90 % between ${formatThreeDigits(low)} and ${formatThreeDigits(high)}`;
  return [
    `<svg viewBox="0 0 ${INTERVAL_WIDTH} ${INTERVAL_HEIGHT}" class="interval" role="img" aria-label="${text}">`,
    `<title>${text}; the border is ${formatThreeDigits(border)}</title>`,
    `<line x1="${at(border)}" y1="2" x2="${at(border)}" y2="18" class="perfect"/>`,
    `<line x1="${at(low)}" y1="10" x2="${at(high)}" y2="10" class="line challenger"/>`,
    `<circle cx="${at(value)}" cy="10" r="4" class="challenger"/>`,
    `<text x="${INTERVAL_EDGE}" y="28" class="tick">${label}: ${formatThreeDigits(low)} to ${formatThreeDigits(high)}; limit ${formatThreeDigits(border)}</text>`,
    `</svg>`,
  ].join("");
}

/** Effect of one ingredient under the live and the tested weights. */
export interface BarPair {
  name: string;
  live: number;
  tested: number;
}

const BAR_WIDTH = 720;
const NAME_WIDTH = 250;
const VALUE_WIDTH = 46;
const ROW_HEIGHT = 34;
const BAR_HEIGHT = 11;

/** Paired horizontal bars, one row an ingredient. */
export function renderPairedBars(rows: readonly BarPair[], title: string): string {
  const most = Math.max(1, ...rows.flatMap(({ live, tested }) => [live, tested]));
  const scale = (BAR_WIDTH - NAME_WIDTH - VALUE_WIDTH) / most;
  const bar = (value: number, y: number, name: string) =>
    `<rect x="${NAME_WIDTH}" y="${y}" width="${formatPixels(Math.max(1, value * scale))}" height="${BAR_HEIGHT}" ` +
    `class="bar ${name}"/>` +
    `<text x="${formatPixels(NAME_WIDTH + value * scale + 5)}" y="${y + 10}" class="tick">` +
    `${Math.round(value)}</text>`;
  const body = rows.map(({ name, live, tested }, i) => {
    const y = i * ROW_HEIGHT + 4;
    return (
      `<text x="${NAME_WIDTH - 8}" y="${y + 16}" class="end name">${name}</text>` +
      bar(live, y, "champion") +
      bar(tested, y + BAR_HEIGHT + 2, "challenger")
    );
  });
  const height = rows.length * ROW_HEIGHT + 4;
  return (
    `<svg viewBox="0 0 ${BAR_WIDTH} ${height}" role="img" aria-label="${title}">` +
    `${body.join("")}</svg>`
  );
}

/** Half the width of the ends of an interval, px. */
const CAP_HALF = 3.5;

function renderReliabilityPoints(model: ModelChartData, name: string): string {
  const spots = model.reliability.map(({ expected, observed, rows }) => {
    const x = MARGIN_LEFT + scaleBySquareRoot(expected) * PLOT_AREA_WIDTH;
    const y = MARGIN_TOP + (1 - scaleBySquareRoot(observed)) * PLOT_AREA_HEIGHT;
    const label = `${name}: ${(expected * 100).toFixed(1)} % said, `;
    const seen = `${(observed * 100).toFixed(1)} % seen, ${rows} rows`;
    return { x, y, text: label + seen };
  });
  const bars = model.reliability.map(({ expected, observed, rows }) => {
    const side = name === "champion" ? -2 : 2;
    const x = MARGIN_LEFT + scaleBySquareRoot(expected) * PLOT_AREA_WIDTH + side;
    const { low, high } = computeWilsonInterval(observed, rows);
    const [from, to] = [low, high].map((p) =>
      formatPixels(MARGIN_TOP + (1 - scaleBySquareRoot(p)) * PLOT_AREA_HEIGHT),
    );
    const [left, right] = [formatPixels(x - CAP_HALF), formatPixels(x + CAP_HALF)];
    const at = formatPixels(x);
    const path = `M${left} ${from}H${right}M${at} ${from}V${to}M${left} ${to}H${right}`;
    return `<path d="${path}" class="error ${name}"/>`;
  });
  const line = spots.map(({ x, y }) => `${formatPixels(x)},${formatPixels(y)}`).join(" ");
  // Squares for the old weights, discs for the new ones.
  const dots = spots.map(({ x, y, text }) =>
    name === "champion"
      ? `<rect x="${formatPixels(x - 4)}" y="${formatPixels(y - 4)}" width="8" height="8" class="${name}">` +
        `<title>${text}</title></rect>`
      : `<circle cx="${formatPixels(x)}" cy="${formatPixels(y)}" r="4.5" class="${name}">` +
        `<title>${text}</title></circle>`,
  );
  return `${bars.join("")}<polyline points="${line}" class="line ${name}"/>${dots.join("")}`;
}

/** Groups in which what was foretold lies within the 95 % interval of what was seen. */
export function countCalibratedBins({ reliability }: ModelChartData): number {
  const isWithin = ({ expected, observed, rows }: (typeof reliability)[number]) => {
    const { low, high } = computeWilsonInterval(observed, rows);
    return expected >= low && expected <= high;
  };
  return reliability.filter(isWithin).length;
}

/** Forecast against observed failures, ten bins of equal mass with error bars, both models. */
export function renderReliabilityPlot({ champion, challenger }: RunChartData): string {
  const ticks = [0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1].map((p) => {
    const x = MARGIN_LEFT + scaleBySquareRoot(p) * PLOT_AREA_WIDTH;
    const y = MARGIN_TOP + (1 - scaleBySquareRoot(p)) * PLOT_AREA_HEIGHT;
    const label = `${Math.round(p * 100)} %`;
    return (
      `<line x1="${formatPixels(x)}" y1="${MARGIN_TOP}" x2="${formatPixels(x)}" y2="${REPORT_PLOT_HEIGHT - MARGIN_BOTTOM}" class="grid"/>` +
      `<line x1="${MARGIN_LEFT}" y1="${formatPixels(y)}" x2="${REPORT_PLOT_WIDTH - MARGIN_RIGHT}" y2="${formatPixels(y)}" class="grid"/>` +
      `<text x="${formatPixels(x)}" y="${REPORT_PLOT_HEIGHT - MARGIN_BOTTOM + 16}" class="middle tick">${label}</text>` +
      `<text x="${MARGIN_LEFT - 4}" y="${formatPixels(y + 4)}" class="end tick">${label}</text>`
    );
  });
  const perfect =
    `<line x1="${MARGIN_LEFT}" y1="${REPORT_PLOT_HEIGHT - MARGIN_BOTTOM}" x2="${REPORT_PLOT_WIDTH - MARGIN_RIGHT}" y2="${MARGIN_TOP}" ` +
    `class="perfect"/>`;
  const inner =
    ticks.join("") +
    perfect +
    renderReliabilityPoints(champion, "champion") +
    renderReliabilityPoints(challenger, "challenger");
  return renderPlotFrame(
    "reliability diagram",
    "failures foretold, % of a group (square-root scale)",
    "failures seen, % of a group",
    inner,
  );
}

function renderStepLine(shares: readonly number[], most: number, name: string): string {
  const width = PLOT_AREA_WIDTH / shares.length;
  const points = shares.flatMap((share, i) => {
    const y = formatPixels(MARGIN_TOP + (1 - share / most) * PLOT_AREA_HEIGHT);
    return [
      `${formatPixels(MARGIN_LEFT + i * width)},${y}`,
      `${formatPixels(MARGIN_LEFT + (i + 1) * width)},${y}`,
    ];
  });
  return `<polyline points="${points.join(" ")}" class="line ${name}"/>`;
}

/** Distribution of the scores of one kind of outcome, both models. */
export function renderScorePlot(figures: RunChartData, kind: "successes" | "failures"): string {
  const { champion, challenger, score_from: from, score_step: step } = figures;
  const most = Math.max(0.01, ...champion[kind], ...challenger[kind]) * 1.05;
  const bins = champion[kind].length;
  const ticks = [300, 450, 550, 650, 750, 850].map((score) => {
    const x = MARGIN_LEFT + ((score - from) / (step * bins)) * PLOT_AREA_WIDTH;
    return (
      `<line x1="${formatPixels(x)}" y1="${MARGIN_TOP}" x2="${formatPixels(x)}" y2="${REPORT_PLOT_HEIGHT - MARGIN_BOTTOM}" class="grid"/>` +
      `<text x="${formatPixels(x)}" y="${REPORT_PLOT_HEIGHT - MARGIN_BOTTOM + 16}" class="middle tick">${score}</text>`
    );
  });
  const shares = [0.5, 1].map((part) => {
    const y = MARGIN_TOP + (1 - part / 1.05) * PLOT_AREA_HEIGHT;
    const label = `${((part * most * 100) / 1.05).toFixed(0)} %`;
    return (
      `<line x1="${MARGIN_LEFT}" y1="${formatPixels(y)}" x2="${REPORT_PLOT_WIDTH - MARGIN_RIGHT}" y2="${formatPixels(y)}" class="grid"/>` +
      `<text x="${MARGIN_LEFT - 5}" y="${formatPixels(y + 4)}" class="end tick">${label}</text>`
    );
  });
  const inner =
    ticks.join("") +
    shares.join("") +
    renderStepLine(champion[kind], most, "champion") +
    renderStepLine(challenger[kind], most, "challenger");
  return renderPlotFrame(
    `scores of ${kind}`,
    "score, 300 to 850",
    `${kind}, % in steps of ${step} points`,
    inner,
  );
}
