// Slow, obvious fold: the same mathematics as assembly/, written from the design's formulas with
// maps and plain objects, no sharing, no tricks. The differential test compares the two.
import { STANDING_BITS } from "../../src/contract/standings.ts";
import type { ScoringConfig } from "../../src/engine/config.ts";
import { BaseRate } from "./base-rate.ts";
import { Masses } from "./masses.ts";
import { hourRepeats, noIncidents, takeHour, type Incidents } from "./incidents.ts";
import { noStreak, takeStreaks } from "./streaks.ts";
import type { Streak } from "./streaks.ts";
import type { AgentStanding, StandingsPart } from "../../src/engine/reading.ts";

const DAY = 86_400_000;
/** Logistic function. */
export const sig = (x: number): number => 1 / (1 + Math.exp(-x));
export const days = (from: number, to: number): number => Math.max(0, to - from) / DAY;
export const ou = (m: number, v: number, prior: number, tau: number, dt: number) => {
  const a = Math.exp(-dt / tau);
  return { m: m * a, v: v * a * a + prior * (1 - a * a) };
};
export const clip = (x: number, low: number, high: number): number =>
  Math.min(high, Math.max(low, x));

/** State of one agent, scoring section 2. Times in epoch ms, 0 for never. */
export interface Agent {
  mA: number;
  vA: number;
  mB: number;
  vB: number;
  subjectAt: number;
  s: number;
  vR: number;
  reporterAt: number;
  s90: number;
  f90: number;
  s14: number;
  f14: number;
  rs14: number;
  rf14: number;
  failedAt: number;
  firstAt: number;
  shockAt: number;
  proven: number;
  outcomes: number;
  baseDay: number;
  reported: number;
  streak: Streak;
  /** Epoch ms, whole seconds. */
  heardAt: number;
  incidents: Incidents;
}

export interface ReferenceOutcome {
  subject: string;
  reporter: string;
  outcome: 0 | 1;
  stakes: number;
  gradeIndex: number;
  signatureIndex: number;
  settledAtMs: number;
  /** Who answers for it: the reporter (0 or left out), the operator (1), an API key (others). */
  voice?: number;
  incidentAtMs?: number;
  incident?: number;
}

/** What the pair cap left of one outcome, as of `at` (whole seconds). */
export interface ReferenceWord {
  subject: string;
  reporter: string;
  failure: number;
  room: number;
  at: number;
}

export class ReferenceFold {
  readonly agents = new Map<string, Agent>();
  readonly masses: Masses;
  readonly words: ReferenceWord[] = [];
  readonly standings = new Map<string, AgentStanding>();
  isInForce = false;
  stakesHigh = 0;
  readonly config: ScoringConfig;
  readonly base: BaseRate;
  /** What the pair cap left of the outcome being folded. */
  #word: ReferenceWord | undefined;
  /** Praise in the outcome being folded. */
  #praise = 0;
  /** Share of the last weight by which proven stakes may rise. */
  #lifting = 0;

  constructor(config: ScoringConfig) {
    this.config = config;
    this.masses = new Masses(config);
    this.base = new BaseRate(config);
  }

  get g(): number {
    return this.base.g;
  }

