// Line of callers' queries: they run one at a time, and the tenants take turns, so that one with many
// queries holds up another by no more than the one that runs. Each tenant's part, the whole and the
// wait are bounded.
import { ServiceFault } from "../../contract/faults.ts";

/** Queries of one tenant that run or wait, and of all. */
export const SANDBOX_QUERIES_PER_TENANT_MAX = 8;
export const SANDBOX_QUERIES_MAX = 64;
/** Longest wait for the turn. */
const TURN_WAIT_MS_MAX = 30_000;

interface QueuedQuery {
  readonly start: () => void;
  readonly refuse: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

export class TenantQueryQueue {
  /** Those that wait, by tenant; the first tenant is next. */
  readonly #waiting = new Map<string, QueuedQuery[]>();
  #isRunning = false;
  #closeError: Error | undefined;
  /** Queries of each tenant that run or wait, and of all. */
  readonly #counts = new Map<string, number>();
  #count = 0;
  readonly #waitMsMax: number;

  constructor(waitMsMax = TURN_WAIT_MS_MAX) {
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
    this.#admit(tenant);
    try {
      if (before !== undefined) await before();
      await this.#waitForTurn(tenant);
      try {
        return await work();
      } finally {
        this.#isRunning = false;
        this.#startNext();
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

  #waitForTurn(tenant: string): Promise<void> {
    if (this.#closeError !== undefined) throw this.#closeError;
    if (!this.#isRunning) {
      this.#isRunning = true;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const late = () => {
        this.#removeWaiter(tenant, waiter);
        reject(createOverloadedFault("the query waited too long for its turn"));
      };
      const timer = setTimeout(late, this.#waitMsMax);
      const waiter: QueuedQuery = { start: resolve, refuse: reject, timer };
      this.#waiting.set(tenant, [...(this.#waiting.get(tenant) ?? []), waiter]);
    });
  }

  #removeWaiter(tenant: string, waiter: QueuedQuery): void {
    const left = (this.#waiting.get(tenant) ?? []).filter((each) => each !== waiter);
    if (left.length === 0) this.#waiting.delete(tenant);
    else this.#waiting.set(tenant, left);
  }

  #startNext(): void {
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

function createOverloadedFault(detail: string): ServiceFault {
  return new ServiceFault("overloaded", detail);
}
