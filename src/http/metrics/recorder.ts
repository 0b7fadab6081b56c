// Counts of the requests of one serving thread. Recording is an addition in a fixed array, without
// allocation: it happens on every request. Everything else is done on scrape, over all threads.
import {
  addHistogramCounts,
  DURATION_BOUNDS_SEC,
  type HistogramCounts,
  Histograms,
} from "../../platform/histogram.ts";
import { ConnectionLimit } from "../server/connections.ts";
import { AnswerTallies, type AnswerTallyCounts } from "./tallies.ts";
import type { AdditiveMetricValues } from "./metric-values.ts";

// Counts for the per-second series: few enough to send between threads every second. A scrape sends tens of
// thousands of cells.
/** Routes whose reply is a verdict or a decision: their times are the latency of the series. */
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

export const STATUS_FIRST = 100;
/** Statuses of one route, and their classes. */
export const STATUS_COUNT = 500;
export const STATUS_CLASS_COUNT = 5;
const STATUSES_PER_CLASS = 100;
const MS_PER_S = 1000;

/** Counts of one thread, as data that may cross to the thread that renders them. */
export interface RequestCounts {
  /** Index into the table of routes and statuses, count; only those that are not 0. */
  requests: [number, number][];
  /** Index into the table of routes and classes of status; only those in which is something. */
  durations: [number, HistogramCounts][];
  tallies: AnswerTallyCounts;
  aborted: number;
  refusedFraming: number;
  /** Asynchronous answers under way. */
  pending: number;
  /** Seconds in which the event loop was not idle. */
  busySec: number;
  /** Open connections and their bound; those refused or closed while idle for want of room. */
  connections: Pick<ConnectionLimit, "open" | "max" | "refused" | "closedIdle">;
}

export class RequestRecorder {
  aborted = 0;
  refusedFraming = 0;
  /** Of the server that this thread runs. */
  connections = new ConnectionLimit(0);
  readonly routeNames: readonly string[];
  readonly tallies: AnswerTallies;
  readonly #requests: Float64Array;
  readonly #durations: Histograms;
  /** Histograms of the routes whose latency a pulse tells. */
  readonly #timed: readonly number[];

  /** `routeNames` in order of their index; unmatched requests are counted under the last. */
  constructor(routeNames: readonly string[], tallies = new AnswerTallies()) {
    this.routeNames = routeNames;
    this.tallies = tallies;
    this.#requests = new Float64Array(routeNames.length * STATUS_COUNT);
    this.#durations = new Histograms(routeNames.length * STATUS_CLASS_COUNT, DURATION_BOUNDS_SEC);
    const classes = Array.from({ length: STATUS_CLASS_COUNT }, (_, index) => index);
    this.#timed = routeNames.flatMap((name, route) =>
      TIMED_ROUTES.has(name) ? classes.map((each) => route * STATUS_CLASS_COUNT + each) : [],
    );
  }

  countRequest(routeIndex: number, status: number): void {
    const at = routeIndex * STATUS_COUNT + status - STATUS_FIRST;
    this.#requests[at] = this.#requests[at]! + 1;
  }

  /** `elapsedMs` from the whole request to its answer. */
  timeRequest(routeIndex: number, status: number, elapsedMs: number): void {
    const statusClass = Math.trunc((status - STATUS_FIRST) / STATUSES_PER_CLASS);
    this.#durations.add(routeIndex * STATUS_CLASS_COUNT + statusClass, elapsedMs / MS_PER_S);
  }

  /** The few counts of which a chart by the second is made. */
  pulse(): SeriesCounts {
    let durations: HistogramCounts = { buckets: [], sum: 0 };
    for (const index of this.#timed)
      durations = addHistogramCounts(durations, this.#durations.counts(index));
    return { tallies: this.tallies.counts(), durations };
  }

  counts(pending: number): RequestCounts {
    const requests: [number, number][] = [];
    for (const [at, count] of this.#requests.entries()) if (count > 0) requests.push([at, count]);
    const { aborted, refusedFraming } = this;
    const { open, max, refused, closedIdle } = this.connections;
    return {
      requests,
      durations: this.#durations.used(),
      tallies: this.tallies.counts(),
      aborted,
      refusedFraming,
      pending,
      busySec: performance.eventLoopUtilization().active / MS_PER_S,
      connections: { open, max, refused, closedIdle },
    };
  }
}

// Counts that a serving thread sends to the thread that answers scrapes.
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
