// Drawings of each suite: latency and throughput against the rate, cost by kind of request and by
// company, growth by size, requests by threads, memory by part.
import * as Plot from "@observablehq/plot";
import type { Spread } from "../load/spread.ts";
import { COLOURS, type Drawing } from "./drawing.ts";
import type {
  CoresResult,
  GrowthResult,
  HttpResult,
  Result,
  SoakResult,
  TailResult,
} from "./results.ts";

/** One value of one line, with the spread of the rounds where there is one. */
interface Dot {
  readonly series: string;
  readonly x: number;
  readonly y: number;
  readonly low: number;
  readonly high: number;
}

const COUNT = "~s";
const NUMBER = "~g";

export function drawingsOf(result: Result): Drawing[] {
  if (result.bench === "tail") return tailDrawings(result);
  if (result.bench === "http") return [httpDrawing(result)];
  if (result.bench === "growth") return growthDrawings(result);
  if (result.bench === "soak") return [soakDrawing(result)];
  return [coresDrawing(result)];
}

function dot(series: string, x: number, { median, p10, p90 }: Spread): Dot {
  return { series, x, y: median, low: p10, high: p90 };
}

const exact = (series: string, x: number, y: number): Dot => ({ series, x, y, low: y, high: y });

/** Lines with their spread and, at the right end, their names. */
function lines(dots: readonly Dot[]): Plot.Markish[] {
  const color = (each: Dot) => each.series;
  return [
    Plot.areaY(dots, { x: "x", y1: "low", y2: "high", fill: color, fillOpacity: 0.18 }),
    Plot.lineY(dots, { x: "x", y: "y", stroke: color, strokeWidth: 2 }),
    Plot.dot(dots, { x: "x", y: "y", fill: color, r: 3 }),
    Plot.text(
      dots,
      Plot.selectLast({
        x: "x",
        y: "y",
        z: "series",
        text: "series",
        fill: color,
        dx: 8,
        textAnchor: "start",
        fontWeight: 600,
      }),
    ),
  ];
}

const colours = (domain: readonly string[]): Plot.ScaleOptions => ({
  domain: [...domain],
  range: [...COLOURS],
});

function tailDrawings({ machine, meanwhile, bar, rates, beside }: TailResult): Drawing[] {
  const company = meanwhile.length === 0 ? "nothing" : meanwhile.join(", ");
  const subtitle = `${machine}; meanwhile ${company}; band: rounds`;
  const latency = rates.flatMap((row) => [
    dot("p50", row.offered_per_second, row.p50_ms),
    dot("p99", row.offered_per_second, row.p99_ms),
    dot("p99.9", row.offered_per_second, row.p99_9_ms),
  ]);
  const answered = rates.map((row) =>
    dot("answered", row.offered_per_second, row.answered_per_second),
  );
  const x: Plot.ScaleOptions = { label: "offered, requests/s", tickFormat: COUNT, zero: true };
  const barMarks =
    bar === undefined
      ? []
      : [
          Plot.ruleY([bar.bar_ms], { stroke: "currentColor", strokeDasharray: "5 4" }),
          Plot.dot([[bar.per_second, bar.bar_ms]], { r: 5, stroke: "currentColor" }),
        ];
  const drawings: Drawing[] = [
    {
      name: "tail-latency",
      title: "Latency of verify against the offered rate, from when each request was due",
      subtitle: `${subtitle}${bar === undefined ? "" : `; dashed: p99.9 < ${bar.bar_ms} ms`}`,
      options: {
        x,
        y: { type: "log", label: "latency, ms", grid: true, tickFormat: NUMBER },
        color: colours(["p50", "p99", "p99.9"]),
        marks: [...lines(latency), ...barMarks],
      },
    },
    {
      name: "tail-throughput",
      title: "Answered against offered",
      subtitle,
      options: {
        x,
        y: { label: "answered, requests/s", grid: true, zero: true, tickFormat: COUNT },
        color: colours(["answered"]),
        marks: [
          Plot.lineY(rates, {
            x: "offered_per_second",
            y: "offered_per_second",
            stroke: "currentColor",
            strokeDasharray: "5 4",
            strokeOpacity: 0.6,
          }),
          ...lines(answered),
        ],
      },
    },
  ];
  return beside === undefined ? drawings : [...drawings, besideDrawing(machine, beside)];
}

function besideDrawing(machine: string, beside: NonNullable<TailResult["beside"]>): Drawing {
  const sides = Object.entries(beside).map(([side, row]) => ({ side, ...row.p99_9_ms }));
  const rate = Object.values(beside)[0]!.offered_per_second.toLocaleString("en");
  return {
    name: "tail-beside",
    title: `p99.9 of verify at ${rate} requests/s, by what else runs`,
    subtitle: `${machine}; line: rounds`,
    options: {
      marginLeft: 96,
      x: { label: "p99.9, ms", grid: true, zero: true },
      y: { label: null, domain: sides.map(({ side }) => side) },
      marks: [
        Plot.barX(sides, { x: "median", y: "side", fill: COLOURS[0], fillOpacity: 0.85 }),
        Plot.ruleY(sides, { x1: "p10", x2: "p90", y: "side", stroke: "currentColor" }),
        Plot.ruleX([0], { stroke: "currentColor" }),
      ],
    },
  };
}

