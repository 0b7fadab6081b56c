// Timers of the review queue: calls are counted every second and journaled every few, waiting readers
// are looked at four times a second. Readers are released before the listeners close.
import type { ServiceCore } from "./core.ts";

const COUNT_INTERVAL_MS = 1000;
/** A crash loses the calls counted since: the review itself is journaled when it opens. */
const JOURNAL_INTERVAL_MS = 5000;
const SWEEP_INTERVAL_MS = 250;

/** Starts the timers; returns what ends them and all waiting. Call it before the listeners close. */
export function startReviewTimers(
  { reviews, reviewDesk }: Pick<ServiceCore, "reviews" | "reviewDesk">,
  clock: () => number,
): () => void {
  const timers = [
    setInterval(() => reviewDesk.flush(clock()), COUNT_INTERVAL_MS),
    setInterval(() => void reviews.flush(), JOURNAL_INTERVAL_MS),
    setInterval(() => reviews.waiters.endExpired(), SWEEP_INTERVAL_MS),
  ];
  return () => {
    for (const timer of timers) clearInterval(timer);
    reviews.waiters.endAll();
  };
}
