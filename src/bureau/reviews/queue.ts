// Queue of reviews, on the main thread: opens what the deciding threads ask for, and takes what people
// claim and decide. An event is durable before the book, the threads and whoever waits learn of it.
import type { Principal } from "../../contract/principal.ts";
import { invalidRequest, ServiceFault } from "../../contract/faults.ts";
import {
  addCalls,
  ReviewBook,
  computeReviewState,
  type StoredReview,
} from "../../contract/reviews/book.ts";
import {
  REVIEW_HOLDS_MS_MAX,
  REVIEW_LEASE_SEC_DEFAULT,
  REVIEW_UPHELD_MS_DEFAULT,
  type ReviewAsked,
  type ReviewCounted,
  type ReviewDecided,
  type ReviewEvent,
  type ReviewNews,
  buildReviewSubject,
} from "../../contract/reviews/events.ts";
import type { Dispute } from "../../contract/reviews/disputes.ts";
import type { ReviewClaimRequest, ReviewDecisionRequest } from "../../contract/schemas/reviews.ts";
import type { ReviewLog } from "../../ledger/ledger.ts";
import { type DisputeAbout, disputeEvent } from "./disputing.ts";
import { Waiting } from "./waiting.ts";
import { SerialQueue } from "../../concurrency/serial-queue.ts";

/** Reviews that are being opened; beyond it an opening is tried again with the next call. */
const OPENING_MAX = 1000;
/** Reviews in one record of counts. */
const COUNTED_MAX = 1000;

export interface ReviewQueueOptions {
  readonly log: ReviewLog;
  /** Reviews of the journal so far. */
  readonly book: ReviewBook;
  /** Called with news for the deciding threads, before it is answered. */
  readonly onNews: (news: ReviewNews) => void;
  /** Epoch ms. */
  readonly clock: () => number;
}

type Calls = { -readonly [Member in keyof Told]: Told[Member] };
type Told = ReviewCounted["reviews"][number];

export class ReviewQueue {
  readonly waiting: Waiting;
  readonly #options: ReviewQueueOptions;
  readonly #opening = new Map<string, Promise<void>>();
  /** Calls that are not journaled yet, by review. */
  readonly #counts = new Map<string, Calls>();
  readonly #full = new Set<string>();
  /** Changes by people run one after another. */
  readonly #changes = new SerialQueue();
  /** Openings that had no room, and those that could not be journaled. */
  refusedCount = 0;

  constructor(options: ReviewQueueOptions) {
    this.#options = options;
    this.waiting = new Waiting(options.clock);
  }

  /** What another node has recorded of a review. */
  learn(event: ReviewEvent): void {
    this.book.apply(event);
    if (event.event === "review.decided") this.#tellDecided(event);
    if (event.event === "review.opened") this.waiting.settle(event.id);
  }

  get book(): ReviewBook {
    return this.#options.book;
  }

