// Lines over time or over another number, with the same numbers in words and as a table for users who do not see
// them. The legend shows the newest values, or those under the pointer.
import { formatNumber } from "../format.ts";
import { html, useState, type VNode } from "../html.ts";
import {
  createLinearAxis,
  createLogAxis,
  createTimeAxis,
  formatTimeTicks,
  type Axis,
} from "./axis.ts";
import { type PlotArea, type PlotAxis, PlotFrame } from "./plot-frame.ts";

export interface ChartLine {
  readonly label: string;
  /** One for each time; null where there is none. */
  readonly values: readonly (number | null)[];
  /** Name of a colour of the style sheet. */
  readonly color: string;
  readonly isDashed?: boolean;
  /** Points alone. */
  readonly isDots?: boolean;
}

interface ChartProps {
  readonly title: string;
  /** Epoch seconds, or any numbers when `isTime` is false. */
  readonly at: readonly number[];
  readonly lines: readonly ChartLine[];
  /** What the values are, with their unit, such as `verdicts per second`. */
  readonly unit?: string;
  /** The same of the other axis. */
  readonly xUnit?: string;
  /** Bounds drawn across, such as a limit that must hold. */
  readonly limits?: readonly { readonly label: string; readonly value: number }[];
  readonly height?: number;
  readonly isTime?: boolean;
  /** Seconds before the newest point at which the axis begins, however few points there are yet. */
  readonly span?: number | undefined;
  readonly say?: (value: number) => string;
  /** `log` for values of which a few are many times the others; values that are not above 0 are drawn at its low end. */
  readonly scale?: "linear" | "log";
  /** Fixes the axis of values. */
  readonly range?: readonly [number, number];
  /** Called with the range that was drawn with the pointer. */
  readonly onRange?: (from: number, to: number) => void;
}

const TABLE_ROWS_MAX = 60;
const HEIGHT = 210;
/** Px between two ticks at least. */
const X_TICK_PX = 76;
const Y_TICK_PX = 34;
/** Part of the axis that a range must cover: less is a click. */
const RANGE_SHARE_MIN = 0.01;
const HOUR_SEC = 3600;
/** Axes that are longer show days alone. */
const TIME_OF_DAY_SEC_MAX = 6 * 86_400;

export function Chart(props: ChartProps): VNode {
  const { title, at, lines, limits = [], say = (value) => formatNumber(value, 2) } = props;
  const [hovered, setHovered] = useState<number | undefined>(undefined);
  const last = at.length - 1;
  const shown = Math.min(hovered ?? last, last);
  const words = lines
    .map(({ label, values }) => `${label} ${formatChartValue(values[last], say)}`)
    .join(", ");
  return html`<figure class="chart">
    <${ChartPlot}
      ...${props}
      say=${say}
      title=${`${title}: ${at.length} points; last ${words}`}
      hovered=${hovered === undefined ? undefined : shown}
      onHover=${setHovered}
    />
    <figcaption>
      <ul class="legend">
        ${lines.map(
          ({ label, color, values }) =>
            html`<li>
              <i class="key" style=${{ background: `var(--${color})` }} aria-hidden="true"></i
              >${label}${" "}<b>${formatChartValue(values[shown], say)}</b>
            </li>`,
        )}
        ${limits.map(({ label }) => html`<li><i class="key limit" aria-hidden="true"></i>${label}</li>`)}
        ${hovered !== undefined && html`<li class="dim">at ${formatPosition(at[shown], props)}</li>`}
      </ul>
    </figcaption>
    <${ChartTable} ...${props} say=${say} />
  </figure>`;
}

interface ChartPlotProps extends ChartProps {
  readonly say: (value: number) => string;
  /** Index of the point under the pointer. */
  readonly hovered: number | undefined;
  readonly onHover: (index: number | undefined) => void;
}

