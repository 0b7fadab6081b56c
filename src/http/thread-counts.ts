// Counts of one serving thread, for the thread that reports the whole.
import type { MetricCounts, Metrics } from "./metrics.ts";
import type { UsageAccount, UsageMeter } from "./access/usage.ts";

/** Data only: it crosses between threads. */
export interface ThreadCounts {
  metrics: MetricCounts;
  usage: UsageAccount[];
  /** Added to the health figures of the same name. */
  gauges?: Readonly<Record<string, number>>;
}

/** Counters of a thread. */
interface Counters {
  readonly metrics: Metrics;
  readonly usage: UsageMeter;
  readonly pendingCount: number;
}

export function countsOf({ metrics, usage, pendingCount }: Counters): ThreadCounts {
  return { metrics: metrics.counts(pendingCount), usage: usage.accounts() };
}
