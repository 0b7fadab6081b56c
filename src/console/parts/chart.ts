// Lines over time, by uPlot on a canvas, with the same numbers in words and as a table for whoever does
// not see it. Redrawn with its place's width and with the theme.
import uPlot from "uplot";
import { html, useEffect, useRef, type VNode } from "../html.ts";
import { formatNumber } from "../format.ts";
import { readThemeColor } from "../theme.ts";

export interface ChartLine {
  readonly label: string;
  /** One for each time; null where there is none. */
  readonly values: readonly (number | null)[];
  /** Name of a colour of the style sheet. */
  readonly color: "allow" | "deny" | "warn" | "accent" | "second" | "dim";
  readonly isDashed?: boolean;
  /** Points alone. */
  readonly isDots?: boolean;
}

interface ChartProps {
  readonly title: string;
  /** Epoch seconds, or any numbers when `isTime` is false. */
  readonly at: readonly number[];
  readonly lines: readonly ChartLine[];
  /** Bounds drawn across, such as a limit that must hold. */
  readonly limits?: readonly { readonly label: string; readonly value: number }[];
  readonly height?: number;
  readonly isTime?: boolean;
  /** Seconds before the newest point at which the axis begins, however few points there are yet. */
  readonly span?: number | undefined;
  readonly say?: (value: number) => string;
  /** Fixes the axis of values. */
  readonly range?: readonly [number, number];
  /** Called with the range that was drawn with the pointer. */
  readonly onRange?: (from: number, to: number) => void;
}

const TABLE_ROWS_MAX = 60;
/** Steps of an axis of counts: 1, 2, 5, 10 and so on. */
const COUNT_AXIS_STEPS = Array.from({ length: 16 }, (_, power) =>
  [1, 2, 5].map((n) => n * 10 ** power),
).flat();
/** Words of an axis of time by the step between two: on every line, and below where something larger changes. */
const CLOCK = "{HH}:{mm}";
const DATE = "\n{D} {MMM}";
const YEAR = "\n{YYYY}";
/** Seconds between two lines of an axis of time: points are a second apart at the least. */
const TIME_AXIS_STEPS_SEC = [
  [1, 2, 5, 10, 15, 30].flatMap((n) => [n, n * 60]),
  [1, 2, 3, 4, 6, 8, 12].map((hours) => hours * 3600),
  [1, 2, 3, 4, 5, 7, 10, 14, 28, 30, 60, 90, 180, 365, 730, 1825, 3650].map(
    (days) => days * 86_400,
  ),
]
  .flat()
  .toSorted((one, other) => one - other);
const TIME_AXIS_LABELS: uPlot.Axis.Values = [
  [31_536_000, "{YYYY}", null, null, null, null, null, null, 1],
  [2_419_200, "{MMM}", YEAR, null, null, null, null, null, 1],
  [86_400, "{D} {MMM}", YEAR, null, null, null, null, null, 1],
  [60, CLOCK, DATE, null, DATE, null, null, null, 1],
  [1, ":{ss}", `\n${CLOCK}`, null, `${DATE} ${CLOCK}`, null, `\n${CLOCK}`, null, 1],
];

export function Chart(props: ChartProps): VNode {
  const { title, at, lines, limits = [], say = (value) => formatNumber(value, 2) } = props;
  const place = usePlot(props, say);
  const last = at.length - 1;
  const words = lines
    .map(({ label, values }) => `${label} ${formatChartValue(values[last], say)}`)
    .join(", ");
  return html`<figure class="chart">
    <div ref=${place} role="img" aria-label=${`${title}: ${at.length} points; last ${words}`}></div>
    <figcaption>
      <ul class="legend">
        ${lines.map(
          ({ label, color, values }) =>
            html`<li>
              <i class=${`key ${color}`} aria-hidden="true"></i>${label}${" "}
              <b>${formatChartValue(values[last], say)}</b>
            </li>`,
        )}
        ${limits.map(({ label }) => html`<li><i class="key limit" aria-hidden="true"></i>${label}</li>`)}
      </ul>
    </figcaption>
    <${ChartTable} ...${props} say=${say} />
  </figure>`;
}

