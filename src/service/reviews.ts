// Timers of the review queue: calls are counted every second and journaled every few, waiting readers
// are looked at four times a second. Readers are released before the listeners close.
import type { Core } from "./core.ts";

const COUNT_MS = 1000;
/** A crash loses the calls counted since: the review itself is journaled when it opens. */
const JOURNAL_MS = 5000;
const SWEEP_MS = 250;

/** Starts the timers; returns what ends them and all waiting. Call it before the listeners close. */
export function tendReviews(
  { reviews, reviewDesk }: Pick<Core, "reviews" | "reviewDesk">,
  clock: () => number,
): () => void {
  const timers = [
    setInterval(() => reviewDesk.flush(clock()), COUNT_MS),
    setInterval(() => void reviews.flush(), JOURNAL_MS),
    setInterval(() => reviews.waiting.sweep(), SWEEP_MS),
  ];
  return () => {
    for (const timer of timers) clearInterval(timer);
    reviews.waiting.release();
  };
}
