// Features for the baselines of eval:trust, worked out from the stream alone and strictly from what
// settled earlier: counts, shares at four time constants, the last outcomes, time since, for the
// subject, for the viewing party as a reporter and as a subject, and between the two.
import type { RatedOutcome } from "./ratings.ts";

const DAY_MS = 86_400_000;
/** Half-lives in days. */
const HALF_LIVES = [7, 30, 90, 365];
const PRIOR = 2;
const RATE = 0.1;

/** What was said of one agent, or by it. */
class Tally {
  successes = HALF_LIVES.map(() => 0);
  failures = HALF_LIVES.map(() => 0);
  count = 0;
  run = 0;
  broken = 0;
  last = [0, 0];
  atMs = 0;
  failedMs = 0;
  firstMs = 0;

  add(failure: number, timeMs: number): void {
    const days = this.count === 0 ? 0 : Math.max(0, timeMs - this.atMs) / DAY_MS;
    HALF_LIVES.forEach((halfLife, i) => {
      const keep = 2 ** (-days / halfLife);
      this.successes[i] = this.successes[i]! * keep + 1 - failure;
      this.failures[i] = this.failures[i]! * keep + failure;
    });
    if (this.count++ === 0) this.firstMs = timeMs;
    this.last = [failure, this.last[0]!];
    if (failure === 1) {
      if (this.run < 0) this.broken = -this.run;
      this.run = Math.max(0, this.run) + 1;
      this.failedMs = timeMs;
    } else this.run = Math.min(0, this.run) - 1;
    this.atMs = timeMs;
  }

  /** Failing share of each time constant as log-odds, then how much and how lately. */
  features(nowMs: number): number[] {
    const days = Math.max(0, nowMs - this.atMs) / DAY_MS;
    const odds = HALF_LIVES.map((halfLife, i) => {
      const keep = this.count === 0 ? 0 : 2 ** (-days / halfLife);
      const failed = this.failures[i]! * keep + PRIOR * RATE;
      return Math.log(failed / (this.successes[i]! * keep + PRIOR * (1 - RATE)));
    });
    const since = (atMs: number) => (atMs === 0 ? 8 : Math.log1p((nowMs - atMs) / DAY_MS));
    return [
      ...odds,
      Math.log1p(this.count),
      Math.min(8, Math.max(0, this.run)),
      Math.log1p(Math.max(0, -this.run)),
      this.run > 0 ? Math.log1p(this.broken) : 0,
      ...this.last,
      since(this.atMs),
      since(this.failedMs),
      since(this.firstMs),
    ];
  }
}

export interface RichRows {
  check: Float64Array;
  handshake: Float64Array;
  checkColumns: number;
  handshakeColumns: number;
}

/** One row per outcome, from what had been folded `lagDays` after it settled. */
export function richRows(outcomes: readonly RatedOutcome[], lagDays: number): RichRows {
  const about = new Map<string, Tally>();
  const by = new Map<string, Tally>();
  const between = new Map<string, Tally>();
  const none = new Tally();
  const tallyOf = (map: Map<string, Tally>, key: string) => {
    const tally = map.get(key) ?? new Tally();
    map.set(key, tally);
    return tally;
  };
  const check: number[] = [];
  const handshake: number[] = [];
  let folded = 0;
  for (const { reporter, subject, timeMs } of outcomes) {
    for (; folded < outcomes.length; folded++) {
      const past = outcomes[folded]!;
      if (past.timeMs + lagDays * DAY_MS >= timeMs) break;
      tallyOf(about, past.subject).add(past.failure, past.timeMs);
      tallyOf(by, past.reporter).add(past.failure, past.timeMs);
      tallyOf(between, `${past.reporter} ${past.subject}`).add(past.failure, past.timeMs);
    }
    const own = (about.get(subject) ?? none).features(timeMs);
    const back = between.get(`${subject} ${reporter}`) ?? none;
    const again = between.get(`${reporter} ${subject}`) ?? none;
    for (const value of [1, ...own]) check.push(value);
    const other = [by.get(reporter), about.get(reporter), by.get(subject)];
    handshake.push(1, ...own, ...other.flatMap((tally) => (tally ?? none).features(timeMs)));
    for (const tally of [back, again]) {
      handshake.push(Math.log1p(tally.successes[2]!), Math.log1p(tally.failures[2]!));
    }
  }
  return {
    check: Float64Array.from(check),
    handshake: Float64Array.from(handshake),
    checkColumns: check.length / outcomes.length,
    handshakeColumns: handshake.length / outcomes.length,
  };
}
