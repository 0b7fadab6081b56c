// Filters of the decision log as SQL over the raw columns of its table: indexes and bits are compared
// as numbers, so that words are made for the rows that are shown alone, and times prune whole blocks.
import {
  DECISION_KINDS,
  DECISION_LEGS,
  type DecisionFilter,
  type DecisionListCursor,
  type DecisionFacet,
} from "../../contract/decisions.ts";
import { DECISIONS, TOOL_LEVELS, VERDICTS } from "../../contract/vocabulary.ts";
import { FLAG_ENFORCED, FLAG_FLAGGED, FLAG_ALLOWED } from "./ring-layout.ts";
import { buildFlagCondition } from "./rows.ts";

/** Collects values that a statement is given beside its text. */
export class SqlParameters {
  readonly values: string[] = [];

  /** Takes a value; returns what stands for it in the text. */
  bind(value: string): string {
    this.values.push(value);
    return `$${this.values.length}::VARCHAR`;
  }
}

/** Whether a row lets its caller go on, shadow mode included. */
export const ALLOWED_CONDITION = `(${buildFlagCondition(FLAG_ALLOWED)} OR NOT ${buildFlagCondition(FLAG_ENFORCED)})`;
export const FLAGGED_CONDITION = buildFlagCondition(FLAG_FLAGGED);
export const SHADOW_CONDITION = `(NOT ${buildFlagCondition(FLAG_ENFORCED)})`;

/** The rule that decided and the reason codes of a row, each once. */
export const REASON_LIST_SQL =
  "list_filter(list_distinct(list_append(string_split(reason_codes, ','), log_reason)), r -> r <> '')";

/** Conditions on whose decisions, which agent's and when; all of them hold. */
export function buildScopeConditions(filter: DecisionFilter, parameters: SqlParameters): string[] {
  const conditions: string[] = [];
  const where = (value: string | undefined, condition: (bound: string) => string) => {
    if (value !== undefined) conditions.push(condition(parameters.bind(value)));
  };
  where(filter.tenant, (tenant) => `tenant = ${tenant}`);
  where(filter.requestId, (id) => `request_id = ${id}`);
  where(filter.agent, (agent) => `(subject = ${agent} OR viewer = ${agent})`);
  where(filter.subject, (subject) => `subject = ${subject}`);
  where(filter.sinceMs?.toString(), (since) => `evaluated_ms >= CAST(${since} AS DOUBLE)`);
  if (filter.before !== undefined) conditions.push(buildCursorCondition(filter.before, parameters));
  return conditions;
}

/** Conditions by the facet that they choose a value of. */
export function buildFacetConditions(
  filter: DecisionFilter,
  parameters: SqlParameters,
): Partial<Record<DecisionFacet, string>> {
  const { verdict, decision, effective, kind, level, reason, config, ofTenant } = filter;
  const is = (condition: string, isWanted: boolean) =>
    isWanted ? condition : `(NOT ${condition})`;
  const choices: Partial<Record<DecisionFacet, string>> = {};
  if (verdict !== undefined) choices.verdict = `verdict_index = ${VERDICTS.indexOf(verdict)}`;
  if (decision !== undefined) choices.decision = `decision_index = ${DECISIONS.indexOf(decision)}`;
  if (effective !== undefined) choices.effective = is(ALLOWED_CONDITION, effective === "allow");
  if (kind !== undefined) choices.kind = `kind_index = ${DECISION_KINDS.indexOf(kind)}`;
  if (level !== undefined) choices.level = `tool_level_index = ${TOOL_LEVELS.indexOf(level)}`;
  if (reason !== undefined) {
    choices.reason = `list_contains(${REASON_LIST_SQL}, ${parameters.bind(reason)})`;
  }
  if (config !== undefined) choices.config = `config_version = ${parameters.bind(config)}`;
  if (ofTenant !== undefined) choices.tenant = `tenant = ${parameters.bind(ofTenant)}`;
  if (filter.isFlagged !== undefined) choices.flagged = is(FLAGGED_CONDITION, filter.isFlagged);
  if (filter.isShadow !== undefined) choices.shadow = is(SHADOW_CONDITION, filter.isShadow);
  return choices;
}

/** Conditions joined; true where there is none. */
export function joinConditions(conditions: readonly string[]): string {
  return conditions.length === 0 ? "true" : conditions.join(" AND ");
}

/** Rows behind a place of the list: older ones, and the rest of its millisecond. */
function buildCursorCondition(
  { evaluatedMs, requestId, leg }: DecisionListCursor,
  parameters: SqlParameters,
): string {
  const at = `CAST(${parameters.bind(String(evaluatedMs))} AS DOUBLE)`;
  if (requestId === undefined) return `evaluated_ms < ${at}`;
  const id = parameters.bind(requestId);
  const legIndex = leg === undefined ? DECISION_LEGS.length : DECISION_LEGS.indexOf(leg);
  // The first condition alone is one that blocks of rows are left out by.
  return `evaluated_ms <= ${at} AND (evaluated_ms < ${at} OR request_id > ${id}
    OR (request_id = ${id} AND leg_index > ${legIndex}))`;
}
