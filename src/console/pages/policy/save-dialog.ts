// Dialog that saves a policy: number of changes, back-test result, tenant name to type, and a reason.
import { buildPathWithQuery, sendDocument } from "../../api.ts";
import type { Backtest } from "../../../contract/schemas/backtest.ts";
import { formatNumber } from "../../format.ts";
import { html, type VNode } from "../../html.ts";
import { ConfirmDialog } from "../../parts/actions.ts";
import { Notice } from "../../parts/notices.ts";
import type { PolicyDocument } from "../../../contract/schemas/policy.ts";
import type { PolicyDifference } from "./draft.ts";
import { DEFAULT_QUESTION } from "./findings.ts";

interface SaveDialogProps {
  /** What the service makes of the draft. */
  readonly made: PolicyDocument;
  readonly policy: unknown;
  readonly differences: readonly PolicyDifference[];
  readonly backtest: Backtest | undefined;
  readonly onSaved: () => void;
  readonly onClose: () => void;
}

export function SaveDialog(props: SaveDialogProps): VNode {
  const { made, policy, differences, backtest, onSaved, onClose } = props;
  const { tenant, version } = made;
  const save = async (reason: string) => {
    await sendDocument("PUT", buildPathWithQuery("/v1/policy", { tenant, reason }), policy);
    onSaved();
  };
  const isTried = backtest?.state === "done" && backtest.given_version === version;
  return html`<${ConfirmDialog}
    title=${`Put ${version} in force for ${tenant}?`}
    name=${tenant}
    wantsReason=${true}
    action="Save"
    onConfirm=${save}
    onClose=${onClose}
  >
    <p>${formatNumber(differences.length)} rules change, at once and on every thread.</p>
    ${
      isTried
        ? html`<${BacktestNotice} backtest=${backtest} />`
        : html`<${Notice} kind="warn">
            This draft has not been back-tested. Close this and try it on history first, unless it
            is urgent.
          <//>`
    }
  <//>`;
}

/** What the back-test says of verifies that name no stakes, over the levels that would change. */
function BacktestNotice({ backtest }: { backtest: Backtest }): VNode {
  const changes = (backtest.findings?.changes ?? []).filter(
    (each) =>
      each.question === DEFAULT_QUESTION &&
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
            at ${each.level}: let through ${formatNumber(each.good_newly_allowed)} good and${" "}
            ${formatNumber(each.bad_newly_allowed)} bad more
            (${formatNumber(each.stakes_newly_lost)} lost), turned away${" "}
            ${formatNumber(each.good_newly_turned_away)} good and
            ${formatNumber(each.bad_newly_turned_away)} bad more
          </li>`,
      )}
    </ul>
  <//>`;
}
