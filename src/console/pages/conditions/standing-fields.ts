// Fields that a condition and a stop share: reason, case, end, and whose word it is.
import { html, readInputValue, useId, type VNode } from "../../html.ts";
import {
  buildExpiryDraft,
  type ExpiryDraft,
  ExpiryField,
  readExpiryMs,
} from "../../parts/expiry-field.ts";
import { Field } from "../../parts/fields.ts";
import { hasAnyScope, readSession } from "../../session.ts";
import type { AgentCondition, StopDescription } from "../../../contract/schemas/conditions.ts";

/** Who said it, why and until when. */
export type Standing = AgentCondition | StopDescription;

export interface StandingDraft extends ExpiryDraft {
  readonly code: string;
  readonly text: string;
  readonly caseId: string;
  readonly isOfBureau: boolean;
}

const CODES = ["incident", "fraud", "compromised-key", "maintenance", "investigation"];
const ENDS = [
  ["1", "in a day"],
  ["7", "in a week"],
  ["30", "in 30 days"],
  ["at", "at a time"],
] as const;
const NEVER = ["never", "when it is lifted"] as const;

/** The draft of a new one, or of one that takes the place of `before`. */
export function buildStandingDraft(before: Standing | undefined): StandingDraft {
  const { reason, case: caseId = null, scope, until = null } = before ?? {};
  return {
    code: reason?.code ?? "",
    text: reason?.text ?? "",
    caseId: caseId ?? "",
    isOfBureau: scope === "bureau",
    ...buildExpiryDraft(until),
  };
}

/** Members of the request; a reason's text and a case that are empty are left out. */
export function buildStandingBody(draft: StandingDraft, nowMs: number): Record<string, unknown> {
  const [code, text, caseId] = [draft.code, draft.text, draft.caseId].map((each) => each.trim());
  const untilMs = readExpiryMs(draft, nowMs);
  return {
    scope: draft.isOfBureau ? "bureau" : "tenant",
    reason: { code, ...(text === "" ? {} : { text }) },
    ...(caseId === "" ? {} : { case: caseId }),
    ...(untilMs === null ? {} : { until: untilMs }),
  };
}

interface StandingFieldsProps {
  readonly draft: StandingDraft;
  readonly onChange: (change: Partial<StandingDraft>) => void;
  /** It must have an end. */
  readonly mustEnd?: boolean;
  /** Whose word it is stays: another scope would leave the one that it replaces. */
  readonly isScopeFixed?: boolean;
}

export function StandingFields(props: StandingFieldsProps): VNode {
  const { draft, onChange, mustEnd = false, isScopeFixed = false } = props;
  const id = useId();
  const line = (name: "code" | "text" | "caseId", label: string, hint: string) =>
    html`<${Field} id=${`${id}-${name}`} label=${label} hint=${hint}>
      <input
        id=${`${id}-${name}`}
        value=${draft[name]}
        list=${name === "code" ? `${id}-codes` : undefined}
        maxlength="256"
        autocomplete="off"
        spellcheck=${false}
        aria-describedby=${`${id}-${name}-hint`}
        onInput=${(event: Event) => onChange({ [name]: readInputValue(event) })}
      />
    <//>`;
  return html`
    ${line("code", "Reason code", "For programs: lower-case letters, digits and -_.")}
    <datalist id=${`${id}-codes`}>
      ${CODES.map((each) => html`<option value=${each}></option>`)}
    </datalist>
    ${line("text", "Reason text", "For people. Other tenants never see it.")}
    ${line("caseId", "Case", "Number or address of the case, if there is one.")}
    <${ExpiryField}
      id=${id}
      draft=${draft}
      choices=${mustEnd ? ENDS : [NEVER, ...ENDS]}
      onChange=${onChange}
    />
    ${
      hasAnyScope("admin") &&
      html`<label class="choice">
        <input
          type="checkbox"
          checked=${draft.isOfBureau}
          disabled=${isScopeFixed}
          onChange=${() => onChange({ isOfBureau: !draft.isOfBureau })}
        />
        <span>Of the bureau: for all tenants, not for <b>${readSession()?.tenant}</b> alone</span>
      </label>`
    }
  `;
}
