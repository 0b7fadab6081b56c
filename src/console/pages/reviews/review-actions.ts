// Actions on a review: claim, decide and undo, one at a time, with the message that reports the result.
import { DAY_MS, escapeHiddenCharacters } from "../../format.ts";
import type { QueuedReview } from "../../../contract/schemas/reviews.ts";
import type { ReviewDecision } from "../../../contract/vocabulary.ts";
import { sendDocument } from "../../api.ts";
import { useCallback, useRef, useState } from "../../html.ts";

const REVIEWER_STORAGE_KEY = "trustrank.reviewer";
/** A decision cannot be deleted: one that is taken back is replaced by one that ends at once. */
const UNDO_EXPIRY_MS = 5000;

/** What goes along with a decision. */
export interface DecisionTerms {
  readonly note: string;
  /** How long it holds. */
  readonly days: number;
  /** Approve up to these stakes: an amount, or the word `any`. */
  readonly upTo: string;
}

interface DecidedReview {
  readonly review: QueuedReview;
  /** When it was decided, by the service's clock and by this page's. */
  readonly decidedMs: number;
  readonly hereMs: number;
}

export interface ReviewActions {
  readonly who: string;
  readonly setWho: (name: string) => void;
  readonly isBusy: boolean;
  /** What was done last, for people. */
  readonly lastMessage: string;
  readonly error: Error | undefined;
  readonly canUndo: boolean;
  /** Resolve to whether it was done. */
  readonly claim: (review: QueuedReview) => Promise<boolean>;
  readonly decide: (
    review: QueuedReview,
    decision: ReviewDecision,
    terms: DecisionTerms,
  ) => Promise<boolean>;
  readonly undo: () => Promise<boolean>;
}

export function useReviewActions(onChange: () => void): ReviewActions {
  const [who, setWho] = useState(() => localStorage.getItem(REVIEWER_STORAGE_KEY) ?? "");
  const done = useRef<DecidedReview[]>([]);
  const { run, ...state } = useExclusiveAction(onChange);
  const by = who.trim() === "" ? {} : { who: who.trim() };
  const change = (review: QueuedReview, path: string, body: object) =>
    sendDocument<QueuedReview>("POST", `/v1/reviews/${review.id}/${path}`, { ...body, ...by });
  return {
    who,
    setWho: useCallback((name: string) => {
      localStorage.setItem(REVIEWER_STORAGE_KEY, name);
      setWho(name);
    }, []),
    ...state,
    canUndo: done.current.length > 0,
    claim: (review) =>
      run(async () => {
        const { claimed_until: until } = await change(review, "claim", {});
        return `${shortenReviewedAgent(review)} is yours until ${formatDateTime(until)}.`;
      }),
    decide: (review, decision, terms) =>
      run(async () => {
        const decided = await change(review, "decision", buildDecisionBody(decision, terms));
        const decidedMs = Date.parse(decided.decided_at ?? "");
        done.current.push({ review: decided, decidedMs, hereMs: performance.now() });
        return describeDecided(decided, review.waiting);
      }),
    undo: () =>
      run(async () => {
        const last = done.current.at(-1);
        if (last === undefined) return "There is nothing to take back here.";
        const until = Math.round(last.decidedMs + performance.now() - last.hereMs + UNDO_EXPIRY_MS);
        const note = "taken back in the console";
        await change(last.review, "decision", { decision: "upheld", until, note, again: true });
        done.current.pop();
        return (
          `Taken back: within ${UNDO_EXPIRY_MS / 1000} seconds the policy alone decides on ` +
          `${shortenReviewedAgent(last.review)}, and its next held back call opens a review again. ` +
          "Callers that waited have had their answer: that cannot be taken back."
        );
      }),
  };
}

/** A key that is held down decides once: what comes meanwhile is not done. */
function useExclusiveAction(onChange: () => void) {
  const [state, setState] = useState<{
    isBusy: boolean;
    lastMessage: string;
    error: Error | undefined;
  }>({ isBusy: false, lastMessage: "", error: undefined });
  const isBusy = useRef(false);
  const run = async (work: () => Promise<string>): Promise<boolean> => {
    if (isBusy.current) return false;
    isBusy.current = true;
    setState(({ lastMessage }) => ({ lastMessage, isBusy: true, error: undefined }));
    try {
      const lastMessage = await work();
      setState({ isBusy: false, lastMessage, error: undefined });
      return true;
    } catch (error) {
      setState({ isBusy: false, lastMessage: "", error: error as Error });
      return false;
    } finally {
      isBusy.current = false;
      onChange();
    }
  };
  return { ...state, run };
}

function buildDecisionBody(decision: ReviewDecision, { note, days, upTo }: DecisionTerms): object {
  const isUpheld = decision === "upheld";
  return {
    decision,
    until: Date.now() + days * DAY_MS,
    ...(note.trim() === "" ? {} : { note: note.trim() }),
    ...(isUpheld ? {} : { max_stakes: parseStakesLimit(upTo) }),
  };
}

/** @throws Error for anything but an amount and `any`: an empty field bounds nothing by mistake. */
function parseStakesLimit(text: string): number | "any" {
  const word = text.trim().toLowerCase();
  if (word === "any") return "any";
  const stakes = word === "" ? Number.NaN : Number(word);
  if (stakes >= 0) return stakes;
  throw new Error("“Up to stakes” must be an amount, or the word any");
}

function describeDecided({ decision, until, ...review }: QueuedReview, waiting: number): string {
  const what = decision === "overturned" ? "Approved" : "Denied";
  const effect = decision === "overturned" ? "let through" : "blocked";
  const told =
    waiting === 0 ? "" : ` ${waiting} waiting ${waiting === 1 ? "caller" : "callers"} told.`;
  return `${what} (${decision}): ${shortenReviewedAgent(review)} is ${effect} at ${review.level} until ${formatDateTime(until)}.${told}`;
}

function shortenReviewedAgent({ agent }: Pick<QueuedReview, "agent">): string {
  return escapeHiddenCharacters(agent).replace(/^agent:\/\//, "");
}

function formatDateTime(at: string | null): string {
  if (at === null) return "now";
  const style = { dateStyle: "medium", timeStyle: "short" } as const;
  return new Intl.DateTimeFormat("en-GB", style).format(new Date(at));
}
