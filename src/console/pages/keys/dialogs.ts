// Dialogs that make a key, change it, give it another secret and revoke it. Each asks first; a new text is
// handed to the page, which shows it once.
import { sendDocument } from "../../api.ts";
import { formatDuration } from "../../format.ts";
import { html, useId, useState, type VNode } from "../../html.ts";
import { ConfirmDialog } from "../../parts/actions.ts";
import { Notice } from "../../parts/notices.ts";
import { Field } from "../../parts/page.ts";
import { readSession } from "../../session.ts";
import { type KeyDraft, buildKeyDraft, readDraftExpiryMs, KeyForm } from "./form.ts";
import { DAY_MS, type ListedKey, type KeyWithSecret } from "./shapes.ts";

export type KeyAction = "create" | "change" | "rotate" | "revoke";

export interface KeyDialogProps {
  /** Undefined for a new one. */
  readonly target: ListedKey | undefined;
  /** Of the new one, before another is typed. */
  readonly tenant: string;
  readonly tenants: readonly string[];
  readonly onSecret: (key: KeyWithSecret) => void;
  readonly onDone: (key: ListedKey) => void;
  readonly onClose: () => void;
}

export function CreateKeyDialog({
  tenant,
  tenants,
  onSecret,
  onDone,
  onClose,
}: KeyDialogProps): VNode {
  const [draft, setDraft] = useState(() => buildKeyDraft(undefined, tenant));
  const create = async () => {
    const endMs = readDraftExpiryMs(draft, Date.now());
    const made = await sendDocument<KeyWithSecret>("POST", "/v1/keys", {
      tenant: draft.tenant.trim(),
      scopes: draft.scopes,
      first_party: draft.isFirstParty,
      ...(draft.label.trim() === "" ? {} : { label: draft.label.trim() }),
      ...(endMs === null ? {} : { expires_at: endMs }),
    });
    onSecret(made);
    onDone(made);
  };
  return html`<${ConfirmDialog}
    title="New key"
    action="Create"
    onConfirm=${create}
    onClose=${onClose}
  >
    <${KeyForm} draft=${draft} onDraft=${setDraft} isNew=${true} tenants=${tenants} />
  <//>`;
}

export function ChangeKeyDialog({ target, onDone, onClose }: KeyDialogProps): VNode {
  const [draft, setDraft] = useState(() => buildKeyDraft(target, ""));
  const change = async () => {
    onDone(
      await sendDocument<ListedKey>("PATCH", buildKeyPath(target!), buildKeyChange(draft, target!)),
    );
  };
  return html`<${ConfirmDialog}
    title=${`Change ${target!.key_id}`}
    action="Change"
    onConfirm=${change}
    onClose=${onClose}
  >
    <p>Its secret stays. The change holds at once, on every thread.</p>
    <${KeyForm} draft=${draft} onDraft=${setDraft} isNew=${false} tenants=${[]} />
  <//>`;
}

/** What the draft says otherwise than the key. @throws Error when it says nothing else. */
function buildKeyChange(draft: KeyDraft, key: ListedKey): Record<string, unknown> {
  const before = buildKeyDraft(key, "");
  const label = draft.label.trim();
  const change = {
    ...(label === before.label ? {} : { label: label === "" ? null : label }),
    ...(String(draft.scopes) === String(before.scopes) ? {} : { scopes: draft.scopes }),
    ...(draft.ends === before.ends && draft.endsAt === before.endsAt
      ? {}
      : { expires_at: readDraftExpiryMs(draft, Date.now()) }),
  };
  if (Object.keys(change).length === 0) throw new Error("nothing is changed yet");
  return change;
}

/** How long the present secret works on, ms. */
const OVERLAPS_MS = [0, 3_600_000, DAY_MS, 7 * DAY_MS, 30 * DAY_MS];

export function RotateKeyDialog({ target, onSecret, onDone, onClose }: KeyDialogProps): VNode {
  const id = useId();
  const [overlapMs, setOverlapMs] = useState(3_600_000);
  const rotate = async () => {
    const body = { overlap_sec: overlapMs / 1000 };
    const made = await sendDocument<KeyWithSecret>("POST", `${buildKeyPath(target!)}/rotate`, body);
    onSecret(made);
    onDone(made);
  };
  return html`<${ConfirmDialog}
    title=${`New secret for ${target!.key_id}`}
    action="Rotate"
    isDangerous=${overlapMs === 0}
    onConfirm=${rotate}
    onClose=${onClose}
  >
    <p>
      The key keeps its id, scopes and expiry. Its holder puts the new text in place of the old.
    </p>
    <${OwnKeyNotice} target=${target!} />
    <${Field} id=${id} label="The present secret works on">
      <select
        id=${id}
        value=${overlapMs}
        onChange=${(event: Event) => setOverlapMs(Number((event.target as HTMLSelectElement).value))}
      >
        ${OVERLAPS_MS.map(
          (each) =>
            html`<option value=${each}>
              ${each === 0 ? "not at all: it has leaked" : formatDuration(each)}
            </option>`,
        )}
      </select>
    <//>
  <//>`;
}

export function RevokeKeyDialog({ target, onDone, onClose }: KeyDialogProps): VNode {
  const revoke = async () => onDone(await sendDocument<ListedKey>("DELETE", buildKeyPath(target!)));
  return html`<${ConfirmDialog}
    title=${`Revoke ${target!.key_id} for good?`}
    name=${target!.key_id}
    action="Revoke"
    isDangerous=${true}
    onConfirm=${revoke}
    onClose=${onClose}
  >
    <p>Whoever uses it is refused from the next request on. It cannot be taken back.</p>
    <${OwnKeyNotice} target=${target!} />
  <//>`;
}

/** The session lives by its key's secret. */
function OwnKeyNotice({ target }: { target: ListedKey }): VNode | null {
  if (readSession()?.key_id !== target.key_id) return null;
  return html`<${Notice} kind="warn">You are logged in with this key: this session ends.<//>`;
}

function buildKeyPath(key: ListedKey): string {
  return `/v1/keys/${encodeURIComponent(key.key_id)}`;
}
