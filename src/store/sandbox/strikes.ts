// Waits of tenants whose queries ended the process: it is started again, but streams of others end with
// it, so nobody may do that often. The first time costs five seconds, each further time twice as much.
import { ServiceFault } from "../../contract/faults.ts";

const WAIT_MS_FIRST = 5000;
const WAIT_MS_MAX = 5 * 60_000;
/** After this long without another one it is forgotten. */
const KEPT_MS = 15 * 60_000;
/** Tenants remembered; beyond it the oldest are forgotten. */
const TENANTS_MAX = 10_000;

interface Strikes {
  readonly count: number;
  readonly untilMs: number;
  readonly lastMs: number;
}

export class StrikeBook {
  /** Oldest first. */
  readonly #strikes = new Map<string, Strikes>();

  /** Notes that a query of the tenant ended the process. Times are ms of one clock. */
  add(tenant: string, nowMs: number): void {
    const count = (this.#of(tenant, nowMs)?.count ?? 0) + 1;
    const waitMs = Math.min(WAIT_MS_MAX, WAIT_MS_FIRST * 2 ** (count - 1));
    this.#strikes.delete(tenant);
    this.#strikes.set(tenant, { count, untilMs: nowMs + waitMs, lastMs: nowMs });
    if (this.#strikes.size <= TENANTS_MAX) return;
    const [oldest] = this.#strikes.keys();
    this.#strikes.delete(oldest as string);
  }

  /** @throws ServiceFault `rate_limited` while the tenant has to wait. */
  assertFree(tenant: string, nowMs: number): void {
    const waitMs = (this.#of(tenant, nowMs)?.untilMs ?? 0) - nowMs;
    if (waitMs <= 0) return;
    const seconds = Math.ceil(waitMs / 1000);
    const detail = `a query had to be stopped by force: the next one may come in ${seconds} s`;
    throw new ServiceFault("rate_limited", detail, [], seconds);
  }

  #of(tenant: string, nowMs: number): Strikes | undefined {
    const strikes = this.#strikes.get(tenant);
    return strikes !== undefined && nowMs - strikes.lastMs < KEPT_MS ? strikes : undefined;
  }
}
