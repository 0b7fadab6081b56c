// Deadlines of the tests. A test waits for what it expects and never for a time to pass; every such
// wait ends after one common ceiling, which is set for a machine at a load average of 15 and costs
// nothing where all is well.

/** Milliseconds after which a wait has failed: of `expect.poll`, and of clients in front of a service. */
export const WAIT_MS_MAX = 120_000;

/** More than any deadline of the service's own. */
const EXTRA_MS = 60_000;

/**
 * A monotonic clock for a server under test that gives every asynchronous answer a minute more than
 * its deadline: each look at it is a minute earlier than the one before.
 */
export function unhurriedClock(): () => number {
  let nowMs = Number.MAX_SAFE_INTEGER / 2;
  return () => (nowMs -= EXTRA_MS);
}
