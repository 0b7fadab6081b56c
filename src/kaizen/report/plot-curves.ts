// SVG plots of a back-test: shares of good and bad outcomes allowed, and money, over the allow bound
// of one level. Good and bad differ by colour, the policies by dash, mark and name.
import type { BacktestCurve } from "../../contract/schemas/backtest.ts";
import { escapeHtml } from "../../markup/html.ts";
import { formatCount, formatMoney, formatRatioAsPercent } from "./backtest-tables.ts";
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
} from "./plots.ts";

/** The curves of one level and question. */
export interface CurvePair {
  readonly bounds: readonly number[];
  readonly good: number;
  readonly bad: number;
  /** The live policy's; undefined where it holds nothing back at this level. */
  readonly live: BacktestCurve | undefined;
  /** The given policy's; undefined without one, or as above. */
  readonly given: BacktestCurve | undefined;
}

/** One line of a plot. */
interface PlotLine {
  readonly kind: "good" | "bad";
  readonly isLive: boolean;
  readonly values: readonly number[];
}

const X_TICKS = [0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1];
const TEXT_STEP = 14;

const projectBoundX = (bound: number): number =>
  MARGIN_LEFT + scaleBySquareRoot(bound) * PLOT_AREA_WIDTH;
const projectShareY = (share: number): number => MARGIN_TOP + (1 - share) * PLOT_AREA_HEIGHT;

function renderGrid(yTicks: readonly (readonly [share: number, label: string])[]): string {
  const upright = X_TICKS.map((bound) => {
    const x = formatPixels(projectBoundX(bound));
    return (
      `<line x1="${x}" y1="${MARGIN_TOP}" x2="${x}" y2="${REPORT_PLOT_HEIGHT - MARGIN_BOTTOM}" class="grid"/>` +
      `<text x="${x}" y="${REPORT_PLOT_HEIGHT - MARGIN_BOTTOM + 16}" class="middle tick">${bound}</text>`
    );
  });
  const level = yTicks.map(([share, label]) => {
    const y = projectShareY(share);
    return (
      `<line x1="${MARGIN_LEFT}" y1="${formatPixels(y)}" x2="${REPORT_PLOT_WIDTH - MARGIN_RIGHT}" y2="${formatPixels(y)}" class="grid"/>` +
      `<text x="${MARGIN_LEFT - 5}" y="${formatPixels(y + 4)}" class="end tick">${label}</text>`
    );
  });
  return upright.join("") + level.join("");
}

function renderPlotLine(bounds: readonly number[], { kind, isLive, values }: PlotLine): string {
  const points = bounds.map(
    (bound, i) =>
      `${formatPixels(projectBoundX(bound))},${formatPixels(projectShareY(values[i]!))}`,
  );
  return `<polyline points="${points.join(" ")}" class="line ${kind}${isLive ? " live" : ""}"/>`;
}

interface BoundMark {
  readonly bound: number;
  /** Index of the bound in the curves. */
  readonly at: number;
  readonly isLive: boolean;
  /** Line of text in which its name stands. */
  readonly row: number;
  readonly names: string;
}

/** An upright at a policy's bound, with its name and a spot on each of its lines. */
function renderBoundMark(
  { bound, at, isLive, row, names }: BoundMark,
  lines: readonly PlotLine[],
  told: (line: PlotLine, at: number) => string,
): string {
  const x = projectBoundX(bound);
  const isRight = x > MARGIN_LEFT + PLOT_AREA_WIDTH * 0.75;
  const spots = lines
    .filter((line) => line.isLive === isLive)
    .map((line) => {
      const y = projectShareY(line.values[at]!);
      const title = `<title>${told(line, at)}</title>`;
      return isLive
        ? `<rect x="${formatPixels(x - 4.5)}" y="${formatPixels(y - 4.5)}" width="9" height="9" class="spot ${line.kind}">${title}</rect>`
        : `<circle cx="${formatPixels(x)}" cy="${formatPixels(y)}" r="5" class="spot ${line.kind}">${title}</circle>`;
    });
  return [
    `<line x1="${formatPixels(x)}" y1="${MARGIN_TOP}" x2="${formatPixels(x)}" y2="${REPORT_PLOT_HEIGHT - MARGIN_BOTTOM}"`,
    ` class="bound${isLive ? " live" : ""}"/>`,
    `<text x="${formatPixels(x + (isRight ? -6 : 6))}" y="${MARGIN_TOP + TEXT_STEP * (row + 1)}"`,
    ` class="boundname${isRight ? " end" : ""}">${names} ${bound}</text>`,
    ...spots,
  ].join("");
}

