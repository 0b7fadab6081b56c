// Routes of human review (SPEC §8.2). The queue: agents that are held back until a person has looked,
// one review for each agent, level and day, whose decision changes what the policy does. And what
// people make of single decisions, for the record alone.
import { ServiceFault } from "../../contract/faults.ts";
import { BODY_BYTES_MAX } from "../../contract/limits.ts";
import { parseReviewResolution } from "../../contract/parse/requests.ts";
import {
  parseReviewClaim,
  parseReviewDecision,
  parseWaitSec,
} from "../../contract/parse/reviews.ts";
import {
  REVIEW_LIST_STATES,
  type StoredReview,
  computeReviewState,
} from "../../contract/reviews/book.ts";
import { describeReview } from "../../contract/reviews/description.ts";
import { isReviewId } from "../../contract/reviews/events.ts";
import { REVIEW_KINDS, REVIEW_LEVELS } from "../../contract/vocabulary.ts";
import { confirmMissing } from "../access/missing-ids.ts";
import type { Exchange } from "../exchange.ts";
import type { Route } from "../route.ts";
import type { Reply } from "../server/port.ts";
import {
  readListFilter,
  findDecisionLegs,
  LIST_QUERY,
  DECISION_TENANT_QUERY,
  selectVisibleTenant,
} from "./decisions.ts";
import { parseLimit, readChoice } from "../../contract/parse/parameters.ts";

// Pages of the review queue: filter and cursor.

/** Whether a query is for the queue, not for flagged decisions. */
export function isQueueQuery(query: URLSearchParams): boolean {
  return query.has("state") || query.has("level") || query.has("after") || query.has("kind");
}

/**
 * The reviews of one page, oldest first, the cursor of the next one, null where there is none, and how many there
 * are on all pages.
 * `tenant` undefined: of all tenants.
 * @throws ServiceFault `invalid_parameter`.
 */
export function selectReviewPage(
  reviews: Iterable<StoredReview>,
  query: URLSearchParams,
  tenant: string | undefined,
  nowMs: number,
): { reviews: StoredReview[]; next: string | null; total: number } {
  const state = readChoice(query, "state", REVIEW_LIST_STATES) ?? "all";
  const level = readChoice(query, "level", REVIEW_LEVELS);
  const kind = readChoice(query, "kind", REVIEW_KINDS);
  const agent = query.get("agent");
  const limit = parseLimit(query.get("limit"));
  const after = query.get("after");
  const from = after === null ? undefined : parseReviewCursor(after);
  const found: StoredReview[] = [];
  let total = 0;
  for (const review of reviews) {
    if (tenant !== undefined && review.tenant !== tenant) continue;
    if (agent !== null && review.agent !== agent) continue;
    if (level !== undefined && review.level !== level) continue;
    if (kind !== undefined && (review.dispute === undefined ? "held" : "dispute") !== kind)
      continue;
    if (state !== "all" && computeReviewState(review, nowMs) !== state) continue;
    total += 1;
    if (from === undefined || compareQueueOrder(review, from) > 0) found.push(review);
  }
  found.sort(compareQueueOrder);
  const page = found.slice(0, limit);
  const last = found.length > limit ? page.at(-1) : undefined;
  return { reviews: page, next: last === undefined ? null : `${last.first_ms}-${last.id}`, total };
}

type ReviewCursor = Pick<StoredReview, "first_ms" | "id">;

function compareQueueOrder(left: ReviewCursor, right: ReviewCursor): number {
  if (left.first_ms !== right.first_ms) return left.first_ms - right.first_ms;
  return left.id < right.id ? -1 : Number(left.id > right.id);
}

function parseReviewCursor(cursor: string): ReviewCursor {
  const [, first = "", id = ""] = /^(\d{1,15})-(.+)$/.exec(cursor) ?? [];
  if (isReviewId(id)) return { first_ms: Number(first), id };
  throw new ServiceFault("invalid_parameter", "`after` must be the `next` of a page");
}

const READ_DEADLINE_MS = 10_000;
/** Longest wait until a review that is durable is among the rows, too. */
const SHOWN_MS_MAX = 2000;
/** A wait of a minute, and the answer. */
const WAIT_DEADLINE_MS = 65_000;
/** Left of the caller's own deadline for the answer. */
const REPLY_RESERVE_MS = 200;
/** Another thread's opening may be a moment behind the reply that named it. */
const OPENED_MS_MAX = 1000;

const REVIEW_ID = "Id of the review, or of a decision where one is settled by it";

const SHARED = { parameter: REVIEW_ID } as const;

