// Overload detection from the time that requests wait for the event loop, and the choice of those that are shed.
// A short pause (garbage collection, one long reply) sheds nothing: as in CoDel, the minimum wait over an interval
// counts (Nichols and Jacobson 2012; for servers, "Fail at Scale", ACM Queue 2015).

/** Milliseconds that a round may take for long, if the operator does not say otherwise. */
export const QUEUE_MS_MAX_DEFAULT = 25;
/** Distance of the looks at the clock. An idle thread wakes for it: some .05 % of a core. */
const ROUND_INTERVAL_MS = 10;
/** So long must every round have taken too long before any request is turned away. */
const OVERLOAD_AFTER_MS = 100;
/** So long must every round have been short, and hardly anybody turned away, before the watch ends. */
const RECOVERY_MS = 1000;
/** Of the requests of a calm while the part that may have been turned away. */
const RECOVERY_SHED_SHARE = 0.1;
/** Requests of a round, however long: so few are not a queue. */
const QUEUE_REQUESTS_MIN = 32;
/**
 * Of a long round the least part that the thread ran. A machine that is busy with something else
 * makes every round long, and fewer requests would not make it shorter.
 */
const CPU_SHARE_MIN = 0.5;
/** Requests of one caller that are answered in each round: a flood of another's costs him nothing. */
const GUARANTEED_PER_CALLER = 8;
/** Callers told apart in one round. */
const COUNTED_CALLERS_MAX = 256;
/** Of a round's time the part in which all are answered, at first; it follows what comes. */
const BUDGET_SHARE = 0.5;
const BUDGET_MS_MIN = 1;

/**
 * Of one serving thread. A round is the time between two looks: what waited through it has waited
 * at most two of them.
 */
export class OverloadDetector {
  /** Requests of this round so far, counted by who asks the watch. */
  asked = 0;
  /** True while requests may be turned away: the one thing read per request in quiet times. */
  isBusy = false;
  /** Turned away since it became busy. */
  turnedAway = 0;
  /** Called when it becomes busy, and when it is over. */
  onChange: (isBusy: boolean) => void = () => undefined;
  readonly #roundMsMax: number;
  readonly #monotonic: () => number;
  readonly #cpuMs: () => number;
  readonly #byCaller = new Map<string, number>();
  #lookedAt: number;
  #ranMs: number;
  /** When the rounds began to be long; NaN while they are not, and while busy. */
  #longSince = Number.NaN;
  #budgetMs: number;
  #shared = 0;
  /** While busy, since the last round that was long. */
  #calm = createRecoveryWindow(0);

  /**
   * @param roundMsMax milliseconds that a round may take for long; 0 turns nobody away.
   * @param monotonic milliseconds.
   * @param cpuMs CPU time of the thread, milliseconds.
   */
  constructor(roundMsMax: number, monotonic: () => number, cpuMs: () => number) {
    this.#roundMsMax = roundMsMax;
    this.#monotonic = monotonic;
    this.#cpuMs = cpuMs;
    this.#ranMs = cpuMs();
    this.#budgetMs = roundMsMax * BUDGET_SHARE;
    this.#lookedAt = monotonic();
  }

  /** Looks at the clock from now on. @returns its end. */
  start(): () => void {
    if (this.#roundMsMax === 0) return () => undefined;
    this.#lookedAt = this.#monotonic();
    const timer = setInterval(() => this.look(), ROUND_INTERVAL_MS).unref();
    return () => clearInterval(timer);
  }

  /** One look: judges the round that ends, begins the next. */
  look(): void {
    const nowMs = this.#monotonic();
    const roundMs = nowMs - this.#lookedAt;
    this.#lookedAt = nowMs;
    const ranMs = this.#cpuMs();
    const isQueue =
      this.asked >= QUEUE_REQUESTS_MIN && ranMs - this.#ranMs >= roundMs * CPU_SHARE_MIN;
    this.#ranMs = ranMs;
    const { asked } = this;
    this.asked = 0;
    const isLong = isQueue && roundMs > this.#roundMsMax;
    if (!this.isBusy) this.#judgeQuiet(isLong, nowMs, roundMs);
    else this.#judgeBusy(isLong, isQueue ? asked : 0, roundMs);
    if (this.isBusy) this.#beginRound(roundMs);
  }

  #judgeQuiet(isLong: boolean, nowMs: number, roundMs: number): void {
    if (!isLong) this.#longSince = Number.NaN;
    else if (Number.isNaN(this.#longSince)) this.#longSince = nowMs - roundMs;
    if (isLong && nowMs - this.#longSince >= OVERLOAD_AFTER_MS) this.#become(true);
  }

  /** Rounds that are short because requests were turned away say nothing of an end. */
  #judgeBusy(isLong: boolean, asked: number, roundMs: number): void {
    const calm = this.#calm;
    calm.ms += roundMs;
    calm.asked += asked;
    const turnedAway = this.turnedAway - calm.before;
    if (isLong) this.#calm = createRecoveryWindow(this.turnedAway);
    else if (calm.ms < RECOVERY_MS) return;
    else if (turnedAway > calm.asked * RECOVERY_SHED_SHARE)
      this.#calm = createRecoveryWindow(this.turnedAway);
    else this.#become(false);
  }

  /**
   * Whether this request, counted in `asked`, is turned away; only while busy. Counts the caller's.
   * @param caller name of who asks, however many connections it has; empty for a stranger.
   */
  turnsAway(caller: string): boolean {
    const times = (this.#byCaller.get(caller) ?? 0) + 1;
    if (times > 1 || this.#byCaller.size < COUNTED_CALLERS_MAX) this.#byCaller.set(caller, times);
    if (this.asked <= QUEUE_REQUESTS_MIN) return false;
    if (this.#monotonic() - this.#lookedAt <= this.#budgetMs) return false;
    // At most as many again as the shares of all callers that could be told apart.
    if (caller !== "" && times <= GUARANTEED_PER_CALLER && this.#shared < COUNTED_CALLERS_MAX) {
      this.#shared += 1;
      return false;
    }
    this.turnedAway += 1;
    return true;
  }

  /** Turning away takes time as well: the more come, the less of a round is left for answers. */
  #beginRound(roundMs: number): void {
    const aimed = (this.#budgetMs * this.#roundMsMax) / Math.max(roundMs, ROUND_INTERVAL_MS);
    const most = this.#roundMsMax * BUDGET_SHARE;
    this.#budgetMs = Math.max(BUDGET_MS_MIN, Math.min(most, (this.#budgetMs + aimed) / 2));
    this.#shared = 0;
    this.#byCaller.clear();
  }

  #become(isBusy: boolean): void {
    this.isBusy = isBusy;
    this.#longSince = Number.NaN;
    this.onChange(isBusy);
    this.turnedAway = 0;
    this.#calm = createRecoveryWindow(0);
    this.#budgetMs = this.#roundMsMax * BUDGET_SHARE;
  }
}

/** `asked`: in rounds that were a queue; `before`: turned away until it began. */
function createRecoveryWindow(before: number) {
  return { ms: 0, asked: 0, before };
}
