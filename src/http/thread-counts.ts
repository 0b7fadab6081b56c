// What a thread that serves has counted, for the thread that is asked for the whole.
import type { MetricCounts, Metrics } from "./metrics.ts";
import type { UsageAccount, UsageMeter } from "./access/usage.ts";

/** Data only: it crosses between threads. */
export interface ThreadCounts {
  metrics: MetricCounts;
  usage: UsageAccount[];
  /** Added to those of the same name that the composition root tells (`Vitals`). */
  gauges?: Readonly<Record<string, number>>;
}

/** What a thread counts with. */
interface Counters {
  readonly metrics: Metrics;
  readonly usage: UsageMeter;
  readonly pendingCount: number;
}

export function countsOf({ metrics, usage, pendingCount }: Counters): ThreadCounts {
  return { metrics: metrics.counts(pendingCount), usage: usage.accounts() };
}
