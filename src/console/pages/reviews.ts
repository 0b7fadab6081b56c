// Reviews: agents that are held back until a person has looked, and disputes. Decided by keyboard alone;
// what was decided is a second view.
import { html, type VNode } from "../html.ts";
import { linkTo, usePageParameters } from "../location.ts";
import { Page } from "../parts/page.ts";
import { DecidedReviews } from "./reviews/decided.ts";
import { WaitingReviews } from "./reviews/waiting.ts";

const VIEWS = [
  ["", "Waiting"],
  ["decided", "Decided"],
] as const;

export default function ReviewsPage(): VNode {
  const [{ view = "" }] = usePageParameters();
  const tabs = VIEWS.map(
    ([name, label]) =>
      html`<a
        class="button"
        href=${linkTo("reviews", { view: name })}
        aria-current=${name === view ? "page" : undefined}
        >${label}</a
      >`,
  );
  return html`<${Page}
    title="Reviews"
    lead="Agents that are held back until a person has looked, and disputes of those refused."
    tools=${tabs}
  >
    ${view === "decided" ? html`<${DecidedReviews} />` : html`<${WaitingReviews} />`}
  <//>`;
}
