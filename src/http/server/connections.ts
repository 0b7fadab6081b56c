// Connection limit of one serving thread. Each connection takes a file descriptor, and the process fails without
// free ones, so that new connections are closed at the bound.

/** Share of the bound from which replies of the native server end their connection. */
const NEAR_LIMIT_SHARE = 0.75;
/**
 * Beyond the bound for callers by sockets of the file system: who may connect there is chosen by the
 * operator, and a probe by that way must not fail for a crowd on the port.
 */
export const LOCAL_CONNECTIONS_MAX = 16;

/** Between two tellings, of crowds that come and go. */
const WARN_INTERVAL_MS = 60_000;

/** Told once when the bound is reached, and once when there is room again. */
export interface ConnectionLimitLogger {
  warn(message: string, fields: Readonly<Record<string, unknown>>): void;
  info(message: string, fields: Readonly<Record<string, unknown>>): void;
}

export class ConnectionLimit {
  readonly max: number;
  readonly #log: ConnectionLimitLogger | undefined;
  open = 0;
  /** New ones that were closed at once, since the start. */
  refused = 0;
  /** Idle ones that were closed for a new one, since the start. */
  closedIdle = 0;
  /** Closed before the bound was reached, while that is told and its end is not. */
  #closedBefore: number | undefined;
  #toldMs = Number.NEGATIVE_INFINITY;
  readonly #monotonic: () => number;

  /** `monotonic` is ms. */
  constructor(max: number, log?: ConnectionLimitLogger, monotonic = () => performance.now()) {
    this.max = max;
    this.#log = log;
    this.#monotonic = monotonic;
  }

  get isCrowded(): boolean {
    return this.open > this.max * NEAR_LIMIT_SHARE;
  }

  /** Counts one that has opened. False: there is no room for it. */
  enter(isLocal: () => boolean): boolean {
    this.open += 1;
    if (this.open <= this.max) return true;
    return this.open <= this.max + LOCAL_CONNECTIONS_MAX && isLocal();
  }

  /** Counts one that has closed. */
  leave(): void {
    this.open -= 1;
    if (this.#closedBefore === undefined || this.isCrowded) return;
    const closed = this.refused + this.closedIdle - this.#closedBefore;
    this.#closedBefore = undefined;
    this.#log?.info("connections_free", { open: this.open, closed });
  }

  /** Counts the one that is closed for want of room: the new one, or the one that was idle longest. */
  turnAway(which: "refused" | "closedIdle"): void {
    const isTold = this.#closedBefore !== undefined;
    if (!isTold && this.#monotonic() - this.#toldMs >= WARN_INTERVAL_MS) {
      this.#toldMs = this.#monotonic();
      this.#closedBefore = this.refused + this.closedIdle;
      this.#log?.warn("connections_full", { connections_max: this.max });
    }
    this[which] += 1;
  }
}
