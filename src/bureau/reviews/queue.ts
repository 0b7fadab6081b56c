// Queue of reviews, on the main thread: opens what the deciding threads ask for, and takes what people
// claim and decide. An event is durable before the book, the threads and whoever waits learn of it.
import type { Principal } from "../../contract/principal.ts";
import { invalidRequest, ServiceFault } from "../../contract/faults.ts";
import {
  addReviewCalls,
  ReviewBook,
  computeReviewState,
  type StoredReview,
} from "../../contract/reviews/book.ts";
import {
  REVIEW_DECISION_MS_MAX,
  REVIEW_LEASE_SEC_DEFAULT,
  REVIEW_UPHELD_MS_DEFAULT,
  type ReviewCalls,
  type ReviewCountedEvent,
  type ReviewDecidedEvent,
  type ReviewEvent,
  type ReviewUpdate,
  buildReviewSubject,
} from "../../contract/reviews/events.ts";
import type { Dispute } from "../../contract/reviews/disputes.ts";
import type { ReviewClaimRequest, ReviewDecisionRequest } from "../../contract/schemas/reviews.ts";
import type { ReviewLog } from "../../ledger/ledger.ts";
import { type DisputedDecision, buildDisputeEvent } from "./disputing.ts";
import { ReviewWaiters } from "./review-waiters.ts";
import { SerialQueue } from "../../concurrency/serial-queue.ts";

/** Reviews that are being opened; beyond it an opening is tried again with the next call. */
const REVIEWS_OPENING_MAX = 1000;
/** Reviews in one record of counts. */
const REVIEWS_PER_RECORD_MAX = 1000;

export interface ReviewQueueOptions {
  readonly log: ReviewLog;
  /** Reviews of the journal so far. */
  readonly book: ReviewBook;
  /** Called with news for the deciding threads, before it is answered. */
  readonly onUpdate: (news: ReviewUpdate) => void;
  /** Epoch ms. */
  readonly clock: () => number;
}

type MutableReviewCalls = {
  -readonly [Member in keyof JournaledReviewCalls]: JournaledReviewCalls[Member];
};
type JournaledReviewCalls = ReviewCountedEvent["reviews"][number];

export class ReviewQueue {
  readonly waiters: ReviewWaiters;
  readonly #options: ReviewQueueOptions;
  readonly #pendingOpenings = new Map<string, Promise<void>>();
  /** Calls that are not journaled yet, by review. */
  readonly #unjournaledCalls = new Map<string, MutableReviewCalls>();
  readonly #fullTenants = new Set<string>();
  /** Changes by people run one after another. */
  readonly #changes = new SerialQueue();
  /** Openings that had no room, and those that could not be journaled. */
  refusedCount = 0;

  constructor(options: ReviewQueueOptions) {
    this.#options = options;
    this.waiters = new ReviewWaiters(options.clock);
  }

  /** What another node has recorded of a review. */
  applyRemoteEvent(event: ReviewEvent): void {
    this.book.apply(event);
    if (event.event === "review.decided") this.#publishDecision(event);
    if (event.event === "review.opened") this.waiters.endForReview(event.id);
  }

  get book(): ReviewBook {
    return this.#options.book;
  }

