// SVG plots of a report: reliability diagram and score distributions. Text only, no script; colours
// come from the page's variables, so that light and dark are both legible.
import type { RunChartData, ModelChartData } from "../model/figures.ts";
import { computeWilsonInterval } from "../../policy/interval.ts";
import {
  MARGIN_BOTTOM,
  renderPlotFrame,
  REPORT_PLOT_HEIGHT,
  MARGIN_LEFT,
  PLOT_AREA_HEIGHT,
  PLOT_AREA_WIDTH,
  formatPixels,
  MARGIN_RIGHT,
  scaleBySquareRoot,
  MARGIN_TOP,
  REPORT_PLOT_WIDTH,
} from "./plot-frame.ts";

function renderReliabilityPoints(model: ModelChartData, name: string): string {
  const spots = model.reliability.map(({ expected, observed, rows }) => {
    const x = MARGIN_LEFT + scaleBySquareRoot(expected) * PLOT_AREA_WIDTH;
    const y = MARGIN_TOP + (1 - scaleBySquareRoot(observed)) * PLOT_AREA_HEIGHT;
    const label = `${name}: ${(expected * 100).toFixed(1)} % said, `;
    const seen = `${(observed * 100).toFixed(1)} % seen, ${rows} rows`;
    return { x, y, text: label + seen };
  });
  const bars = model.reliability.map(({ expected, observed, rows }) => {
    const x = formatPixels(
      MARGIN_LEFT + scaleBySquareRoot(expected) * PLOT_AREA_WIDTH + (name === "champion" ? -2 : 2),
    );
    const { low, high } = computeWilsonInterval(observed, rows);
    const [from, to] = [low, high].map((p) =>
      formatPixels(MARGIN_TOP + (1 - scaleBySquareRoot(p)) * PLOT_AREA_HEIGHT),
    );
    return `<line x1="${x}" y1="${from}" x2="${x}" y2="${to}" class="error ${name}"/>`;
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
  return renderPlotFrame("reliability diagram", "failures foretold", "failures seen", inner);
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
  return renderPlotFrame(`scores of ${kind}`, "score, 300 to 850", `share of the ${kind}`, inner);
}
