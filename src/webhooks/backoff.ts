// Times between attempts: exponential with jitter, for a day. Then an event is a dead letter.

const FIRST_DELAY_MS = 5000;
const GROWTH_FACTOR = 3;
const LONGEST_DELAY_MS = 3_600_000;
/** Attempts of one event go on for so long after its first. */
export const RETRY_PERIOD_MS = 24 * 3_600_000;
/** While an endpoint fails altogether it is asked this often at least: a day's backlog should not wait. */
const PROBE_DELAY_MS = 900_000;
/** Share of a delay that chance takes off, so that endpoints which failed together do not return so. */
const JITTER_SHARE = 0.5;

/** Delay after the `failures`-th failure of an event (from 1). `chance` is in [0, 1). */
export function computeRetryDelayMs(failures: number, chance: number): number {
  return applyJitter(
    Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * GROWTH_FACTOR ** Math.min(failures - 1, 20)),
    chance,
  );
}

/** Delay before an endpoint that fails altogether is asked again. */
export function computeProbeDelayMs(failures: number, chance: number): number {
  return Math.min(PROBE_DELAY_MS, computeRetryDelayMs(failures, chance));
}

/** What a receiver asks for with `Retry-After`, within reason. */
export function clampRetryAfterMs(retryAfterSec: number | undefined): number {
  return Math.min(LONGEST_DELAY_MS, (retryAfterSec ?? 0) * 1000);
}

function applyJitter(ms: number, chance: number): number {
  return Math.round(ms * (1 - JITTER_SHARE * chance));
}
