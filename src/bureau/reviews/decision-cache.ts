// Desk of one deciding thread: what people have decided on agents that are held back, and the calls
// that wait for a person. Hot path: a verdict that lets through never comes here; one that holds
// back looks into a map, which is empty where nobody has decided anything.
import {
  formatReviewDay,
  deriveReviewId,
  type ReviewCalls,
  type ReviewKey,
  type ReviewUpdate,
  type ReviewRuling,
  buildReviewSubject,
} from "../../contract/reviews/events.ts";
import type { ReviewDecision, ReviewLevel } from "../../contract/vocabulary.ts";

/** A decision that is in force. */
export interface ActiveReviewDecision {
  readonly decision: ReviewDecision;
  readonly untilMs: number;
  /** Infinity for any stakes. */
  readonly stakesMax: number;
}

/** One call that is held back until a person has looked. */
export interface WithheldCall {
  readonly tenant: string;
  readonly agent: string;
  readonly level: ReviewLevel;
  readonly requestId: string;
  readonly stakes: number;
  /** The rule that held it back. */
  readonly reason: string;
}

/** Reviews, as verdicts see them. */
export interface ReviewDecisionSource {
  /** What a person decided on the subject, if it is in force at `nowMs`, epoch ms. */
  findActiveDecision(
    tenant: string,
    agent: string,
    level: ReviewLevel,
    nowMs: number,
  ): ActiveReviewDecision | undefined;
  /** Counts the call towards its review; the review's id, or empty where none can be opened. */
  countCall(call: WithheldCall, nowMs: number): string;
}

/** For bureaus without people: nothing is decided, nothing waits. */
export const noReviewDecisions: ReviewDecisionSource = {
  findActiveDecision: () => undefined,
  countCall: () => "",
};

/** Reviews that are counted between two flushes; when there are more, all are told at once. */
const TALLIES_MAX = 10_000;

interface CachedReviewDecision extends ActiveReviewDecision {
  /** Of the newest review that is decided. */
  readonly day: string;
  readonly round: number;
}

type ReviewCallTally = { -readonly [Member in keyof ReviewCalls]: ReviewCalls[Member] };

export class ReviewDecisionCache implements ReviewDecisionSource {
  readonly #onCounted: (asked: readonly ReviewCalls[]) => void;
  readonly #rulings = new Map<string, CachedReviewDecision>();
  readonly #fullTenants = new Set<string>();
  /** By subject: the review that its calls count towards. */
  readonly #tallies = new Map<string, ReviewCallTally>();

  /** `tell` gets a review's first call at once, further ones when they are flushed. */
  constructor(
    tell: (asked: readonly ReviewCalls[]) => void,
    rulings: readonly ReviewRuling[] = [],
  ) {
    this.#onCounted = tell;
    for (const ruling of rulings) this.apply({ ruling });
  }

  apply(news: ReviewUpdate): void {
    if (!("ruling" in news)) {
      if (news.isFull) this.#fullTenants.add(news.tenant);
      else this.#fullTenants.delete(news.tenant);
      return;
    }
    const { decision, until_ms: untilMs, max_stakes: stakes, day, round } = news.ruling;
    const stakesMax = stakes ?? Number.POSITIVE_INFINITY;
    this.#rulings.set(buildReviewSubject(news.ruling), {
      decision,
      untilMs,
      stakesMax,
      day,
      round,
    });
  }

  findActiveDecision(
    tenant: string,
    agent: string,
    level: ReviewLevel,
    nowMs: number,
  ): ActiveReviewDecision | undefined {
    if (this.#rulings.size === 0) return undefined;
    const held = this.#rulings.get(buildReviewSubject({ tenant, agent, level }));
    return held !== undefined && held.untilMs > nowMs ? held : undefined;
  }

  countCall(call: WithheldCall, nowMs: number): string {
    const subject = buildReviewSubject(call);
    const day = formatReviewDay(nowMs);
    const decided = this.#rulings.get(subject);
    // A decided review does not open again: it was about what it saw.
    const round = decided?.day === day ? decided.round + 1 : 0;
    const { requestId, stakes } = call;
    const tally = this.#tallies.get(subject);
    if (tally === undefined || tally.day !== day || tally.round < round) {
      return this.#openTally(subject, call, { day, round }, nowMs);
    }
    if (tally.count === 0) {
      tally.first_request_id = requestId;
      tally.first_stakes = stakes;
      tally.first_ms = nowMs;
      tally.stakes_max = stakes;
    }
    tally.count += 1;
    tally.last_request_id = requestId;
    tally.last_stakes = stakes;
    tally.last_ms = nowMs;
    tally.stakes_max = Math.max(tally.stakes_max, stakes);
    return tally.id;
  }

  /** Tells what was counted since the last time. Call it about once a second. */
  flush(nowMs: number): void {
    const day = formatReviewDay(nowMs);
    const counted: ReviewCalls[] = [];
    for (const [subject, tally] of this.#tallies) {
      if (tally.count > 0) counted.push({ ...tally });
      tally.count = 0;
      if (tally.day !== day) this.#tallies.delete(subject);
    }
    if (counted.length > 0) this.#onCounted(counted);
    for (const [subject, held] of this.#rulings) {
      if (held.untilMs <= nowMs && held.day !== day) this.#rulings.delete(subject);
    }
  }

  #openTally(
    subject: string,
    { tenant, agent, level, requestId, stakes, reason }: WithheldCall,
    at: Pick<ReviewKey, "day" | "round">,
    nowMs: number,
  ): string {
    if (this.#fullTenants.has(tenant)) return "";
    if (this.#tallies.size >= TALLIES_MAX) {
      this.flush(nowMs);
      this.#tallies.clear();
    } else if (this.#tallies.has(subject)) this.flush(nowMs);
    // A name cut out of a request would keep all of its body alive.
    const key = { tenant, agent: Buffer.from(agent).toString(), level, ...at };
    const asked: ReviewCalls = {
      ...key,
      id: deriveReviewId(key),
      reason,
      count: 1,
      first_request_id: requestId,
      first_stakes: stakes,
      first_ms: nowMs,
      last_request_id: requestId,
      last_stakes: stakes,
      last_ms: nowMs,
      stakes_max: stakes,
    };
    this.#tallies.set(subject, { ...asked, count: 0 });
    this.#onCounted([asked]);
    return asked.id;
  }
}