function ChartPlot(props: ChartPlotProps): VNode {
  const { title, at, lines, limits = [], height = HEIGHT, unit = "", isTime = true } = props;
  const { hovered, onHover, onRange } = props;
  const [drawn, setDrawn] = useState<readonly [number, number] | undefined>(undefined);
  const ends = computeEnds(props);
  const { xUnit = isTime ? nameTimeAxis(ends) : "" } = props;
  const onPointer = (event: PointerEvent, value: number) => {
    const isOver = ["pointerleave", "pointercancel"].includes(event.type);
    onHover(isOver ? undefined : findNearestIndex(at, value));
    if (onRange === undefined) return;
    if (event.type === "pointerdown") {
      (event.currentTarget as Element).setPointerCapture(event.pointerId);
      setDrawn([value, value]);
    } else if (event.type === "pointermove" && drawn !== undefined) setDrawn([drawn[0], value]);
    else if (event.type !== "pointermove") setDrawn(undefined);
    if (event.type !== "pointerup" || drawn === undefined) return;
    const [from, to] = [Math.min(drawn[0], value), Math.max(drawn[0], value)];
    if (to - from > (ends[1] - ends[0]) * RANGE_SHARE_MIN) onRange(from, to);
  };
  const draw = (area: PlotArea) => html`
    ${drawn !== undefined && html`<${DrawnRange} area=${area} drawn=${drawn} />`}
    ${limits.map(
      ({ value }) =>
        html`<line
          class="plot-limit"
          x1=${area.left}
          x2=${area.right}
          y1=${area.y(value)}
          y2=${area.y(value)}
        />`,
    )}
    ${lines.map((line) => html`<${LinePath} line=${line} at=${at} area=${area} />`)}
    ${hovered !== undefined && html`<${HoveredPoints} ...${{ lines, at, area, hovered }} />`}
  `;
  return html`<${PlotFrame}
    title=${title}
    x=${(length: number) => createXAxis(props, ends, length)}
    y=${(length: number) => createYAxis(props, length)}
    xLabel=${xUnit}
    yLabel=${unit}
    height=${height}
    draw=${draw}
    onPointer=${onPointer}
  />`;
}

function nameTimeAxis([first, last]: readonly [number, number]): string {
  return last - first > TIME_OF_DAY_SEC_MAX ? "day" : "your local time";
}

/** First and last value of the axis of x; a single point lies in its middle. */
function computeEnds({ at, span, isTime = true }: ChartProps): readonly [number, number] {
  const last = at.at(-1) ?? 0;
  const first = Math.min(at[0] ?? 0, last - (span ?? 0));
  const margin = first === last ? (isTime ? HOUR_SEC : 1) : 0;
  return [first - margin, last + margin];
}

function createXAxis(
  { isTime = true }: ChartProps,
  ends: readonly [number, number],
  length: number,
): PlotAxis {
  const steps = Math.max(2, Math.floor(length / X_TICK_PX));
  if (isTime) {
    const axis = createTimeAxis(ends, steps);
    return { axis, labels: formatTimeTicks(axis) };
  }
  const axis = createLinearAxis({ range: ends, steps, isFixed: true });
  return { axis, labels: axis.ticks.map((tick) => formatNumber(tick, 3)) };
}

function createYAxis(props: ChartPlotProps, length: number): PlotAxis {
  const axis = createValueAxis(props, Math.max(2, Math.min(6, Math.floor(length / Y_TICK_PX))));
  return { axis, labels: axis.ticks.map(props.say) };
}

/** From 0 where the scale is linear; limits are on it. */
function createValueAxis({ lines, limits = [], range, scale }: ChartProps, steps: number): Axis {
  if (range !== undefined) return createLinearAxis({ range, steps, isFixed: true });
  const values = [
    ...lines.flatMap((line) => line.values.filter((value) => value !== null)),
    ...limits.map(({ value }) => value),
  ];
  const above = values.filter((value) => value > 0);
  if (scale === "log" && above.length > 0) {
    return createLogAxis({ range: findExtremes(above, Infinity, 0), steps });
  }
  const isWhole = values.every(Number.isInteger);
  return createLinearAxis({ range: findExtremes(values, 0, 0), steps, isWhole });
}

