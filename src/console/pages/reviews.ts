// Reviews: agents that are held back until a person has looked, and disputes. Decided by keyboard alone;
// what was decided is a second view.
import { html, type VNode } from "../html.ts";
import { linkTo, useParameters } from "../location.ts";
import { Page } from "../parts/page.ts";
import { Decided } from "./reviews/decided.ts";
import { Waiting } from "./reviews/waiting.ts";

const VIEWS = [
  ["", "Waiting"],
  ["decided", "Decided"],
] as const;

export default function Reviews(): VNode {
  const [{ view = "" }] = useParameters();
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
    ${view === "decided" ? html`<${Decided} />` : html`<${Waiting} />`}
  <//>`;
}
