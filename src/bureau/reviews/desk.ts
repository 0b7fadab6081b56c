// Desk of one deciding thread: what people have decided on agents that are held back, and the calls
// that wait for a person. Hot path: a verdict that lets through never comes here; one that holds
// back looks into a map, which is empty where nobody has decided anything.
import {
  reviewDay,
  deriveReviewId,
  type ReviewAsked,
  type ReviewKey,
  type ReviewNews,
  type ReviewRuling,
  buildReviewSubject,
} from "../../contract/reviews/events.ts";
import type { ReviewDecision, ReviewLevel } from "../../contract/vocabulary.ts";

/** A decision that is in force. */
export interface InForce {
  readonly decision: ReviewDecision;
  readonly untilMs: number;
  /** Infinity for any stakes. */
  readonly stakesMax: number;
}

/** One call that is held back until a person has looked. */
export interface HeldBack {
  readonly tenant: string;
  readonly agent: string;
  readonly level: ReviewLevel;
  readonly requestId: string;
  readonly stakes: number;
  /** The rule that held it back. */
  readonly reason: string;
}

/** Reviews, as verdicts see them. */
export interface ReviewSource {
  /** What a person decided on the subject, if it is in force at `nowMs`, epoch ms. */
  inForce(tenant: string, agent: string, level: ReviewLevel, nowMs: number): InForce | undefined;
  /** Counts the call towards its review; the review's id, or empty where none can be opened. */
  ask(call: HeldBack, nowMs: number): string;
}

/** For bureaus without people: nothing is decided, nothing waits. */
export const withoutReviews: ReviewSource = { inForce: () => undefined, ask: () => "" };

/** Reviews that are counted between two flushes; when there are more, all are told at once. */
const TALLIES_MAX = 10_000;

interface Held extends InForce {
  /** Of the newest review that is decided. */
  readonly day: string;
  readonly round: number;
}

type Tally = { -readonly [Member in keyof ReviewAsked]: ReviewAsked[Member] };

export class ReviewDesk implements ReviewSource {
  readonly #tell: (asked: readonly ReviewAsked[]) => void;
  readonly #rulings = new Map<string, Held>();
  readonly #full = new Set<string>();
  /** By subject: the review that its calls count towards. */
  readonly #tallies = new Map<string, Tally>();

  /** `tell` gets a review's first call at once, further ones when they are flushed. */
  constructor(
    tell: (asked: readonly ReviewAsked[]) => void,
    rulings: readonly ReviewRuling[] = [],
  ) {
    this.#tell = tell;
    for (const ruling of rulings) this.apply({ ruling });
  }

  apply(news: ReviewNews): void {
    if (!("ruling" in news)) {
      if (news.isFull) this.#full.add(news.tenant);
      else this.#full.delete(news.tenant);
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

  inForce(tenant: string, agent: string, level: ReviewLevel, nowMs: number): InForce | undefined {
    if (this.#rulings.size === 0) return undefined;
    const held = this.#rulings.get(buildReviewSubject({ tenant, agent, level }));
    return held !== undefined && held.untilMs > nowMs ? held : undefined;
  }

  ask(call: HeldBack, nowMs: number): string {
    const subject = buildReviewSubject(call);
    const day = reviewDay(nowMs);
    const decided = this.#rulings.get(subject);
    // A decided review does not open again: it was about what it saw.
    const round = decided?.day === day ? decided.round + 1 : 0;
    const { requestId, stakes } = call;
    const tally = this.#tallies.get(subject);
    if (tally === undefined || tally.day !== day || tally.round < round) {
      return this.#open(subject, call, { day, round }, nowMs);
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
    const day = reviewDay(nowMs);
    const counted: ReviewAsked[] = [];
    for (const [subject, tally] of this.#tallies) {
      if (tally.count > 0) counted.push({ ...tally });
      tally.count = 0;
      if (tally.day !== day) this.#tallies.delete(subject);
    }
    if (counted.length > 0) this.#tell(counted);
    for (const [subject, held] of this.#rulings) {
      if (held.untilMs <= nowMs && held.day !== day) this.#rulings.delete(subject);
    }
  }

  #open(
    subject: string,
    { tenant, agent, level, requestId, stakes, reason }: HeldBack,
    at: Pick<ReviewKey, "day" | "round">,
    nowMs: number,
  ): string {
    if (this.#full.has(tenant)) return "";
    if (this.#tallies.size >= TALLIES_MAX) {
      this.flush(nowMs);
      this.#tallies.clear();
    } else if (this.#tallies.has(subject)) this.flush(nowMs);
    // A name cut out of a request would keep all of its body alive.
    const key = { tenant, agent: Buffer.from(agent).toString(), level, ...at };
    const asked: ReviewAsked = {
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
    this.#tell([asked]);
    return asked.id;
  }
}
