// Rejects API keys on a cluster node that has lost the ordered log: a revocation by another node is unknown here
// until the log is read. The bound is the longest time that a revoked key keeps working. Every reply carries the
// age of the state that it was computed from.
import { ServiceFault } from "../../contract/faults.ts";
import type { Principal } from "../../contract/principal.ts";
import type { RateClass } from "./rate-limits.ts";
import { INSTALLED_KEY_ID } from "./key-holder.ts";

/** Reads of scores go on for so many times the bound of other requests: they change nothing. */
export const SCORE_READS_FACTOR = 3;

/** Where all threads read how far behind this node is. */
export interface SharedLag {
  readonly memory: SharedArrayBuffer;
  /** Milliseconds behind the log from which requests with a key are refused. */
  readonly refuseMs: number;
}

interface LagSource {
  readonly memory: SharedArrayBuffer;
  /** Age in ms of the newest moment whose log is known to be applied here. */
  lagMs(nowMs: number): number;
}

/** Header of every answer to a key in a cluster: milliseconds, an upper bound. */
export const LAG_HEADER = "X-Trust-Lag-Ms";

export class LagGuard {
  /** For the guards of other threads. */
  readonly shared: SharedLag;
  /** Header line of the age last told: one array for all answers of a millisecond. */
  #lastHeader: readonly string[] = [LAG_HEADER, "0"];
  #lastLagMs = 0;
  readonly #lagSource: LagSource;
  readonly #now: () => number;

  /** `now` is epoch ms. */
  constructor(lagging: LagSource, refuseMs: number, now: () => number) {
    this.shared = { memory: lagging.memory, refuseMs };
    this.#lagSource = lagging;
    this.#now = now;
  }

  /**
   * Asked for every request with a key. The key of the environment is none that another node could
   * have revoked: an operator gets in with it.
   * @returns the header line that tells the age of what is read; none while it is not known.
   * @throws ServiceFault `node_behind`.
   */
  assertCurrent(principal: Pick<Principal, "keyId">, rateClass: RateClass | undefined) {
    const lagMs = this.#lagSource.lagMs(this.#now());
    const { refuseMs } = this.shared;
    if (lagMs <= refuseMs || principal.keyId === INSTALLED_KEY_ID)
      return this.#formatLagHeader(lagMs);
    if (rateClass === "score" && lagMs <= refuseMs * SCORE_READS_FACTOR)
      return this.#formatLagHeader(lagMs);
    const detail = "this node has not heard of its cluster for too long to know which keys hold";
    throw new ServiceFault("node_behind", detail);
  }
  #formatLagHeader(lagMs: number): readonly string[] | undefined {
    if (lagMs === this.#lastLagMs) return this.#lastHeader;
    if (!Number.isFinite(lagMs)) return undefined;
    this.#lastLagMs = lagMs;
    this.#lastHeader = [LAG_HEADER, String(Math.ceil(lagMs))];
    return this.#lastHeader;
  }
}
