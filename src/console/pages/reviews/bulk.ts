// Many reviews at once: the marked ones are decided one after another, with one reason.
import type { ReviewDecision } from "../../../contract/vocabulary.ts";
import { formatNumber } from "../../format.ts";
import { html, useState, type VNode } from "../../html.ts";
import { ConfirmDialog } from "../../parts/actions.ts";
import type { ReviewActions, DecisionTerms } from "./desk.ts";
import type { QueuedReviewWithRisk } from "./queue.ts";
import { proposeMaxStakes } from "./terms.ts";

interface BulkDecisionProps {
  readonly entries: readonly QueuedReviewWithRisk[];
  readonly desk: ReviewActions;
  readonly terms: DecisionTerms;
  /** Called with the ids of those that are decided. */
  readonly onDone: (ids: string[]) => void;
}

export function BulkDecision({ entries, desk, terms, onDone }: BulkDecisionProps): VNode {
  const [asked, ask] = useState<ReviewDecision | undefined>();
  const count = formatNumber(entries.length);
  const run = async (reason: string) => {
    const decided: string[] = [];
    for (const entry of entries) {
      // Each up to the stakes that it asked for.
      const each = { ...terms, note: reason, upTo: proposeMaxStakes(entry.stakes_max) };
      const isDone = await desk.decide(entry, asked!, each);
      if (isDone) decided.push(entry.id);
    }
    onDone(decided);
    if (decided.length === entries.length) return;
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
          days${asked === "overturned" ? ", up to the stakes that it asked for" : ""}. Callers that
          wait are told.
        </p>
      <//>`
    }
  </div>`;
}
