// Form of a review decision (note, duration, stakes limit), and the dialog that decides several reviews.
import { html, readInputValue, useRef, useState, type VNode } from "../../html.ts";
import type { ReviewActions, DecisionTerms } from "./review-actions.ts";
import type { QueuedReviewWithRisk } from "./queue.ts";
import type { ReviewDecision } from "../../../contract/vocabulary.ts";
import { formatNumber, formatPercent } from "../../format.ts";
import { linkTo, usePageParameters } from "../../location.ts";
import { ConfirmDialog } from "../../parts/actions.ts";
import { Failure, Notice } from "../../parts/notices.ts";
import { AgentLink, Tag } from "../../parts/words.ts";
import { formatAmount } from "../../parts/amounts.ts";
import { SelectField } from "../../parts/fields.ts";
import { getDocument } from "../../api.ts";
import { useData } from "../../use-data.ts";
import type { PolicyDocument } from "../../../contract/schemas/policy.ts";

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

interface DecisionBarProps {
  readonly entry: QueuedReviewWithRisk | undefined;
  readonly actions: ReviewActions;
  readonly handlers: DecisionHandlers;
}

/** The buttons that decide, and what came of the last one; at the bottom edge of a narrow screen. */
export function DecisionBar({ entry, actions, handlers }: DecisionBarProps): VNode {
  const isBusy = actions.isBusy || entry === undefined;
  return html`<div class="card decision-bar">
    ${actions.lastMessage !== "" && html`<${Notice} kind="good">${actions.lastMessage}<//>`}
    ${actions.error !== undefined && html`<${Failure} error=${actions.error} />`}
    ${entry === undefined ? html`<p class="dim">Nothing is chosen.</p>` : html`<${ChosenReview} entry=${entry} />`}
    <div class="tools">
      <button type="button" class="primary" disabled=${isBusy} onClick=${handlers.approve}>
        Approve = overturned <kbd>a</kbd>
      </button>
      <button type="button" class="danger" disabled=${isBusy} onClick=${handlers.deny}>
        Deny = upheld <kbd>d</kbd>
      </button>
      <button
        type="button"
        disabled=${isBusy || entry.state === "claimed"}
        onClick=${handlers.claim}
      >
        Claim <kbd>c</kbd>
      </button>
      <button type="button" disabled=${entry === undefined} onClick=${handlers.skip}>
        Skip <kbd>s</kbd>
      </button>
      <button type="button" disabled=${actions.isBusy || !actions.canUndo} onClick=${handlers.undo}>
        Undo <kbd>u</kbd>
      </button>
    </div>
  </div>`;
}

/** Which review the buttons decide, where its evidence is not beside them. */
function ChosenReview({ entry }: { entry: QueuedReviewWithRisk }): VNode {
  const [parameters] = usePageParameters();
  const href = linkTo("reviews", { ...parameters, id: entry.id });
  return html`<p class="chosen-review">
    <${AgentLink} id=${entry.agent} href=${href} /> <${Tag} word=${entry.level} tone="" />${" "}
    <span class="dim">risk ${formatPercent(entry.risk)}</span>
  </p>`;
}

interface DecisionTermsProps {
  readonly entry: QueuedReviewWithRisk;
  readonly actions: ReviewActions;
  readonly terms: DecisionTerms;
  readonly setTerms: (terms: DecisionTerms) => void;
}

/** What goes along with a decision. */
export function DecisionTermsForm(props: DecisionTermsProps): VNode {
  const { terms, setTerms } = props;
  return html`<div class="deciding">
    <${TermsFields} ...${props} />
    <div class="field">
      <label for=${NOTE_ID}>Note <kbd>n</kbd></label>
      <textarea
        id=${NOTE_ID}
        rows="2"
        maxlength="500"
        placeholder="Why, for those who look at it later. Esc leaves the field."
        value=${terms.note}
        onInput=${(event: Event) => setTerms({ ...terms, note: readInputValue(event).replaceAll("\n", " ") })}
        onKeyDown=${blurOnEscape}
      ></textarea>
    </div>
  </div>`;
}

/** For how long, up to what, and by whom. */
function TermsFields({ entry, actions, terms, setTerms }: DecisionTermsProps): VNode {
  return html`<div class="filters">
    <${SelectField}
      id="review-days"
      label="Holds for"
      value=${terms.days}
      options=${HOLD_DAYS.map((days) => [days, days === 1 ? "1 day" : `${days} days`])}
      onValue=${(days: string) => setTerms({ ...terms, days: Number(days) })}
    />
    <div class="field">
      <label for="review-stakes">Up to stakes</label>
      <input
        id="review-stakes"
        inputmode="decimal"
        required
        placeholder="an amount, or any"
        aria-describedby="review-stakes-hint"
        value=${terms.upTo}
        onInput=${(event: Event) => setTerms({ ...terms, upTo: readInputValue(event) })}
        onKeyDown=${blurOnEscape}
      />
      <span class="dim small" id="review-stakes-hint">
        ${entry.stakes_max === 0 ? html`<${AssumedStakes} entry=${entry} />` : "an amount, or the word any"}
      </span>
    </div>
    <div class="field">
      <label for="review-who">You are</label>
      <input
        id="review-who"
        maxlength="64"
        placeholder="the key's id"
        value=${actions.who}
        onInput=${(event: Event) => actions.setWho(readInputValue(event))}
        onKeyDown=${blurOnEscape}
      />
    </div>
  </div>`;
}

/** What a call that names no stakes counts for; without the amount where the key may not read the policy. */
function AssumedStakes({ entry }: Pick<DecisionTermsProps, "entry">): VNode {
  const { tenant, level } = entry;
  const { value } = useData(
    (signal) => getDocument<PolicyDocument>("/v1/policy", { tenant }, signal),
    [tenant],
  );
  const amounts = value?.stakes_in_force;
  const assumed =
    level === "L2" || level === "L3" || level === "connect" ? amounts?.[level].assumed : 0;
  const counted =
    assumed === undefined || assumed === 0 ? "" : `, counted as ${formatAmount(assumed)}`;
  return html`0: calls that name no stakes${counted}; the word any: any stakes`;
}

/** Esc goes back to the keys of the queue. */
function blurOnEscape(event: KeyboardEvent): void {
  if (event.key === "Escape") (event.target as HTMLElement).blur();
}

interface TypedTerms {
  readonly days: number;
  /** The review that note and stakes were written for. */
  readonly id?: string | undefined;
  readonly note: string;
  readonly upTo: string;
}

/**
 * Terms of the next decision: the note is one review's. Its stakes are those that the review had when it
 * was chosen: calls that arrive while somebody looks at it raise the tally, not the proposal. The last
 * function has the terms as they were typed, also before the page is drawn again.
 */
export function useDecisionTerms(
  entry: QueuedReviewWithRisk | undefined,
): [DecisionTerms, (terms: DecisionTerms) => void, (entry: QueuedReviewWithRisk) => DecisionTerms] {
  const written = useRef<TypedTerms>({ days: DEFAULT_HOLD_DAYS, note: "", upTo: "" });
  const seen = useRef<{ readonly id: string; readonly stakes: number } | undefined>(undefined);
  const [, draw] = useState(0);
  const of = (each: QueuedReviewWithRisk | undefined): DecisionTerms => {
    const { id, days, note, upTo } = written.current;
    if (each !== undefined && id === each.id) return { days, note, upTo };
    if (each === undefined) return { days, note: "", upTo: "" };
    if (seen.current?.id !== each.id) seen.current = { id: each.id, stakes: each.stakes_max };
    return { days, note: "", upTo: proposeMaxStakes(seen.current.stakes) };
  };
  const set = (terms: DecisionTerms) => {
    written.current = { ...terms, id: entry?.id };
    draw((times) => times + 1);
  };
  return [of(entry), set, of];
}

/**
 * Stakes as they are proposed: what was asked for, rounded up to hundredths; 0 for calls that name none.
 */
function proposeMaxStakes(stakes: number): string {
  return String(Math.ceil(stakes * 100) / 100);
}

interface BulkDecisionProps {
  readonly entries: readonly QueuedReviewWithRisk[];
  readonly actions: ReviewActions;
  readonly terms: DecisionTerms;
  /** Called with the ids of those that are decided. */
  readonly onDone: (ids: string[]) => void;
}

interface BulkQuestion {
  readonly decision: ReviewDecision;
  readonly entries: readonly QueuedReviewWithRisk[];
}

function describeLargestStakes(entries: readonly QueuedReviewWithRisk[]): string {
  const largest = Math.max(...entries.map(({ stakes_max: stakes }) => stakes));
  return `up to the stakes that it asked for, ${proposeMaxStakes(largest)} at most`;
}

export function BulkDecision({ entries, actions, terms, onDone }: BulkDecisionProps): VNode {
  // The entries as they were when the dialog opened: the list behind it is polled meanwhile.
  const [question, setQuestion] = useState<BulkQuestion | undefined>();
  const asked = question?.decision;
  const bulk = question?.entries ?? entries;
  const ask = (decision: ReviewDecision | undefined) =>
    setQuestion(decision === undefined ? undefined : { decision, entries });
  const count = formatNumber(bulk.length);
  const run = async (reason: string) => {
    const decided: string[] = [];
    for (const entry of bulk) {
      // Each up to the stakes that it asked for.
      const each = { ...terms, note: reason, upTo: proposeMaxStakes(entry.stakes_max) };
      const isDone = await actions.decide(entry, asked!, each);
      if (isDone) decided.push(entry.id);
    }
    onDone(decided);
    if (decided.length === bulk.length) return;
    throw new Error(`${decided.length} of ${count} are decided; the others say why on the page`);
  };
  return html`<div class="tools">
    <span><b>${count}</b> marked</span>
    <button type="button" class="small" onClick=${() => ask("overturned")}>
      Approve ${count} = overturned
    </button>
    <button type="button" class="small" onClick=${() => ask("upheld")}>
      Deny ${count} = upheld
    </button>
    ${
      asked !== undefined &&
      html`<${ConfirmDialog}
        title=${`${asked === "overturned" ? "Approve" : "Deny"} ${count} reviews?`}
        wantsReason=${true}
        action=${asked === "overturned" ? "Approve them" : "Deny them"}
        isDangerous=${asked === "upheld"}
        onConfirm=${run}
        onClose=${() => ask(undefined)}
      >
        <p>
          Each for ${formatNumber(terms.days)}
          days${asked === "overturned" ? `, ${describeLargestStakes(bulk)}` : ""}. Callers that wait
          are told.
        </p>
      <//>`
    }
  </div>`;
}
