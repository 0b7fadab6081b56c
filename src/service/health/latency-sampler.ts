// Sampler of the times of answers: after each minute it asks the HTTP threads for their histograms and passes on
// what was added to them. A request pays nothing for it.
import type { RouteDurations } from "../../http/metrics/scrape.ts";
import { DURATION_BOUNDS_SEC, type HistogramCounts } from "../../platform/histogram.ts";
import { withDeadline } from "../../concurrency/deadline.ts";
import { computeMinuteMs } from "../../store/decisions/counts.ts";
import type { LatencyBucket, LatencyCount } from "../../store/rows/latencies.ts";

const LOOK_INTERVAL_MS = 1000;
/** Longest wait at the end of the service for a thread that does not answer. */
const END_MS_MAX = 500;
const MS_PER_S = 1000;

export interface LatencySamplerOptions {
  readonly front: { durations(): Promise<readonly RouteDurations[]> };
  readonly store: { recordLatencies(latencies: readonly LatencyCount[]): void };
  /** Epoch ms. */
  readonly clock: () => number;
}

export interface LatencySampler {
  /** Passes on the minute that is over, if one is. */
  look(): Promise<void>;
  /** Passes on what the current minute has so far. Call it before the listeners close. */
  close(): Promise<void>;
}

/** Begins with threads that have counted nothing. */
export function openLatencySampler({ front, store, clock }: LatencySamplerOptions): LatencySampler {
  let minuteMs = computeMinuteMs(clock());
  let asking: Promise<void> | undefined;
  const passedOn = new Map<string, HistogramCounts>();
  const take = async (takenMinuteMs: number) => {
    try {
      const durations = await front.durations();
      store.recordLatencies(subtractDurations(durations, passedOn, takenMinuteMs));
    } catch {
      // A thread that has ended ends the service, which says so itself.
    }
  };
  const look = async () => {
    const nowMinuteMs = computeMinuteMs(clock());
    if (nowMinuteMs === minuteMs || asking !== undefined) return;
    const takenMinuteMs = minuteMs;
    minuteMs = nowMinuteMs;
    asking = take(takenMinuteMs).finally(() => {
      asking = undefined;
    });
    await asking;
  };
  const timer = setInterval(() => void look(), LOOK_INTERVAL_MS).unref();
  return {
    look,
    async close() {
      clearInterval(timer);
      const taking = (asking ?? Promise.resolve()).then(() => take(minuteMs));
      await withDeadline(taking, END_MS_MAX, () => undefined);
    },
  };
}

/** What was added to `passedOn`, which then has it. */
function subtractDurations(
  durations: readonly RouteDurations[],
  passedOn: Map<string, HistogramCounts>,
  minuteMs: number,
): LatencyCount[] {
  return durations.flatMap(({ route, statusClass, counts }) => {
    const key = `${route} ${statusClass}`;
    const before = passedOn.get(key);
    passedOn.set(key, counts);
    const added = counts.buckets.map((count, i) => count - (before?.buckets[i] ?? 0));
    const buckets = added.flatMap((requests, i) =>
      requests > 0 ? [[...findBoundsMs(i), requests] as LatencyBucket] : [],
    );
    const totalMs = Math.max(0, counts.sum - (before?.sum ?? 0)) * MS_PER_S;
    return buckets.length === 0 ? [] : [{ minuteMs, route, statusClass, totalMs, buckets }];
  });
}

/** Bounds of a bucket; the one above all bounds begins and ends at the highest. */
function findBoundsMs(index: number): readonly [lowerMs: number, upperMs: number] {
  const lower = DURATION_BOUNDS_SEC[index - 1] ?? 0;
  const upper = DURATION_BOUNDS_SEC[index] ?? lower;
  return [lower * MS_PER_S, upper * MS_PER_S];
}
