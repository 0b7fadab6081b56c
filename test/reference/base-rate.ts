// Slow, obvious base rate: the log-odds of failure of everybody, moved once a period by residuals of
// the filters, by reporters that first spoke lately no more than their own small step.
import type { ScoringConfig } from "../../src/engine/config.ts";

const DAY = 86_400_000;
const days = (from: number, to: number): number => Math.max(0, to - from) / DAY;
const clip = (x: number, most: number): number => Math.min(most, Math.max(-most, x));

interface Sums {
  residual: number;
  information: number;
}

/** What the rate keeps of an agent, by the agent itself. */
interface Booked {
  seenDay: number;
  reporterPeriod: number;
  subjectPeriod: number;
}

export class BaseRate {
  g: number;
  variance = 0;
  readonly #config: ScoringConfig;
  #at = 0;
  #period = 0;
  #known: Sums = { residual: 0, information: 0 };
  #newcomers: Sums = { residual: 0, information: 0 };
  readonly #booked = new WeakMap<object, Booked>();

  constructor(config: ScoringConfig) {
    this.#config = config;
    this.g = config.base_rate;
  }

  advance(t: number): void {
    const c = this.#config;
    if (c.base_variance <= 0) return;
    if (c.base_period_days === 0) {
      if (this.#at === 0) this.variance = c.base_variance;
      else this.#revert(t);
      this.#at = Math.max(this.#at, t);
      return;
    }
    const period = Math.floor(t / (c.base_period_days * DAY));
    if (this.#at === 0) {
      this.variance = c.base_variance;
      this.#at = t;
      this.#period = period;
    } else if (period > this.#period) {
      this.#close();
      this.#revert(t);
      this.#at = t;
      this.#period = period;
    }
  }

  #close(): void {
    const c = this.#config;
    const { residual, information } = this.#known;
    const others = this.#newcomers;
    const alone = (this.variance / (1 + this.variance * information)) * Math.abs(others.residual);
    const share = Math.min(1, c.base_newcomer_step! / alone);
    this.variance /= 1 + this.variance * (information + share * others.information);
    this.g += clip(this.variance * (residual + share * others.residual), c.base_step);
    this.#known = { residual: 0, information: 0 };
    this.#newcomers = { residual: 0, information: 0 };
  }

  #revert(t: number): void {
    const c = this.#config;
    const a = Math.exp(-days(this.#at, t) / c.base_tau_days);
    this.g = c.base_rate + (this.g - c.base_rate) * a;
    this.variance = this.variance * a * a + c.base_variance * (1 - a * a);
  }

  /** The step of the rate that every outcome moves. */
  step(r: number, h: number, d: number): void {
    this.g += (this.variance * r) / d;
    this.variance -= (this.variance * this.variance * h) / d;
  }

  /** A residual of this period, the first that `reporter` gives and `subject` draws. */
  collect(subject: object, reporter: object, r: number, h: number): void {
    const c = this.#config;
    if (c.base_variance <= 0) return;
    const today = Math.floor(this.#at / DAY);
    const [about, by] = [this.#of(subject), this.#of(reporter)];
    if (by.seenDay === 0) by.seenDay = today;
    const isNew = today - by.seenDay < c.base_newcomer_days!;
    if (by.reporterPeriod === this.#period || about.subjectPeriod === this.#period) return;
    by.reporterPeriod = this.#period;
    about.subjectPeriod = this.#period;
    const sums = isNew ? this.#newcomers : this.#known;
    sums.residual += r;
    sums.information += h;
  }

  #of(agent: object): Booked {
    const booked = this.#booked.get(agent) ?? { seenDay: 0, reporterPeriod: 0, subjectPeriod: 0 };
    this.#booked.set(agent, booked);
    return booked;
  }
}
