// Form of a condition: its subject, state, levels and stakes, and the fields that it shares with a stop.
import { html, readInputValue, useId, type VNode } from "../../html.ts";
import { Field, SelectField } from "../../parts/fields.ts";
import type { AgentCondition } from "../../../contract/schemas/conditions.ts";
import {
  buildStandingBody,
  buildStandingDraft,
  type StandingDraft,
  StandingFields,
} from "./standing-fields.ts";

type ConditionState = AgentCondition["state"];

const EFFECTS: Readonly<Record<ConditionState, string>> = {
  suspended: "Every call is blocked and every connection refused, whatever the record says.",
  watch: "Nothing is denied; every decision is flagged for review.",
  cleared:
    "Calls that the record would deny are allowed, up to the stakes below. It must have an end.",
};
const LEVELS = ["L0", "L1", "L2", "L3"] as const;
type Level = (typeof LEVELS)[number];

export interface ConditionDraft extends StandingDraft {
  readonly subject: string;
  readonly state: ConditionState;
  readonly levels: readonly Level[];
  readonly stakesMax: string;
}

/** The draft of a new condition, or of one that takes the place of `before`. */
export function buildConditionDraft(
  subject: string | undefined,
  before: AgentCondition | undefined,
  states: readonly ConditionState[],
): ConditionDraft {
  return {
    subject: before?.subject ?? subject ?? "",
    state: before?.state ?? states[0] ?? "suspended",
    levels: before?.levels ?? [],
    stakesMax: String(before?.max_stakes ?? ""),
    ...buildStandingDraft(before),
  };
}

/** Body of the request; what is empty is left out. @throws Error with a sentence for people. */
export function buildConditionBody(draft: ConditionDraft, nowMs: number): Record<string, unknown> {
  const { state, levels, stakesMax } = draft;
  const hasStakes = state === "cleared" && stakesMax.trim() !== "";
  return {
    state,
    ...buildStandingBody(draft, nowMs),
    ...(levels.length === 0 ? {} : { levels }),
    ...(hasStakes ? { max_stakes: Number(stakesMax) } : {}),
  };
}

interface DraftProps {
  readonly draft: ConditionDraft;
  readonly onChange: (change: Partial<ConditionDraft>) => void;
}

interface ConditionFormProps extends DraftProps {
  readonly states: readonly ConditionState[];
  readonly isSubjectFixed: boolean;
  readonly isScopeFixed: boolean;
}

export function ConditionForm(props: ConditionFormProps): VNode {
  const { draft, states, isSubjectFixed, isScopeFixed, onChange } = props;
  const id = useId();
  const isClearing = draft.state === "cleared";
  const setState = (state: ConditionState) => {
    const needsEnd = state === "cleared" && draft.ends === "never";
    onChange({ state, ...(needsEnd ? { ends: "7" } : {}) });
  };
  return html`
    ${!isSubjectFixed && html`<${SubjectField} draft=${draft} onChange=${onChange} />`}
    <${SelectField}
      id=${`${id}-state`}
      label="State"
      value=${draft.state}
      options=${states}
      onValue=${setState}
    />
    <p class="dim small">${EFFECTS[draft.state]}</p>
    <${LevelChoices} levels=${draft.levels} onLevels=${(levels: Level[]) => onChange({ levels })} />
    ${isClearing && html`<${StakesField} draft=${draft} onChange=${onChange} />`}
    <${StandingFields}
      draft=${draft}
      onChange=${onChange}
      mustEnd=${isClearing}
      isScopeFixed=${isScopeFixed}
    />
  `;
}

function SubjectField({ draft, onChange }: DraftProps): VNode {
  const id = useId();
  return html`<${Field}
    id=${id}
    label="Agent or namespace"
    hint="Such as agent://acme/price-bot, or agent://acme/* for all agents below it."
  >
    <input
      id=${id}
      value=${draft.subject}
      maxlength="512"
      required
      autocomplete="off"
      spellcheck=${false}
      onInput=${(event: Event) => onChange({ subject: readInputValue(event) })}
    />
  <//>`;
}

function StakesField({ draft, onChange }: DraftProps): VNode {
  const id = useId();
  return html`<${Field}
    id=${id}
    label="Up to stakes of"
    hint="Left empty: up to those that a request without stakes counts for."
  >
    <input
      id=${id}
      type="number"
      min="0"
      step="any"
      value=${draft.stakesMax}
      onInput=${(event: Event) => onChange({ stakesMax: readInputValue(event) })}
    />
  <//>`;
}

interface LevelChoicesProps {
  readonly levels: readonly Level[];
  readonly onLevels: (levels: Level[]) => void;
}

function LevelChoices({ levels, onLevels }: LevelChoicesProps): VNode {
  const toggle = (level: Level) =>
    onLevels(LEVELS.filter((each) => (each === level) !== levels.includes(each)));
  return html`<fieldset class="choices">
    <legend>Tool levels; none chosen: all</legend>
    <div class="tags">
      ${LEVELS.map(
        (level) =>
          html`<label class="choice">
            <input
              type="checkbox"
              checked=${levels.includes(level)}
              onChange=${() => toggle(level)}
            />
            <span>${level}</span>
          </label>`,
      )}
    </div>
  </fieldset>`;
}
