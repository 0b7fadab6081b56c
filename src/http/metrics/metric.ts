// Description of one metric: what `/metrics` says of it in HELP and TYPE, and what the reference page
// adds. `watch` is what an operator looks for.
import { DURATION_BOUNDS_SEC } from "../../platform/histogram.ts";

export interface MetricDescription {
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly watch: string;
  readonly labels: readonly string[];
  /** Of a histogram: upper bounds of its buckets. */
  readonly bounds?: readonly number[];
}

/** Grows from 0 with the process; its name ends in `_total`. */
export function defineCounter(help: string, watch = "", ...labels: string[]): MetricDescription {
  return { type: "counter", help, watch, labels };
}

export function defineGauge(help: string, watch = "", ...labels: string[]): MetricDescription {
  return { type: "gauge", help, watch, labels };
}

/** In seconds. */
export function defineDurationHistogram(
  help: string,
  watch = "",
  ...labels: string[]
): MetricDescription {
  return { type: "histogram", help, watch, labels, bounds: DURATION_BOUNDS_SEC };
}

export function defineSizeHistogram(help: string, bounds: readonly number[]): MetricDescription {
  return { type: "histogram", help, watch: "", labels: [], bounds };
}
