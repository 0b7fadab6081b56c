// Table of conditions, on the page of conditions and on an agent's, with the buttons that the key may use.
import { formatNumber } from "../../format.ts";
import { html, type VNode } from "../../html.ts";
import { linkTo } from "../../location.ts";
import type { Column } from "../../parts/table.ts";
import { AgentLink, Tag, Time, UntrustedText } from "../../parts/words.ts";
import { hasAnyScope, readSession } from "../../session.ts";
import type { AgentCondition } from "../../../contract/schemas/conditions.ts";

export type ConditionAction = "replace" | "lift";

type ConditionState = AgentCondition["state"];

const STATE_TONES: Readonly<Record<ConditionState, string>> = {
  suspended: "deny",
  watch: "warn",
  cleared: "allow",
};

const NAMESPACE_END = "/*";

/** The states that the session's key may set. */
export function listSettableStates(): ConditionState[] {
  const states: ConditionState[] = hasAnyScope("conditions:restrict") ? ["suspended", "watch"] : [];
  return hasAnyScope("conditions:clear") ? [...states, "cleared"] : states;
}

/** Whether the key may lift or replace it; the service judges again. */
export function mayChange({ state, tenant }: AgentCondition): boolean {
  const isOwn = tenant !== null && tenant === readSession()?.tenant;
  return hasAnyScope("admin") || (isOwn && listSettableStates().includes(state));
}

/** Route of the condition of an agent, or of a namespace such as `agent://acme/*`. */
export function buildConditionPath(subject: string): string {
  const isNamespace = subject.startsWith("agent://") && subject.endsWith(NAMESPACE_END);
  if (!isNamespace) return `/v1/agents/${encodeURIComponent(subject)}/condition`;
  const name = subject.slice("agent://".length, -NAMESPACE_END.length);
  return `/v1/namespaces/${encodeURIComponent(name)}/condition`;
}

/** Parameters of a request about it: an administrator names the tenant that it acts for. */
export function selectOwner({ tenant }: Pick<AgentCondition, "tenant">): { tenant?: string } {
  return tenant === null || tenant === readSession()?.tenant ? {} : { tenant };
}

export function buildConditionKey({ subject, tenant }: AgentCondition): string {
  return `${subject}\n${tenant ?? ""}`;
}

function SubjectName({ subject }: { subject: string }): VNode {
  if (!subject.endsWith(NAMESPACE_END)) return html`<${AgentLink} id=${subject} />`;
  const href = linkTo("agents", { q: subject.slice(0, -1) });
  return html`<${AgentLink} id=${subject} href=${href} />`;
}

export function ConditionStateTag({ state }: { state: ConditionState }): VNode {
  return html`<${Tag} word=${state} tone=${STATE_TONES[state]} />`;
}

function formatReach({ state, levels, max_stakes: stakesMax }: AgentCondition): string {
  const at = levels === null ? "all levels" : levels.join(", ");
  if (state !== "cleared") return at;
  return `${at}, up to ${stakesMax === null ? "the assumed stakes" : formatNumber(stakesMax, 2)}`;
}

function renderButtons(
  row: AgentCondition,
  onDo: (doing: ConditionAction, row: AgentCondition) => void,
): VNode | string {
  if (!mayChange(row)) return "";
  const button = (doing: ConditionAction, word: string) =>
    html`<button
      type="button"
      class="small"
      aria-label=${`${word} the condition of ${row.subject}`}
      onClick=${() => onDo(doing, row)}
    >
      ${word}…
    </button>`;
  return html`<div class="tools together">
    ${button("replace", "Replace")} ${button("lift", "Lift")}
  </div>`;
}

export function buildConditionColumns(
  onDo: (doing: ConditionAction, row: AgentCondition) => void,
): Column<AgentCondition>[] {
  return [
    { label: "subject", cell: ({ subject }) => html`<${SubjectName} subject=${subject} />` },
    { label: "state", cell: ({ state }) => html`<${ConditionStateTag} state=${state} />` },
    {
      label: "whose",
      isExtra: true,
      cell: ({ tenant }) =>
        tenant === null ? "the bureau's" : html`<${UntrustedText} text=${tenant} />`,
    },
    { label: "holds for", cell: formatReach },
    {
      label: "until",
      cell: ({ until }) =>
        until === null
          ? html`<span class="dim">lifted</span>`
          : html`<span class="nowrap"><${Time} at=${until} /></span>`,
    },
    {
      label: "reason",
      isLong: true,
      cell: ({ reason, case: caseId }) =>
        html`<code>${reason.code}</code>${
            reason.text !== null && html` <${UntrustedText} text=${reason.text} />`
          }${caseId !== null && html` <span class="dim"><${UntrustedText} text=${caseId} /></span>`}`,
    },
    {
      label: "set by",
      cell: ({ set_by: by }) =>
        by === null ? html`<span class="dim">–</span>` : html`<code>${by}</code>`,
    },
    { label: "set", isExtra: true, cell: ({ set_at: at }) => html`<${Time} at=${at} />` },
    { label: "change", cell: (row) => renderButtons(row, onDo) },
  ];
}
