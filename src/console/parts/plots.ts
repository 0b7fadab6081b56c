// Plots of a test, drawn from its numbers as SVG: reliability, distributions of scores, intervals, pairs
// of bars. Old and new differ by shape and dash as well as by colour; each has its numbers in words.
import { formatNumber, formatPercent } from "../format.ts";
import { html, type Children, type VNode } from "../html.ts";

const WIDTH = 360;
const HEIGHT = 260;
const LEFT = 44;
const RIGHT = 12;
const TOP = 8;
const BOTTOM = 38;
const PLOT_WIDTH = WIDTH - LEFT - RIGHT;
const PLOT_HEIGHT = HEIGHT - TOP - BOTTOM;
/** Shares on an axis by their roots: most are small, and all of them matter. */
const TICKS = [0.01, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1];
const scaleBySquareRoot = (share: number): number => Math.sqrt(Math.max(0, Math.min(1, share)));

/** A frame with the names of its axes. */
function PlotFrame(props: { title: string; x: string; y: string; children?: Children }): VNode {
  return html`<svg
    class="plot"
    viewBox=${`0 0 ${WIDTH} ${HEIGHT}`}
    role="img"
    aria-label=${props.title}
  >
    <rect class="plot-frame" x=${LEFT} y=${TOP} width=${PLOT_WIDTH} height=${PLOT_HEIGHT} />
    ${props.children}
    <text x=${LEFT + PLOT_WIDTH / 2} y=${HEIGHT - 4} text-anchor="middle">${props.x}</text>
    <text
      x="9"
      y=${TOP + PLOT_HEIGHT / 2}
      text-anchor="middle"
      transform=${`rotate(-90 9 ${TOP + PLOT_HEIGHT / 2})`}
    >
      ${props.y}
    </text>
  </svg>`;
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

const projectX = (share: number): number => LEFT + scaleBySquareRoot(share) * PLOT_WIDTH;
const projectY = (share: number): number => TOP + (1 - scaleBySquareRoot(share)) * PLOT_HEIGHT;

function ReliabilityBins({
  bins,
  kind,
}: {
  bins: readonly PlottedBin[];
  kind: "old" | "new";
}): VNode {
  const shift = kind === "old" ? -2 : 2;
  const line = bins
    .map(({ expected, observed }) => `${projectX(expected)},${projectY(observed)}`)
    .join(" ");
  return html`<g class=${kind}>
    <polyline points=${line} />
    ${bins.map(({ expected, observed, low, high, rows }) => {
      const [x, y] = [projectX(expected), projectY(observed)];
      const said = `${kind === "old" ? "live" : "tested"}: ${formatPercent(expected)} foretold, ${formatPercent(observed)} seen of ${formatNumber(rows)}`;
      return html`<line x1=${x + shift} x2=${x + shift} y1=${projectY(low)} y2=${projectY(high)} />
        ${
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

/** What was foretold against what was seen, ten groups of equal size, with 95 % bars. */
export function ReliabilityDiagram({ champion, challenger }: ReliabilityProps): VNode {
  return html`<${PlotFrame} title="Reliability diagram" x="failures foretold" y="failures seen">
    ${TICKS.map(
      (tick) =>
        html`<g>
          <line
            class="plot-grid"
            x1=${projectX(tick)}
            x2=${projectX(tick)}
            y1=${TOP}
            y2=${HEIGHT - BOTTOM}
          />
          <line
            class="plot-grid"
            x1=${LEFT}
            x2=${WIDTH - RIGHT}
            y1=${projectY(tick)}
            y2=${projectY(tick)}
          />
          <text x=${projectX(tick)} y=${HEIGHT - BOTTOM + 14} text-anchor="middle"
            >${formatNumber(tick * 100)}</text
          >
          <text x=${LEFT - 4} y=${projectY(tick) + 4} text-anchor="end"
            >${formatNumber(tick * 100)} %</text
          >
        </g>`,
    )}
    <line class="plot-ideal" x1=${LEFT} y1=${HEIGHT - BOTTOM} x2=${WIDTH - RIGHT} y2=${TOP} />
      <${ReliabilityBins} bins=${champion} kind="old" />
      <${ReliabilityBins} bins=${challenger} kind="new" /> <//
  >`;
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
  const most = Math.max(...champion, ...challenger, 1e-9) * 1.08;
  const width = PLOT_WIDTH / champion.length;
  const level = (share: number) => TOP + (1 - share / most) * PLOT_HEIGHT;
  const steps = (shares: readonly number[]) =>
    shares
      .map(
        (share, i) =>
          `${LEFT + i * width},${level(share)} ${LEFT + (i + 1) * width},${level(share)}`,
      )
      .join(" ");
  const ends = [from, from + (step * champion.length) / 2, from + step * champion.length];
  return html`<${PlotFrame} title=${title} x="score" y="share of outcomes">
    ${ends.map((score, i) => {
      const x = LEFT + (i / 2) * PLOT_WIDTH;
      return html`<text x=${x} y=${HEIGHT - BOTTOM + 14} text-anchor=${i === 2 ? "end" : "middle"}>
        ${formatNumber(score)}
      </text>`;
    })}
    ${[0, 0.5, 1].map((part) => {
      const y = level(part * most * 0.92);
      return html`<line class="plot-grid" x1=${LEFT} x2=${WIDTH - RIGHT} y1=${y} y2=${y} />
        <text x=${LEFT - 4} y=${y + 4} text-anchor="end"
          >${formatPercent(part * most * 0.92, 0)}</text
        >`;
    })}
    <g class="old"><polyline points=${steps(champion)} /></g>
    <g class="new"><polyline points=${steps(challenger)} /></g>
  <//>`;
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
