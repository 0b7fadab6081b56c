// Availability of the log as this node knows it: away means that a message would only wait for its deadline.
// Told by the connection, by who leads, and by what became of messages and reports; time heals nothing.

/** A connection is lost for a moment whenever a server restarts: the client finds the next one. */
const DOWN_MS = 1000;
/** Without word of a leader for so long: a failed look and a half, and less than most elections. */
const LEADERLESS_MS = 4000;

export class Availability {
  #isUp = true;
  /** When the connection was lost, epoch ms. */
  #downMs = 0;
  /** When a leader was last heard of. */
  #ledMs: number;
  /** When a message last found no place though somebody leads; 0 for since taken. */
  #failedMs = 0;

  /** `nowMs`: the log answers at that moment. */
  constructor(nowMs: number) {
    this.#ledMs = nowMs;
  }

  /** The connection is lost, or there again. */
  connected(isUp: boolean, nowMs: number): void {
    if (this.#isUp && !isUp) this.#downMs = nowMs;
    this.#isUp = isUp;
  }

  /** A server was said to lead. */
  led(nowMs: number): void {
    this.#ledMs = nowMs;
  }

  /** A message has a place, so that a majority is there. */
  taken(nowMs: number): void {
    this.#ledMs = nowMs;
    this.#failedMs = 0;
  }

  /** A message was tried for as long as may be. */
  failed(nowMs: number): void {
    this.#failedMs = nowMs;
  }

  /** A majority has taken something else, begun at that moment: a message may be tried again. */
  reported(sinceMs: number): void {
    if (sinceMs > this.#failedMs) this.#failedMs = 0;
  }

  /** Why the log takes nothing now; undefined while it may. */
  whyAway(nowMs: number): string | undefined {
    if (!this.#isUp && nowMs - this.#downMs >= DOWN_MS) {
      return "no server of the ordered log is connected";
    }
    if (nowMs - this.#ledMs > LEADERLESS_MS) return "no server of the ordered log leads";
    if (this.#failedMs > 0) return "no majority of the ordered log takes messages";
    return undefined;
  }
}
