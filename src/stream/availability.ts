// Availability of the log as this node knows it: away means that a message would only wait for its deadline.
// Told by the connection, by who leads, and by what became of messages and reports; time heals nothing.

/** A connection is lost for a moment whenever a server restarts: the client finds the next one. */
const DISCONNECTED_TOLERANCE_MS = 1000;
/** Without word of a leader for so long: a failed look and a half, and less than most elections. */
const LEADERLESS_TOLERANCE_MS = 4000;

export class LogAvailability {
  #isUp = true;
  /** When the connection was lost, epoch ms. */
  #disconnectedAtMs = 0;
  /** When a leader was last heard of. */
  #leaderSeenAtMs: number;
  /** When a message last found no place though somebody leads; 0 for since taken. */
  #appendFailedAtMs = 0;

  /** `nowMs`: the log answers at that moment. */
  constructor(nowMs: number) {
    this.#leaderSeenAtMs = nowMs;
  }

  /** The connection is lost, or there again. */
  setConnected(isUp: boolean, nowMs: number): void {
    if (this.#isUp && !isUp) this.#disconnectedAtMs = nowMs;
    this.#isUp = isUp;
  }

  /** A server was said to lead. */
  recordLeader(nowMs: number): void {
    this.#leaderSeenAtMs = nowMs;
  }

  /** A message has a place, so that a majority is there. */
  recordAppend(nowMs: number): void {
    this.#leaderSeenAtMs = nowMs;
    this.#appendFailedAtMs = 0;
  }

  /** A message was tried for as long as may be. */
  recordAppendFailure(nowMs: number): void {
    this.#appendFailedAtMs = nowMs;
  }

  /** A majority has taken something else, begun at that moment: a message may be tried again. */
  recordReport(sinceMs: number): void {
    if (sinceMs > this.#appendFailedAtMs) this.#appendFailedAtMs = 0;
  }

  /** Why the log takes nothing now; undefined while it may. */
  describeOutage(nowMs: number): string | undefined {
    if (!this.#isUp && nowMs - this.#disconnectedAtMs >= DISCONNECTED_TOLERANCE_MS) {
      return "no server of the ordered log is connected";
    }
    if (nowMs - this.#leaderSeenAtMs > LEADERLESS_TOLERANCE_MS)
      return "no server of the ordered log leads";
    if (this.#appendFailedAtMs > 0) return "no majority of the ordered log takes messages";
    return undefined;
  }
}
