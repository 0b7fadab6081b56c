// Book of all reviews: the state machine, as a fold over the journal's events. The same events in the
// same order give the same book, so that a start, a snapshot and a running service agree.
import {
  REVIEW_RETENTION_MS,
  REVIEWS_MAX,
  REVIEWS_PER_TENANT_MAX,
  type ReviewCalls,
  type ReviewClaimedEvent,
  type ReviewCountedEvent,
  type ReviewDecidedEvent,
  type ReviewEvent,
  type ReviewOpenedEvent,
  type ReviewRuling,
  buildReviewSubject,
} from "./events.ts";
import { REVIEW_STATES, type ReviewDecision, type ReviewState } from "../vocabulary.ts";
import { type Dispute, DailyDisputeCounts } from "./disputes.ts";

/** Values of `state` in a list of the queue; `all` for the whole queue. */
export const REVIEW_LIST_STATES = [...REVIEW_STATES, "all"] as const;

/** One review, as it is kept, also in snapshots. Times are epoch ms; null for what has not been. */
export interface StoredReview extends ReviewCalls {
  count: number;
  last_request_id: string;
  last_stakes: number;
  last_ms: number;
  stakes_max: number;
  claimed_by: string | null;
  claimed_until_ms: number;
  decision: ReviewDecision | null;
  decided_by: string | null;
  decided_ms: number;
  /** Id of the API key that decided. */
  actor: string | null;
  note: string | null;
  /** The decision holds before this. */
  until_ms: number;
  max_stakes: number | null;
  /** The review whose decision settled this one as well; null where it was decided itself. */
  settled_by: string | null;
  /** What was said, where somebody disputes; left out where calls opened the review. */
  dispute?: Dispute | undefined;
}

/** Reviews are looked through for old ones once in so many ms of event time. */
const PRUNE_INTERVAL_MS = 3_600_000;

export class ReviewBook {
  /** In order of opening. */
  readonly #reviews = new Map<string, StoredReview>();
  /** Ids of the undecided ones, by subject. */
  readonly #undecided = new Map<string, Set<string>>();
  readonly #undecidedByTenant = new Map<string, number>();
  /** Disputes of the newest day that has any. */
  readonly #disputes = new DailyDisputeCounts();
  #undecidedCount = 0;
  #prunedAtMs = 0;

  /** `stored`: the reviews so far, as another book lists them. */
  constructor(stored: Iterable<StoredReview> = []) {
    for (const review of stored) this.#add({ ...review });
  }

  /** Reviews in order of opening. */
  listReviews(): IterableIterator<StoredReview> {
    return this.#reviews.values();
  }

  get count(): number {
    return this.#reviews.size;
  }

  get undecidedCount(): number {
    return this.#undecidedCount;
  }

  find(id: string): StoredReview | undefined {
    return this.#reviews.get(id);
  }

  /** Whether there is room for another undecided review of the tenant. */
  hasCapacityFor(tenant: string): boolean {
    const ofTenant = this.#undecidedByTenant.get(tenant) ?? 0;
    return ofTenant < REVIEWS_PER_TENANT_MAX && this.#undecidedCount < REVIEWS_MAX;
  }

  /** Disputes of a tenant on a day, and of them those about one agent. */
  countDisputes(day: string, tenant: string, agent: string): { ofTenant: number; ofAgent: number } {
    return this.#disputes.countOn(day, tenant, agent);
  }

  /** When the oldest undecided review was opened, epoch ms; undefined where there is none. */
  findOldestUndecidedMs(): number | undefined {
    if (this.#undecidedCount === 0) return undefined;
    for (const { decision, first_ms: openedMs } of this.#reviews.values()) {
      if (decision === null) return openedMs;
    }
    return undefined;
  }

  /**
   * What people have decided, one ruling for each subject: the newest decision, beside the newest
   * review that is decided. With a subject: of it alone.
   */
  listRulings(subject?: string): ReviewRuling[] {
    const found = new Map<string, { ruling: ReviewRuling; decidedMs: number }>();
    for (const review of this.#reviews.values()) {
      const { tenant, agent, level, day, round, decision, decided_ms: decidedMs } = review;
      if (decision === null) continue;
      const of = buildReviewSubject(review);
      if (subject !== undefined && of !== subject) continue;
      const last = found.get(of);
      const isNewest = last === undefined || decidedMs >= last.decidedMs;
      const { until_ms, max_stakes } = review;
      const decided = isNewest ? { decision, until_ms, max_stakes } : last.ruling;
      const isLater = last === undefined || isLaterRound(review, last.ruling);
      const place = isLater ? { day, round } : { day: last.ruling.day, round: last.ruling.round };
      const ruling = { tenant, agent, level, ...pickDecisionFields(decided), ...place };
      found.set(of, { ruling, decidedMs: Math.max(decidedMs, last?.decidedMs ?? 0) });
    }
    return [...found.values()].map(({ ruling }) => ruling);
  }

  /** Folds the next event. Events about reviews that are not in the book change nothing. */
  apply(event: ReviewEvent): void {
    if (event.event === "review.opened") this.#open(event);
    else if (event.event === "review.counted") this.#count(event);
    else if (event.event === "review.claimed") this.#claim(event);
    else if (event.event === "review.decided") this.#decide(event);
    if (event.at_ms - this.#prunedAtMs >= PRUNE_INTERVAL_MS) this.#prune(event.at_ms);
  }

  #open({ event: _event, at_ms: _atMs, ...asked }: ReviewOpenedEvent) {
    if (this.#reviews.has(asked.id)) return;
    this.#add({
      ...asked,
      claimed_by: null,
      claimed_until_ms: 0,
      decision: null,
      decided_by: null,
      decided_ms: 0,
      actor: null,
      note: null,
      until_ms: 0,
      max_stakes: null,
      settled_by: null,
    });
  }

