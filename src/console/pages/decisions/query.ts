// Filters of the decisions in the address of the page, and as parameters of the API.
import type { DecisionFacet } from "../../../contract/decisions.ts";
import type { QueryParameters as Asked } from "../../api.ts";
import type { PageParameters } from "../../location.ts";

/** Facets in the order in which they are shown, with their names for people. */
export const FACET_LABELS: readonly (readonly [DecisionFacet, string])[] = [
  ["effective", "Outcome"],
  ["verdict", "Verdict"],
  ["decision", "Score says"],
  ["reason", "Reason"],
  ["kind", "Asked"],
  ["level", "Tool level"],
  ["flagged", "Flagged for a person"],
  ["shadow", "Shadow mode"],
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

const HOUR_MS = 3_600_000;
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
