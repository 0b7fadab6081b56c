// Editor of the draft: a form with the common rules of each level, the whole policy as JSON, and its errors.
import type { Policy, LevelPolicy } from "../../../contract/policy.ts";
import { formatPercent } from "../../format.ts";
import { html, readInputValue, useId, useRef, type VNode } from "../../html.ts";
import { Failure } from "../../parts/notices.ts";
import { Card } from "../../parts/page.ts";
import { ActionEntries } from "./action-entries.ts";
import { StakesFields } from "./amounts.ts";
import {
  type DraftCheck,
  computeLineNumber,
  findPointerOffset,
  type DraftProblem,
  type Level,
  LEVELS,
  replaceLevelMember,
} from "./draft.ts";

interface DraftCardProps {
  readonly text: string;
  readonly draft: Policy;
  readonly live: Policy;
  readonly check: DraftCheck;
  readonly onText: (text: string) => void;
  readonly onPolicy: (policy: Policy) => void;
}

export function DraftCard(props: DraftCardProps): VNode {
  const { text, draft, live, check, onText, onPolicy } = props;
  const id = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  const show = (pointer: string) => {
    const element = area.current!;
    element.closest("details")!.open = true;
    const offset = findPointerOffset(text, pointer);
    element.focus();
    element.setSelectionRange(offset, text.indexOf("\n", offset) >>> 0);
  };
  return html`<${Card} title="Draft">
    <${PolicyForm} policy=${draft} live=${live} wrong=${check.wrong} onPolicy=${onPolicy} />
    <${StakesFields} policy=${draft} live=${live} wrong=${check.wrong} onPolicy=${onPolicy} />
    <${ActionEntries} entries=${draft.actions ?? []} wrong=${check.wrong} />
    <${DraftCheckResult} check=${check} text=${text} onShow=${show} />
    <details>
      <summary>All rules as JSON</summary>
      <label class="skip" for=${id}>Policy as JSON</label>
      <textarea
        id=${id}
        ref=${area}
        class="code wide"
        rows="22"
        spellcheck=${false}
        autocapitalize="off"
        value=${text}
        onInput=${(event: Event) => onText(readInputValue(event))}
      ></textarea>
    </details>
  <//>`;
}

interface DraftCheckResultProps {
  readonly check: DraftCheck;
  readonly text: string;
  readonly onShow: (pointer: string) => void;
}

function DraftCheckResult({ check, text, onShow }: DraftCheckResultProps): VNode {
  const { isAsking, made, wrong, error } = check;
  if (error !== undefined) return html`<${Failure} error=${error} />`;
  if (wrong.length > 0) {
    return html`<ul class="wrong" role="alert">
      ${wrong.map(
        ({ pointer, detail }) =>
          html`<li>
            <button type="button" class="plain" onClick=${() => onShow(pointer)}>
              ${pointer === "" ? "the text" : `${pointer}, line ${computeLineNumber(text, findPointerOffset(text, pointer))}`}
            </button>
            ${detail}
          </li>`,
      )}
    </ul>`;
  }
  return html`<p class="small" role="status">
    ${
      isAsking || made === undefined
        ? html`<span class="dim">Checking…</span>`
        : html`<span class="allow">Valid</span>: makes version <code>${made.version}</code>`
    }
  </p>`;
}

interface RuleField {
  readonly member: keyof LevelPolicy;
  readonly label: string;
  readonly hint: string;
  readonly as: "share" | "flag" | readonly string[];
}

const RULE_FIELDS: readonly RuleField[] = [
  {
    member: "allow_up_to",
    label: "allow up to, 0 to 1",
    hint: "failure probability up to which it is let through",
    as: "share",
  },
  {
    member: "allow_handshake_up_to",
    label: "in handshakes, 0 to 1",
    hint: "the same for the other side of a handshake",
    as: "share",
  },
  {
    member: "flag_above",
    label: "flag above, 0 to 1",
    hint: "failure probability above which it is let through, and marked",
    as: "share",
  },
  {
    member: "thin",
    label: "thin record",
    hint: "what too few outcomes draw",
    as: ["allow", "flag", "challenge"],
  },
  { member: "enforce", label: "enforce", hint: "hold back, or only mark", as: "flag" },
  { member: "counts_stakes", label: "stakes", hint: "weigh what is at stake", as: "flag" },
  { member: "shadow", label: "shadow", hint: "answer and log, not to be applied", as: "flag" },
];

interface PolicyFormProps {
  readonly policy: Policy;
  readonly live: Policy;
  readonly wrong: readonly DraftProblem[];
  readonly onPolicy: (policy: Policy) => void;
}

export function PolicyForm({ policy, live, wrong, onPolicy }: PolicyFormProps): VNode {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="rules by level">
    <table class="rules">
      <thead>
        <tr>
          <th scope="col">level</th>
          ${RULE_FIELDS.map(({ label, hint }) => html`<th scope="col" title=${hint}>${label}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${LEVELS.map(
          (level) =>
            html`<tr>
              <th scope="row">${level}</th>
              ${RULE_FIELDS.map((rule) => {
                const value = policy.levels[level][rule.member];
                const isChanged = value !== live.levels[level][rule.member];
                const isWrong = wrong.some(({ pointer }) =>
                  pointer.endsWith(`/levels/${level}/${rule.member}`),
                );
                const set = (next: unknown) =>
                  onPolicy(replaceLevelMember(policy, level, rule.member, next));
                return html`<td class=${isChanged ? "changed" : ""}>
                  <${RuleControl}
                    rule=${rule}
                    level=${level}
                    value=${value}
                    isWrong=${isWrong}
                    onValue=${set}
                  />
                </td>`;
              })}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

interface RuleControlProps {
  readonly rule: RuleField;
  readonly level: Level;
  readonly value: unknown;
  readonly isWrong: boolean;
  readonly onValue: (value: unknown) => void;
}

function RuleControl({ rule, level, value, isWrong, onValue }: RuleControlProps): VNode {
  const label = `${level} ${rule.label}`;
  const invalid = isWrong ? "true" : undefined;
  if (rule.as === "flag") {
    return html`<input
      type="checkbox"
      aria-label=${label}
      aria-invalid=${invalid}
      checked=${value === true}
      onChange=${(event: Event) => onValue((event.target as HTMLInputElement).checked)}
    />`;
  }
  if (rule.as === "share") {
    return html`<div class="share">
      <input
        type="number"
        aria-label=${label}
        aria-invalid=${invalid}
        min="0"
        max="1"
        step="0.005"
        value=${value}
        onInput=${(event: Event) => {
          const { valueAsNumber } = event.target as HTMLInputElement;
          if (Number.isFinite(valueAsNumber)) onValue(valueAsNumber);
        }}
      />
      <span class="dim small">${formatPercent(Number(value))}</span>
    </div>`;
  }
  return html`<select
    aria-label=${label}
    aria-invalid=${invalid}
    value=${value}
    onChange=${(event: Event) => onValue(readInputValue(event))}
  >
    ${rule.as.map((word) => html`<option value=${word}>${word}</option>`)}
  </select>`;
}
