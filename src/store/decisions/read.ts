// The decision log read back: entries under a filter by keyset paging, and their counts by value
// (facets) and over time. Rows are chosen in the raw table and given words afterwards; no OFFSET.
import {
  COUNTED_ENTRIES_MAX,
  DECISION_KINDS,
  type DecisionCounts,
  type DecisionFilter,
  type DecisionFacet,
  DECISION_FACETS,
  DECISION_LEGS,
  type DecisionListCursor,
  DISPOSITIONS,
  type Disposition,
} from "../../contract/decisions.ts";
import type { ReplayableLeg } from "../../contract/schemas/decisions.ts";
import { DECISIONS, TOOL_LEVELS, VERDICTS } from "../../contract/vocabulary.ts";
import type { Connection } from "../duckdb.ts";
import { computeMinuteMs } from "./counts.ts";
import {
  INPUT_COLUMNS,
  NAMED_INPUT_COLUMNS,
  buildDecisionsSql,
  DISPOSITION_INDEX_SQL,
  LEG_COLUMNS,
  WEIGHT_SQL,
  buildWordSql,
  buildFlagCondition,
} from "./table.ts";
import { FLAG_ENFORCED, FLAG_FLAGGED, FLAG_ALLOWED } from "./ring-layout.ts";

/** Collects values that a statement is given beside its text. */
export class SqlParameters {
  readonly values: string[] = [];

  /** Adds a value; returns its placeholder. */
  bind(value: string): string {
    this.values.push(value);
    return `$${this.values.length}::VARCHAR`;
  }
}

/** Whether a row allows the call, shadow mode included. */
export const ALLOWED_CONDITION = `(${buildFlagCondition(FLAG_ALLOWED)} OR NOT ${buildFlagCondition(FLAG_ENFORCED)})`;
const FLAGGED_CONDITION = buildFlagCondition(FLAG_FLAGGED);
const SHADOW_CONDITION = `(NOT ${buildFlagCondition(FLAG_ENFORCED)})`;

/** The rule that decided and the reason codes of a row, each once. */
const REASON_LIST_SQL =
  "list_filter(list_distinct(list_append(string_split(reason_codes, ','), log_reason)), r -> r <> '')";

