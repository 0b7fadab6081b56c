// Time in the tests. A test waits for what it expects and never for a time to pass; every such
// wait ends after one common ceiling, which is set for a machine at a load average of 15 and costs
// nothing where all is well.
import { availableParallelism, loadavg } from "node:os";

/** Milliseconds after which a wait has failed: of `expect.poll`, and of clients in front of a service. */
export const WAIT_MS_MAX = 120_000;

/** Load by core, at least 1: how much longer than on an idle machine everything takes. */
const slowness = Math.max(1, (loadavg()[0] ?? 0) / availableParallelism());

/** A time limit that is itself under test, in milliseconds: longer on a machine that is busy. */
export function stretched(ms: number): number {
  return Math.ceil(ms * slowness);
}

/** Milliseconds of CPU that this process has used: for costs, which no other process may change. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

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