  /** Takes the calls that a deciding thread tells of. */
  addCalls(asked: readonly ReviewCalls[]): void {
    const { book } = this.#options;
    for (const each of asked) {
      if (book.find(each.id) !== undefined || this.#pendingOpenings.has(each.id))
        this.#countCalls(each);
      else if (this.#checkOpeningCapacity(each))
        this.#pendingOpenings.set(each.id, this.#openReview(each));
    }
  }

  /**
   * The review, with the calls that are not journaled yet; one that is being opened is waited for.
   * @throws ServiceFault `not_found`, also for another tenant's.
   */
  async find(id: string, tenant: string | undefined): Promise<StoredReview> {
    await this.#pendingOpenings.get(id);
    const review = this.#options.book.find(id);
    if (review === undefined || (tenant !== undefined && review.tenant !== tenant)) {
      throw new ServiceFault("not_found", "no review has this id");
    }
    return this.#addUnjournaledCalls(review);
  }

  /** Whether the review is there, or being opened. */
  isKnown(id: string): boolean {
    return this.#pendingOpenings.has(id) || this.#options.book.find(id) !== undefined;
  }

  /** All reviews, in order of opening. */
  *listReviews(): Generator<StoredReview> {
    for (const review of this.#options.book.listReviews()) yield this.#addUnjournaledCalls(review);
  }

  /**
   * Opens a review that somebody asks for; resolves once it is durable.
   * @throws ServiceFault `disputes_limited` beyond the bounds of the day, `overloaded` when the
   *   tenant's queue is full.
   */
  openDispute(about: DisputedDecision, dispute: Dispute): Promise<StoredReview> {
    const { log, book, clock } = this.#options;
    return this.#changes.run(async () => {
      const event = buildDisputeEvent(book, about, dispute, clock());
      await log.appendReviewCalls(encodeReviewEvent(event));
      book.apply(event);
      return this.#addUnjournaledCalls(book.find(event.id)!);
    });
  }

  /**
   * Keeps others from deciding while a person looks.
   * @throws ServiceFault `not_found`; `review_claimed` while another's lease runs; `review_decided`.
   */
  claim(
    id: string,
    tenant: string | undefined,
    { who, lease_sec: leaseSec = REVIEW_LEASE_SEC_DEFAULT }: ReviewClaimRequest,
    principal: Principal,
  ): Promise<StoredReview> {
    return this.#change(id, tenant, (review, nowMs) => {
      const name = who ?? principal.keyId;
      if (review.decision !== null) throw createReviewDecidedFault();
      assertClaimable(review, name, nowMs);
      const until_ms = nowMs + leaseSec * 1000;
      const by = { ...selectReviewKey(review), who: name, ...describeActor(principal), until_ms };
      return { event: "review.claimed", at_ms: nowMs, ...by };
    });
  }

  /**
   * Decides. In force on every thread, and told to whoever waits, before it resolves.
   * @throws ServiceFault `invalid_request` for an expiry that has passed or is too far; as `claim`.
   */
  decide(
    id: string,
    tenant: string | undefined,
    request: ReviewDecisionRequest,
    principal: Principal,
  ): Promise<StoredReview> {
    return this.#change(id, tenant, (review, nowMs) => {
      const who = request.who ?? principal.keyId;
      if (review.decision !== null && request.again !== true) throw createReviewDecidedFault();
      assertClaimable(review, who, nowMs);
      const { decision, note = null, until, max_stakes: stakes = "any" } = request;
      const max_stakes = stakes === "any" ? null : stakes;
      const until_ms = computeReviewExpiryMs(until, nowMs);
      const by = { ...selectReviewKey(review), who, ...describeActor(principal), until_ms };
      return { event: "review.decided", at_ms: nowMs, ...by, decision, note, max_stakes };
    });
  }

  /**
   * Ends the undecided reviews that `isHeld` names: upheld, and expired at once, so that nothing outlasts what has
   * made them moot.
   */
  endReviews(
    isHeld: (review: StoredReview) => boolean,
    note: string,
    principal: Principal,
  ): Promise<void> {
    const { log, book, clock } = this.#options;
    return this.#changes.run(async () => {
      const nowMs = clock();
      const by = { who: principal.keyId, ...describeActor(principal), until_ms: nowMs };
      const events = [...book.listReviews()]
        .filter((review) => review.decision === null && isHeld(review))
        .map((review): ReviewDecidedEvent => {
          const decided = { decision: "upheld", note, max_stakes: null } as const;
          const key = selectReviewKey(review);
          return { event: "review.decided", at_ms: nowMs, ...key, ...by, ...decided };
        });
      await Promise.all(events.map((event) => log.appendReviewEvent(encodeReviewEvent(event))));
      for (const event of events) {
        book.apply(event);
        this.#publishDecision(event);
      }
    });
  }

  /** Journals the calls counted since the last time. Call it every few seconds, and at the end. */
  async flush(): Promise<void> {
    await Promise.all(this.#pendingOpenings.values());
    const { log, book, clock } = this.#options;
    const reviews = [...this.#unjournaledCalls.values()].slice(0, REVIEWS_PER_RECORD_MAX);
    if (reviews.length === 0) return;
    for (const { id } of reviews) this.#unjournaledCalls.delete(id);
    const event: ReviewCountedEvent = { event: "review.counted", at_ms: clock(), reviews };
    try {
      await log.appendReviewCalls(encodeReviewEvent(event));
      book.apply(event);
    } catch {
      // Told again with the next flush; the journal says by itself what is wrong with it.
      for (const each of reviews) this.#countCalls(each);
    }
  }

  async #change(
    id: string,
    tenant: string | undefined,
    make: (review: StoredReview, nowMs: number) => ReviewEvent,
  ): Promise<StoredReview> {
    const { log, book, clock } = this.#options;
    return this.#changes.run(async () => {
      const event = make(await this.find(id, tenant), clock());
      await log.appendReviewEvent(encodeReviewEvent(event));
      book.apply(event);
      if (event.event === "review.decided") this.#publishDecision(event);
      return this.find(id, tenant);
    });
  }

  #publishDecision(event: ReviewDecidedEvent): void {
    const { book, onUpdate } = this.#options;
    for (const ruling of book.listRulings(buildReviewSubject(event))) onUpdate({ ruling });
    for (const { id, settled_by: settledBy } of book.listReviews()) {
      if (id === event.id || settledBy === event.id) this.waiters.endForReview(id);
    }
    this.#publishFreedTenants();
  }

  /** Tenants that were full and have room again. */
  #publishFreedTenants(): void {
    for (const tenant of this.#fullTenants) {
      if (!this.#options.book.hasCapacityFor(tenant)) continue;
      this.#fullTenants.delete(tenant);
      this.#options.onUpdate({ tenant, isFull: false });
    }
  }

  #checkOpeningCapacity({ tenant }: ReviewCalls): boolean {
    this.#publishFreedTenants();
    const hasRoom = this.#options.book.hasCapacityFor(tenant);
    if (hasRoom && this.#pendingOpenings.size < REVIEWS_OPENING_MAX) return true;
    this.refusedCount += 1;
    if (!hasRoom && !this.#fullTenants.has(tenant)) {
      this.#fullTenants.add(tenant);
      this.#options.onUpdate({ tenant, isFull: true });
    }
    return false;
  }

  /** Never rejects: what could not be journaled is opened by the next call that is told of. */
  async #openReview(asked: ReviewCalls): Promise<void> {
    const { log, book, clock } = this.#options;
    try {
      const event: ReviewEvent = { ...asked, event: "review.opened", at_ms: clock() };
      await log.appendReviewCalls(encodeReviewEvent(event));
      book.apply(event);
      // Readers that came before it did.
      this.waiters.endForReview(asked.id);
    } catch {
      this.refusedCount += 1;
      this.#unjournaledCalls.delete(asked.id);
    } finally {
      this.#pendingOpenings.delete(asked.id);
    }
  }

  #countCalls(asked: JournaledReviewCalls): void {
    const known = this.#unjournaledCalls.get(asked.id);
    const { id, count, last_request_id, last_stakes, last_ms, stakes_max } = asked;
    if (known !== undefined) addReviewCalls(known, asked);
    else
      this.#unjournaledCalls.set(id, {
        id,
        count,
        last_request_id,
        last_stakes,
        last_ms,
        stakes_max,
      });
  }

  #addUnjournaledCalls(review: StoredReview): StoredReview {
    const shown = { ...review };
    const counted = this.#unjournaledCalls.get(review.id);
    if (counted !== undefined) addReviewCalls(shown, counted);
    return shown;
  }
}

