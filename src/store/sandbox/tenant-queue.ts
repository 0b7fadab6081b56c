// Fair queue of callers' queries: some run at a time, of different tenants, and the next is of the tenant that
// used the fewest seconds in the last minute. A query that begins while others wait, or in the last free place,
// gets a short trial first; one that does not end within it waits again. So a place for short queries is free
// within the time of a trial. The count for each tenant, the total and the wait are bounded.
// Queries can be cancelled by name, and a tenant whose query forces the process to be killed, which also
// ends other tenants' streams, backs off exponentially (5 s, doubling to 5 min).
import { ServiceFault } from "../../contract/faults.ts";
import { createQueryCancelledFault } from "../query/query.ts";

/** Queries of one tenant that run or wait, and of all. */
export const SANDBOX_QUERIES_PER_TENANT_MAX = 8;
export const SANDBOX_QUERIES_MAX = 64;
/** Queries that run at a time, all of different tenants; the last of these places is for trials alone. */
export const SANDBOX_RUNNING_MAX = 3;
/** Longest wait for the turn. */
const TURN_WAIT_MS_MAX = 30_000;
/** Time over which a tenant's use counts. */
const USE_WINDOW_MS = 60_000;
/** First run of a query while others wait, in ms. */
export const QUERY_TRIAL_MS = 1000;

/** Thrown by the work of a query whose trial was over before it was done. */
export class QueryTrialEnded extends Error {}

/** Thrown by the work of a query that failed for want of memory while it was not alone. */
export class QueryNeedsMemory extends Error {}

export interface QueryTurn {
  /** True while others wait: the work should throw QueryTrialEnded after QUERY_TRIAL_MS. */
  readonly isTrial: boolean;
  /** False: another one ran or runs beside it, and the work may throw QueryNeedsMemory. */
  readonly isAlone: () => boolean;
  /** The tenant's use counts from here on, not the start of the process before. */
  readonly begin: () => void;
}

/** `first`: with a trial where that is due; `whole`: with all its time; `alone`: beside trials only. */
type RunKind = "first" | "whole" | "alone";

interface Run {
  readonly tenant: string;
  /** Places that it takes of those for queries with all their time. */
  places: number;
  isShared: boolean;
}

interface QueryUse {
  readonly tenant: string;
  readonly untilMs: number;
  readonly tookMs: number;
}

interface QueuedQuery {
  readonly kind: RunKind;
  readonly start: () => void;
  readonly refuse: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

export class TenantQueryQueue {
  /** Those that wait, by tenant; of tenants with equal use the first is next. */
  readonly #waiting = new Map<string, QueuedQuery[]>();
  readonly #runs = new Set<Run>();
  #closeError: Error | undefined;
  /** Queries of each tenant that run or wait, and of all. */
  readonly #counts = new Map<string, number>();
  #count = 0;
  /** Runs of the last minute, oldest first. */
  #uses: QueryUse[] = [];
  readonly #runningMax: number;
  readonly #waitMsMax: number;
  readonly #now: () => number;

  /** `now`: ms of a clock that only goes forward. */
  constructor({
    runningMax = SANDBOX_RUNNING_MAX,
    waitMsMax = TURN_WAIT_MS_MAX,
    now = () => performance.now(),
  } = {}) {
    this.#runningMax = runningMax;
    this.#waitMsMax = waitMsMax;
    this.#now = now;
  }

  /** Queries that run or wait. */
  get length(): number {
    return this.#count;
  }

  /**
   * Runs `work` when it is its turn; once more, without a trial, at its tenant's next turn where the first
   * ended by QueryTrialEnded, and a last time, beside trials only, where it ended by QueryNeedsMemory.
   * @param before runs first without blocking other queries; it counts as waiting.
   * @throws ServiceFault `rate_limited` when the tenant has too many in line, `overloaded` when all
   *   together have or the turn does not come in time; the error of `end`, and those of the work.
   */
  async run<T>(
    tenant: string,
    work: (turn: QueryTurn) => Promise<T>,
    before?: () => Promise<void>,
  ): Promise<T> {
    this.#admit(tenant);
    try {
      if (before !== undefined) await before();
      for (let kind: RunKind = "first"; ;) {
        try {
          return await this.#runAtTurn(tenant, kind, work);
        } catch (error) {
          if (error instanceof QueryTrialEnded) kind = "whole";
          else if (error instanceof QueryNeedsMemory) kind = "alone";
          else throw error;
        }
      }
    } finally {
      const left = (this.#counts.get(tenant) ?? 0) - 1;
      if (left > 0) this.#counts.set(tenant, left);
      else this.#counts.delete(tenant);
      this.#count--;
    }
  }

  /** Sends away all that wait, and those that come later. */
  close(error: Error): void {
    this.#closeError = error;
    const waiters = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    for (const { timer, refuse } of waiters) {
      clearTimeout(timer);
      refuse(error);
    }
  }

  async #runAtTurn<T>(
    tenant: string,
    kind: RunKind,
    work: (turn: QueryTurn) => Promise<T>,
  ): Promise<T> {
    const run = await this.#waitForTurn(tenant, kind);
    // Those that came in the same moment wait by now, and one of them may take the place.
    if (kind === "first" && this.#waiting.size > 0) {
      run.places = 0;
      this.#startWaiting();
    }
    let beganMs = this.#now();
    const begin = () => void (beganMs = this.#now());
    try {
      const isAlone = () => kind === "alone" || !run.isShared;
      return await work({ isTrial: run.places === 0, isAlone, begin });
    } finally {
      const untilMs = this.#now();
      this.#uses.push({ tenant, untilMs, tookMs: untilMs - beganMs });
      this.#runs.delete(run);
      this.#startWaiting();
    }
  }

  /** Time used by each tenant in the last minute, in ms. */
  #computeUseByTenant(): Map<string, number> {
    const sinceMs = this.#now() - USE_WINDOW_MS;
    this.#uses = this.#uses.filter(({ untilMs }) => untilMs > sinceMs);
    const useByTenant = new Map<string, number>();
    for (const { tenant, untilMs, tookMs } of this.#uses) {
      const counted = Math.min(tookMs, untilMs - sinceMs);
      useByTenant.set(tenant, (useByTenant.get(tenant) ?? 0) + counted);
    }
    return useByTenant;
  }

