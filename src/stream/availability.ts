// Availability of the log as this node knows it: away means that a message would only wait for its deadline.
// Told by the connection, and by what became of this node's own messages and ticks; time heals nothing. All times are
// ms of the monotonic clock.

/** A connection is lost for a moment whenever a server restarts: the client finds the next one. */
const DISCONNECTED_TOLERANCE_MS = 1000;
/** Without an acknowledgement for so long: a few ticks that failed, and less than most elections. */
const SILENCE_TOLERANCE_MS = 4000;
/** Without an acknowledgement for so long through one server: it may have lost the others, which another has not. */
const SERVER_SILENCE_MAX_MS = 5000;

export class LogAvailability {
  #isUp = true;
  /** When the connection was lost. */
  #disconnectedAtMs = 0;
  /** When the newest of the messages that were acknowledged was begun. */
  #acknowledgedAtMs: number;
  /** When a message last found no place; -Infinity for since acknowledged. */
  #appendFailedAtMs = Number.NEGATIVE_INFINITY;
  #serverChangedAtMs = Number.NEGATIVE_INFINITY;

  /** `nowMs`: the log answers at that moment. */
  constructor(nowMs: number) {
    this.#acknowledgedAtMs = nowMs;
  }

  /** The connection is lost, or there again. */
  setConnected(isUp: boolean, nowMs: number): void {
    if (this.#isUp && !isUp) this.#disconnectedAtMs = nowMs;
    this.#isUp = isUp;
  }

  /** A majority has acknowledged a message or a tick begun at that moment. */
  recordAcknowledged(begunMs: number): void {
    this.#acknowledgedAtMs = Math.max(begunMs, this.#acknowledgedAtMs);
    if (begunMs > this.#appendFailedAtMs) this.#appendFailedAtMs = Number.NEGATIVE_INFINITY;
  }

  /** A message was tried for as long as may be. */
  recordAppendFailure(nowMs: number): void {
    this.#appendFailedAtMs = nowMs;
  }

  /** Whether the connected server is to be left for another one. */
  isServerSilent(nowMs: number): boolean {
    const sinceMs = Math.max(this.#acknowledgedAtMs, this.#serverChangedAtMs);
    return this.#isUp && nowMs - sinceMs > SERVER_SILENCE_MAX_MS;
  }

  /** The connection goes to another server. */
  recordServerChange(nowMs: number): void {
    this.#serverChangedAtMs = nowMs;
  }

  /** Why the log takes nothing now; undefined while it may. */
  describeOutage(nowMs: number): string | undefined {
    if (!this.#isUp && nowMs - this.#disconnectedAtMs >= DISCONNECTED_TOLERANCE_MS) {
      return "no server of the ordered log is connected";
    }
    if (nowMs - this.#acknowledgedAtMs > SILENCE_TOLERANCE_MS)
      return "no majority of the ordered log acknowledges";
    if (Number.isFinite(this.#appendFailedAtMs))
      return "no majority of the ordered log takes messages";
    return undefined;
  }
}
