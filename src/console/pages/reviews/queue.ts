// The queue as the page shows it: what waits, with the risk of its last decision, in the order of what is
// at risk.
import type { QueuedReview } from "../../../contract/schemas/reviews.ts";
import { getDocument, querySql } from "../../api.ts";

/** A review with what the ordering needs. */
export interface QueuedReviewWithRisk extends QueuedReview {
  /** Probability of failure at its last decision; undefined where that is not known. */
  readonly risk: number | undefined;
}

export const QUEUE_ORDER_LABELS = {
  risk: "risk × stakes",
  oldest: "oldest",
  stakes: "stakes",
  calls: "calls",
} as const;
export type QueueOrder = keyof typeof QUEUE_ORDER_LABELS;

const LIMIT = 1000;
/** Ids are the service's own; whatever else stands there is not asked about. */
const REQUEST_ID = /^[\w-]{1,64}$/;

/** Open and claimed reviews. @throws ApiError */
export async function loadQueue(kind: string, signal: AbortSignal): Promise<QueuedReview[]> {
  const of = (state: string) =>
    getDocument<{ reviews: QueuedReview[] }>("/v1/reviews", { state, kind, limit: LIMIT }, signal);
  const [open, claimed] = await Promise.all([of("open"), of("claimed")]);
  return [...open.reviews, ...claimed.reviews];
}

/** Risks by decision, remembered: a decision does not change. */
export class ReviewRisks {
  readonly #known = new Map<string, number>();

  /** Adds those that are not known yet; a key that may not ask is told by the rejection. */
  async load(reviews: readonly QueuedReview[], signal: AbortSignal): Promise<void> {
    const ids = reviews
      .map(({ last_request_id: id }) => id)
      .filter((id) => !this.#known.has(id) && REQUEST_ID.test(id));
    if (ids.length === 0) return;
    const list = [...new Set(ids)].map((id) => `'${id}'`).join(", ");
    const rows = await querySql<{ id: string; risk: number }>(
      `SELECT request_id AS id, max(failure_probability) AS risk FROM decisions
       WHERE request_id IN (${list}) GROUP BY 1`,
      signal,
    );
    for (const { id, risk } of rows) this.#known.set(id, risk);
  }

  find({ last_request_id: id }: QueuedReview): number | undefined {
    return this.#known.get(id);
  }
}

/** What is lost on average if it is let through and fails; where the risk is not known, all of it. */
export function computeExpectedLoss({
  risk = 1,
  stakes_max: stakes,
}: QueuedReviewWithRisk): number {
  return risk * stakes;
}

/** The queue in order; what was skipped comes last. */
export function sortQueue(
  entries: readonly QueuedReviewWithRisk[],
  order: QueueOrder,
  skipped: ReadonlySet<string>,
): QueuedReviewWithRisk[] {
  const weight: Record<QueueOrder, (entry: QueuedReviewWithRisk) => number> = {
    risk: computeExpectedLoss,
    oldest: () => 0,
    stakes: ({ stakes_max: stakes }) => stakes,
    calls: ({ count }) => count,
  };
  const weigh = weight[order];
  return entries.toSorted(
    (one, other) =>
      Number(skipped.has(one.id)) - Number(skipped.has(other.id)) ||
      weigh(other) - weigh(one) ||
      one.opened_at.localeCompare(other.opened_at) ||
      one.id.localeCompare(other.id),
  );
}
