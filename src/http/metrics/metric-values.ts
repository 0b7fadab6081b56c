// Values of a scrape by metric name: adds the values of several threads and builds the metric families.
import { addHistogramCounts, type HistogramCounts } from "../../platform/histogram.ts";
import type { FamilySample, MetricFamily } from "../../platform/prometheus.ts";
import { EVIDENCE_METRICS } from "./evidence-metrics.ts";
import { HTTP_METRICS } from "./http-metrics.ts";
import type { MetricDescription } from "./metric.ts";
import { SERVICE_METRICS } from "./service-metrics.ts";
import { STREAM_METRICS } from "./stream-metrics.ts";

/** Every metric of the service, in the order in which they are told. */
export const METRICS = {
  ...HTTP_METRICS,
  ...EVIDENCE_METRICS,
  ...SERVICE_METRICS,
  ...STREAM_METRICS,
};
export type MetricName = keyof typeof METRICS;

/** One value with the values of its labels, in the order of the table. */
export interface LabelledMetricValue {
  readonly labels: readonly string[];
  readonly value: number | HistogramCounts;
}

/** A value without labels, or one for each set of them. */
export type MetricValue = number | HistogramCounts | readonly LabelledMetricValue[];
export type MetricValues = Readonly<Partial<Record<MetricName, MetricValue>>>;

/** Numbers and histograms that a thread adds to those of the same name. */
export type AdditiveMetricValues = Readonly<Partial<Record<MetricName, number | HistogramCounts>>>;

/** The figures with those of further threads added. */
export function addThreadValues(
  figures: MetricValues,
  added: readonly AdditiveMetricValues[],
): MetricValues {
  const all: Partial<Record<MetricName, MetricValue>> = { ...figures };
  for (const [name, more] of added.flatMap((each) => Object.entries(each))) {
    const known = all[name as MetricName];
    if (typeof more === "number") all[name as MetricName] = ((known as number) ?? 0) + more;
    else all[name as MetricName] = addHistogramCounts(known as HistogramCounts | undefined, more);
  }
  return all;
}

/** Families of all metrics of the table; one without a figure has no samples. */
export function buildMetricFamilies(figures: MetricValues): MetricFamily[] {
  const unknown = Object.keys(figures).filter((name) => !Object.hasOwn(METRICS, name));
  if (unknown.length > 0) throw new Error(`no metric is called ${unknown.join(", ")}`);
  return Object.entries<MetricDescription>(METRICS).map(([name, metric]) => ({
    name: `trustrank_${name}`,
    type: metric.type,
    help: metric.help,
    samples: buildSamples(metric, figures[name as MetricName]),
  }));
}

function buildSamples(metric: MetricDescription, figure: MetricValue | undefined): FamilySample[] {
  if (figure === undefined) return [];
  const all = Array.isArray(figure) ? (figure as readonly LabelledMetricValue[]) : undefined;
  if (all === undefined) return buildSeriesLines(metric, {}, figure as number | HistogramCounts);
  return all.flatMap(({ labels, value }) => {
    const named = metric.labels.map((label, index) => [label, labels[index] ?? ""]);
    return buildSeriesLines(metric, Object.fromEntries(named) as Record<string, string>, value);
  });
}

function buildSeriesLines(
  { bounds = [] }: MetricDescription,
  labels: Record<string, string>,
  value: number | HistogramCounts,
): FamilySample[] {
  if (typeof value === "number") return [{ labels, value }];
  let count = 0;
  const buckets = value.buckets.map((more, index): FamilySample => {
    count += more;
    const le = index < bounds.length ? String(bounds[index]) : "+Inf";
    return { suffix: "_bucket", labels: { ...labels, le }, value: count };
  });
  const sum: FamilySample = { suffix: "_sum", labels, value: value.sum };
  return [...buckets, sum, { suffix: "_count", labels, value: count }];
}
