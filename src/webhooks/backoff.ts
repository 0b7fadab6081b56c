// Times between attempts: exponential with jitter, for a day. Then an event is a dead letter.

const FIRST_MS = 5000;
const GROWTH = 3;
const SLOWEST_MS = 3_600_000;
/** Attempts of one event go on for so long after its first. */
export const RETRY_MS = 24 * 3_600_000;
/** While an endpoint fails altogether it is asked this often at least: a day's backlog should not wait. */
const PROBE_MS = 900_000;
/** Share of a delay that chance takes off, so that endpoints which failed together do not return so. */
const JITTER = 0.5;

/** Delay after the `failures`-th failure of an event (from 1). `chance` is in [0, 1). */
export function retryDelayMs(failures: number, chance: number): number {
  return jittered(Math.min(SLOWEST_MS, FIRST_MS * GROWTH ** Math.min(failures - 1, 20)), chance);
}

/** Delay before an endpoint that fails altogether is asked again. */
export function probeDelayMs(failures: number, chance: number): number {
  return Math.min(PROBE_MS, retryDelayMs(failures, chance));
}

/** What a receiver asks for with `Retry-After`, within reason. */
export function askedDelayMs(retryAfterSec: number | undefined): number {
  return Math.min(SLOWEST_MS, (retryAfterSec ?? 0) * 1000);
}

function jittered(ms: number, chance: number): number {
  return Math.round(ms * (1 - JITTER * chance));
}
