// Terms of a decision: the buttons, each with its key, and what goes along.
import { html, useRef, useState, type VNode } from "../../html.ts";
import type { ReviewActions, DecisionTerms } from "./desk.ts";
import type { QueuedReviewWithRisk } from "./queue.ts";

export const NOTE_ID = "review-note";
const HOLD_DAYS = [1, 7, 30, 90];
const DEFAULT_HOLD_DAYS = 7;

export interface DecisionHandlers {
  readonly approve: () => void;
  readonly deny: () => void;
  readonly claim: () => void;
  readonly skip: () => void;
  readonly undo: () => void;
}

interface DecisionFormProps {
  readonly entry: QueuedReviewWithRisk;
  readonly desk: ReviewActions;
  readonly terms: DecisionTerms;
  readonly setTerms: (terms: DecisionTerms) => void;
  readonly acts: DecisionHandlers;
}

export function DecisionForm({ entry, desk, terms, setTerms, acts }: DecisionFormProps): VNode {
  const { isBusy } = desk;
  return html`<div class="deciding">
    <div class="tools">
      <button type="button" class="primary" disabled=${isBusy} onClick=${acts.approve}>
        Approve = overturned <kbd>a</kbd>
      </button>
      <button type="button" class="danger" disabled=${isBusy} onClick=${acts.deny}>
        Deny = upheld <kbd>d</kbd>
      </button>
      <button type="button" disabled=${isBusy || entry.state === "claimed"} onClick=${acts.claim}>
        Claim <kbd>c</kbd>
      </button>
      <button type="button" onClick=${acts.skip}>Skip <kbd>s</kbd></button>
      <button type="button" disabled=${isBusy || !desk.canUndo} onClick=${acts.undo}>
        Undo <kbd>u</kbd>
      </button>
    </div>
    <${TermsFields} desk=${desk} terms=${terms} setTerms=${setTerms} />
    <div class="field">
      <label for=${NOTE_ID}>Note <kbd>n</kbd></label>
      <textarea
        id=${NOTE_ID}
        rows="2"
        maxlength="500"
        placeholder="Why, for those who look at it later. Esc leaves the field."
        value=${terms.note}
        onInput=${(event: Event) => setTerms({ ...terms, note: readTermValue(event).replaceAll("\n", " ") })}
        onKeyDown=${blurOnEscape}
      ></textarea>
    </div>
  </div>`;
}

/** For how long, up to what, and by whom. */
function TermsFields({ desk, terms, setTerms }: Omit<DecisionFormProps, "entry" | "acts">): VNode {
  return html`<div class="filters">
    <div class="field">
      <label for="review-days">Holds for</label>
      <select
        id="review-days"
        value=${terms.days}
        onChange=${(event: Event) => setTerms({ ...terms, days: Number(readTermValue(event)) })}
      >
        ${HOLD_DAYS.map((days) => html`<option value=${days}>${days === 1 ? "1 day" : `${days} days`}</option>`)}
      </select>
    </div>
    <div class="field">
      <label for="review-stakes">Up to stakes</label>
      <input
        id="review-stakes"
        type="number"
        min="0"
        step="any"
        placeholder="any"
        value=${terms.upTo}
        onInput=${(event: Event) => setTerms({ ...terms, upTo: readTermValue(event) })}
        onKeyDown=${blurOnEscape}
      />
    </div>
    <div class="field">
      <label for="review-who">You are</label>
      <input
        id="review-who"
        maxlength="64"
        placeholder="the key's id"
        value=${desk.who}
        onInput=${(event: Event) => desk.setWho(readTermValue(event))}
        onKeyDown=${blurOnEscape}
      />
    </div>
  </div>`;
}

/** Esc goes back to the keys of the queue. */
function blurOnEscape(event: KeyboardEvent): void {
  if (event.key === "Escape") (event.target as HTMLElement).blur();
}

function readTermValue(event: Event): string {
  return (event.target as HTMLInputElement).value;
}

interface TypedTerms {
  readonly days: number;
  /** The review that note and stakes were written for. */
  readonly id?: string | undefined;
  readonly note: string;
  readonly upTo: string;
}

/**
 * Terms of the next decision: the note is one review's, and its stakes are what it asked for. The last
 * function has them as they were typed, also before the page is drawn again.
 */
export function useDecisionTerms(
  entry: QueuedReviewWithRisk | undefined,
): [DecisionTerms, (terms: DecisionTerms) => void, (entry: QueuedReviewWithRisk) => DecisionTerms] {
  const written = useRef<TypedTerms>({ days: DEFAULT_HOLD_DAYS, note: "", upTo: "" });
  const [, draw] = useState(0);
  const of = (each: QueuedReviewWithRisk | undefined): DecisionTerms => {
    const { id, days, note, upTo } = written.current;
    if (each !== undefined && id === each.id) return { days, note, upTo };
    const stakes = each?.stakes_max ?? 0;
    return { days, note: "", upTo: proposeMaxStakes(stakes) };
  };
  const set = (terms: DecisionTerms) => {
    written.current = { ...terms, id: entry?.id };
    draw((times) => times + 1);
  };
  return [of(entry), set, of];
}

/** Stakes as they are proposed: what was asked for, rounded up to hundredths; empty for any. */
export function proposeMaxStakes(stakes: number): string {
  return stakes === 0 ? "" : String(Math.ceil(stakes * 100) / 100);
}
