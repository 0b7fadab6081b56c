// Chart of a back-test: share of outcomes allowed at each risk bound, with the draft's bound as a slider.
import type { BacktestCurve, BacktestRow } from "../../../contract/schemas/backtest.ts";
import { formatNumber, formatPercent } from "../../format.ts";
import { html, type VNode } from "../../html.ts";
import { type PlotArea, PlotFrame } from "../../parts/plot-frame.ts";
import { createRootShareAxis, createShareAxis } from "../../parts/plots.ts";

const HEIGHT = 260;
const PAGE_STEPS = 5;

interface RiskBoundCurveProps {
  readonly bounds: readonly number[];
  readonly curve: BacktestCurve;
  /** Of the same policy, question and level: how many outcomes there are. */
  readonly row: BacktestRow;
  /** Name of the unit of its amounts. */
  readonly unit: string;
  /** Bound of the draft, and of the policy in force. */
  readonly bound: number;
  readonly liveBound: number;
  readonly onBound: (bound: number) => void;
}

export function RiskBoundCurve(props: RiskBoundCurveProps): VNode {
  const { bounds, curve, row, bound, liveBound, onBound } = props;
  const words = describeBoundAt(findNearestIndex(bounds, bound), props);
  const onPointer = (event: PointerEvent, share: number) => {
    if (event.type === "pointermove" ? (event.buttons & 1) === 0 : event.type !== "pointerdown") {
      return;
    }
    if (event.type === "pointerdown") {
      const svg = event.currentTarget as SVGSVGElement;
      svg.setPointerCapture(event.pointerId);
      svg.querySelector<SVGGElement>("[role=slider]")?.focus();
    }
    onBound(bounds[findNearestIndex(bounds, share)]!);
  };
  const draw = (area: PlotArea) => {
    const line = (allowed: readonly number[], of: number) =>
      allowed.map((n, at) => `${area.x(bounds[at]!)},${area.y(of === 0 ? 0 : n / of)}`).join(" ");
    return html`<polyline class="plot-line allow" points=${line(curve.good_allowed, row.good)} />
      <polyline class="plot-line deny" points=${line(curve.bad_allowed, row.bad)} />
      <${VerticalLine} class="plot-ideal" x=${area.x(liveBound)} area=${area} />
      <${BoundHandle} ...${{ bounds, bound, words, onBound, area }} />`;
  };
  return html`<div class="curve">
    <${PlotFrame}
      title="Share let through by risk bound"
      role="group"
      x=${createRootShareAxis}
      y=${(length: number) => createShareAxis(1, length)}
      xLabel="risk bound: failure probability up to which calls are allowed"
      yLabel="% of outcomes let through"
      height=${HEIGHT}
      draw=${draw}
      onPointer=${onPointer}
    />
    <ul class="legend">
      <li><i class="key allow" aria-hidden="true"></i>good outcomes let through</li>
      <li><i class="key deny" aria-hidden="true"></i>bad outcomes let through</li>
      <li>
        <i class="key limit" aria-hidden="true"></i>bound in force: ${formatPercent(liveBound, 1)}
      </li>
    </ul>
    <p role="status">${words}</p>
  </div>`;
}

interface VerticalLineProps {
  readonly x: number;
  readonly area: PlotArea;
  readonly class?: string;
}

/** A line from the top to the axis. */
function VerticalLine({ x, area, class: name }: VerticalLineProps): VNode {
  return html`<line class=${name} x1=${x} x2=${x} y1=${area.top} y2=${area.bottom} />`;
}

interface BoundHandleProps extends Pick<RiskBoundCurveProps, "bounds" | "bound" | "onBound"> {
  readonly area: PlotArea;
  readonly words: string;
}

function BoundHandle({ bounds, bound, onBound, area, words }: BoundHandleProps): VNode {
  const x = area.x(bound);
  const onKeyDown = (event: KeyboardEvent) => {
    const next = findCurveStep(event.key, findNearestIndex(bounds, bound), bounds.length);
    if (next === undefined) return;
    event.preventDefault();
    onBound(bounds[next]!);
  };
  return html`<g
    role="slider"
    tabindex="0"
    class="handle"
    aria-label="Risk bound"
    aria-valuemin="0"
    aria-valuemax="1"
    aria-valuenow=${bound}
    aria-valuetext=${words}
    onKeyDown=${onKeyDown}
  >
    <${VerticalLine} x=${x} area=${area} />
    <circle cx=${x} cy=${area.bottom} r="8" />
  </g>`;
}

function describeBoundAt(at: number, { bounds, curve, row, unit }: RiskBoundCurveProps): string {
  const good = curve.good_allowed[at]!;
  const bad = curve.bad_allowed[at]!;
  const formatShare = (part: number, of: number) => formatPercent(of === 0 ? null : part / of, 1);
  return (
    `At ${formatPercent(bounds[at], 1)}: ${formatNumber(good)} good outcomes (${formatShare(good, row.good)}) and ` +
    `${formatNumber(bad)} bad ones (${formatShare(bad, row.bad)}) are let through; lost ` +
    `${formatNumber(curve.stakes_lost[at])}, turned away ${formatNumber(curve.stakes_turned_away[at])} ${unit}`
  );
}

function findNearestIndex(bounds: readonly number[], share: number): number {
  let best = 0;
  for (let at = 1; at < bounds.length; at += 1) {
    if (Math.abs(bounds[at]! - share) < Math.abs(bounds[best]! - share)) best = at;
  }
  return best;
}

/** Index that a key leads to; undefined for other keys. */
function findCurveStep(key: string, at: number, count: number): number | undefined {
  const steps: Readonly<Record<string, number>> = {
    ArrowLeft: at - 1,
    ArrowDown: at - 1,
    ArrowRight: at + 1,
    ArrowUp: at + 1,
    PageDown: at - PAGE_STEPS,
    PageUp: at + PAGE_STEPS,
    Home: 0,
    End: count - 1,
  };
  const next = steps[key];
  return next === undefined ? undefined : Math.min(count - 1, Math.max(0, next));
}