function httpDrawing({ machine, sides }: HttpResult): Drawing {
  const names = Object.keys(sides);
  const parts = Object.entries(sides).flatMap(([side, { user_us, system_us }]) => [
    { side, part: "system", us: system_us.median },
    { side, part: "user", us: user_us.median },
  ]);
  const ends = Object.entries(sides).map(([side, { user_us, system_us }]) => ({
    side,
    us: user_us.median + system_us.median,
  }));
  return {
    name: "http-cost",
    title: "CPU of a request, by what is asked and of whom",
    subtitle: `${machine}; all threads of the server; grey: system time, blue: user time`,
    options: {
      marginLeft: 96,
      x: { label: "CPU, us per answered request", grid: true, zero: true },
      y: { label: null, domain: names },
      color: { domain: ["system", "user"], range: ["#8b949e", COLOURS[0]] },
      marks: [
        Plot.barX(parts, { x: "us", y: "side", fill: "part" }),
        Plot.text(ends, {
          x: "us",
          y: "side",
          text: ({ us }: { us: number }) => us.toFixed(1),
          dx: 6,
          textAnchor: "start",
        }),
        Plot.ruleX([0], { stroke: "currentColor" }),
      ],
    },
  };
}

function growthDrawings({ machine, tables, histories }: GrowthResult): Drawing[] {
  const times = tables.flatMap(({ agents, lookup_ns, fold_ns }) => [
    dot("lookup", agents, lookup_ns),
    dot("fold", agents, fold_ns),
  ]);
  const logX = (label: string): Plot.ScaleOptions => ({ type: "log", label, tickFormat: COUNT });
  const drawings: Drawing[] = [
    {
      name: "growth-table",
      title: "One lookup and one fold, by agents in the table",
      subtitle: `${machine}; agents in random order; band: blocks of calls`,
      options: {
        x: logX("agents"),
        y: { label: "time of one, ns", grid: true, zero: true },
        color: colours(["lookup", "fold"]),
        marks: lines(times),
      },
    },
  ];
  if (histories.length < 2) return drawings;
  const costs = histories.flatMap(({ outcomes, queries, ...seconds }) => {
    const slowest = Math.max(0, ...Object.values(queries).map((each) => each ?? 0));
    return [
      exact("replay", outcomes, seconds.replay_seconds),
      exact("store", outcomes, seconds.store_seconds),
      exact("start", outcomes, seconds.start_seconds),
      ...(slowest > 0 ? [exact("slowest query", outcomes, slowest)] : []),
      ...(seconds.kaizen_seconds === null
        ? []
        : [exact("kaizen run", outcomes, seconds.kaizen_seconds)]),
    ];
  });
  return [
    ...drawings,
    {
      name: "growth-history",
      title: "Starts, the store, queries and a run of kaizen, by outcomes in the journal",
      subtitle: `${machine}; start: with the snapshot that was due, replay: without`,
      options: {
        x: logX("outcomes"),
        y: { type: "log", label: "time, s", grid: true, tickFormat: NUMBER },
        color: colours(["replay", "store", "start", "kaizen run", "slowest query"]),
        marks: lines(costs),
      },
    },
  ];
}

function coresDrawing({ machine, rows }: CoresResult): Drawing {
  const first = rows[0]!;
  const ideal = rows.map(({ threads }) => ({
    threads,
    y: (first.per_second.median * threads) / first.threads,
  }));
  return {
    name: "cores",
    title: "Requests a second by HTTP threads",
    subtitle: `${machine}; callers on the same cores; dashed: in proportion; band: rounds`,
    options: {
      x: { label: "HTTP threads", ticks: rows.map(({ threads }) => threads), tickFormat: "d" },
      y: { label: "answered, requests/s", grid: true, zero: true, tickFormat: COUNT },
      color: colours(["verify"]),
      marks: [
        Plot.lineY(ideal, {
          x: "threads",
          y: "y",
          stroke: "currentColor",
          strokeDasharray: "5 4",
          strokeOpacity: 0.6,
        }),
        ...lines(rows.map((row) => dot("verify", row.threads, row.per_second))),
      ],
    },
  };
}

/** Six lines are told apart: what is resident, DuckDB, malloc, and the three largest heaps. */
const HEAPS_DRAWN = 3;

function soakDrawing({ machine, minutes, requests, parts }: SoakResult): Drawing {
  const lastMib = (name: string) => parts[name]?.points.at(-1)?.[1] ?? 0;
  const heaps = Object.keys(parts)
    .filter((name) => name.startsWith("heap "))
    .toSorted((left, right) => lastMib(right) - lastMib(left))
    .slice(0, HEAPS_DRAWN);
  const drawn = ["resident anonymous", "malloc", "duckdb", ...heaps].filter(
    (name) => parts[name] !== undefined,
  );
  const dots = drawn.flatMap((name) =>
    // Longer names do not fit beside the lines.
    parts[name]!.points.map(([minute, mib]) =>
      exact(name.replace(/#\d+$| anonymous$/, ""), minute, mib),
    ),
  );
  return {
    name: "soak-parts",
    title: "Memory by part under everyday work, garbage collected before each reading",
    subtitle: `${machine}; ${requests.toLocaleString("en")} requests in ${minutes} minutes; the largest heaps`,
    options: {
      x: { label: "minutes", zero: true, grid: true },
      y: { type: "log", label: "MiB", grid: true, tickFormat: NUMBER },
      color: colours([...new Set(dots.map(({ series }) => series))]),
      marks: lines(dots),
    },
  };
}