  #agent(id: string): Agent {
    let agent = this.agents.get(id);
    if (agent === undefined) {
      const zero = { mA: 0, vA: 0, mB: 0, vB: 0, subjectAt: 0, s: 0, vR: 0, reporterAt: 0 };
      const counters = { s90: 0, f90: 0, s14: 0, f14: 0, rs14: 0, rf14: 0, proven: 0 };
      const times = { failedAt: 0, firstAt: 0, shockAt: 0, outcomes: 0, baseDay: 0 };
      const parts = { streak: noStreak(), incidents: noIncidents() };
      agent = { ...zero, ...counters, ...times, reported: 0, heardAt: 0, ...parts };
      this.agents.set(id, agent);
    }
    return agent;
  }

  applyStandings({ isInForce, stakesHigh, agents }: StandingsPart): void {
    for (const standing of agents) {
      this.#agent(standing.agent);
      this.standings.set(standing.agent, standing);
    }
    this.isInForce = isInForce;
    this.stakesHigh = stakesHigh;
  }

  /** What an API key that nobody vouches for may add; undefined where it is not heard. */
  #weighStranger(e: ReferenceOutcome, w: number): { weight: number; isFirst: boolean } | undefined {
    const c = this.config;
    if (w === 0) return undefined;
    const v = this.#agent(e.subject);
    if (e.outcome === 1 && this.g + Math.max(v.mA, v.mB) >= 0) return undefined;
    const seconds = Math.floor(e.settledAtMs / 1000);
    const pair = `${e.subject}\nkey ${e.voice}`;
    const has = (y: number) => (this.masses.pairs.get(`${pair}\n${y}`)?.mass ?? 0) > 0;
    const isFirst = !has(0) && !has(1);
    const y = 1 - e.outcome;
    const base = this.isInForce ? w * c.credibility_min : w;
    let weight = this.masses.take(
      `${pair}\n${y}`,
      seconds,
      base,
      c.stranger_cap!,
      c.subject_tau_days,
    );
    if (this.isInForce && weight > 0) {
      weight = this.masses.take(`${e.subject}\nstrangers\n${y}`, seconds, weight, c.pool_cap);
    }
    if (weight <= 0) {
      this.masses.book(1);
      return undefined;
    }
    this.masses.unthinned = weight;
    const counted = this.#cap(e, weight);
    return counted > 0 ? { weight: counted, isFirst } : undefined;
  }

  /** What the caps of incidents leave of a weight; books the masses of what is left. */
  #cap(e: ReferenceOutcome, weight: number): number {
    const y = 1 - e.outcome;
    const { unthinned, wasRepeat: isRepeat } = this.masses;
    const at = {
      atMs: e.incidentAtMs ?? e.settledAtMs,
      incident: e.incident ?? 0,
      unthinned,
      isRepeat,
    };
    const counted = takeHour(this.#agent(e.subject).incidents, y, weight, at);
    this.masses.book(weight > 0 ? counted / weight : 1);
    return counted;
  }

  /** What the reporter's word leaves of a weight, all caps included. */
  #weigh(e: ReferenceOutcome, w: number): number {
    const c = this.config;
    const seconds = Math.floor(e.settledAtMs / 1000);
    const take = (source: string, weight: number, cap: number) =>
      this.masses.take(`${e.subject}\n${source}\n${1 - e.outcome}`, seconds, weight, cap);
    const takePair = (said: number): number => {
      const { subject, reporter } = e;
      const pair = `${subject}\n${reporter}`;
      const atMs = e.incidentAtMs ?? e.settledAtMs;
      const isRepeat =
        hourRepeats(this.#agent(subject).incidents, atMs) < 3 &&
        this.masses.isRepeat(pair, 1 - e.outcome, seconds);
      this.masses.unthinned = said;
      this.masses.wasRepeat = isRepeat;
      const { failing } = this.#agent(subject).streak;
      const isSame = this.masses.isSameFailure(pair, 1 - e.outcome);
      this.masses.shareWeight = isRepeat || isSame ? 0 : said;
      const alone = e.voice === 1 ? 1 : this.masses.isolated(pair, 1 - e.outcome, seconds, failing);
      const weight = (isRepeat ? 0.25 * said : said) * alone;
      this.masses.spoken = weight;
      const room =
        e.voice === 1
          ? this.masses.takeVouched(pair, 1 - e.outcome, seconds, weight)
          : take(reporter, weight, c.pair_cap);
      this.#lifting = this.masses.first;
      if (e.voice !== 1) this.masses.spoken = room;
      if (isRepeat) this.masses.spoken = 0;
      const before = this.masses.pairs.get(`${pair}\n${1 - e.outcome}`)?.at ?? 0;
      const at = Math.max(seconds, before);
      this.#word = { subject, reporter, failure: 1 - e.outcome, room, at };
      return room;
    };
    if (!this.isInForce) return takePair(w);
    const standing = this.standings.get(e.reporter);
    const flags = standing?.flags ?? 0;
    const isForged = e.signatureIndex === 0 && (flags & STANDING_BITS.signs) !== 0;
    const isStranger = isForged || (flags & STANDING_BITS.believed) === 0;
    const rho = clip(isStranger ? 0 : Math.fround(standing!.credibility), c.credibility_min, 1);
    let weight = takePair(w * rho);
    if (rho < c.untrusted_below) this.masses.spoken = this.masses.shareWeight = 0;
    if (rho < c.untrusted_below && weight > 0) {
      weight = take("strangers", weight, c.pool_cap);
      this.masses.unthinned = weight;
    }
    const cluster = standing?.cluster ?? 0;
    return cluster > 0 && weight > 0 ? take(`cluster ${cluster}`, weight, c.cluster_cap) : weight;
  }

  fold(e: ReferenceOutcome): void {
    const c = this.config;
    const y = 1 - e.outcome;
    const t = e.settledAtMs;
    const stakesHigh = this.stakesHigh > 0 ? this.stakesHigh : c.stakes_high;
    const phi = Math.log(1 + e.stakes / c.stakes_unit) / Math.log(1 + stakesHigh / c.stakes_unit);
    let w = c.grade_weights[e.gradeIndex]! * c.signature_weights[e.signatureIndex]!;
    w *= clip(phi, c.stakes_floor, 1);
    this.masses.thinned = 1;
    this.masses.wasRepeat = false;
    if ((e.voice ?? 0) > 1) {
      const heard = this.#weighStranger(e, w);
      if (heard === undefined) return;
      const v = this.#agent(e.subject);
      this.#filter(v, undefined, y, heard.weight, t);
      this.#count(v, undefined, y, heard.weight, t, e.stakes);
      if (!heard.isFirst) v.outcomes--;
      return;
    }
    const v = this.#agent(e.subject);
    const u = this.#agent(e.reporter);
    const full = this.#weigh(e, w);
    w = this.#cap(e, full);
    if (full > 0 && w === 0) return;
    this.words.push({ ...this.#word!, room: this.#word!.room * (full > 0 ? w / full : 1) });
    this.base.advance(t);
    this.#filter(v, u, y, w, t);
    this.#count(v, u, y, w, t, e.stakes);
  }

  /** `reporter` is undefined for a stranger: an average one about whom nothing is learnt. */
  #filter(v: Agent, reporter: Agent | undefined, y: number, w: number, t: number): void {
    const c = this.config;
    const u = reporter ?? { s: 0, vR: 0, reporterAt: 0 };
    if (u.reporterAt === 0) u.vR = c.reporter_variance;
    else {
      const r = ou(u.s, u.vR, c.reporter_variance, c.reporter_tau_days, days(u.reporterAt, t));
      u.s = r.m;
      u.vR = r.v;
    }
    if (v.subjectAt === 0) v.vA = v.vB = c.subject_variance;
    else {
      const dt = days(v.subjectAt, t);
      const a = ou(v.mA, v.vA, c.subject_variance, c.subject_tau_days, dt);
      const b = ou(v.mB, v.vB, c.subject_variance, c.subject_tau_days, dt);
      [v.mA, v.vA, v.mB, v.vB] = [a.m, a.v, b.m, b.v];
    }
    const everyOutcome = c.base_variance > 0 && c.base_period_days === 0;
    const vG = everyOutcome && reporter !== undefined ? this.base.variance : 0;
    const [gBefore, mBefore] = [this.g, v.mA];
    const p = sig(this.g + v.mB + u.s);
    const h = w * p * (1 - p);
    const d = 1 + h * (v.vB + u.vR + vG);
    const r = w * (y - p);
    const pA = sig(this.g + v.mA);
    const hA = w * pA * (1 - pA);
    const dA = 1 + hA * v.vA;
    v.mB += (v.vB * r) / d;
    v.vB -= (v.vB * v.vB * h) / d;
    u.s += (u.vR * r) / d;
    u.vR -= (u.vR * u.vR * h) / d;
    v.mA += (v.vA * w * (y - pA)) / dA;
    v.vA -= (v.vA * v.vA * hA) / dA;
    this.#praise = 0;
    // Neither the base rate nor a streak is a stranger's to move.
    if (reporter !== undefined) {
      if (everyOutcome) this.base.step(r, h, d);
      else this.base.collect(v, reporter, r, h);
      this.#praise = takeStreaks(c, v, reporter, y, w, this.masses, gBefore + mBefore);
    }
    const isShock = y === 1 && w / this.masses.thinned >= c.failure_weight_min;
    if (isShock && Math.sqrt((1 - pA) / pA) > c.shock_residual) {
      v.shockAt = Math.max(v.shockAt, Math.floor(t / 1000) * 1000);
    }
  }

  #count(v: Agent, u: Agent | undefined, y: number, w: number, t: number, stakes: number): void {
    const c = this.config;
    const step = (value: number, lastAt: number, halfLife: number, add: number): number => {
      const elapsed = lastAt === 0 ? 0 : days(lastAt, t);
      const late = lastAt === 0 ? 0 : days(t, lastAt);
      return Math.fround(value * 2 ** (-elapsed / halfLife) + add * 2 ** (-late / halfLife));
    };
    const long = c.half_life_long_days;
    const short = c.half_life_short_days;
    v.s90 = step(v.s90, v.subjectAt, long, w * (1 - y));
    v.f90 = step(v.f90, v.subjectAt, long, w * y);
    v.streak.praise = step(v.streak.praise, v.subjectAt, long, this.#praise);
    v.s14 = step(v.s14, v.subjectAt, short, w * (1 - y));
    v.f14 = step(v.f14, v.subjectAt, short, w * y);
    if (u !== undefined) {
      u.rs14 = step(u.rs14, u.reporterAt, short, w * (1 - y));
      u.rf14 = step(u.rf14, u.reporterAt, short, w * y);
      u.reporterAt = Math.max(u.reporterAt, t);
    }
    const at = Math.floor(t / 1000) * 1000;
    v.firstAt = v.firstAt === 0 ? at : Math.min(v.firstAt, at);
    const fresh = w / this.masses.thinned;
    if (y === 1 && fresh >= c.failure_weight_min) v.failedAt = Math.max(v.failedAt, at);
    if (w > 0) {
      const part = Math.min(1, w / c.heard_weight!);
      if (v.heardAt === 0) v.heardAt = at;
      else v.heardAt += 1000 * Math.floor((Math.max(0, at - v.heardAt) / 1000) * part);
    }
    let proven = v.proven;
    if (v.subjectAt > 0) proven *= 2 ** (-days(v.subjectAt, t) / c.half_life_stakes_days);
    if (y === 0 && fresh > c.failure_weight_min) {
      const from = c.stakes_free!;
      const start = Math.max(proven, from);
      const way = Math.min(w * Math.log(stakes / start), w * Math.log(3) * this.#lifting);
      if (stakes > start) proven = start * Math.exp(way);
      else proven = Math.max(proven, Math.min(stakes, from));
    }
    v.proven = Math.fround(proven);
    v.outcomes++;
    v.subjectAt = Math.max(v.subjectAt, t);
  }
}
