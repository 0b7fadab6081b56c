// A review as the wire shows it: times as text, and what holds at this moment.
import type { QueuedReview } from "../schemas/reviews.ts";
import { computeReviewState, type StoredReview } from "./book.ts";

/** The review at a time, epoch ms; `waiting`: callers that wait for its decision. */
export function describeReview(review: StoredReview, nowMs: number, waiting = 0): QueuedReview {
  const { id, tenant, agent, level, day, reason, count, decision, note } = review;
  const { first_request_id, last_request_id, first_stakes, last_stakes, stakes_max } = review;
  const { decided_by, max_stakes, settled_by, until_ms: untilMs, dispute } = review;
  const state = computeReviewState(review, nowMs);
  const isClaimed = state === "claimed";
  const isDecided = decision !== null;
  return {
    id,
    kind: dispute === undefined ? "held" : "dispute",
    state,
    tenant,
    agent,
    level,
    day,
    reason,
    count,
    opened_at: formatReviewTime(review.first_ms),
    last_at: formatReviewTime(review.last_ms),
    first_request_id,
    last_request_id,
    first_stakes,
    last_stakes,
    stakes_max,
    claimed_by: isClaimed ? review.claimed_by : null,
    claimed_until: isClaimed ? formatReviewTime(review.claimed_until_ms) : null,
    decision,
    note,
    decided_by,
    decided_at: isDecided ? formatReviewTime(review.decided_ms) : null,
    until: isDecided ? formatReviewTime(untilMs) : null,
    in_force: isDecided && untilMs > nowMs,
    max_stakes,
    settled_by,
    waiting,
    dispute: dispute === undefined ? null : { ...dispute },
  };
}

function formatReviewTime(atMs: number): string {
  return new Date(atMs).toISOString();
}
