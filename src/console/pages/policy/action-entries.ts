// Table of the draft's `actions`, in the order in which they are tried; edited as JSON below.
import type { ActionEntry } from "../../../contract/actions.ts";
import { html, type VNode } from "../../html.ts";
import type { DraftProblem } from "./draft.ts";

interface ActionEntriesProps {
  readonly entries: readonly ActionEntry[];
  readonly wrong: readonly DraftProblem[];
}

export function ActionEntries({ entries, wrong }: ActionEntriesProps): VNode | null {
  if (entries.length === 0) return null;
  const isWrong = (index: number) =>
    wrong.some(({ pointer }) => `${pointer}/`.includes(`/actions/${index}/`));
  return html`<div class="scroll" tabindex="0" role="region" aria-label="actions">
    <table>
      <caption>
        Actions: the first entry that matches decides the level
      </caption>
      <thead>
        <tr>
          ${["#", "action", "resource", "when", "level", "stakes"].map(
            (label) => html`<th scope="col">${label}</th>`,
          )}
        </tr>
      </thead>
      <tbody>
        ${entries.map(
          ({ match, resource, when, level, stakes }, index) =>
            html`<tr class=${isWrong(index) ? "wrong" : ""}>
              <th scope="row">${index}</th>
              <td><code>${match}</code></td>
              <td>${resource !== undefined && html`<code>${resource}</code>`}</td>
              <td>${when !== undefined && html`<code>${JSON.stringify(when)}</code>`}</td>
              <td>${level}</td>
              <td>${stakes !== undefined && html`<code>${stakes}</code>`}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
