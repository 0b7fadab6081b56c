// Facets of the decision log: filters in the address and in the API, their counts, and the active ones.
import { HOUR_MS, formatNumber, escapeHiddenCharacters } from "../../format.ts";
import type { DecisionFacet, Disposition } from "../../../contract/decisions.ts";
import type { QueryParameters as Asked } from "../../api.ts";
import type { PageParameters } from "../../location.ts";
import type { DecisionFacets } from "../../../contract/schemas/decisions.ts";
import { html, type VNode } from "../../html.ts";
import { Empty } from "../../parts/notices.ts";
import { DISPOSITION_WORDS } from "../../parts/words.ts";

/** Facets in the order in which they are shown, with their names for people. */
export const FACET_LABELS: readonly (readonly [DecisionFacet, string])[] = [
  ["disposition", "Outcome"],
  ["verdict", "Verdict"],
  ["decision", "Score says"],
  ["reason", "Reason"],
  ["kind", "Asked"],
  ["level", "Tool level"],
  ["flagged", "Flagged for a person"],
  ["shadow", "Shadow mode"],
  ["effective", "Reached its target"],
  ["config", "Scoring config"],
  ["tenant", "Tenant"],
];

/** Ranges back from now, in hours. */
export const RANGES: readonly (readonly [string, string, number | undefined])[] = [
  ["", "all that is kept", undefined],
  ["1h", "last hour", 1],
  ["24h", "last day", 24],
  ["7d", "last 7 days", 168],
  ["30d", "last 30 days", 720],
];

const FILTER_NAMES = [...FACET_LABELS.map(([facet]) => facet), "agent", "subject"] as const;

/** Names of what may be chosen, without the times and the place in the list. */
export type DecisionFilterName = (typeof FILTER_NAMES)[number];

/** What is chosen at present. */
export function listActiveChoices(
  parameters: PageParameters,
): (readonly [DecisionFilterName, string])[] {
  return FILTER_NAMES.flatMap((name) => {
    const value = parameters[name];
    return value === undefined || value === "" ? [] : [[name, value] as const];
  });
}

/** Parameters of the API; a range of the address counts back from `nowMs`. */
export function buildDecisionQuery(parameters: PageParameters, nowMs: number): Asked {
  const { since, before, range } = parameters;
  const hours = RANGES.find(([name]) => name === range)?.[2];
  return {
    ...Object.fromEntries(listActiveChoices(parameters)),
    since: since ?? (hours === undefined ? undefined : Math.floor(nowMs - hours * HOUR_MS)),
    before,
  };
}

/** Values of a facet that are shown at once. */
const VALUES_SHOWN_MAX = 8;

type ChangeParameters = (change: Readonly<Record<string, string | undefined>>) => void;

const FACET_VALUE_LABELS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  disposition: Object.fromEntries(
    Object.entries(DISPOSITION_WORDS).map(([name, [words]]) => [name, words]),
  ),
  effective: { allow: "let through", deny: "not let through" },
  flagged: { true: "flagged", false: "not flagged" },
  shadow: { true: "only watched", false: "enforced" },
  decision: { connect_with_verification: "connect, verified" },
};
const FILTER_LABELS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(FACET_LABELS),
  agent: "Agent",
  subject: "Agent judged",
};

const describeFacetValue = (name: string, value: string) =>
  escapeHiddenCharacters(FACET_VALUE_LABELS[name]?.[value] ?? value);

interface FacetListProps {
  readonly counts: DecisionFacets;
  readonly parameters: PageParameters;
  readonly onChange: ChangeParameters;
}

/** All facets that have more than one value, or a choice. */
export function FacetList({ counts, parameters, onChange }: FacetListProps): VNode {
  const shown = FACET_LABELS.filter(([facet]) => {
    return counts.facets[facet].length > 1 || parameters[facet] !== undefined;
  });
  if (shown.length === 0) return html`<${Empty}>Nothing to choose between yet.<//>`;
  return html`<div class="facets">
    ${shown.map(([facet, label]) => {
      const values = counts.facets[facet];
      const most = Math.max(1, ...values.map(({ decisions }) => decisions));
      const chosen = parameters[facet];
      const drawn = (each: { value: string; decisions: number }) =>
        html`<${FacetValue}
          facet=${facet}
          ...${each}
          most=${most}
          isChosen=${each.value === chosen}
          onChange=${onChange}
        />`;
      return html`<section key=${facet} aria-label=${label}>
        <h3>${label}</h3>
        <ul>
          ${values.slice(0, VALUES_SHOWN_MAX).map(drawn)}
        </ul>
        ${
          values.length > VALUES_SHOWN_MAX &&
          html`<details>
            <summary>${formatNumber(values.length - VALUES_SHOWN_MAX)} more</summary>
            <ul>
              ${values.slice(VALUES_SHOWN_MAX).map(drawn)}
            </ul>
          </details>`
        }
      </section>`;
    })}
  </div>`;
}

interface FacetValueProps {
  readonly facet: string;
  readonly value: string;
  readonly decisions: number;
  /** Of the most frequent value. */
  readonly most: number;
  readonly isChosen: boolean;
  readonly onChange: ChangeParameters;
}

function FacetValue({ facet, value, decisions, most, isChosen, onChange }: FacetValueProps): VNode {
  const word = describeFacetValue(facet, value);
  const tone = facet === "disposition" ? DISPOSITION_WORDS[value as Disposition][1] : "";
  return html`<li>
    <button
      type="button"
      class="facet"
      title=${word}
      aria-pressed=${isChosen ? "true" : "false"}
      onClick=${() => onChange({ [facet]: isChosen ? undefined : value, behind: undefined })}
    >
      <bdi class="cut">${word}</bdi>
      <span class="n">${formatNumber(decisions)}</span>
      <svg viewBox="0 0 100 3" preserveAspectRatio="none" aria-hidden="true">
        <rect class=${`bar ${tone}`} width=${(100 * decisions) / most} height="3" />
      </svg>
    </button>
  </li>`;
}

/** What is chosen, each to be taken away. */
export function ActiveFilters({
  parameters,
  onChange,
}: Omit<FacetListProps, "counts">): VNode | null {
  const chosen = listActiveChoices(parameters);
  const isRange = parameters["since"] !== undefined || parameters["before"] !== undefined;
  if (chosen.length === 0 && !isRange) return null;
  const cleared = Object.fromEntries(chosen.map(([name]) => [name, undefined]));
  return html`<p class="chosen-list">
    ${chosen.map(
      ([name, value]: readonly [DecisionFilterName, string]) =>
        html`<button
          type="button"
          key=${name}
          class="small"
          aria-label=${`Remove ${FILTER_LABELS[name]} ${describeFacetValue(name, value)}`}
          onClick=${() => onChange({ [name]: undefined, behind: undefined })}
        >
          <span class="dim">${FILTER_LABELS[name]}:</span>
          <bdi>${describeFacetValue(name, value)}</bdi>
          <span aria-hidden="true"> ×</span>
        </button>`,
    )}
    ${
      isRange &&
      html`<button
        type="button"
        class="small"
        onClick=${() => onChange({ since: undefined, before: undefined, behind: undefined })}
      >
        <span class="dim">Time:</span> as drawn<span aria-hidden="true"> ×</span>
      </button>`
    }
    <button
      type="button"
      class="plain"
      onClick=${() =>
        onChange({ ...cleared, since: undefined, before: undefined, behind: undefined })}
    >
      clear all
    </button>
  </p>`;
}