/** The place of a plot that follows its numbers, the width there is and the theme. */
function usePlot(props: ChartProps, say: (value: number) => string) {
  const { at, lines, limits = [], height = 180 } = props;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const shape = JSON.stringify([
    lines.map(({ label, color }) => [label, color]),
    limits,
    props.range,
    props.span,
  ]);
  const data = [
    at,
    ...lines.map(({ values }) => values),
    ...limits.map(({ value }) => at.map(() => value)),
  ];
  const latest = useRef(data);
  latest.current = data;
  useEffect(() => {
    const element = place.current!;
    const draw = () => {
      plot.current?.destroy();
      const options = buildChartOptions(props, element.clientWidth, height, say);
      plot.current = new uPlot(options, latest.current as never, element);
    };
    draw();
    const observer = new ResizeObserver(() => {
      const width = element.clientWidth;
      if (width > 0 && width !== plot.current?.width) plot.current?.setSize({ width, height });
    });
    observer.observe(element);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", draw);
    addEventListener("themechange", draw);
    return () => {
      observer.disconnect();
      dark.removeEventListener("change", draw);
      removeEventListener("themechange", draw);
      plot.current?.destroy();
    };
  }, [shape, height]);
  useEffect(() => plot.current?.setData(data as never), [at, lines]);
  return place;
}

/** The last points as a table. */
function ChartTable({
  title,
  at,
  lines,
  isTime,
  say,
}: ChartProps & { say: (value: number) => string }) {
  const from = Math.max(0, at.length - TABLE_ROWS_MAX);
  const rows = at.slice(from).map((each, index) => [each, from + index] as const);
  const selectName = (each: number) =>
    isTime === false ? formatNumber(each, 3) : new Date(each * 1000).toLocaleString("en-GB");
  return html`<details class="numbers">
    <summary>as numbers</summary>
    <div class="scroll" tabindex="0" role="region" aria-label=${`${title} as numbers`}>
      <table>
        <thead>
          <tr>
            <th scope="col">at</th>
            ${lines.map(({ label }) => html`<th scope="col" class="n">${label}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            ([each, index]) =>
              html`<tr>
                <td>${selectName(each)}</td>
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

function buildChartOptions(
  { lines, limits = [], isTime = true, span, range, onRange }: ChartProps,
  width: number,
  height: number,
  say: (value: number) => string,
): uPlot.Options {
  const grid = { stroke: readThemeColor("line"), width: 1 };
  const font = "12px system-ui, sans-serif";
  const axis = { stroke: readThemeColor("dim"), grid, ticks: grid, font };
  const values = (_: uPlot, splits: number[]) => splits.map((split) => say(split));
  return {
    width,
    height,
    legend: { show: false },
    cursor: { y: false, drag: { x: onRange !== undefined, y: false, setScale: false } },
    scales: {
      x: { time: isTime, ...(span === undefined ? {} : { range: createMinimumSpanRange(span) }) },
      y: range === undefined ? { range: computeRangeFromZero } : { range: [range[0], range[1]] },
    },
    axes: [
      isTime ? { ...axis, values: TIME_AXIS_LABELS, incrs: TIME_AXIS_STEPS_SEC } : axis,
      {
        ...axis,
        size: computeAxisWidth,
        values,
        ...(say === formatNumber ? { incrs: COUNT_AXIS_STEPS } : {}),
      },
    ],
    series: [
      {},
      ...lines.map(({ label, color, isDashed, isDots }) => ({
        label,
        stroke: readThemeColor(color),
        width: isDots === true ? 0 : 2,
        ...(isDashed === true ? { dash: [6, 4] } : {}),
        points: { show: isDots === true, size: 6, fill: readThemeColor(color) },
      })),
      ...limits.map(({ label }) => ({
        label,
        stroke: readThemeColor("deny"),
        width: 1,
        dash: [4, 4],
        points: { show: false },
      })),
    ],
    hooks: {
      setSelect: [
        (self) => {
          const { left, width: wide } = self.select;
          if (wide < 4) return;
          onRange?.(self.posToVal(left, "x"), self.posToVal(left + wide, "x"));
          self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        },
      ],
    },
  };
}

/** The range of the points, begun earlier where it is shorter than `span`. */
function createMinimumSpanRange(span: number): uPlot.Range.Function {
  return (_, least, most) => [Math.min(least, most - span), most];
}

/** Wide enough for the longest label. */
function computeAxisWidth(_: uPlot, labels: readonly string[] | null): number {
  return Math.max(56, ...(labels ?? []).map((label) => label.length * 7 + 18));
}

/** Counts begin at nought; an axis without values still has a height. */
function computeRangeFromZero(
  _: uPlot,
  least: number | null,
  most: number | null,
): [number, number] {
  const low = Math.min(0, least ?? 0);
  const high = most === null || most <= low ? low + 1 : most;
  return [low, high + (high - low) * 0.05];
}
