// Terms of a decision: the buttons, each with its key, and what goes along.
import { html, useRef, useState, type VNode } from "../../html.ts";
import type { Desk, Terms } from "./desk.ts";
import type { Entry } from "./queue.ts";

export const NOTE_ID = "review-note";
const DAYS = [1, 7, 30, 90];
const DAYS_USUAL = 7;

export interface Acts {
  readonly approve: () => void;
  readonly deny: () => void;
  readonly claim: () => void;
  readonly skip: () => void;
  readonly undo: () => void;
}

interface Props {
  readonly entry: Entry;
  readonly desk: Desk;
  readonly terms: Terms;
  readonly setTerms: (terms: Terms) => void;
  readonly acts: Acts;
}

export function DecisionForm({ entry, desk, terms, setTerms, acts }: Props): VNode {
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
    <${Limits} desk=${desk} terms=${terms} setTerms=${setTerms} />
    <div class="field">
      <label for=${NOTE_ID}>Note <kbd>n</kbd></label>
      <textarea
        id=${NOTE_ID}
        rows="2"
        maxlength="500"
        placeholder="Why, for those who look at it later. Esc leaves the field."
        value=${terms.note}
        onInput=${(event: Event) => setTerms({ ...terms, note: readTermValue(event).replaceAll("\n", " ") })}
        onKeyDown=${leave}
      ></textarea>
    </div>
  </div>`;
}

/** For how long, up to what, and by whom. */
function Limits({ desk, terms, setTerms }: Omit<Props, "entry" | "acts">): VNode {
  return html`<div class="filters">
    <div class="field">
      <label for="review-days">Holds for</label>
      <select
        id="review-days"
        value=${terms.days}
        onChange=${(event: Event) => setTerms({ ...terms, days: Number(readTermValue(event)) })}
      >
        ${DAYS.map((days) => html`<option value=${days}>${days === 1 ? "1 day" : `${days} days`}</option>`)}
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
        onKeyDown=${leave}
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
        onKeyDown=${leave}
      />
    </div>
  </div>`;
}

/** Esc goes back to the keys of the queue. */
function leave(event: KeyboardEvent): void {
  if (event.key === "Escape") (event.target as HTMLElement).blur();
}

function readTermValue(event: Event): string {
  return (event.target as HTMLInputElement).value;
}

interface Written {
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
export function useTerms(
  entry: Entry | undefined,
): [Terms, (terms: Terms) => void, (entry: Entry) => Terms] {
  const written = useRef<Written>({ days: DAYS_USUAL, note: "", upTo: "" });
  const [, draw] = useState(0);
  const of = (each: Entry | undefined): Terms => {
    const { id, days, note, upTo } = written.current;
    if (each !== undefined && id === each.id) return { days, note, upTo };
    const stakes = each?.stakes_max ?? 0;
    return { days, note: "", upTo: proposeMaxStakes(stakes) };
  };
  const set = (terms: Terms) => {
    written.current = { ...terms, id: entry?.id };
    draw((times) => times + 1);
  };
  return [of(entry), set, of];
}

/** Stakes as they are proposed: what was asked for, rounded up to hundredths; empty for any. */
export function proposeMaxStakes(stakes: number): string {
  return stakes === 0 ? "" : String(Math.ceil(stakes * 100) / 100);
}
