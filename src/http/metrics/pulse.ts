// Counts of one serving thread for a chart by the second: few enough numbers to cross between threads
// every second. A scrape takes everything, which is tens of thousands of cells.
import type { HistogramCounts } from "../../platform/histogram.ts";
import type { AnswerTallyCounts } from "./tallies.ts";

/** Routes whose answer is a verdict or a decision: their times are the latency of the series. */
export const TIMED_ROUTES: ReadonlySet<string> = new Set([
  "verify",
  "check",
  "handshake",
  "gateway_authorize",
  "gateway_authorize_post",
  "authzen_evaluation",
]);

/** Data only: it crosses between threads. All counts are since the thread's start. */
export interface SeriesCounts {
  readonly tallies: AnswerTallyCounts;
  /** Times of the timed routes together, whatever they answered. */
  readonly durations: HistogramCounts;
}