  /** Takes the calls that a deciding thread tells of. */
  take(asked: readonly ReviewAsked[]): void {
    const { book } = this.#options;
    for (const each of asked) {
      if (book.find(each.id) !== undefined || this.#opening.has(each.id)) this.#count(each);
      else if (this.#mayOpen(each)) this.#opening.set(each.id, this.#open(each));
    }
  }

  /**
   * The review, with the calls that are not journaled yet; one that is being opened is waited for.
   * @throws ServiceFault `not_found`, also for another tenant's.
   */
  async find(id: string, tenant: string | undefined): Promise<StoredReview> {
    await this.#opening.get(id);
    const review = this.#options.book.find(id);
    if (review === undefined || (tenant !== undefined && review.tenant !== tenant)) {
      throw new ServiceFault("not_found", "no review has this id");
    }
    return this.#shown(review);
  }

  /** Whether the review is there, or being opened. */
  isKnown(id: string): boolean {
    return this.#opening.has(id) || this.#options.book.find(id) !== undefined;
  }

  /** All reviews, in order of opening. */
  *all(): Generator<StoredReview> {
    for (const review of this.#options.book.all()) yield this.#shown(review);
  }

  /**
   * Opens a review that somebody asks for; resolves once it is durable.
   * @throws ServiceFault `disputes_limited` beyond the bounds of the day, `overloaded` when the
   *   tenant's queue is full.
   */
  dispute(about: DisputeAbout, dispute: Dispute): Promise<StoredReview> {
    const { log, book, clock } = this.#options;
    return this.#changes.run(async () => {
      const event = disputeEvent(book, about, dispute, clock());
      await log.appendReviewCalls(encodeReviewEvent(event));
      book.apply(event);
      return this.#shown(book.find(event.id)!);
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
      if (review.decision !== null) throw decidedAlready();
      refuseForeignClaim(review, name, nowMs);
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
      if (review.decision !== null && request.again !== true) throw decidedAlready();
      refuseForeignClaim(review, who, nowMs);
      const { decision, note = null, until, max_stakes = null } = request;
      const until_ms = computeReviewExpiryMs(until, nowMs);
      const by = { ...selectReviewKey(review), who, ...describeActor(principal), until_ms };
      return { event: "review.decided", at_ms: nowMs, ...by, decision, note, max_stakes };
    });
  }

  /** Journals the calls counted since the last time. Call it every few seconds, and at the end. */
  async flush(): Promise<void> {
    await Promise.all(this.#opening.values());
    const { log, book, clock } = this.#options;
    const reviews = [...this.#counts.values()].slice(0, COUNTED_MAX);
    if (reviews.length === 0) return;
    for (const { id } of reviews) this.#counts.delete(id);
    const event: ReviewCounted = { event: "review.counted", at_ms: clock(), reviews };
    try {
      await log.appendReviewCalls(encodeReviewEvent(event));
      book.apply(event);
    } catch {
      // Told again with the next flush; the journal says by itself what is wrong with it.
      for (const each of reviews) this.#count(each);
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
      if (event.event === "review.decided") this.#tellDecided(event);
      return this.find(id, tenant);
    });
  }

  #tellDecided(event: ReviewDecided): void {
    const { book, onNews } = this.#options;
    for (const ruling of book.rulings(buildReviewSubject(event))) onNews({ ruling });
    for (const { id, settled_by: settledBy } of book.all()) {
      if (id === event.id || settledBy === event.id) this.waiting.settle(id);
    }
    this.#tellRoom();
  }

  /** Tenants that were full and have room again. */
  #tellRoom(): void {
    for (const tenant of this.#full) {
      if (!this.#options.book.mayOpen(tenant)) continue;
      this.#full.delete(tenant);
      this.#options.onNews({ tenant, isFull: false });
    }
  }

  #mayOpen({ tenant }: ReviewAsked): boolean {
    this.#tellRoom();
    const hasRoom = this.#options.book.mayOpen(tenant);
    if (hasRoom && this.#opening.size < OPENING_MAX) return true;
    this.refusedCount += 1;
    if (!hasRoom && !this.#full.has(tenant)) {
      this.#full.add(tenant);
      this.#options.onNews({ tenant, isFull: true });
    }
    return false;
  }

  /** Never rejects: what could not be journaled is opened by the next call that is told of. */
  async #open(asked: ReviewAsked): Promise<void> {
    const { log, book, clock } = this.#options;
    try {
      const event: ReviewEvent = { ...asked, event: "review.opened", at_ms: clock() };
      await log.appendReviewCalls(encodeReviewEvent(event));
      book.apply(event);
      // Readers that came before it did.
      this.waiting.settle(asked.id);
    } catch {
      this.refusedCount += 1;
      this.#counts.delete(asked.id);
    } finally {
      this.#opening.delete(asked.id);
    }
  }

  #count(asked: Told): void {
    const known = this.#counts.get(asked.id);
    const { id, count, last_request_id, last_stakes, last_ms, stakes_max } = asked;
    if (known !== undefined) addCalls(known, asked);
    else this.#counts.set(id, { id, count, last_request_id, last_stakes, last_ms, stakes_max });
  }

  #shown(review: StoredReview): StoredReview {
    const shown = { ...review };
    const counted = this.#counts.get(review.id);
    if (counted !== undefined) addCalls(shown, counted);
    return shown;
  }
}

function selectReviewKey({ id, tenant, agent, level, day, round }: StoredReview) {
  return { id, tenant, agent, level, day, round };
}

function decidedAlready(): ServiceFault {
  const detail = "the review is decided: `again` decides it anew";
  return new ServiceFault("review_decided", detail);
}

function refuseForeignClaim(review: StoredReview, who: string, nowMs: number): void {
  if (computeReviewState(review, nowMs) !== "claimed" || review.claimed_by === who) return;
  const until = new Date(review.claimed_until_ms).toISOString();
  const detail = `\`${review.claimed_by}\` has claimed the review until ${until}`;
  throw new ServiceFault("review_claimed", detail);
}

/** When a decision expires; one that is upheld and names no time holds for a day. */
function computeReviewExpiryMs(until: number | undefined, nowMs: number): number {
  if (until === undefined) return nowMs + REVIEW_UPHELD_MS_DEFAULT;
  const days = REVIEW_HOLDS_MS_MAX / 86_400_000;
  const isPast = until <= nowMs;
  if (!isPast && until <= nowMs + REVIEW_HOLDS_MS_MAX) return until;
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