function selectReviewKey({ id, tenant, agent, level, day, round }: StoredReview) {
  return { id, tenant, agent, level, day, round };
}

function createReviewDecidedFault(): ServiceFault {
  const detail = "the review is decided: `again` decides it anew";
  return new ServiceFault("review_decided", detail);
}

function assertClaimable(review: StoredReview, who: string, nowMs: number): void {
  if (computeReviewState(review, nowMs) !== "claimed" || review.claimed_by === who) return;
  const until = new Date(review.claimed_until_ms).toISOString();
  const detail = `\`${review.claimed_by}\` has claimed the review until ${until}`;
  throw new ServiceFault("review_claimed", detail);
}

/** When a decision expires; one that is upheld and names no time holds for a day. */
function computeReviewExpiryMs(until: number | undefined, nowMs: number): number {
  if (until === undefined) return nowMs + REVIEW_UPHELD_MS_DEFAULT;
  const days = REVIEW_DECISION_MS_MAX / 86_400_000;
  const isPast = until <= nowMs;
  if (!isPast && until <= nowMs + REVIEW_DECISION_MS_MAX) return until;
  const detail = isPast ? "has passed" : `must be at most ${days} days away`;
  throw invalidRequest([{ pointer: "/until", code: "range", detail }]);
}

function encodeReviewEvent(event: ReviewEvent): Buffer {
  return Buffer.from(JSON.stringify(event));
}

/** The key, and the way it asks where that is another than the API. */
function describeActor({ keyId: actor, via }: Principal): { actor: string; via?: string } {
  return via === undefined ? { actor } : { actor, via };
}
