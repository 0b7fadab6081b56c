// The work on the queue: which review is chosen, what the keys do to it, and which are marked or gone.
import type { ReviewDecision } from "../../../contract/vocabulary.ts";
import { useRef, useState } from "../../html.ts";
import { useKeyBindings } from "../../keys.ts";
import type { ReviewActions, DecisionTerms } from "./desk.ts";
import type { QueuedReviewWithRisk } from "./queue.ts";
import { type DecisionHandlers, NOTE_ID, useDecisionTerms } from "./terms.ts";

interface QueueSelectionOptions {
  readonly entries: readonly QueuedReviewWithRisk[];
  /** Index of the chosen one. */
  readonly at: number;
  readonly choose: (id: string | undefined) => void;
  readonly skip: (id: string) => void;
  readonly desk: ReviewActions;
}

export interface QueueSelection {
  /** Without those that were decided here. */
  readonly left: readonly QueuedReviewWithRisk[];
  readonly index: number;
  readonly terms: DecisionTerms;
  readonly setTerms: (terms: DecisionTerms) => void;
  readonly acts: DecisionHandlers;
  readonly marked: ReadonlySet<string>;
  readonly mark: (entry: QueuedReviewWithRisk) => void;
  /** Takes decided ones from the list, and all marks. */
  readonly forget: (ids: readonly string[]) => void;
}

export function useQueueSelection({
  entries,
  at,
  choose,
  skip,
  desk,
}: QueueSelectionOptions): QueueSelection {
  const [gone, setGone] = useState<ReadonlySet<string>>(new Set());
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const left = entries.filter(({ id }) => !gone.has(id));
  const index = Math.min(at, Math.max(0, left.length - 1));
  const [terms, setTerms, termsNow] = useDecisionTerms(left[index]);
  const { chosen, move, next } = useSelectedEntry(left, index, choose);
  const act = (work: (entry: QueuedReviewWithRisk) => void) => () => {
    const entry = chosen();
    if (entry !== undefined) work(entry);
  };
  const finish = async (entry: QueuedReviewWithRisk, decision: ReviewDecision) => {
    if (!(await desk.decide(entry, decision, termsNow(entry)))) return;
    setGone((before) => new Set([...before, entry.id]));
    if (chosen()?.id === entry.id) next();
  };
  const acts: DecisionHandlers = {
    approve: act((entry) => void finish(entry, "overturned")),
    deny: act((entry) => void finish(entry, "upheld")),
    claim: act((entry) => void desk.claim(entry)),
    skip: act((entry) => {
      next();
      skip(entry.id);
    }),
    undo: () => void desk.undo(),
  };
  const mark = (entry: QueuedReviewWithRisk) =>
    setMarked((before) => toggleMember(before, entry.id));
  useKeyBindings({
    j: () => move(1),
    k: () => move(-1),
    a: acts.approve,
    d: acts.deny,
    c: acts.claim,
    s: acts.skip,
    u: acts.undo,
    x: act(mark),
    n: () => document.querySelector<HTMLElement>(`#${NOTE_ID}`)?.focus(),
  });
  const forget = (ids: readonly string[]) => {
    setGone((before) => new Set([...before, ...ids]));
    setMarked(new Set());
  };
  return { left, index, terms, setTerms, acts, marked, mark, forget };
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
