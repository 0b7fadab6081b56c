// Form field of an end: so long from now, at a time by this browser's clock, or never.
import { DAY_MS } from "../format.ts";
import { html, readInputValue, type VNode } from "../html.ts";
import { Field, SelectField } from "./fields.ts";

export interface ExpiryDraft {
  /** Days from now, `never`, or `at` the time of `endsAt`. */
  readonly ends: string;
  /** As a field of time has it: local, without a zone. */
  readonly endsAt: string;
}

interface ExpiryFieldProps {
  readonly id: string;
  readonly draft: ExpiryDraft;
  /** Words of each choice by its value, as `ExpiryDraft.ends` has it. */
  readonly choices: readonly (readonly [ends: string, words: string])[];
  readonly onChange: (change: Partial<ExpiryDraft>) => void;
}

export function ExpiryField({ id, draft, choices, onChange }: ExpiryFieldProps): VNode {
  return html`
    <${SelectField}
      id=${`${id}-ends`}
      label="Ends"
      value=${draft.ends}
      options=${choices}
      onValue=${(ends: string) => onChange({ ends })}
    />
    ${
      draft.ends === "at" &&
      html`<${Field} id=${`${id}-at`} label="Ends at, by this browser's clock">
        <input
          id=${`${id}-at`}
          type="datetime-local"
          value=${draft.endsAt}
          onInput=${(event: Event) => onChange({ endsAt: readInputValue(event) })}
        />
      <//>`
    }
  `;
}

/** The draft of an end that is set; `at` is RFC 3339, null for never. */
export function buildExpiryDraft(at: string | null): ExpiryDraft {
  if (at === null) return { ends: "never", endsAt: "" };
  return { ends: "at", endsAt: formatLocalTime(Date.parse(at)) };
}

/** Epoch ms; null: never. @throws Error with a sentence for people. */
export function readExpiryMs({ ends, endsAt }: ExpiryDraft, nowMs: number): number | null {
  if (ends === "never") return null;
  if (ends !== "at") return nowMs + Number(ends) * DAY_MS;
  const at = new Date(endsAt).getTime();
  if (Number.isNaN(at)) throw new Error("say when it ends");
  return at;
}

function formatLocalTime(at: number): string {
  const local = new Date(at - new Date(at).getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, "2026-01-31T00:00".length);
}
