// The frame of every chart: SVG as large as its place, with a grid, round ticks and the name and unit of both
// axes. What is drawn within it is the caller's.
import { html, useLayoutEffect, useRef, useState, type Children, type VNode } from "../html.ts";
import type { Axis } from "./axis.ts";

export interface PlotAxis {
  readonly axis: Axis;
  /** Label of each tick; of time with the line below it, which may be empty. */
  readonly labels: readonly (string | readonly [label: string, below: string])[];
}

/** Where values are drawn, in px of the SVG. */
export interface PlotArea {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  readonly x: (value: number) => number;
  readonly y: (value: number) => number;
}

interface PlotFrameProps {
  /** For those who do not see it. */
  readonly title: string;
  /** Makes an axis for so many px. */
  readonly x: (length: number) => PlotAxis;
  readonly y: (length: number) => PlotAxis;
  /** What the values of an axis are, with their unit. */
  readonly xLabel: string;
  readonly yLabel: string;
  /** Least height in px; it grows with its card. */
  readonly height: number;
  readonly draw: (area: PlotArea) => Children;
  /** `group` where something within it takes keys. */
  readonly role?: "img" | "group";
  /** Called when a pointer is pressed, moved, released or gone, with the value on the axis of x. */
  readonly onPointer?: (event: PointerEvent, value: number) => void;
}

const CHARACTER_PX = 6.6;
const LEFT_MIN = 32;
const RIGHT = 14;
/** Room for the name of the axis of y. */
const TOP = 22;
/** Room for labels of ticks and the name of the axis of x. */
const BOTTOM = 36;
/** Room for the second line of labels. */
const BELOW = 14;

const getLines = (label: PlotAxis["labels"][number]): readonly [string, string] =>
  typeof label === "string" ? [label, ""] : label;

export function PlotFrame(props: PlotFrameProps): VNode {
  const { title, x, y, xLabel, yLabel, height, draw, role = "img", onPointer } = props;
  const place = useRef<HTMLDivElement>(null);
  const [width, tall] = useSize(place);
  const isMeasured = width > 0 && tall > 0;
  // Whether labels have a second line does not depend on the exact width.
  const bottom =
    tall - BOTTOM - (isMeasured && x(width).labels.some((each) => getLines(each)[1]) ? BELOW : 0);
  const vertical = y(Math.max(1, bottom - TOP));
  const longest = Math.max(...vertical.labels.map((label) => getLines(label)[0].length), 0);
  const left = Math.max(LEFT_MIN, Math.ceil(longest * CHARACTER_PX) + 10);
  const right = Math.max(left + 1, width - RIGHT);
  const horizontal = x(right - left);
  const area: PlotArea = {
    left,
    right,
    top: TOP,
    bottom,
    x: (value) => left + horizontal.axis.place(value) * (right - left),
    y: (value) => bottom - vertical.axis.place(value) * (bottom - TOP),
  };
  const follow = (event: PointerEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const share = (event.clientX - box.left - left) / (right - left);
    onPointer?.(event, horizontal.axis.valueAt(share));
  };
  const pointers = onPointer && {
    onPointerDown: follow,
    onPointerMove: follow,
    onPointerUp: follow,
    onPointerLeave: follow,
    onPointerCancel: follow,
  };
  return html`<div class="plot-place" ref=${place} style=${{ minHeight: `${height}px` }}>
    <svg class="plot" width=${width} height=${tall} role=${role} aria-label=${title} ...${pointers}>
      ${
        isMeasured &&
        html`<${PlotAxes} ...${{ area, horizontal, vertical, xLabel, yLabel }} /> ${draw(area)}`
      }
    </svg>
  </div>`;
}

interface PlotAxesProps extends Pick<PlotFrameProps, "xLabel" | "yLabel"> {
  readonly area: PlotArea;
  readonly horizontal: PlotAxis;
  readonly vertical: PlotAxis;
}

function PlotAxes({ area, horizontal, vertical, xLabel, yLabel }: PlotAxesProps): VNode {
  const { left, right, top, bottom } = area;
  return html`<g aria-hidden="true">
    <text class="axis-name" x="0" y="11">${yLabel}</text>
    ${vertical.axis.ticks.map((tick, index) => {
      const y = area.y(tick);
      return html`<line class="plot-grid" x1=${left} x2=${right} y1=${y} y2=${y} />
        <text x=${left - 6} y=${y + 4} text-anchor="end"
          >${getLines(vertical.labels[index]!)[0]}</text
        >`;
    })}
    ${horizontal.axis.ticks.map((tick, index) => {
      const x = area.x(tick);
      const [label, below] = getLines(horizontal.labels[index]!);
      const half = (Math.max(label.length, below.length) * CHARACTER_PX) / 2;
      const at = Math.min(x, right + RIGHT - half);
      return html`<line class="plot-grid" x1=${x} x2=${x} y1=${top} y2=${bottom + 4} />
        <text x=${at} y=${bottom + 17} text-anchor="middle">${label}</text>
        <text x=${at} y=${bottom + 17 + BELOW} text-anchor="middle">${below}</text>`;
    })}
    <line class="plot-axis" x1=${left} x2=${right} y1=${bottom} y2=${bottom} />
    <text
      class="axis-name"
      x=${right}
      y=${area.bottom + BOTTOM - 4 + getBelow(horizontal)}
      text-anchor="end"
      >${xLabel}</text
    >
  </g>`;
}

const getBelow = ({ labels }: PlotAxis): number =>
  labels.some((label) => getLines(label)[1] !== "") ? BELOW : 0;

/** Width and height of an element in whole px, followed; 0 before it is there. */
function useSize(place: { readonly current: HTMLElement | null }): readonly [number, number] {
  const [size, setSize] = useState<readonly [number, number]>([0, 0]);
  useLayoutEffect(() => {
    const element = place.current!;
    const measure = () => {
      const next = [Math.floor(element.clientWidth), Math.floor(element.clientHeight)] as const;
      setSize((before) => (before[0] === next[0] && before[1] === next[1] ? before : next));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return size;
}
