// Line of callers' queries: they run one at a time, and the tenants take turns, so that one with many
// queries holds up another by no more than the one that runs. Each tenant's part, the whole and the
// wait are bounded.
import { ServiceFault } from "../../contract/faults.ts";

/** Queries of one tenant that run or wait, and of all. */
export const QUERIES_PER_TENANT_MAX = 8;
export const QUERIES_MAX = 64;
/** Longest wait for the turn. */
const WAIT_MS_MAX = 30_000;

interface Waiter {
  readonly start: () => void;
  readonly refuse: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

export class QueryLine {
  /** Those that wait, by tenant; the first tenant is next. */
  readonly #waiting = new Map<string, Waiter[]>();
  #isRunning = false;
  #over: Error | undefined;
  /** Queries of each tenant that run or wait, and of all. */
  readonly #counts = new Map<string, number>();
  #count = 0;
  readonly #waitMsMax: number;

  constructor(waitMsMax = WAIT_MS_MAX) {
    this.#waitMsMax = waitMsMax;
  }

  /** Queries that run or wait. */
  get length(): number {
    return this.#count;
  }

  /**
   * Runs `work` when it is its turn.
   * @param before runs first and holds up no other query; it counts as waiting.
   * @throws ServiceFault `rate_limited` when the tenant has too many in line, `overloaded` when all
   *   together have or the turn does not come in time; the error of `end`, and those of the work.
   */
  async run<T>(tenant: string, work: () => Promise<T>, before?: () => Promise<void>): Promise<T> {
    this.#enter(tenant);
    try {
      if (before !== undefined) await before();
      await this.#turn(tenant);
      try {
        return await work();
      } finally {
        this.#isRunning = false;
        this.#next();
      }
    } finally {
      const left = (this.#counts.get(tenant) ?? 0) - 1;
      if (left > 0) this.#counts.set(tenant, left);
      else this.#counts.delete(tenant);
      this.#count--;
    }
  }

  /** Sends away all that wait, and those that come later. */
  end(error: Error): void {
    this.#over = error;
    const waiters = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    for (const { timer, refuse } of waiters) {
      clearTimeout(timer);
      refuse(error);
    }
  }

  #enter(tenant: string): void {
    const own = this.#counts.get(tenant) ?? 0;
    if (own >= QUERIES_PER_TENANT_MAX) {
      const detail = `at most ${QUERIES_PER_TENANT_MAX} queries of a tenant may run or wait`;
      throw new ServiceFault("rate_limited", detail);
    }
    if (this.#count >= QUERIES_MAX) throw overloaded("too many queries are waiting");
    this.#counts.set(tenant, own + 1);
    this.#count++;
  }

  #turn(tenant: string): Promise<void> {
    if (this.#over !== undefined) throw this.#over;
    if (!this.#isRunning) {
      this.#isRunning = true;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const late = () => {
        this.#leave(tenant, waiter);
        reject(overloaded("the query waited too long for its turn"));
      };
      const timer = setTimeout(late, this.#waitMsMax);
      const waiter: Waiter = { start: resolve, refuse: reject, timer };
      this.#waiting.set(tenant, [...(this.#waiting.get(tenant) ?? []), waiter]);
    });
  }

  #leave(tenant: string, waiter: Waiter): void {
    const left = (this.#waiting.get(tenant) ?? []).filter((each) => each !== waiter);
    if (left.length === 0) this.#waiting.delete(tenant);
    else this.#waiting.set(tenant, left);
  }

  #next(): void {
    const [first] = this.#waiting;
    if (first === undefined) return;
    const [tenant, [waiter, ...rest]] = first;
    // Its other queries come after those of everybody else.
    this.#waiting.delete(tenant);
    if (rest.length > 0) this.#waiting.set(tenant, rest);
    this.#isRunning = true;
    clearTimeout(waiter?.timer);
    waiter?.start();
  }
}

function overloaded(detail: string): ServiceFault {
  return new ServiceFault("overloaded", detail);
}
