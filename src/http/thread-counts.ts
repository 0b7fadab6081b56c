// Counts of one serving thread, for the thread that reports the whole.
import type { AdditiveMetricValues } from "./metrics/figures.ts";
import type { RequestCounts, RequestRecorder } from "./metrics/recorder.ts";

/** Data only: it crosses between threads. */
export interface ThreadCounts {
  metrics: RequestCounts;
  /** Added to the service's figures of the same name. */
  figures?: AdditiveMetricValues;
}

/** Counters of a thread. */
interface ThreadCounters {
  readonly metrics: RequestRecorder;
  readonly pendingCount: number;
}

export function collectThreadCounts({ metrics, pendingCount }: ThreadCounters): ThreadCounts {
  return { metrics: metrics.counts(pendingCount) };
}
