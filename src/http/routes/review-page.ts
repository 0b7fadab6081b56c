// Pages of the review queue: which reviews a query asks for, and where the next page begins.
import { ServiceFault } from "../../contract/faults.ts";
import { parseLimit } from "../../contract/parse/parameters.ts";
import { parseChoice } from "../../contract/parse/reviews.ts";
import { computeReviewState, type StoredReview } from "../../contract/reviews/book.ts";
import { isReviewId } from "../../contract/reviews/events.ts";
import { REVIEW_KINDS, REVIEW_LEVELS, REVIEW_STATES } from "../../contract/vocabulary.ts";

/** What `state` may be; `all` for the whole queue. */
export const REVIEW_LIST_STATES = [...REVIEW_STATES, "all"] as const;

/** Whether a query is for the queue, not for flagged decisions. */
export function isQueueQuery(query: URLSearchParams): boolean {
  return query.has("state") || query.has("level") || query.has("after") || query.has("kind");
}

/**
 * The reviews of one page, oldest first, and the cursor of the next one, null where there is none.
 * `tenant` undefined: of all tenants.
 * @throws ServiceFault `invalid_parameter`.
 */
export function selectReviewPage(
  reviews: Iterable<StoredReview>,
  query: URLSearchParams,
  tenant: string | undefined,
  nowMs: number,
): { reviews: StoredReview[]; next: string | null } {
  const state = parseChoice("state", query.get("state"), REVIEW_LIST_STATES) ?? "all";
  const level = parseChoice("level", query.get("level"), REVIEW_LEVELS);
  const kind = parseChoice("kind", query.get("kind"), REVIEW_KINDS);
  const agent = query.get("agent");
  const limit = parseLimit(query.get("limit"));
  const after = query.get("after");
  const from = after === null ? undefined : parseReviewCursor(after);
  const found: StoredReview[] = [];
  for (const review of reviews) {
    if (tenant !== undefined && review.tenant !== tenant) continue;
    if (agent !== null && review.agent !== agent) continue;
    if (level !== undefined && review.level !== level) continue;
    if (kind !== undefined && (review.dispute === undefined ? "held" : "dispute") !== kind)
      continue;
    if (state !== "all" && computeReviewState(review, nowMs) !== state) continue;
    if (from === undefined || compareQueueOrder(review, from) > 0) found.push(review);
  }
  found.sort(compareQueueOrder);
  const page = found.slice(0, limit);
  const last = found.length > limit ? page.at(-1) : undefined;
  return { reviews: page, next: last === undefined ? null : `${last.first_ms}-${last.id}` };
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
