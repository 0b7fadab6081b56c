// One scrape: the counts of all serving threads and the figures of the rest of the service, as text.
import { type Exposition, renderMetrics } from "../../platform/prometheus.ts";
import type { HttpServices } from "../services.ts";
import {
  collectThreadCounts,
  type RequestCounts,
  STATUS_CLASS_COUNT,
  STATUS_COUNT,
  STATUS_FIRST,
} from "./recorder.ts";
import {
  buildMetricFamilies,
  addThreadValues,
  type MetricValues,
  type LabelledMetricValue,
} from "./metric-values.ts";
import type { FaultCode } from "../../contract/faults.ts";
import { DECISIONS } from "../../contract/vocabulary.ts";
import { addHistogramCounts, type HistogramCounts } from "../../platform/histogram.ts";
import type { AnswerTallyCounts } from "./tallies.ts";
import { decodeVerdictCell } from "./verdict-cells.ts";

/** What a scrape needs of the services. */
export type ScrapeSources = Pick<
  HttpServices,
  "allCounts" | "figures" | "metrics" | "usage" | "pendingCount"
>;

/** `accept` is the scraper's header: it chooses between OpenMetrics and Prometheus text. */
export async function renderScrape(
  services: ScrapeSources,
  accept: string | undefined,
): Promise<Exposition> {
  const threads = (await services.allCounts?.()) ?? [collectThreadCounts(services)];
  const counts = threads.map((thread) => thread.metrics);
  const added = threads.flatMap(({ figures = [] }) => figures);
  const figures = addThreadValues(services.figures?.() ?? {}, added);
  const families = buildMetricFamilies({
    ...figures,
    ...collectRequestMetrics(services.metrics.routeNames, counts),
  });
  return renderMetrics(families, accept?.includes("application/openmetrics-text") === true);
}

/** Times of the answers of one route and class of status (`2xx`), since the start. */
export interface RouteDurations {
  readonly route: string;
  readonly statusClass: string;
  readonly counts: HistogramCounts;
}

/** Times of all serving threads together. */
export async function collectDurations(services: ScrapeSources): Promise<RouteDurations[]> {
  const threads = (await services.allCounts?.()) ?? [collectThreadCounts(services)];
  return sumDurations(
    services.metrics.routeNames,
    threads.map(({ metrics }) => metrics),
  );
}

function sumDurations(
  routeNames: readonly string[],
  threads: readonly RequestCounts[],
): RouteDurations[] {
  const durations = new Map<number, HistogramCounts>();
  for (const [index, counts] of threads.flatMap((each) => each.durations)) {
    durations.set(index, addHistogramCounts(durations.get(index), counts));
  }
  return [...durations].map(([index, counts]) => {
    const route = routeNames[Math.trunc(index / STATUS_CLASS_COUNT)] ?? "";
    return { route, statusClass: `${(index % STATUS_CLASS_COUNT) + 1}xx`, counts };
  });
}

// Request metrics summed over the serving threads.
/** `threads` in their order. */
export function collectRequestMetrics(
  routeNames: readonly string[],
  threads: readonly RequestCounts[],
): MetricValues {
  const sum = (pick: (counts: RequestCounts) => number) =>
    threads.reduce((total, counts) => total + pick(counts), 0);
  const tallies = threads.map((each) => each.tallies);
  const decided = (kind: "checks" | "handshakes") =>
    DECISIONS.map((word): LabelledMetricValue => {
      const value = tallies.reduce((total, each) => total + each[kind][word], 0);
      return { labels: [word], value };
    });
  return {
    ...collectRouteMetrics(routeNames, threads),
    http_thread_requests_total: threads.map(({ requests }, thread) => ({
      labels: [String(thread)],
      value: requests.reduce((total, [, count]) => total + count, 0),
    })),
    http_thread_busy_seconds_total: threads.map(({ busySec }, thread) => ({
      labels: [String(thread)],
      value: busySec,
    })),
    http_faults_total: sumByFaultCode(tallies, "faults"),
    http_aborted_total: sum((each) => each.aborted),
    http_framing_refused_total: sum((each) => each.refusedFraming),
    http_inflight: sum((each) => each.pending),
    http_connections: sum((each) => each.connections.open),
    http_connections_max: sum((each) => each.connections.max),
    http_connections_refused_total: sum((each) => each.connections.refused),
    http_connections_closed_idle_total: sum((each) => each.connections.closedIdle),
    verdicts_total: sumByKey(tallies.flatMap((each) => each.verdicts)).map(([cell, value]) => ({
      labels: decodeVerdictCell(cell),
      value,
    })),
    check_decisions_total: decided("checks"),
    handshake_decisions_total: decided("handshakes"),
    outcomes_repeated_total: sum((each) => each.tallies.outcomesRepeated),
    outcomes_refused_total: sumByFaultCode(tallies, "outcomesRefused"),
  };
}

function collectRouteMetrics(
  routeNames: readonly string[],
  threads: readonly RequestCounts[],
): MetricValues {
  const requests = sumByKey(threads.flatMap((each) => each.requests));
  return {
    http_requests_total: requests.map(([index, value]) => {
      const status = (index % STATUS_COUNT) + STATUS_FIRST;
      const route = routeNames[Math.trunc(index / STATUS_COUNT)] ?? "";
      return { labels: [route, String(status)], value };
    }),
    http_request_duration_seconds: sumDurations(routeNames, threads).map(
      ({ route, statusClass, counts: value }) => ({ labels: [route, statusClass], value }),
    ),
  };
}

function sumByFaultCode(
  tallies: readonly AnswerTallyCounts[],
  kind: "faults" | "outcomesRefused",
): LabelledMetricValue[] {
  const counts = sumByKey<FaultCode>(tallies.flatMap((each) => each[kind]));
  return counts.map(([code, value]) => ({ labels: [code], value }));
}

/** The counts of several threads by their key, in order of the keys. */
function sumByKey<Key extends number | string>(counts: readonly [Key, number][]): [Key, number][] {
  const totals = new Map<Key, number>();
  for (const [key, count] of counts) totals.set(key, (totals.get(key) ?? 0) + count);
  return [...totals].toSorted(([left], [right]) => (left < right ? -1 : 1));
}
