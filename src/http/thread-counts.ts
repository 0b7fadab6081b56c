// What a thread that serves has counted, for the thread that is asked for the whole.
import type { MetricCounts } from "./metrics.ts";
import type { Services } from "./services.ts";
import type { UsageAccount } from "./access/usage.ts";

/** Data only: it crosses between threads. */
export interface ThreadCounts {
  metrics: MetricCounts;
  usage: UsageAccount[];
  /** Added to those of the same name that the composition root tells (`Vitals`). */
  gauges?: Readonly<Record<string, number>>;
}

export function countsOf({ metrics, usage, pendingCount }: Services): ThreadCounts {
  return { metrics: metrics.counts(pendingCount), usage: usage.accounts() };
}