function findExtremes(values: readonly number[], low: number, high: number): [number, number] {
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}

interface LineProps {
  readonly line: ChartLine;
  readonly at: readonly number[];
  readonly area: PlotArea;
}

/** A line, interrupted where there is no value; a point without neighbours is a dot. */
function LinePath({ line, at, area }: LineProps): VNode {
  const { values, color, isDashed, isDots } = line;
  let path = "";
  values.forEach((value, index) => {
    if (value === null) return;
    const isStart = isDots === true || (values[index - 1] ?? null) === null;
    path += `${isStart ? "M" : "L"}${area.x(at[index]!).toFixed(1)},${area.y(value).toFixed(1)}`;
    // A path of no length is drawn as its round ends.
    if (isDots === true || (isStart && (values[index + 1] ?? null) === null)) path += "h0";
  });
  const kind = `plot-line ${isDots === true ? "dots" : ""} ${isDashed === true ? "dashed" : ""}`;
  return html`<path class=${kind} d=${path} style=${{ stroke: `var(--${color})` }} />`;
}

interface HoveredPointsProps extends Pick<LineProps, "at" | "area"> {
  readonly lines: readonly ChartLine[];
  readonly hovered: number;
}

function HoveredPoints({ lines, at, area, hovered }: HoveredPointsProps): VNode {
  const x = area.x(at[hovered]!);
  return html`<line class="plot-cursor" x1=${x} x2=${x} y1=${area.top} y2=${area.bottom} />
    ${lines.map(({ values, color }) => {
      const value = values[hovered] ?? null;
      if (value === null) return null;
      return html`<circle
        cx=${x}
        cy=${area.y(value)}
        r="4"
        style=${{ fill: `var(--${color})` }}
      />`;
    })}`;
}

function DrawnRange({ area, drawn }: { area: PlotArea; drawn: readonly [number, number] }): VNode {
  const [from, to] = drawn.map(area.x) as [number, number];
  return html`<rect
    class="plot-range"
    x=${Math.min(from, to)}
    y=${area.top}
    width=${Math.abs(to - from)}
    height=${area.bottom - area.top}
  />`;
}

/** Index of the point closest to a value; values ascend. */
function findNearestIndex(at: readonly number[], value: number): number | undefined {
  if (at.length === 0) return undefined;
  const next = at.findIndex((each) => each >= value);
  if (next === -1) return at.length - 1;
  return next > 0 && value - at[next - 1]! < at[next]! - value ? next - 1 : next;
}

function formatPosition(at: number | undefined, { isTime = true }: ChartProps): string {
  if (at === undefined) return "–";
  return isTime ? new Date(at * 1000).toLocaleString("en-GB") : formatNumber(at, 3);
}

/** The last points as a table. */
function ChartTable(props: ChartProps & { say: (value: number) => string }): VNode {
  const { title, at, lines, unit = "", say } = props;
  const from = Math.max(0, at.length - TABLE_ROWS_MAX);
  const rows = at.slice(from).map((each, index) => [each, from + index] as const);
  return html`<details class="numbers">
    <summary>as numbers</summary>
    <div class="scroll" tabindex="0" role="region" aria-label=${`${title} as numbers`}>
      <table>
        <thead>
          <tr>
            <th scope="col">at</th>
            ${lines.map(({ label }) => html`<th scope="col" class="n">${label}${unit && `, ${unit}`}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            ([each, index]) =>
              html`<tr>
                <td>${formatPosition(each, props)}</td>
                ${lines.map(({ values }) => html`<td class="n">${formatChartValue(values[index], say)}</td>`)}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </details>`;
}

function formatChartValue(
  value: number | null | undefined,
  say: (value: number) => string,
): string {
  return value === null || value === undefined ? "–" : say(value);
}
