// Dialogs that set, replace and lift a condition of an agent or a namespace.
import { buildPathWithQuery, sendDocument } from "../../api.ts";
import { escapeHiddenCharacters } from "../../format.ts";
import { html, useState, type VNode } from "../../html.ts";
import { ConfirmDialog } from "../../parts/actions.ts";
import type { AgentCondition } from "../../../contract/schemas/conditions.ts";
import {
  buildConditionPath,
  type ConditionAction,
  ConditionStateTag,
  listSettableStates,
  selectOwner,
} from "./condition-table.ts";
import {
  buildConditionBody,
  buildConditionDraft,
  type ConditionDraft,
  ConditionForm,
} from "./condition-form.ts";

/** What is open: a new condition (of `subject`, where that is known), or one that is replaced or lifted. */
export type OpenCondition =
  | { readonly doing: "set"; readonly subject?: string }
  | { readonly doing: ConditionAction; readonly row: AgentCondition };

interface ConditionDialogProps {
  readonly open: OpenCondition | undefined;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

export function ConditionDialog({ open, ...after }: ConditionDialogProps): VNode | null {
  if (open === undefined) return null;
  if (open.doing === "set") return html`<${SetDialog} subject=${open.subject} ...${after} />`;
  if (open.doing === "lift") return html`<${LiftDialog} row=${open.row} ...${after} />`;
  return html`<${SetDialog} before=${open.row} ...${after} />`;
}

interface SetDialogProps extends Omit<ConditionDialogProps, "open"> {
  readonly subject?: string;
  readonly before?: AgentCondition;
}

function SetDialog({ subject, before, onDone, onClose }: SetDialogProps): VNode {
  const states = listSettableStates();
  const [draft, setDraft] = useState(() => buildConditionDraft(subject, before, states));
  const fixed = before?.subject ?? subject;
  const send = async () => {
    const path = buildConditionPath(draft.subject.trim());
    const owner = before === undefined ? {} : selectOwner(before);
    const body = buildConditionBody(draft, Date.now());
    await sendDocument("PUT", buildPathWithQuery(path, owner), body);
    onDone();
  };
  return html`<${ConfirmDialog}
    title=${fixed === undefined ? "Set a condition" : `Condition of ${escapeHiddenCharacters(fixed)}`}
    action=${before === undefined ? "Set" : "Replace"}
    isDangerous=${draft.state === "suspended"}
    onConfirm=${send}
    onClose=${onClose}
  >
    <${ConditionForm}
      draft=${draft}
      states=${states}
      isSubjectFixed=${fixed !== undefined}
      isScopeFixed=${before !== undefined}
      onChange=${(change: Partial<ConditionDraft>) => setDraft({ ...draft, ...change })}
    />
  <//>`;
}

interface LiftDialogProps extends Omit<ConditionDialogProps, "open"> {
  readonly row: AgentCondition;
}

function LiftDialog({ row, onDone, onClose }: LiftDialogProps): VNode {
  const lift = async () => {
    const { subject, scope } = row;
    const query = { scope, ...selectOwner(row) };
    await sendDocument("DELETE", buildPathWithQuery(buildConditionPath(subject), query));
    onDone();
  };
  const subject = escapeHiddenCharacters(row.subject);
  return html`<${ConfirmDialog}
    title=${`Lift the condition of ${subject}?`}
    action="Lift"
    isDangerous=${row.state === "suspended"}
    onConfirm=${lift}
    onClose=${onClose}
  >
    <p>
      It is <${ConditionStateTag} state=${row.state} /> (<code>${row.reason.code}</code>). Once it
      is lifted, the record and the other conditions that cover it decide.
    </p>
  <//>`;
}
