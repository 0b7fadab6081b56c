// The form of a key, for a new one and for a change: label, scopes, expiry.
import type { Scope } from "../../../contract/vocabulary.ts";
import { html, useId, type VNode } from "../../html.ts";
import { Field } from "../../parts/page.ts";
import { DAY_MS, type ListedKey, SCOPE_WORDS, SCOPES } from "./shapes.ts";

const LABEL_LENGTH_MAX = 128;

export interface KeyDraft {
  readonly tenant: string;
  readonly label: string;
  readonly scopes: readonly Scope[];
  readonly isFirstParty: boolean;
  /** Days from now, `never`, or `at` the time of `endsAt`. */
  readonly ends: string;
  /** As a field of time has it: local, without a zone. */
  readonly endsAt: string;
}

export function buildKeyDraft(key: ListedKey | undefined, tenant: string): KeyDraft {
  const endsAt = key?.expires_at ?? null;
  return {
    tenant: key?.tenant ?? tenant,
    label: key?.label ?? "",
    scopes: key?.scopes ?? ["score:read", "outcomes:write"],
    isFirstParty: key?.first_party ?? false,
    ends: key === undefined ? "90" : endsAt === null ? "never" : "at",
    endsAt: endsAt === null ? "" : formatLocalTime(Date.parse(endsAt)),
  };
}

/** Epoch ms; null: never. @throws Error with a sentence for people. */
export function readDraftExpiryMs({ ends, endsAt }: KeyDraft, nowMs: number): number | null {
  if (ends === "never") return null;
  if (ends !== "at") return nowMs + Number(ends) * DAY_MS;
  const at = new Date(endsAt).getTime();
  if (Number.isNaN(at)) throw new Error("say when the key ends");
  return at;
}

function formatLocalTime(at: number): string {
  const local = new Date(at - new Date(at).getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, "2026-01-31T00:00".length);
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

const readInputValue = (event: Event) => (event.target as HTMLInputElement).value;

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
    ${
      isNew &&
      html`<label class="choice">
        <input
          type="checkbox"
          checked=${draft.isFirstParty}
          onChange=${() => set({ isFirstParty: !draft.isFirstParty })}
        />
        <span>First party: its unsigned reports count as the reporters' that they name</span>
      </label>`
    }
    <${Field} id=${`${id}-ends`} label="Ends">
      <select
        id=${`${id}-ends`}
        value=${draft.ends}
        onChange=${(event: Event) => set({ ends: readInputValue(event) })}
      >
        ${ENDS.map(([value, words]) => html`<option value=${value}>${words}</option>`)}
      </select>
    <//>
    ${
      draft.ends === "at" &&
      html`<${Field} id=${`${id}-at`} label="Ends at, by this browser's clock">
        <input
          id=${`${id}-at`}
          type="datetime-local"
          value=${draft.endsAt}
          onInput=${(event: Event) => set({ endsAt: readInputValue(event) })}
        />
      <//>`
    }
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