function renderBoundMarks(
  pair: CurvePair,
  lines: readonly PlotLine[],
  told: (line: PlotLine, at: number) => string,
): string {
  const curves = [pair.live, pair.given].filter((curve) => curve !== undefined);
  const isShared = curves.length === 2 && curves[0]!.bound === curves[1]!.bound;
  return curves
    .map((curve, row) => {
      const { bound, policy } = curve;
      const mark = {
        bound,
        at: pair.bounds.indexOf(bound),
        isLive: policy === "live",
        row: isShared ? 0 : row,
        names: isShared ? "live and given" : policy,
      };
      return renderBoundMark(mark, lines, told);
    })
    .join("");
}

function renderCurveLines(
  pair: CurvePair,
  good: (curve: BacktestCurve) => readonly number[],
  bad: (curve: BacktestCurve) => readonly number[],
): PlotLine[] {
  return [pair.live, pair.given].flatMap((curve) => {
    if (curve === undefined) return [];
    const isLive = curve.policy === "live";
    return [
      { kind: "good" as const, isLive, values: good(curve) },
      { kind: "bad" as const, isLive, values: bad(curve) },
    ];
  });
}

/** Whether the bound makes a difference worth a plot: more than one outcome in a hundred. */
export function hasBoundEffect({ good, bad, live, given }: CurvePair): boolean {
  const range = (counts: readonly number[]) => counts.at(-1)! - counts[0]!;
  return [live, given].some(
    (curve) =>
      curve !== undefined &&
      range(curve.good_allowed) + range(curve.bad_allowed) > (good + bad) / 100,
  );
}

/** Shares of the good and of the bad outcomes that each bound would let through. */
export function renderAllowedPlot(pair: CurvePair, title: string): string {
  const { good, bad } = pair;
  const computeShares = (counts: readonly number[], all: number) =>
    counts.map((count) => count / Math.max(1, all));
  const lines = renderCurveLines(
    pair,
    (curve) => computeShares(curve.good_allowed, good),
    (curve) => computeShares(curve.bad_allowed, bad),
  );
  const told = ({ kind, isLive, values }: PlotLine, at: number) => {
    const all = kind === "good" ? good : bad;
    const share = formatRatioAsPercent(values[at]!);
    return `${isLive ? "live" : "given"}: ${share} of ${formatCount(all)} ${kind} outcomes allowed`;
  };
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => [share, `${share * 100} %`] as const);
  const inner =
    renderGrid(ticks) +
    lines.map((line) => renderPlotLine(pair.bounds, line)).join("") +
    renderBoundMarks(pair, lines, told);
  return renderPlotFrame(
    title,
    "allow bound (probability of failure)",
    "outcomes allowed, %",
    inner,
  );
}

/** Stakes of bad outcomes allowed (lost) and of good ones not allowed (turned away), in `unit`. */
export function renderMoneyPlot(pair: CurvePair, title: string, unit: string): string {
  const named = escapeHtml(unit);
  const curves = [pair.live, pair.given].filter((curve) => curve !== undefined);
  const amounts = curves.flatMap((curve) => [...curve.stakes_lost, ...curve.stakes_turned_away]);
  const most = Math.max(1, ...amounts) * 1.05;
  const scaled = (values: readonly number[]) => values.map((value) => value / most);
  const lines = renderCurveLines(
    pair,
    (curve) => scaled(curve.stakes_turned_away),
    (curve) => scaled(curve.stakes_lost),
  );
  const told = ({ kind, isLive, values }: PlotLine, at: number) => {
    const amount = formatMoney(values[at]! * most);
    return `${isLive ? "live" : "given"}: ${amount} ${named} ${kind === "good" ? "turned away" : "lost"}`;
  };
  const ticks = [0, 0.5, 1].map(
    (share) => [share / 1.05, formatCompact((share * most) / 1.05)] as const,
  );
  const inner =
    renderGrid(ticks) +
    lines.map((line) => renderPlotLine(pair.bounds, line)).join("") +
    renderBoundMarks(pair, lines, told);
  return renderPlotFrame(title, "allow bound (probability of failure)", `stakes, ${named}`, inner);
}

/** `1.2M`: fits beside an axis. */
function formatCompact(value: number): string {
  return value.toLocaleString("en-US", { notation: "compact", maximumSignificantDigits: 2 });
}
