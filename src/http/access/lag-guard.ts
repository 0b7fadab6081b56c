// Rejects API keys on a cluster node that has lost the ordered log: a revocation by another node is unknown here
// until the log is read. The bound is the longest time that a revoked key keeps working. Every reply carries the
// age of the state that it was computed from. A node that is behind does not say that a key or an id is unknown: another
// node may just have made it.
import { ServiceFault } from "../../contract/faults.ts";
import type { Principal } from "../../contract/principal.ts";
import { readMonotonicMs } from "../../platform/moment.ts";
import type { Keyring } from "./keyring.ts";
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
  /** That moment, on the monotonic clock. */
  readonly caughtUpMonotonicMs: number;
}

/**
 * Age in ms up to which a key that this node does not know is said to be none. An idle node proves its age about once
 * in 1.2 s. It is not more than what the creation of a key waits for nodes that do not confirm it (`COUNT_TIMEOUT_MS`
 * of the stream): once its caller has been told of a key, each node knows it or is older than this.
 */
export const UNKNOWN_KEY_LAG_MS_MAX = 2000;
/** Longest wait in ms for a proof that an id is unknown to the whole cluster. */
const CONFIRM_MS_MAX = 2000;
/** Requests of a thread that wait for such a proof at the same time. */
const CONFIRMATIONS_MAX = 256;
/** Interval in ms between two looks for it. */
const CONFIRM_POLL_MS = 20;

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
  #confirmationCount = 0;

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

  /**
   * Whether a key that is not known here may be valid all the same. It looks at the proof that there is and begins
   * none: requests with wrong keys cost the log nothing.
   */
  get isBehind(): boolean {
    return this.#lagSource.lagMs(this.#now()) > UNKNOWN_KEY_LAG_MS_MAX;
  }

  /**
   * Resolves once everything is applied here that the log had acknowledged before this call.
   * @throws ServiceFault `node_behind` after two seconds, or at once while too many requests wait.
   */
  async confirmCurrent(): Promise<void> {
    const sinceMs = readMonotonicMs();
    const detail = "this node is behind its cluster, where the id may be known: send it again";
    if (this.#confirmationCount >= CONFIRMATIONS_MAX) throw new ServiceFault("node_behind", detail);
    this.#confirmationCount += 1;
    try {
      while (this.#lagSource.caughtUpMonotonicMs < sinceMs) {
        if (readMonotonicMs() - sinceMs >= CONFIRM_MS_MAX) {
          throw new ServiceFault("node_behind", detail);
        }
        // oxlint-disable-next-line no-await-in-loop -- looks again
        await new Promise((resolve) => setTimeout(resolve, CONFIRM_POLL_MS));
      }
    } finally {
      this.#confirmationCount -= 1;
    }
  }

  #formatLagHeader(lagMs: number): readonly string[] | undefined {
    if (lagMs === this.#lastLagMs) return this.#lastHeader;
    if (!Number.isFinite(lagMs)) return undefined;
    this.#lastLagMs = lagMs;
    this.#lastHeader = [LAG_HEADER, String(Math.ceil(lagMs))];
    return this.#lastHeader;
  }
}

/**
 * Does nothing where a key in an `Authorization` header is valid, or is none that another node may know.
 * @throws ServiceFault `node_behind` where this node is too far behind to tell.
 */
export function assertDecidedKey(
  { keyring, lagGuard }: { readonly keyring: Keyring; readonly lagGuard?: LagGuard | undefined },
  header: string | undefined,
): void {
  if (lagGuard?.isBehind !== true || !keyring.mayBeValidElsewhere(header)) return;
  const detail = "this node is behind its cluster, where the key may be valid: send it again";
  throw new ServiceFault("node_behind", detail);
}
