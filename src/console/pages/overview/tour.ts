// A tour for the first minutes: what the sample history is, and five steps through the console. Dismissed in
// this browser for good, and shown again by a button.
import { getDocument } from "../../api.ts";
import { html, useState, type VNode } from "../../html.ts";
import { linkTo } from "../../location.ts";
import { Card } from "../../parts/page.ts";
import { usePolledData } from "../../use-data.ts";

const TOUR_STORAGE_KEY = "trustrank.tour";
/** Agents are listed once they have been read, some seconds after a start. */
const EVERY_MS = 15_000;
/** It turns bad in the sample: an agent worth looking at. */
const SAMPLE_AGENT = "agent://globex/price-scout";

/** Whether it is shown, and the way to change that. */
export function useTour(): [isShown: boolean, show: (isShown: boolean) => void] {
  const [isShown, setIsShown] = useState(() => !isDismissed());
  const show = (next: boolean) => {
    try {
      if (next) localStorage.removeItem(TOUR_STORAGE_KEY);
      else localStorage.setItem(TOUR_STORAGE_KEY, "dismissed");
    } catch {
      // A browser may keep nothing: it holds for this visit then.
    }
    setIsShown(next);
  };
  return [isShown, show];
}

function isDismissed(): boolean {
  try {
    return localStorage.getItem(TOUR_STORAGE_KEY) !== null;
  } catch {
    return false;
  }
}

/** Where to go, the words of the link, and what is there. */
type TourStep = readonly [href: string, words: string, what: string];

function listTourSteps(isSample: boolean): readonly TourStep[] {
  const look = isSample ? "Look at an agent that turned bad" : "Look at an agent";
  return [
    [
      linkTo("agents", { order: "score" }),
      "See who is trusted least",
      "every agent with its score, its risk, and how sure that is",
    ],
    [
      isSample ? linkTo("agent", { id: SAMPLE_AGENT }) : linkTo("agents", { order: "-outcomes" }),
      look,
      "what each feature adds to its score; ask for a verdict with “Ask now”",
    ],
    [
      linkTo("decisions"),
      "Follow a decision",
      "from the row that was read to the rule that decided",
    ],
    [
      linkTo("policy"),
      "Draw another bound",
      "and see what it would have let through, before it is saved",
    ],
    [linkTo("keys"), "Make a key", "for your gateway, and one for whoever reports outcomes"],
  ];
}

export function Tour({ onDismiss }: { onDismiss: () => void }): VNode {
  // Without an answer nothing is said about a sample.
  const { value } = usePolledData(
    (signal) =>
      getDocument<{ total: number }>("/v1/agents", { prefix: SAMPLE_AGENT, limit: 1 }, signal),
    EVERY_MS,
  );
  const isSample = value !== undefined && value.total > 0;
  const close = html`<button type="button" class="small" onClick=${onDismiss}>Dismiss</button>`;
  return html`<${Card} title="Your first minutes" tools=${close}>
    <p>
      ${
        isSample
          ? html`A first start loads a sample history: some 3,000 outcomes of 120 days between
              agents of a few made-up companies. Start with <code>--no-sample</code> over an empty
              data directory for your own.`
          : "Scores come of outcomes that are reported, verdicts of scores. Five steps show how."
      }
    </p>
    <ol class="tour">
      ${listTourSteps(isSample).map(
        ([href, words, what]) =>
          html`<li>
            <a href=${href}>${words}</a>
            <span class="dim small">${what}</span>
          </li>`,
      )}
    </ol>
  <//>`;
}
