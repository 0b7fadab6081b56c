// Plots of a test, drawn from its numbers as SVG: reliability, distributions of scores, intervals, pairs
// of bars. Old and new differ by shape and dash as well as by colour; each has its numbers in words.
import { formatNumber, formatPercent } from "../format.ts";
import { html, type VNode } from "../html.ts";
import { createAxis, createLinearAxis } from "./axis.ts";
import { type PlotArea, type PlotAxis, PlotFrame } from "./plot-frame.ts";

const HEIGHT = 280;
/** Px between two labels at least, of an axis of x and of y. */
const X_TICK_PX = 44;
const Y_TICK_PX = 34;
const SHARE_TICKS = [0, 0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1];
/** Those that have room on a short axis. */
const SHARE_TICKS_FEW = [0, 0.05, 0.2, 0.5, 1];
const SHARE_AXIS_SHORT_PX = 380;

/** Shares from 0 to 1 by their roots: most are small, and all of them matter. */
export function createRootShareAxis(length: number): PlotAxis {
  const ticks = length < SHARE_AXIS_SHORT_PX ? SHARE_TICKS_FEW : SHARE_TICKS;
  return {
    axis: createAxis("sqrt", [0, 1], ticks),
    labels: ticks.map((tick) => formatPercent(tick)),
  };
}

/** Shares from 0 to at least `most`. */
export function createShareAxis(most: number, length: number): PlotAxis {
  const steps = Math.max(2, Math.floor(length / Y_TICK_PX));
  const axis = createLinearAxis({ range: [0, most], steps });
  return { axis, labels: axis.ticks.map((tick) => formatPercent(tick)) };
}

/** What the two colours and shapes of the plots mean. */
export function WeightsLegend(): VNode {
  return html`<ul class="legend">
    <li><i class="key dim" aria-hidden="true"></i>live weights then (squares, dashed)</li>
    <li><i class="key accent" aria-hidden="true"></i>tested weights (discs)</li>
  </ul>`;
}

interface PlottedBin {
  readonly expected: number;
  readonly observed: number;
  readonly low: number;
  readonly high: number;
  readonly rows: number;
}

interface ReliabilityBinsProps {
  readonly bins: readonly PlottedBin[];
  readonly kind: "old" | "new";
  readonly area: PlotArea;
}

function ReliabilityBins({ bins, kind, area }: ReliabilityBinsProps): VNode {
  const shift = kind === "old" ? -2 : 2;
  const line = bins
    .map(({ expected, observed }) => `${area.x(expected)},${area.y(observed)}`)
    .join(" ");
  return html`<g class=${kind}>
    <polyline points=${line} />
    ${bins.map(({ expected, observed, low, high, rows }) => {
      const [x, y] = [area.x(expected), area.y(observed)];
      const said = `${kind === "old" ? "live" : "tested"}: ${formatPercent(expected)} predicted, ${formatPercent(observed)} observed of ${formatNumber(rows)} outcomes`;
      return html`<line x1=${x + shift} x2=${x + shift} y1=${area.y(low)} y2=${area.y(high)} /> ${
          kind === "old"
            ? html`<rect x=${x - 3.5} y=${y - 3.5} width="7" height="7"
                ><title>${said}</title></rect
              >`
            : html`<circle cx=${x} cy=${y} r="4"><title>${said}</title></circle>`
        }`;
    })}
  </g>`;
}

interface ReliabilityProps {
  readonly champion: readonly PlottedBin[];
  readonly challenger: readonly PlottedBin[];
}

/** Predicted against observed failures, ten groups of equal size, with 95 % bars. */
export function ReliabilityDiagram({ champion, challenger }: ReliabilityProps): VNode {
  const draw = (area: PlotArea) => html`
    <line class="plot-ideal" x1=${area.left} y1=${area.bottom} x2=${area.right} y2=${area.top} />
    <${ReliabilityBins} bins=${champion} kind="old" area=${area} />
    <${ReliabilityBins} bins=${challenger} kind="new" area=${area} />
  `;
  return html`<${PlotFrame}
    title="Reliability diagram"
    x=${createRootShareAxis}
    y=${createRootShareAxis}
    xLabel="predicted failures, % of outcomes"
    yLabel="observed failures, % of outcomes"
    height=${HEIGHT}
    draw=${draw}
  />`;
}

interface DistributionProps {
  readonly title: string;
  /** Shares by bin; the first bin begins at `from`, each is `step` wide. */
  readonly champion: readonly number[];
  readonly challenger: readonly number[];
  readonly from: number;
  readonly step: number;
}

/** How scores are distributed under the old and the new weights. */
export function ScoreDistribution(props: DistributionProps): VNode {
  const { title, champion, challenger, from, step } = props;
  const most = Math.max(...champion, ...challenger, 1e-9);
  const createScoreAxis = (length: number): PlotAxis => {
    const range = [from, from + step * champion.length] as const;
    const steps = Math.floor(length / X_TICK_PX);
    const axis = createLinearAxis({ range, steps, isWhole: true, isFixed: true });
    return { axis, labels: axis.ticks.map((tick) => formatNumber(tick)) };
  };
  const draw = (area: PlotArea) => {
    const steps = (shares: readonly number[]) =>
      shares
        .map((share, i) => {
          const y = area.y(share);
          return `${area.x(from + i * step)},${y} ${area.x(from + (i + 1) * step)},${y}`;
        })
        .join(" ");
    return html`<g class="old"><polyline points=${steps(champion)} /></g>
      <g class="new"><polyline points=${steps(challenger)} /></g>`;
  };
  return html`<${PlotFrame}
    title=${title}
    x=${createScoreAxis}
    y=${(length: number) => createShareAxis(most, length)}
    xLabel="score, points"
    yLabel="% of outcomes"
    height=${HEIGHT}
    draw=${draw}
  />`;
}

interface IntervalProps {
  readonly label: string;
  readonly low: number;
  readonly value: number;
  readonly high: number;
  /** What decides; drawn as a dashed upright. */
  readonly border: number;
}

/** An estimate with its 90 % interval beside the border that decides. */
export function IntervalLine({ label, low, value, high, border }: IntervalProps): VNode {
  const [from, to] = [Math.min(low, border, value), Math.max(high, border, value)];
  const at = (x: number) => 8 + ((x - from) / (to - from || 1)) * 144;
  const said = `${label}: ${formatNumber(value, 3)}, 90 % between ${formatNumber(low, 3)} and ${formatNumber(high, 3)}; border ${formatNumber(border, 3)}`;
  return html`<svg class="interval" viewBox="0 0 160 20" role="img" aria-label=${said}>
    <title>${said}</title>
    <line class="plot-ideal" x1=${at(border)} x2=${at(border)} y1="1" y2="19" />
    <g class="new">
      <line x1=${at(low)} x2=${at(high)} y1="10" y2="10" />
      <circle cx=${at(value)} cy="10" r="4" />
    </g>
  </svg>`;
}

/** Two bars, the old one above the new one, on a scale that ends at `most`. */
export function BarPair({ old, fresh, most }: { old: number; fresh: number; most: number }): VNode {
  const width = (value: number) => Math.max(0, Math.min(100, (100 * value) / (most || 1)));
  return html`<svg class="pair" viewBox="0 0 100 14" preserveAspectRatio="none" aria-hidden="true">
    <rect class="bar-old" width=${width(old)} y="1" height="5" />
    <rect class="bar" width=${width(fresh)} y="8" height="5" />
  </svg>`;
}
