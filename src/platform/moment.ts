// Moments whose age a step of the wall clock cannot make smaller, and a stop of the machine cannot either: by the wall
// clock and by the monotonic one, the larger age holds.

/** A moment on both clocks. */
export interface Moment {
  /** Epoch ms. */
  readonly epochMs: number;
  /** As `readMonotonicMs`. */
  readonly monotonicMs: number;
}

/** The origin of `performance.now` is another one on every thread; that of `hrtime` is not. */
const originMs = (() => {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6 - performance.now();
})();

/** Milliseconds since some moment that is the same for all threads. It may stand while the machine is suspended. */
export function readMonotonicMs(): number {
  return originMs + performance.now();
}

/** Age in ms of `moment`; never below 0. */
export function measureAgeMs(moment: Moment, now: Moment): number {
  const byWall = now.epochMs - moment.epochMs;
  return Math.max(0, byWall, now.monotonicMs - moment.monotonicMs);
}
