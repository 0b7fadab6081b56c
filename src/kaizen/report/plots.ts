// SVG plots of a report: reliability diagram and score distributions. Text only, no script; colours
// come from the page's variables, so that light and dark are both legible.
import type { Figures, ModelFigures } from "../model/figures.ts";
import { wilsonInterval } from "../../policy/interval.ts";
import {
  BOTTOM,
  frame,
  HEIGHT,
  LEFT,
  plotHeight,
  plotWidth,
  px,
  RIGHT,
  rootScale,
  TOP,
  WIDTH,
} from "./plot-frame.ts";

function reliabilityPoints(model: ModelFigures, name: string): string {
  const spots = model.reliability.map(({ expected, observed, rows }) => {
    const x = LEFT + rootScale(expected) * plotWidth;
    const y = TOP + (1 - rootScale(observed)) * plotHeight;
    const label = `${name}: ${(expected * 100).toFixed(1)} % said, `;
    const seen = `${(observed * 100).toFixed(1)} % seen, ${rows} rows`;
    return { x, y, text: label + seen };
  });
  const bars = model.reliability.map(({ expected, observed, rows }) => {
    const x = px(LEFT + rootScale(expected) * plotWidth + (name === "champion" ? -2 : 2));
    const { low, high } = wilsonInterval(observed, rows);
    const [from, to] = [low, high].map((p) => px(TOP + (1 - rootScale(p)) * plotHeight));
    return `<line x1="${x}" y1="${from}" x2="${x}" y2="${to}" class="error ${name}"/>`;
  });
  const line = spots.map(({ x, y }) => `${px(x)},${px(y)}`).join(" ");
  // Squares for the old weights, discs for the new ones.
  const dots = spots.map(({ x, y, text }) =>
    name === "champion"
      ? `<rect x="${px(x - 4)}" y="${px(y - 4)}" width="8" height="8" class="${name}">` +
        `<title>${text}</title></rect>`
      : `<circle cx="${px(x)}" cy="${px(y)}" r="4.5" class="${name}">` +
        `<title>${text}</title></circle>`,
  );
  return `${bars.join("")}<polyline points="${line}" class="line ${name}"/>${dots.join("")}`;
}

/** Groups in which what was foretold lies within the 95 % interval of what was seen. */
export function calibratedBins({ reliability }: ModelFigures): number {
  const isWithin = ({ expected, observed, rows }: (typeof reliability)[number]) => {
    const { low, high } = wilsonInterval(observed, rows);
    return expected >= low && expected <= high;
  };
  return reliability.filter(isWithin).length;
}

/** Forecast against observed failures, ten bins of equal mass with error bars, both models. */
export function reliabilityPlot({ champion, challenger }: Figures): string {
  const ticks = [0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1].map((p) => {
    const x = LEFT + rootScale(p) * plotWidth;
    const y = TOP + (1 - rootScale(p)) * plotHeight;
    const label = `${Math.round(p * 100)} %`;
    return (
      `<line x1="${px(x)}" y1="${TOP}" x2="${px(x)}" y2="${HEIGHT - BOTTOM}" class="grid"/>` +
      `<line x1="${LEFT}" y1="${px(y)}" x2="${WIDTH - RIGHT}" y2="${px(y)}" class="grid"/>` +
      `<text x="${px(x)}" y="${HEIGHT - BOTTOM + 16}" class="middle tick">${label}</text>` +
      `<text x="${LEFT - 4}" y="${px(y + 4)}" class="end tick">${label}</text>`
    );
  });
  const perfect =
    `<line x1="${LEFT}" y1="${HEIGHT - BOTTOM}" x2="${WIDTH - RIGHT}" y2="${TOP}" ` +
    `class="perfect"/>`;
  const inner =
    ticks.join("") +
    perfect +
    reliabilityPoints(champion, "champion") +
    reliabilityPoints(challenger, "challenger");
  return frame("reliability diagram", "failures foretold", "failures seen", inner);
}

function steps(shares: readonly number[], most: number, name: string): string {
  const width = plotWidth / shares.length;
  const points = shares.flatMap((share, i) => {
    const y = px(TOP + (1 - share / most) * plotHeight);
    return [`${px(LEFT + i * width)},${y}`, `${px(LEFT + (i + 1) * width)},${y}`];
  });
  return `<polyline points="${points.join(" ")}" class="line ${name}"/>`;
}

/** Distribution of the scores of one kind of outcome, both models. */
export function scorePlot(figures: Figures, kind: "successes" | "failures"): string {
  const { champion, challenger, score_from: from, score_step: step } = figures;
  const most = Math.max(0.01, ...champion[kind], ...challenger[kind]) * 1.05;
  const bins = champion[kind].length;
  const ticks = [300, 450, 550, 650, 750, 850].map((score) => {
    const x = LEFT + ((score - from) / (step * bins)) * plotWidth;
    return (
      `<line x1="${px(x)}" y1="${TOP}" x2="${px(x)}" y2="${HEIGHT - BOTTOM}" class="grid"/>` +
      `<text x="${px(x)}" y="${HEIGHT - BOTTOM + 16}" class="middle tick">${score}</text>`
    );
  });
  const shares = [0.5, 1].map((part) => {
    const y = TOP + (1 - part / 1.05) * plotHeight;
    const label = `${((part * most * 100) / 1.05).toFixed(0)} %`;
    return (
      `<line x1="${LEFT}" y1="${px(y)}" x2="${WIDTH - RIGHT}" y2="${px(y)}" class="grid"/>` +
      `<text x="${LEFT - 5}" y="${px(y + 4)}" class="end tick">${label}</text>`
    );
  });
  const inner =
    ticks.join("") +
    shares.join("") +
    steps(champion[kind], most, "champion") +
    steps(challenger[kind], most, "challenger");
  return frame(`scores of ${kind}`, "score, 300 to 850", `share of the ${kind}`, inner);
}
