// Limit of failed console logins per address: after five in a minute, further attempts are rejected unread.
import { ServiceFault } from "../../contract/faults.ts";

const FAILURES_MAX = 5;
const WINDOW_MS = 60_000;
/** Addresses remembered; the one noted first makes room. */
const ADDRESSES_MAX = 4096;

export class FailedLoginLimiter {
  readonly #clock: () => number;
  /** Epoch ms of the wrong tries within the window. */
  readonly #wrong = new Map<string, number[]>();

  /** @param clock epoch ms. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** @throws ServiceFault `rate_limited`. */
  check(address: string): void {
    const recent = this.#recent(address);
    if (recent.length < FAILURES_MAX) return;
    const waitSec = Math.ceil((recent[0]! + WINDOW_MS - this.#clock()) / 1000);
    const detail = `${FAILURES_MAX} wrong logins in a minute from this address`;
    throw new ServiceFault("rate_limited", detail, [], Math.max(1, waitSec));
  }

  note(address: string): void {
    const recent = [...this.#recent(address), this.#clock()];
    this.#wrong.delete(address);
    if (this.#wrong.size >= ADDRESSES_MAX) this.#wrong.delete(this.#wrong.keys().next().value!);
    this.#wrong.set(address, recent);
  }

  #recent(address: string): number[] {
    const sinceMs = this.#clock() - WINDOW_MS;
    return (this.#wrong.get(address) ?? []).filter((atMs) => atMs > sinceMs);
  }
}
