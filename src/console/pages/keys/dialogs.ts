// Dialogs that create, change, rotate and revoke an API key, and the form that the first two share.
// The page shows a new secret once; the dialogs do not keep it.
import { DAY_MS, HOUR_MS, formatDuration } from "../../format.ts";
import { sendDocument } from "../../api.ts";
import { html, readInputValue, useId, useState, type VNode } from "../../html.ts";
import { ConfirmDialog } from "../../parts/actions.ts";
import {
  buildExpiryDraft,
  type ExpiryDraft,
  ExpiryField,
  readExpiryMs,
} from "../../parts/expiry-field.ts";
import { Notice } from "../../parts/notices.ts";
import { Field, SelectField } from "../../parts/fields.ts";
import { readSession } from "../../session.ts";
import { type ListedKey, type KeyWithSecret, SCOPE_WORDS, SCOPES } from "./key-states.ts";
import type { Scope } from "../../../contract/vocabulary.ts";

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
    const endMs = readExpiryMs(draft, Date.now());
    const made = await sendDocument<KeyWithSecret>("POST", "/v1/keys", {
      tenant: draft.tenant.trim(),
      scopes: draft.scopes,
      first_party: draft.isFirstParty,
      asserts_properties: draft.assertsProperties,
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
      : { expires_at: readExpiryMs(draft, Date.now()) }),
  };
  if (Object.keys(change).length === 0) throw new Error("nothing is changed yet");
  return change;
}

/** How long the present secret works on, ms. */
const OVERLAPS_MS = [0, HOUR_MS, DAY_MS, 7 * DAY_MS, 30 * DAY_MS];

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
    <${SelectField}
      id=${id}
      label="The present secret works on"
      value=${overlapMs}
      options=${OVERLAPS_MS.map((each) => [each, each === 0 ? "not at all: it has leaked" : formatDuration(each)])}
      onValue=${(chosen: string) => setOverlapMs(Number(chosen))}
    />
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

const LABEL_LENGTH_MAX = 128;

interface KeyDraft extends ExpiryDraft {
  readonly tenant: string;
  readonly label: string;
  readonly scopes: readonly Scope[];
  readonly isFirstParty: boolean;
  readonly assertsProperties: boolean;
}

function buildKeyDraft(key: ListedKey | undefined, tenant: string): KeyDraft {
  return {
    tenant: key?.tenant ?? tenant,
    label: key?.label ?? "",
    scopes: key?.scopes ?? ["score:read", "outcomes:write"],
    isFirstParty: key?.first_party ?? false,
    assertsProperties: key?.asserts_properties ?? false,
    ...(key === undefined ? { ends: "90", endsAt: "" } : buildExpiryDraft(key.expires_at)),
  };
}

interface KeyFormProps {
  readonly draft: KeyDraft;
  readonly onDraft: (draft: KeyDraft) => void;
  /** Tenant and first party are chosen too: they stay for the life of the key. */
  readonly isNew: boolean;
  readonly tenants: readonly string[];
}

const ENDS: readonly (readonly [string, string])[] = [
  ["30", "in 30 days"],
  ["90", "in 90 days"],
  ["365", "in a year"],
  ["never", "never"],
  ["at", "at a time"],
];

interface KeyMarksProps {
  readonly draft: KeyDraft;
  readonly onChange: (change: Partial<KeyDraft>) => void;
}

/** What an operator vouches for; it stays for the life of the key. */
function KeyMarks({ draft, onChange }: KeyMarksProps): VNode {
  return html`
    <label class="choice">
      <input
        type="checkbox"
        checked=${draft.isFirstParty}
        onChange=${() => onChange({ isFirstParty: !draft.isFirstParty })}
      />
      <span>First party: its unsigned reports count as the reporters' that they name</span>
    </label>
    <label class="choice">
      <input
        type="checkbox"
        checked=${draft.assertsProperties}
        onChange=${() => onChange({ assertsProperties: !draft.assertsProperties })}
      />
      <span>Asserts properties: what its requests say may lower the level of an action</span>
    </label>
  `;
}

export function KeyForm({ draft, onDraft, isNew, tenants }: KeyFormProps): VNode {
  const id = useId();
  const set = (change: Partial<KeyDraft>) => onDraft({ ...draft, ...change });
  const line = (name: "tenant" | "label", label: string, lengthMax: number, hint: string) =>
    html`<${Field} id=${`${id}-${name}`} label=${label} hint=${hint}>
      <input
        id=${`${id}-${name}`}
        value=${draft[name]}
        maxlength=${lengthMax}
        list=${name === "tenant" ? `${id}-tenants` : undefined}
        autocomplete="off"
        spellcheck=${false}
        onInput=${(event: Event) => set({ [name]: readInputValue(event) })}
      />
    <//>`;
  return html`
    ${isNew && line("tenant", "Tenant", 64, "Whose it is: what it reads and reports is this tenant's.")}
    <datalist id=${`${id}-tenants`}>
      ${tenants.map((each) => html`<option value=${each}></option>`)}
    </datalist>
    ${line("label", "Label", LABEL_LENGTH_MAX, "Where it is used, such as a host or a job.")}
    <${ScopeChoices} scopes=${draft.scopes} onScopes=${(scopes: Scope[]) => set({ scopes })} />
    ${isNew && html`<${KeyMarks} draft=${draft} onChange=${set} />`}
    <${ExpiryField} id=${id} draft=${draft} choices=${ENDS} onChange=${set} />
  `;
}

interface ScopeChoicesProps {
  readonly scopes: readonly Scope[];
  readonly onScopes: (scopes: Scope[]) => void;
}

function ScopeChoices({ scopes, onScopes }: ScopeChoicesProps): VNode {
  const toggle = (scope: Scope) =>
    onScopes(SCOPES.filter((each) => (each === scope) !== scopes.includes(each)));
  return html`<fieldset class="choices">
    <legend>Scopes</legend>
    ${SCOPES.map(
      (scope) =>
        html`<label class="choice">
          <input
            type="checkbox"
            checked=${scopes.includes(scope)}
            onChange=${() => toggle(scope)}
          />
          <span><code>${scope}</code> <span class="dim small">${SCOPE_WORDS[scope]}</span></span>
        </label>`,
    )}
  </fieldset>`;
}
