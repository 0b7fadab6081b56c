// Chart of a back-test: share of outcomes allowed at each risk bound, with the draft's bound as a slider.
import type { BacktestCurve, BacktestRow } from "../../../contract/schemas/backtest.ts";
import { formatNumber, formatPercent } from "../../format.ts";
import { html, useEffect, useRef, useState, type VNode } from "../../html.ts";

const HEIGHT = 220;
const LEFT = 44;
const RIGHT = 14;
const TOP = 12;
const BOTTOM = 26;
const TICKS = [0, 0.01, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1];
/** Those that have room on a narrow screen. */
const TICKS_FEW = [0, 0.05, 0.2, 0.5, 1];
const NARROW = 460;
const SHARES = [0, 0.25, 0.5, 0.75, 1];
const PAGE_STEPS = 5;

interface RiskBoundCurveProps {
  readonly bounds: readonly number[];
  readonly curve: BacktestCurve;
  /** Of the same policy, question and level: how many outcomes there are. */
  readonly row: BacktestRow;
  /** Bound of the draft, and of the policy in force. */
  readonly bound: number;
  readonly liveBound: number;
  readonly onBound: (bound: number) => void;
}

export function RiskBoundCurve(props: RiskBoundCurveProps): VNode {
  const { bounds, curve, row, bound, liveBound, onBound } = props;
  const place = useRef<HTMLDivElement>(null);
  const width = useWidth(place);
  const projectX = (share: number) => LEFT + Math.sqrt(share) * (width - LEFT - RIGHT);
  const line = (allowed: readonly number[], of: number) =>
    allowed
      .map((n, at) => `${projectX(bounds[at]!)},${projectCurveY(of === 0 ? 0 : n / of)}`)
      .join(" ");
  const words = describeBoundAt(findNearestIndex(bounds, bound), props);
  const onPointer = (event: PointerEvent) => {
    if (event.type === "pointermove" && (event.buttons & 1) === 0) return;
    const svg = event.currentTarget as SVGSVGElement;
    if (event.type === "pointerdown") {
      svg.setPointerCapture(event.pointerId);
      svg.querySelector<SVGGElement>("[role=slider]")?.focus();
    }
    const { left } = svg.getBoundingClientRect();
    const share = Math.max(0, (event.clientX - left - LEFT) / (width - LEFT - RIGHT)) ** 2;
    onBound(bounds[findNearestIndex(bounds, Math.min(1, share))]!);
  };
  return html`<div class="curve" ref=${place}>
    <svg
      width=${width}
      height=${HEIGHT}
      role="group"
      aria-label="Share let through by risk bound"
      onPointerDown=${onPointer}
      onPointerMove=${onPointer}
    >
      <${Axes} width=${width} projectX=${projectX} />
      <polyline class="line allow" points=${line(curve.good_allowed, row.good)} />
      <polyline class="line deny" points=${line(curve.bad_allowed, row.bad)} />
      <${VerticalLine} class="live" x=${projectX(liveBound)} />
      <${BoundHandle} ...${{ bounds, bound, words, onBound }} x=${projectX(bound)} />
    </svg>
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

function projectCurveY(share: number): number {
  return TOP + (1 - share) * (HEIGHT - TOP - BOTTOM);
}

function Axes({ width, projectX }: { width: number; projectX: (share: number) => number }): VNode {
  return html`<g aria-hidden="true">
    ${SHARES.map(
      (share) =>
        html`<line
            class="grid-line"
            x1=${LEFT}
            x2=${width - RIGHT}
            y1=${projectCurveY(share)}
            y2=${projectCurveY(share)}
          />
          <text x=${LEFT - 6} y=${projectCurveY(share) + 4} text-anchor="end"
            >${formatPercent(share, 0)}</text
          >`,
    )}
    ${(width < NARROW ? TICKS_FEW : TICKS).map(
      (tick) =>
        html`<text x=${projectX(tick)} y=${HEIGHT - 8} text-anchor="middle"
          >${formatPercent(tick, 0)}</text
        >`,
    )}
  </g>`;
}

/** A line from the top to the axis. */
function VerticalLine({ x, class: name }: { x: number; class?: string }): VNode {
  return html`<line class=${name} x1=${x} x2=${x} y1=${TOP} y2=${HEIGHT - BOTTOM} />`;
}

interface BoundHandleProps extends Pick<RiskBoundCurveProps, "bounds" | "bound" | "onBound"> {
  readonly x: number;
  readonly words: string;
}

function BoundHandle({ bounds, bound, onBound, x, words }: BoundHandleProps): VNode {
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
    <${VerticalLine} x=${x} />
    <circle cx=${x} cy=${HEIGHT - BOTTOM} r="8" />
  </g>`;
}

function describeBoundAt(at: number, { bounds, curve, row }: RiskBoundCurveProps): string {
  const good = curve.good_allowed[at]!;
  const bad = curve.bad_allowed[at]!;
  const formatShare = (part: number, of: number) => formatPercent(of === 0 ? null : part / of, 1);
  return (
    `At ${formatPercent(bounds[at], 1)}: ${formatNumber(good)} good outcomes (${formatShare(good, row.good)}) and ` +
    `${formatNumber(bad)} bad ones (${formatShare(bad, row.bad)}) are let through; lost ` +
    `${formatNumber(curve.stakes_lost[at])}, turned away ${formatNumber(curve.stakes_turned_away[at])}`
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

/** Width of an element, followed. */
function useWidth(place: { readonly current: HTMLDivElement | null }): number {
  const [width, setWidth] = useState(320);
  useEffect(() => {
    const element = place.current!;
    const follow = () => setWidth(Math.max(200, Math.floor(element.clientWidth)));
    const observer = new ResizeObserver(follow);
    observer.observe(element);
    follow();
    return () => observer.disconnect();
  }, []);
  return width;
}