/** Conditions on whose decisions, which agent's and when; all of them hold. */
function buildScopeConditions(filter: DecisionFilter, parameters: SqlParameters): string[] {
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
function buildFacetConditions(
  filter: DecisionFilter,
  parameters: SqlParameters,
): Partial<Record<DecisionFacet, string>> {
  const { verdict, decision, effective, disposition, kind, level, reason, config, ofTenant } =
    filter;
  const is = (condition: string, isWanted: boolean) =>
    isWanted ? condition : `(NOT ${condition})`;
  const choices: Partial<Record<DecisionFacet, string>> = {};
  if (verdict !== undefined) choices.verdict = `verdict_index = ${VERDICTS.indexOf(verdict)}`;
  if (decision !== undefined) choices.decision = `decision_index = ${DECISIONS.indexOf(decision)}`;
  if (effective !== undefined) choices.effective = is(ALLOWED_CONDITION, effective === "allow");
  if (disposition !== undefined) choices.disposition = buildDispositionCondition(disposition);
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

function buildDispositionCondition(disposition: Disposition): string {
  return `(${DISPOSITION_INDEX_SQL}) = ${DISPOSITIONS.indexOf(disposition)}`;
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

/** Values of one facet. */
const FACET_VALUES_MAX = 20;
/** Steps of the counts over time. */
const STEPS_MAX = 60;
const SECOND_MS = 1000;
/** Widths of a step, in seconds. */
const STEP_SECONDS = [
  1, 5, 15, 60, 300, 900, 1800, 3600, 10_800, 21_600, 43_200, 86_400, 604_800, 2_592_000,
  31_536_000,
];

/** Decisions, newest first, with their inputs. */
export async function readDecisions(
  connection: Connection,
  filter: DecisionFilter,
): Promise<ReplayableLeg[]> {
  const parameters = new SqlParameters();
  const scope = buildScopeConditions(filter, parameters);
  const where = joinConditions([
    ...scope,
    ...Object.values(buildFacetConditions(filter, parameters)),
  ]);
  const chosen = `(SELECT * FROM decision_rows WHERE ${where}
    ORDER BY evaluated_ms DESC, request_id, leg_index LIMIT ${filter.limit})`;
  const rows = await connection.rows(
    `SELECT ${[...LEG_COLUMNS, ...NAMED_INPUT_COLUMNS].join(", ")} FROM (${buildDecisionsSql(chosen)})
     ORDER BY evaluated_at DESC, request_id, leg`,
    parameters.values,
  );
  return rows.map(parseLegRow);
}

/**
 * Whether decisions of the time and the kinds asked for have no entry. By the exact counts, which do not tell
 * agents and reason codes apart: those filters are ignored.
 */
export async function hasSampledDecisions(
  connection: Connection,
  filter: Omit<DecisionFilter, "limit">,
): Promise<boolean> {
  const parameters = new SqlParameters();
  const conditions = ["not_recorded > 0"];
  const where = (column: string, value: string | undefined) => {
    if (value !== undefined) conditions.push(`${column} = ${parameters.bind(value)}`);
  };
  where("tenant", filter.tenant);
  where("tenant", filter.ofTenant);
  where("kind", filter.verdict === undefined ? filter.kind : "verify");
  where("tool_level", filter.level);
  where("result", filter.verdict);
  where("effective", filter.effective);
  where("config_version", filter.config);
  if (filter.isShadow !== undefined) conditions.push(`enforced = ${!filter.isShadow}`);
  if (filter.sinceMs !== undefined) {
    conditions.push(`minute_ms >= ${computeMinuteMs(filter.sinceMs)}`);
  }
  if (filter.before !== undefined) conditions.push(`minute_ms <= ${filter.before.evaluatedMs}`);
  const rows = await connection.rows(
    `SELECT 1 FROM decision_count_rows WHERE ${joinConditions(conditions)} LIMIT 1`,
    parameters.values,
  );
  return rows.length > 0;
}

function parseLegRow(row: unknown[]): ReplayableLeg {
  const leg = Object.fromEntries(LEG_COLUMNS.map((name, i) => [name, row[i]]));
  let next = LEG_COLUMNS.length;
  const inputs = INPUT_COLUMNS.map((name) => (name === "" ? 0 : row[next++]));
  return { ...leg, inputs } as unknown as ReplayableLeg;
}

/** What a row counts under, as a list of texts. */
const FACET_VALUES_SQL: Readonly<Record<DecisionFacet, string>> = {
  verdict: `[${buildWordSql(VERDICTS, "verdict_index")}]`,
  decision: `[${buildWordSql(DECISIONS, "decision_index")}]`,
  effective: `[if(${ALLOWED_CONDITION}, 'allow', 'deny')]`,
  disposition: `[${buildWordSql(DISPOSITIONS, DISPOSITION_INDEX_SQL)}]`,
  reason: REASON_LIST_SQL,
  kind: `[${buildWordSql(DECISION_KINDS, "kind_index")}]`,
  level: `[${buildWordSql(TOOL_LEVELS, "tool_level_index")}]`,
  flagged: `[if(${FLAGGED_CONDITION}, 'true', 'false')]`,
  shadow: `[if(${SHADOW_CONDITION}, 'true', 'false')]`,
  config: "[config_version]",
  tenant: "[tenant]",
};

/** Decisions of rows with a column `row_weight`; one of an older version stands for one at least. */
export const DECISIONS_SUM = "sum(coalesce(row_weight, 1))";

const DISPOSITION_COUNTS_SQL = DISPOSITIONS.map(
  (disposition) => `${DECISIONS_SUM} FILTER (${buildDispositionCondition(disposition)})`,
).join(", ");

/** Columns that counts are made from. */
const COUNTED_COLUMNS = `evaluated_ms, row_weight, flag_bits, kind_index, tool_level_index, verdict_index,
  decision_index, log_reason, hard_failure, reason_codes, config_version, tenant`;

/** Counts of the newest entries under a filter; `limit` does not matter. */
export async function countDecisions(
  connection: Connection,
  filter: DecisionFilter,
): Promise<DecisionCounts> {
  const parameters = new SqlParameters();
  const scope = joinConditions(buildScopeConditions(filter, parameters));
  const choices = buildFacetConditions(filter, parameters);
  const marks = DECISION_FACETS.map((facet) => `(${choices[facet] ?? "true"}) AS is_${facet}`).join(
    ", ",
  );
  const looked = `WITH looked AS MATERIALIZED (
    SELECT ${COUNTED_COLUMNS}, ${marks} FROM (SELECT *, ${WEIGHT_SQL} AS row_weight FROM decision_rows WHERE ${scope}
      ORDER BY evaluated_ms DESC LIMIT ${COUNTED_ENTRIES_MAX}))`;
  const read = (rest: string) => connection.rows(`${looked} ${rest}`, parameters.values);
  const figures = new Map<unknown, number>();
  const facets = createEmptyFacets();
  for (const [name, value, count, decisions] of await read(
    `${buildSumsSql()} UNION ALL ${buildFacetCountsSql()}`,
  )) {
    if (value === null) figures.set(name, Number(count));
    else facets[name as DecisionFacet].push(buildFacetCount(value, count, decisions));
  }
  const figure = (name: string) => figures.get(name) ?? 0;
  const stepMs = selectStepMs(figure("first"), figure("last"));
  const steps = await read(
    `SELECT floor(evaluated_ms / ${stepMs}) * ${stepMs} AS step, ${DECISIONS_SUM} FILTER (${ALLOWED_CONDITION}),
       ${DECISIONS_SUM} FILTER (NOT ${ALLOWED_CONDITION}), ${DISPOSITION_COUNTS_SQL}
     FROM looked WHERE ${CHOSEN_CONDITION} GROUP BY step ORDER BY step`,
  );
  const lookedAt = figure("looked");
  return {
    entries: figure("entries"),
    lookedAt,
    isComplete: lookedAt < COUNTED_ENTRIES_MAX,
    isSampled: figure("unknown") > 0 || (await hasSampledDecisions(connection, filter)),
    decisions: Math.round(figure("decisions")),
    oldestMs: lookedAt === 0 ? undefined : figure("oldest"),
    facets,
    stepMs,
    times: steps.map((step) => {
      const [atMs, allow, deny, ...counts] = step.map((each) => Math.round(Number(each)));
      const named = DISPOSITIONS.map((disposition, index) => [disposition, counts[index]!]);
      return { atMs: atMs!, allow: allow!, deny: deny!, dispositions: Object.fromEntries(named) };
    }),
  };
}

function buildFacetCount(value: unknown, entries: unknown, decisions: unknown) {
  return {
    value: value as string,
    entries: Number(entries),
    decisions: Math.round(Number(decisions)),
  };
}

function createEmptyFacets(): DecisionCounts["facets"] {
  const empty = DECISION_FACETS.map((facet) => [facet, []] as const);
  return Object.fromEntries(empty) as unknown as DecisionCounts["facets"];
}

const CHOSEN_CONDITION = DECISION_FACETS.map((facet) => `is_${facet}`).join(" AND ");

/** Rows of name, null, figure and zero, so that one statement brings them and the values. */
function buildSumsSql(): string {
  const figures = {
    looked: "count(*)",
    entries: `count(*) FILTER (${CHOSEN_CONDITION})`,
    decisions: `${DECISIONS_SUM} FILTER (${CHOSEN_CONDITION})`,
    unknown: `count(*) FILTER (${CHOSEN_CONDITION} AND row_weight IS NULL)`,
    oldest: "min(evaluated_ms)",
    first: `min(evaluated_ms) FILTER (${CHOSEN_CONDITION})`,
    last: `max(evaluated_ms) FILTER (${CHOSEN_CONDITION})`,
  };
  return Object.entries(figures)
    .map(
      ([name, sum]) =>
        `SELECT '${name}', NULL::VARCHAR, CAST(${sum} AS DOUBLE), 0::DOUBLE FROM looked`,
    )
    .join(" UNION ALL ");
}

/** Rows of facet, value, entries and decisions; each facet under the choices of all others. */
function buildFacetCountsSql(): string {
  return DECISION_FACETS.map((facet) => {
    const others = DECISION_FACETS.filter((other) => other !== facet).map((other) => `is_${other}`);
    return `(SELECT '${facet}', value, CAST(count(*) AS DOUBLE) AS entries, ${DECISIONS_SUM} AS decisions
      FROM (SELECT unnest(${FACET_VALUES_SQL[facet]}) AS value, row_weight FROM looked WHERE ${others.join(" AND ")})
      WHERE value IS NOT NULL GROUP BY value ORDER BY decisions DESC, value LIMIT ${FACET_VALUES_MAX})`;
  }).join(" UNION ALL ");
}

/** The smallest width at which a span has few enough steps. */
function selectStepMs(firstMs: number, lastMs: number): number {
  const span = Math.max(0, lastMs - firstMs) / SECOND_MS;
  const seconds = STEP_SECONDS.find((each) => each * (STEPS_MAX - 1) >= span);
  return (seconds ?? Math.ceil(span / (STEPS_MAX - 1))) * SECOND_MS;
}
