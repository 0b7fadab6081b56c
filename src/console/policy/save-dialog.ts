// Saving a policy: what it changes, whether it was tried, the tenant's name typed, and a reason.
import { pathWith, send } from "../api.ts";
import type { Backtest } from "../../contract/schemas/backtest.ts";
import { number } from "../format.ts";
import { html, type VNode } from "../html.ts";
import { Confirm } from "../parts/actions.ts";
import { Notice } from "../parts/notices.ts";
import type { Difference, PolicyDocument } from "./draft.ts";
import { QUESTION_FIRST } from "./findings.ts";

interface SaveDialogProps {
  /** What the service makes of the draft. */
  readonly made: PolicyDocument;
  readonly policy: unknown;
  readonly differences: readonly Difference[];
  readonly backtest: Backtest | undefined;
  readonly onSaved: () => void;
  readonly onClose: () => void;
}

export function SaveDialog(props: SaveDialogProps): VNode {
  const { made, policy, differences, backtest, onSaved, onClose } = props;
  const { tenant, version } = made;
  const save = async (reason: string) => {
    await send("PUT", pathWith("/v1/policy", { tenant, reason }), policy);
    onSaved();
  };
  const isTried = backtest?.state === "done" && backtest.given_version === version;
  return html`<${Confirm}
    title=${`Put ${version} in force for ${tenant}?`}
    name=${tenant}
    wantsReason=${true}
    action="Save"
    onConfirm=${save}
    onClose=${onClose}
  >
    <p>${number(differences.length)} rules change, at once and on every thread.</p>
    ${
      isTried
        ? html`<${Tried} backtest=${backtest} />`
        : html`<${Notice} kind="warn">
            This draft has not been back-tested. Close this and try it on history first, unless it
            is urgent.
          <//>`
    }
  <//>`;
}

/** What the back-test says of verifies that name no stakes, over the levels that would change. */
function Tried({ backtest }: { backtest: Backtest }): VNode {
  const changes = (backtest.findings?.changes ?? []).filter(
    (each) =>
      each.question === QUESTION_FIRST &&
      each.good_newly_allowed +
        each.bad_newly_allowed +
        each.good_newly_turned_away +
        each.bad_newly_turned_away >
        0,
  );
  if (changes.length === 0) {
    return html`<${Notice} kind="good"
      >Back-tested: no recorded outcome would have been treated otherwise.<//
    >`;
  }
  return html`<${Notice} kind="good">
    Back-tested. On record, it would have:
    <ul>
      ${changes.map(
        (each) =>
          html`<li>
            at ${each.level}: let through ${number(each.good_newly_allowed)} good and${" "}
            ${number(each.bad_newly_allowed)} bad more (${number(each.stakes_newly_lost)} lost),
            turned away${" "} ${number(each.good_newly_turned_away)} good and
            ${number(each.bad_newly_turned_away)} bad more
          </li>`,
      )}
    </ul>
  <//>`;
}
