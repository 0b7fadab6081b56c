// The last minutes by the second: everything once, then each second what is newer. Kept while the page is
// open, and never longer than the service keeps it.
import type { ServiceSeries } from "../contract/schemas/series.ts";
import { getDocument } from "./api.ts";
import { useRef } from "./html.ts";
import { type LoadedData, usePolledData } from "./use-data.ts";

const EVERY_MS = 1000;
export const SERIES_PATH = "/v1/service/series";

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

/** Columns of equal length, oldest second first. */
export type SecondSeries = Pick<ServiceSeries, "points_max" | (typeof COLUMNS)[number]>;

/** The points of `kept` and then those of `newer`, at most as many as the service keeps. */
export function appendSeries(kept: SecondSeries | undefined, newer: SecondSeries): SecondSeries {
  if (kept === undefined) return newer;
  const columns = COLUMNS.map((name) => [
    name,
    [...kept[name], ...newer[name]].slice(-newer.points_max),
  ]);
  return { points_max: newer.points_max, ...Object.fromEntries(columns) } as SecondSeries;
}

/** Those of the last `seconds`. */
export function takeLastSeconds(series: SecondSeries, seconds: number): SecondSeries {
  const columns = COLUMNS.map((name) => [name, series[name].slice(-seconds)]);
  return { points_max: series.points_max, ...Object.fromEntries(columns) } as SecondSeries;
}

/** Counts a second of a column, whatever time its points stand for. */
export function computeRatesPerSecond(
  series: SecondSeries,
  column: "let_through" | "denied" | "outcomes",
): number[] {
  return series[column].map((count, index) => {
    const spanMs = series.span_ms[index] ?? 0;
    return spanMs === 0 ? 0 : ((count ?? 0) * 1000) / spanMs;
  });
}

export function useServiceSeries(): LoadedData<SecondSeries> {
  const kept = useRef<SecondSeries | undefined>(undefined);
  return usePolledData(async (signal) => {
    const since = kept.current?.at.at(-1);
    const newer = await getDocument<SecondSeries>(
      SERIES_PATH,
      since === undefined ? {} : { since },
      signal,
    );
    // A service that was started again has a series of its own, which goes on behind the old one.
    kept.current = appendSeries(kept.current, newer);
    return kept.current;
  }, EVERY_MS);
}
