// The last minutes by the second: everything once, then each second what is newer. Kept while the page is
// open, and never longer than the service keeps it.
import { get } from "./api.ts";
import { useRef } from "./html.ts";
import { type Data, usePolled } from "./use-data.ts";

const EVERY_MS = 1000;
export const SERIES = "/v1/service/series";

const COLUMNS = [
  "at",
  "span_ms",
  "let_through",
  "denied",
  "outcomes",
  "problems",
  "store_lag_records",
  "p50_ms",
  "p99_ms",
] as const;
type Column = (typeof COLUMNS)[number];

/** Columns of equal length, oldest second first. */
export interface Seconds extends Record<Exclude<Column, "at">, readonly (number | null)[]> {
  readonly points_max: number;
  readonly at: readonly string[];
}

/** The points of `kept` and then those of `newer`, at most as many as the service keeps. */
export function joined(kept: Seconds | undefined, newer: Seconds): Seconds {
  if (kept === undefined) return newer;
  const columns = COLUMNS.map((name) => [
    name,
    [...kept[name], ...newer[name]].slice(-newer.points_max),
  ]);
  return { points_max: newer.points_max, ...Object.fromEntries(columns) } as Seconds;
}

/** Those of the last `seconds`. */
export function takeLastSeconds(series: Seconds, seconds: number): Seconds {
  const columns = COLUMNS.map((name) => [name, series[name].slice(-seconds)]);
  return { points_max: series.points_max, ...Object.fromEntries(columns) } as Seconds;
}

/** Counts a second of a column, whatever time its points stand for. */
export function rates(series: Seconds, column: "let_through" | "denied" | "outcomes"): number[] {
  return series[column].map((count, index) => {
    const spanMs = series.span_ms[index] ?? 0;
    return spanMs === 0 ? 0 : ((count ?? 0) * 1000) / spanMs;
  });
}

export function useSeries(): Data<Seconds> {
  const kept = useRef<Seconds | undefined>(undefined);
  return usePolled(async (signal) => {
    const since = kept.current?.at.at(-1);
    const newer = await get<Seconds>(SERIES, since === undefined ? {} : { since }, signal);
    // A service that was started again has a series of its own, which goes on behind the old one.
    kept.current = joined(kept.current, newer);
    return kept.current;
  }, EVERY_MS);
}
