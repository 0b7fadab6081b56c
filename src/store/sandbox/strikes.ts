// Waits of tenants whose queries ended the process: it is started again, but streams of others end with
// it, so nobody may do that often. The first time costs five seconds, each further time twice as much.
import { ServiceFault } from "../../contract/faults.ts";

const BACKOFF_MS_FIRST = 5000;
const BACKOFF_MS_MAX = 5 * 60_000;
/** After this long without another one it is forgotten. */
const BACKOFF_FORGET_MS = 15 * 60_000;
/** Tenants remembered; beyond it the oldest are forgotten. */
const TENANTS_MAX = 10_000;

interface BackoffState {
  readonly count: number;
  readonly untilMs: number;
  readonly lastMs: number;
}

export class QueryBackoff {
  /** Oldest first. */
  readonly #stateByTenant = new Map<string, BackoffState>();

  /** Notes that a query of the tenant ended the process. Times are ms of one clock. */
  recordForcedEnd(tenant: string, nowMs: number): void {
    const count = (this.#findState(tenant, nowMs)?.count ?? 0) + 1;
    const waitMs = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_FIRST * 2 ** (count - 1));
    this.#stateByTenant.delete(tenant);
    this.#stateByTenant.set(tenant, { count, untilMs: nowMs + waitMs, lastMs: nowMs });
    if (this.#stateByTenant.size <= TENANTS_MAX) return;
    const [oldest] = this.#stateByTenant.keys();
    this.#stateByTenant.delete(oldest as string);
  }

  /** @throws ServiceFault `rate_limited` while the tenant has to wait. */
  assertMayQuery(tenant: string, nowMs: number): void {
    const waitMs = (this.#findState(tenant, nowMs)?.untilMs ?? 0) - nowMs;
    if (waitMs <= 0) return;
    const seconds = Math.ceil(waitMs / 1000);
    const detail = `a query had to be stopped by force: the next one may come in ${seconds} s`;
    throw new ServiceFault("rate_limited", detail, [], seconds);
  }

  #findState(tenant: string, nowMs: number): BackoffState | undefined {
    const strikes = this.#stateByTenant.get(tenant);
    return strikes !== undefined && nowMs - strikes.lastMs < BACKOFF_FORGET_MS
      ? strikes
      : undefined;
  }
}
