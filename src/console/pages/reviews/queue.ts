// Review queue: loading, order by expected loss, and the selected and marked entries with their shortcuts.
import type { QueuedReview } from "../../../contract/schemas/reviews.ts";
import { getDocument, querySql } from "../../api.ts";
import type { ReviewDecision } from "../../../contract/vocabulary.ts";
import { useRef, useState } from "../../html.ts";
import { useKeyBindings } from "../../key-bindings.ts";
import type { ReviewActions, DecisionTerms } from "./review-actions.ts";
import { type DecisionHandlers, NOTE_ID, useDecisionTerms } from "./decision-form.ts";

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

/** Reviews of one request. */
export const QUEUE_PAGE_ROWS = 1000;
/** Risks that are asked for at once. */
const RISKS_PER_QUERY = 500;
/** Ids are the service's own; whatever else stands there is not asked about. */
const REQUEST_ID = /^[\w-]{1,64}$/;

/** All open and claimed reviews: the riskiest one may be the newest. @throws ApiError */
export async function loadQueue(kind: string, signal: AbortSignal): Promise<QueuedReview[]> {
  const [open, claimed] = await Promise.all([
    loadReviewsInState("open", kind, signal),
    loadReviewsInState("claimed", kind, signal),
  ]);
  // A review that was claimed between two pages is in both.
  return [...new Map([...open, ...claimed].map((review) => [review.id, review])).values()];
}

async function loadReviewsInState(
  state: string,
  kind: string,
  signal: AbortSignal,
): Promise<QueuedReview[]> {
  const found: QueuedReview[] = [];
  let after: string | undefined;
  do {
    const asked = { state, kind, limit: QUEUE_PAGE_ROWS, after };
    const page = await getDocument<{ reviews: QueuedReview[]; next: string | null }>(
      "/v1/reviews",
      asked,
      signal,
    );
    found.push(...page.reviews);
    after = page.next ?? undefined;
  } while (after !== undefined);
  return found;
}

/** Risks by decision, remembered: a decision does not change. */
export class ReviewRisks {
  readonly #known = new Map<string, number>();

  /** Adds those that are not known yet; a key that may not ask is told by the rejection. */
  async load(reviews: readonly QueuedReview[], signal: AbortSignal): Promise<void> {
    const unknown = reviews
      .map(({ last_request_id: id }) => id)
      .filter((id) => !this.#known.has(id) && REQUEST_ID.test(id));
    const ids = [...new Set(unknown)];
    for (let first = 0; first < ids.length; first += RISKS_PER_QUERY) {
      const list = ids.slice(first, first + RISKS_PER_QUERY).map((id) => `'${id}'`);
      const rows = await querySql<{ id: string; risk: number }>(
        `SELECT request_id AS id, max(failure_probability) AS risk FROM decisions
         WHERE request_id IN (${list.join(", ")}) GROUP BY 1`,
        signal,
      );
      for (const { id, risk } of rows) this.#known.set(id, risk);
    }
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

interface QueueSelectionOptions {
  readonly entries: readonly QueuedReviewWithRisk[];
  /** The review that the address names; empty for none. */
  readonly named: string;
  readonly choose: (id: string | undefined) => void;
  readonly skip: (id: string) => void;
  readonly actions: ReviewActions;
}

export interface QueueSelection {
  /** Without those that were decided here. */
  readonly left: readonly QueuedReviewWithRisk[];
  /** Of the chosen one; -1 where the one that the address names is not in the queue. */
  readonly index: number;
  readonly terms: DecisionTerms;
  readonly setTerms: (terms: DecisionTerms) => void;
  readonly handlers: DecisionHandlers;
  readonly marked: ReadonlySet<string>;
  readonly mark: (entry: QueuedReviewWithRisk) => void;
  /** Takes decided ones from the list, and all marks. */
  readonly forget: (ids: readonly string[]) => void;
}

export function useQueueSelection({
  entries,
  named,
  choose,
  skip,
  actions,
}: QueueSelectionOptions): QueueSelection {
  const [gone, setGone] = useState<ReadonlySet<string>>(new Set());
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const left = entries.filter(({ id }) => !gone.has(id));
  const index = useChosenIndex(left, named, gone);
  const [terms, setTerms, termsNow] = useDecisionTerms(left[index]);
  const { chosen, move, next } = useSelectedEntry(left, index, choose);
  const act = (work: (entry: QueuedReviewWithRisk) => void) => () => {
    const entry = chosen();
    if (entry !== undefined) work(entry);
  };
  const finish = async (entry: QueuedReviewWithRisk, decision: ReviewDecision) => {
    if (!(await actions.decide(entry, decision, termsNow(entry)))) return;
    setGone((before) => new Set([...before, entry.id]));
    if (chosen()?.id === entry.id) next();
  };
  const handlers: DecisionHandlers = {
    approve: act((entry) => void finish(entry, "overturned")),
    deny: act((entry) => void finish(entry, "upheld")),
    claim: act((entry) => void actions.claim(entry)),
    skip: act((entry) => {
      next();
      skip(entry.id);
    }),
    undo: () => void actions.undo(),
  };
  const mark = (entry: QueuedReviewWithRisk) =>
    setMarked((before) => toggleMember(before, entry.id));
  useKeyBindings({
    j: () => move(1),
    k: () => move(-1),
    a: handlers.approve,
    d: handlers.deny,
    c: handlers.claim,
    s: handlers.skip,
    u: handlers.undo,
    x: act(mark),
    n: () => document.querySelector<HTMLElement>(`#${NOTE_ID}`)?.focus(),
  });
  const forget = (ids: readonly string[]) => {
    setGone((before) => new Set([...before, ...ids]));
    setMarked(new Set());
  };
  return { left, index, terms, setTerms, handlers, marked, mark, forget };
}

/**
 * Index of the review that is named, else of the one proposed before, else of the first: the queue is ordered again
 * while a reviewer looks at it, and what a button decides stays the same. -1 where another reviewer has decided it.
 */
function useChosenIndex(
  left: readonly QueuedReviewWithRisk[],
  named: string,
  decidedHere: ReadonlySet<string>,
): number {
  const proposed = useRef<string | undefined>(undefined);
  const find = (sought: string | undefined) => left.findIndex(({ id }) => id === sought);
  const index = find(named);
  if (index < 0 && named !== "" && !decidedHere.has(named)) return -1;
  const shown = index < 0 ? Math.max(0, find(proposed.current)) : index;
  proposed.current = left[shown]?.id;
  return shown;
}

/** Keys may come faster than the page is drawn: which one is chosen is known at once. */
function useSelectedEntry(
  left: readonly QueuedReviewWithRisk[],
  index: number,
  choose: (id: string | undefined) => void,
) {
  const here = useRef<string | undefined>(undefined);
  here.current = left[index]?.id;
  const place = () => left.findIndex(({ id }) => id === here.current);
  const go = (to: QueuedReviewWithRisk | undefined) => {
    here.current = to?.id;
    choose(to?.id);
  };
  return {
    chosen: () => left[place()],
    move: (by: number) => go(left[Math.min(left.length - 1, Math.max(0, place() + by))]),
    next: () => go(left[place() + 1] ?? left[place() - 1]),
  };
}

function toggleMember(marked: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(marked);
  if (!next.delete(id)) next.add(id);
  return next;
}
