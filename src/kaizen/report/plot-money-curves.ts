// SVG plots of a back-test's money: one share over one number of the policy, with the number in force
// marked.
import type { BacktestMoneyCurve } from "../../contract/schemas/backtest.ts";
import { formatRatioAsPercent } from "./backtest-tables.ts";
import {
  formatPixels,
  MARGIN_BOTTOM,
  MARGIN_LEFT,
  MARGIN_RIGHT,
  MARGIN_TOP,
  PLOT_AREA_HEIGHT,
  PLOT_AREA_WIDTH,
  renderPlotFrame,
  REPORT_PLOT_HEIGHT,
  REPORT_PLOT_WIDTH,
} from "./plots.ts";

type Member = BacktestMoneyCurve["member"];
type Share = "good_connected" | "cost_share";

interface Axis {
  readonly label: string;
  readonly ticks: readonly number[];
  /** Place of a value between the first and the last one, 0 to 1, before they are set to fit. */
  readonly scale: (value: number) => number;
}

const AXES: Readonly<Record<Member, Axis>> = {
  tolerated_loss_bps: {
    label: "tolerated_loss_bps (hundredths of a percent)",
    ticks: [0, 50, 100, 250, 500, 1000, 2500, 5000, 10_000],
    scale: Math.sqrt,
  },
  risk_tolerance: {
    label: "risk_tolerance (an amount; logarithmic)",
    ticks: Array.from({ length: 24 }, (_, at) => 10 ** (at - 6)),
    scale: Math.log10,
  },
};

const Y_LABELS: Readonly<Record<Share, string>> = {
  good_connected: "% of good deals",
  cost_share: "cost, % of volume",
};

/** Head room above the highest point. */
const HEADROOM = 1.05;
const Y_TICKS = [0, 0.25, 0.5, 0.75, 1];

/** Sets the scaled values of the curve to the width of the plot. */
function createProjection({ member, points }: BacktestMoneyCurve): (value: number) => number {
  const { scale } = AXES[member];
  const first = scale(points[0]!.value);
  const span = scale(points.at(-1)!.value) - first || 1;
  return (value) => MARGIN_LEFT + ((scale(value) - first) / span) * PLOT_AREA_WIDTH;
}

/** One share of the curve's points. `title` names what it is a share of. */
export function renderMoneyCurve(curve: BacktestMoneyCurve, share: Share, title: string): string {
  const { member, points, in_force: inForce } = curve;
  const { label, ticks } = AXES[member];
  const projectX = createProjection(curve);
  const shares = points.map((point) => point[share] ?? 0);
  const most = (Math.max(...shares) || 1) * HEADROOM;
  const projectY = (value: number) => MARGIN_TOP + (1 - value / most) * PLOT_AREA_HEIGHT;
  const shown = ticks.filter((tick) => tick >= points[0]!.value && tick <= points.at(-1)!.value);
  const line = points.map(
    ({ value }, at) => `${formatPixels(projectX(value))},${formatPixels(projectY(shares[at]!))}`,
  );
  const kind = share === "good_connected" ? "good" : "bad";
  const own = shares[points.findIndex(({ value }) => value === inForce)] ?? 0;
  const inner = [
    ...shown.map((tick) => renderUpright(projectX(tick), formatTick(tick))),
    ...Y_TICKS.map((part) => {
      const value = (part * most) / HEADROOM;
      return renderLevel(projectY(value), `${Number((value * 100).toPrecision(2))} %`);
    }),
    `<polyline points="${line.join(" ")}" class="line ${kind}"/>`,
    renderInForce(projectX(inForce), projectY(own), {
      kind,
      name: `in force ${formatTick(inForce)}`,
      title: `${title} at ${formatTick(inForce)}: ${formatRatioAsPercent(own)}`,
    }),
  ].join("");
  return renderPlotFrame(`${title} by ${member}`, label, Y_LABELS[share], inner);
}

function renderUpright(x: number, label: string): string {
  const at = formatPixels(x);
  const bottom = REPORT_PLOT_HEIGHT - MARGIN_BOTTOM;
  return (
    `<line x1="${at}" y1="${MARGIN_TOP}" x2="${at}" y2="${bottom}" class="grid"/>` +
    `<text x="${at}" y="${bottom + 16}" class="middle tick">${label}</text>`
  );
}

function renderLevel(y: number, label: string): string {
  const at = formatPixels(y);
  return (
    `<line x1="${MARGIN_LEFT}" y1="${at}" x2="${REPORT_PLOT_WIDTH - MARGIN_RIGHT}" y2="${at}" class="grid"/>` +
    `<text x="${MARGIN_LEFT - 5}" y="${formatPixels(y + 4)}" class="end tick">${label}</text>`
  );
}

/** The upright at the number in force, its name, and a spot on the curve. */
function renderInForce(
  x: number,
  y: number,
  words: { readonly kind: string; readonly name: string; readonly title: string },
): string {
  const at = formatPixels(x);
  const isRight = x > MARGIN_LEFT + PLOT_AREA_WIDTH * 0.6;
  return (
    `<line x1="${at}" y1="${MARGIN_TOP}" x2="${at}" y2="${REPORT_PLOT_HEIGHT - MARGIN_BOTTOM}" class="bound"/>` +
    `<text x="${formatPixels(x + (isRight ? -6 : 6))}" y="${REPORT_PLOT_HEIGHT - MARGIN_BOTTOM - 8}"` +
    ` class="boundname${isRight ? " end" : ""}">${words.name}</text>` +
    `<circle cx="${at}" cy="${formatPixels(y)}" r="5" class="spot ${words.kind}"><title>${words.title}</title></circle>`
  );
}

/** Fits under an axis: `250`, `1.2M`. */
function formatTick(value: number): string {
  return value.toLocaleString("en-US", { notation: "compact", maximumSignificantDigits: 3 });
}
