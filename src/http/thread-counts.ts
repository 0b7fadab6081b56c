// Counts of one serving thread, for the thread that reports the whole.
import type { AddedFigures } from "./metrics/figures.ts";
import type { MetricCounts, Metrics } from "./metrics/recorder.ts";

/** Data only: it crosses between threads. */
export interface ThreadCounts {
  metrics: MetricCounts;
  /** Added to the service's figures of the same name. */
  figures?: AddedFigures;
}

/** Counters of a thread. */
interface Counters {
  readonly metrics: Metrics;
  readonly pendingCount: number;
}

export function collectThreadCounts({ metrics, pendingCount }: Counters): ThreadCounts {
  return { metrics: metrics.counts(pendingCount) };
}