  #count({ reviews }: ReviewCountedEvent): void {
    for (const { id, ...asked } of reviews) {
      const review = this.#reviews.get(id);
      if (review !== undefined) addReviewCalls(review, asked);
    }
  }

  #claim({ id, who, until_ms: untilMs }: ReviewClaimedEvent): void {
    const review = this.#reviews.get(id);
    if (review === undefined || review.decision !== null) return;
    review.claimed_by = who;
    review.claimed_until_ms = untilMs;
  }

  /** A decision settles what else waits about the same subject: an earlier day asked the same. */
  #decide(event: ReviewDecidedEvent): void {
    const review = this.#reviews.get(event.id);
    if (review === undefined) return;
    this.#settle(review, event, null);
    for (const id of this.#undecided.get(buildReviewSubject(review)) ?? []) {
      this.#settle(this.#reviews.get(id)!, event, event.id);
    }
  }

  #settle(review: StoredReview, event: ReviewDecidedEvent, settledBy: string | null): void {
    if (review.decision === null) this.#removeUndecided(review);
    review.decision = event.decision;
    review.decided_by = event.who;
    review.decided_ms = event.at_ms;
    review.actor = event.actor;
    review.note = event.note;
    review.until_ms = event.until_ms;
    review.max_stakes = event.max_stakes;
    review.settled_by = settledBy;
    review.claimed_by = null;
    review.claimed_until_ms = 0;
  }

  #add(review: StoredReview): void {
    this.#reviews.set(review.id, review);
    if (review.dispute !== undefined) this.#disputes.add(review);
    if (review.decision !== null) return;
    const subject = buildReviewSubject(review);
    const ids = this.#undecided.get(subject) ?? new Set();
    this.#undecided.set(subject, ids.add(review.id));
    this.#undecidedByTenant.set(
      review.tenant,
      (this.#undecidedByTenant.get(review.tenant) ?? 0) + 1,
    );
    this.#undecidedCount += 1;
  }

  #removeUndecided(review: StoredReview): void {
    const subject = buildReviewSubject(review);
    const ids = this.#undecided.get(subject);
    ids?.delete(review.id);
    if (ids?.size === 0) this.#undecided.delete(subject);
    const left = (this.#undecidedByTenant.get(review.tenant) ?? 1) - 1;
    if (left === 0) this.#undecidedByTenant.delete(review.tenant);
    else this.#undecidedByTenant.set(review.tenant, left);
    this.#undecidedCount -= 1;
  }

  #prune(nowMs: number): void {
    this.#prunedAtMs = nowMs;
    for (const review of this.#reviews.values()) {
      const { id, last_ms: lastMs, decided_ms: decidedMs, until_ms: untilMs } = review;
      if (Math.max(lastMs, decidedMs, untilMs) > nowMs - REVIEW_RETENTION_MS) continue;
      if (review.decision === null) this.#removeUndecided(review);
      this.#reviews.delete(id);
    }
  }
}

function isLaterRound(one: Pick<ReviewRuling, "day" | "round">, other: typeof one): boolean {
  return one.day === other.day ? one.round > other.round : one.day > other.day;
}

function pickDecisionFields({
  decision,
  until_ms,
  max_stakes,
}: Pick<ReviewRuling, "decision" | "until_ms" | "max_stakes">) {
  return { decision, until_ms, max_stakes };
}

/** Adds calls to those that a review stands for. */
export function addReviewCalls(
  review: Pick<
    StoredReview,
    "count" | "last_request_id" | "last_stakes" | "last_ms" | "stakes_max"
  >,
  asked: ReviewCountedEvent["reviews"][number] | Omit<ReviewCountedEvent["reviews"][number], "id">,
): void {
  review.count += asked.count;
  review.stakes_max = Math.max(review.stakes_max, asked.stakes_max);
  if (asked.last_ms < review.last_ms) return;
  review.last_request_id = asked.last_request_id;
  review.last_stakes = asked.last_stakes;
  review.last_ms = asked.last_ms;
}

/** State of a review at a time, epoch ms: a claim ends with its lease. */
export function computeReviewState(review: StoredReview, nowMs: number): ReviewState {
  if (review.decision !== null) return "decided";
  return review.claimed_by !== null && review.claimed_until_ms > nowMs ? "claimed" : "open";
}