  #admit(tenant: string): void {
    const own = this.#counts.get(tenant) ?? 0;
    if (own >= SANDBOX_QUERIES_PER_TENANT_MAX) {
      const detail = `at most ${SANDBOX_QUERIES_PER_TENANT_MAX} queries of a tenant may run or wait`;
      throw new ServiceFault("rate_limited", detail);
    }
    if (this.#count >= SANDBOX_QUERIES_MAX)
      throw createOverloadedFault("too many queries are waiting");
    this.#counts.set(tenant, own + 1);
    this.#count++;
  }

  #waitForTurn(tenant: string, kind: RunKind): Promise<Run> {
    if (this.#closeError !== undefined) throw this.#closeError;
    if (this.#mayRun(tenant, kind)) return Promise.resolve(this.#addRun(tenant, kind));
    return new Promise((resolve, reject) => {
      const late = () => {
        this.#removeWaiter(tenant, waiter);
        reject(createOverloadedFault("the query waited too long for its turn"));
      };
      const timer = setTimeout(late, this.#waitMsMax);
      const start = () => resolve(this.#addRun(tenant, kind));
      const waiter: QueuedQuery = { kind, start, refuse: reject, timer };
      this.#waiting.set(tenant, [...(this.#waiting.get(tenant) ?? []), waiter]);
    });
  }

  #removeWaiter(tenant: string, waiter: QueuedQuery): void {
    const left = (this.#waiting.get(tenant) ?? []).filter((each) => each !== waiter);
    if (left.length === 0) this.#waiting.delete(tenant);
    else this.#waiting.set(tenant, left);
  }

  /** Places for queries with all their time. */
  get #placesMax(): number {
    return Math.max(1, this.#runningMax - 1);
  }

  get #freePlaces(): number {
    return [...this.#runs].reduce((left, { places }) => left - places, this.#placesMax);
  }

  #mayRun(tenant: string, kind: RunKind): boolean {
    if (this.#runs.size >= this.#runningMax) return false;
    if ([...this.#runs].some((run) => run.tenant === tenant)) return false;
    return kind === "first" || this.#freePlaces >= this.#countPlaces(kind);
  }

  /** A first run in the last free place takes none of those for queries with all their time. */
  #countPlaces(kind: RunKind): number {
    if (kind === "alone") return this.#placesMax;
    return kind === "whole" ? 1 : Math.min(1, this.#freePlaces);
  }

  #addRun(tenant: string, kind: RunKind): Run {
    const isShared = this.#runs.size > 0;
    for (const other of this.#runs) other.isShared = true;
    const run = { tenant, places: this.#countPlaces(kind), isShared };
    this.#runs.add(run);
    return run;
  }

  #startWaiting(): void {
    while (this.#startNext());
  }

  /** False when none of those that wait may run. */
  #startNext(): boolean {
    const useByTenant = this.#computeUseByTenant();
    let next: [tenant: string, waiter: QueuedQuery] | undefined;
    let leastMs = Infinity;
    for (const [tenant, waiters] of this.#waiting) {
      const waiter = waiters.find(({ kind }) => this.#mayRun(tenant, kind));
      const useMs = useByTenant.get(tenant) ?? 0;
      if (waiter === undefined || useMs >= leastMs) continue;
      next = [tenant, waiter];
      leastMs = useMs;
    }
    if (next === undefined) return false;
    const [tenant, waiter] = next;
    const rest = this.#waiting.get(tenant)!.filter((each) => each !== waiter);
    // Among tenants with equal use, its other queries come last.
    this.#waiting.delete(tenant);
    if (rest.length > 0) this.#waiting.set(tenant, rest);
    clearTimeout(waiter.timer);
    waiter.start();
    return true;
  }
}

function createOverloadedFault(detail: string): ServiceFault {
  return new ServiceFault("overloaded", detail);
}

/** @throws ServiceFault of a query that was ended. */
type CancellationCheck = () => void;

export class CancellableQueries {
  readonly #cancels = new Map<string, () => void>();

  /**
   * Runs `work`, until it is done or `cancel` is called with the name.
   * @throws ServiceFault `query_rejected` when it is ended, or another query of the name runs or waits;
   *   the errors of the work.
   */
  run<T>(name: string | undefined, work: (wanted: CancellationCheck) => Promise<T>): Promise<T> {
    if (name === undefined) return work(() => undefined);
    if (this.#cancels.has(name)) {
      return Promise.reject(
        new ServiceFault("query_rejected", "another query by this `query_id` runs or waits"),
      );
    }
    return new Promise<T>((resolve, reject) => {
      let isWanted = true;
      this.#cancels.set(name, () => {
        isWanted = false;
        this.#cancels.delete(name);
        reject(createQueryCancelledFault());
      });
      const assertWanted = () => {
        if (!isWanted) throw createQueryCancelledFault();
      };
      const forget = () => {
        if (isWanted) this.#cancels.delete(name);
      };
      work(assertWanted).finally(forget).then(resolve, reject);
    });
  }

  /** False when no query of the name runs or waits. */
  cancel(name: string): boolean {
    const cancel = this.#cancels.get(name);
    cancel?.();
    return cancel !== undefined;
  }
}

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
