// A review as the wire shows it: times as text, and what holds at this moment.
import type { QueuedReview } from "../schemas/reviews.ts";
import { stateOf, type StoredReview } from "./book.ts";

/** The review at a time, epoch ms; `waiting`: callers that wait for its decision. */
export function describeReview(review: StoredReview, nowMs: number, waiting = 0): QueuedReview {
  const { id, tenant, agent, level, day, reason, count, decision, note } = review;
  const { first_request_id, last_request_id, first_stakes, last_stakes, stakes_max } = review;
  const { decided_by, max_stakes, settled_by, until_ms: untilMs, dispute } = review;
  const state = stateOf(review, nowMs);
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
    opened_at: timeOf(review.first_ms),
    last_at: timeOf(review.last_ms),
    first_request_id,
    last_request_id,
    first_stakes,
    last_stakes,
    stakes_max,
    claimed_by: isClaimed ? review.claimed_by : null,
    claimed_until: isClaimed ? timeOf(review.claimed_until_ms) : null,
    decision,
    note,
    decided_by,
    decided_at: isDecided ? timeOf(review.decided_ms) : null,
    until: isDecided ? timeOf(untilMs) : null,
    in_force: isDecided && untilMs > nowMs,
    max_stakes,
    settled_by,
    waiting,
    dispute: dispute === undefined ? null : { ...dispute },
  };
}

function timeOf(atMs: number): string {
  return new Date(atMs).toISOString();
}
