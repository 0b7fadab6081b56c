// Description of one metric: what `/metrics` says of it in HELP and TYPE, and what the reference page
// adds. `watch` is what an operator looks for.
import { DURATION_BOUNDS_SEC } from "../../platform/histogram.ts";

export interface Metric {
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly watch: string;
  readonly labels: readonly string[];
  /** Of a histogram: upper bounds of its buckets. */
  readonly bounds?: readonly number[];
}

/** Grows from 0 with the process; its name ends in `_total`. */
export function counter(help: string, watch = "", ...labels: string[]): Metric {
  return { type: "counter", help, watch, labels };
}

export function gauge(help: string, watch = "", ...labels: string[]): Metric {
  return { type: "gauge", help, watch, labels };
}

/** In seconds. */
export function durations(help: string, watch = "", ...labels: string[]): Metric {
  return { type: "histogram", help, watch, labels, bounds: DURATION_BOUNDS_SEC };
}

export function sizes(help: string, bounds: readonly number[]): Metric {
  return { type: "histogram", help, watch: "", labels: [], bounds };
}