export const REVIEW_ROUTES: readonly Route[] = [
  {
    name: "list_reviews",
    method: "GET",
    path: "/v1/reviews",
    summary:
      "With `state`: the queue of agents that wait for a person, oldest first. Without: decisions " +
      "flagged for a person, newest first",
    access: "score:read",
    query: {
      ...LIST_QUERY,
      open: { description: "Decisions that nobody has resolved", values: ["1"] },
      state: { description: "The queue: reviews in this state", values: REVIEW_LIST_STATES },
      level: { description: "The queue: reviews of this level", values: REVIEW_LEVELS },
      kind: { description: "The queue: held back calls, or disputes", values: REVIEW_KINDS },
      after: "The queue: goes on after this, the `next` of the page before",
    },
    responses: { 200: { description: "The reviews", schema: "ReviewList" } },
    deadlineMs: READ_DEADLINE_MS,
    handle: listReviews,
  },
  {
    ...SHARED,
    name: "claim_review",
    method: "POST",
    path: "/v1/reviews/{id}/claim",
    summary: "Keeps others from deciding a review for a while",
    access: "reviews:decide",
    body: { kind: "document", bytesMax: BODY_BYTES_MAX, schema: "ReviewClaim" },
    responses: { 200: { description: "The review as it is now", schema: "QueuedReview" } },
    ...confirmMissing(handleReviewClaim),
  },
  {
    ...SHARED,
    name: "decide_review",
    method: "POST",
    path: "/v1/reviews/{id}/decision",
    summary: "Decides a review: what the policy does with the agent at the level until the expiry",
    access: "reviews:decide",
    body: { kind: "document", bytesMax: BODY_BYTES_MAX, schema: "ReviewDecision" },
    responses: { 200: { description: "The review as it is now", schema: "QueuedReview" } },
    ...confirmMissing(handleReviewDecision),
  },
  {
    ...SHARED,
    name: "read_review",
    method: "GET",
    path: "/v1/reviews/{id}",
    summary: "One review of the queue; with `wait` answered once it is decided",
    access: "score:read",
    query: { wait: { description: "Seconds to wait for the decision, 0 to 60", example: "30" } },
    responses: { 200: { description: "The review as it is now", schema: "QueuedReview" } },
    isLongPoll: true,
    deadlineMs: WAIT_DEADLINE_MS,
    handle: readReview,
  },
  {
    ...SHARED,
    name: "resolve_review",
    method: "POST",
    path: "/v1/reviews/{id}",
    summary: "Records what a person made of a flagged decision; changes nothing else",
    access: "admin",
    query: DECISION_TENANT_QUERY,
    body: { kind: "document", bytesMax: BODY_BYTES_MAX, schema: "ReviewResolution" },
    responses: { 200: { description: "As it is recorded", schema: "Review" } },
    deadlineMs: READ_DEADLINE_MS,
    handle: resolveReview,
  },
];

async function listReviews(exchange: Exchange): Promise<Reply> {
  const query = exchange.query;
  if (isQueueQuery(query)) {
    const nowMs = exchange.services.clock();
    const { waiters } = exchange.require("reviews");
    const { reviews, ...page } = selectReviewPage(
      exchange.require("reviews").listReviews(),
      query,
      selectVisibleTenant(exchange),
      nowMs,
    );
    return exchange.document(200, {
      reviews: reviews.map((each) => describeReview(each, nowMs, waiters.countForReview(each.id))),
      ...page,
    });
  }
  const filter = readListFilter(exchange);
  const reviews = await exchange.services.store.listReviews(filter, query.get("open") === "1");
  return exchange.document(200, { reviews });
}

async function readReview(exchange: Exchange): Promise<Reply> {
  const queue = exchange.require("reviews");
  const id = exchange.decodedParameter();
  const tenant = selectVisibleTenant(exchange);
  const waitMs = 1000 * parseWaitSec(exchange.query.get("wait"));
  const leftMs = Math.min(waitMs, exchange.deadlineMs - REPLY_RESERVE_MS);
  if (leftMs > 0 && isReviewId(id) && !queue.isKnown(id)) {
    await queue.waiters.waitForReview(id, Math.min(leftMs, OPENED_MS_MAX));
  }
  const review = await queue.find(id, tenant);
  if (review.decision !== null || leftMs <= 0) return buildReviewReply(exchange, review);
  await queue.waiters.waitForReview(id, leftMs);
  return buildReviewReply(exchange, await queue.find(id, tenant));
}

async function handleReviewClaim(exchange: Exchange): Promise<Reply> {
  const request = parseReviewClaim(exchange.readDocument());
  const id = exchange.decodedParameter();
  const { principal } = exchange;
  return buildReviewReply(
    exchange,
    await exchange.require("reviews").claim(id, selectVisibleTenant(exchange), request, principal),
  );
}

async function handleReviewDecision(exchange: Exchange): Promise<Reply> {
  const request = parseReviewDecision(exchange.readDocument());
  const id = exchange.decodedParameter();
  const { principal } = exchange;
  return buildReviewReply(
    exchange,
    await exchange.require("reviews").decide(id, selectVisibleTenant(exchange), request, principal),
  );
}

function buildReviewReply(exchange: Exchange, review: StoredReview): Reply {
  const waiting = exchange.require("reviews").waiters.countForReview(review.id);
  return exchange.document(200, describeReview(review, exchange.services.clock(), waiting));
}

async function resolveReview(exchange: Exchange): Promise<Reply> {
  const { resolution, note = null } = parseReviewResolution(exchange.readDocument());
  if (isReviewId(exchange.decodedParameter())) {
    const detail = "this is a review of the queue: decide it at its `/decision`";
    throw new ServiceFault("not_found", detail);
  }
  const [leg] = await findDecisionLegs(exchange);
  if (leg?.flagged !== true) {
    throw new ServiceFault("not_found", "no flagged decision has this request id");
  }
  const { notes, store, clock } = exchange.services;
  const recordedAtMs = clock();
  const { request_id, tenant } = leg;
  const key_id = exchange.principal.keyId;
  const event = { recorded_at: recordedAtMs, tenant, request_id, resolution, note, key_id };
  const position = await notes.recordNote("reviews", event);
  // Who looks again at once should see it; it is durable in any case.
  await store.waitUntilApplied(position, SHOWN_MS_MAX).catch(() => undefined);
  const recorded_at = new Date(recordedAtMs).toISOString();
  return exchange.document(200, { request_id, resolution, note, reviewer: key_id, recorded_at });
}
