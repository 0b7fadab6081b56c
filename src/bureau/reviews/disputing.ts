// Opening of a dispute: what it is about, and the bounds of a day. Whoever was refused may be many, and
// may be angry: neither may fill the queue of the tenant's people.
import { DAY_MS } from "../../contract/units.ts";
import { ServiceFault } from "../../contract/faults.ts";
import type { ReviewBook } from "../../contract/reviews/book.ts";
import {
  type Dispute,
  deriveDisputeId,
  DISPUTES_PER_AGENT_MAX,
  DISPUTES_PER_TENANT_MAX,
} from "../../contract/reviews/disputes.ts";
import { formatReviewDay, type ReviewOpenedEvent } from "../../contract/reviews/events.ts";
import type { ReviewLevel } from "../../contract/vocabulary.ts";

/** What is asked for, and the decision that it is about where there is one. */
export interface DisputedDecision {
  readonly tenant: string;
  readonly agent: string;
  readonly level: ReviewLevel;
  /** Id of the decision, else of the request that disputes. */
  readonly requestId: string;
  readonly stakes: number;
  /** The rule of the decision; empty where there is none. */
  readonly reason: string;
}

/** The event that opens it. @throws ServiceFault */
export function buildDisputeEvent(
  book: ReviewBook,
  { tenant, agent, level, requestId, stakes, reason }: DisputedDecision,
  dispute: Dispute,
  nowMs: number,
): ReviewOpenedEvent {
  const day = formatReviewDay(nowMs);
  const { ofTenant, ofAgent } = book.countDisputes(day, tenant, agent);
  const untilMidnightSec = Math.ceil((DAY_MS - (nowMs % DAY_MS)) / 1000);
  const limited = (detail: string) =>
    new ServiceFault("disputes_limited", detail, [], untilMidnightSec);
  if (ofAgent >= DISPUTES_PER_AGENT_MAX) {
    throw limited(`at most ${DISPUTES_PER_AGENT_MAX} disputes about an agent are taken on a day`);
  }
  if (ofTenant >= DISPUTES_PER_TENANT_MAX) {
    throw limited(`at most ${DISPUTES_PER_TENANT_MAX} disputes are taken on a day`);
  }
  if (!book.hasCapacityFor(tenant))
    throw new ServiceFault("overloaded", "the queue of reviews is full");
  const key = { tenant, agent, level, day, round: 0 };
  return {
    event: "review.opened",
    at_ms: nowMs,
    ...key,
    id: deriveDisputeId(key, ofAgent),
    reason,
    count: 1,
    first_request_id: requestId,
    first_stakes: stakes,
    first_ms: nowMs,
    last_request_id: requestId,
    last_stakes: stakes,
    last_ms: nowMs,
    stakes_max: stakes,
    dispute,
  };
}
