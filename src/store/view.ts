// Definition of a documented view: its SQL over tables of which each tenant sees its own rows.

/** The database's own name in SQL: that of its file. */
export const CATALOG = "outcomes";

/** SQL of a table in FROM. */
type TableFormatter = (table: BaseTable) => string;

export interface ViewDefinition {
  sql: (from: TableFormatter) => string;
  /** Comment for analysts on the view and its columns. */
  comment: string;
  columns: readonly (readonly [name: string, comment: string])[];
}

/** Marks of a tenant's rows, as SQL. */
interface TenantConditions {
  tenant: string;
  /** Condition on the namespaces of subject and reporter. */
  owned: string;
  /** The same on the column `namespace`. */
  named: string;
  /** Query of its signing keys. */
  kids: string;
}

/**
 * Scores do not depend on the tenant, but a list of all agents would reveal names of other tenants'.
 * A tenant sees the agents of its namespaces, and those that its outcomes and decisions name.
 */
function buildKnownAgentsCondition({ tenant, owned, named }: TenantConditions): string {
  const main = `${CATALOG}.main`;
  const outcomes = `FROM ${main}.outcome_rows WHERE tenant = ${tenant} OR ${owned}`;
  const days = `FROM ${main}.agent_day_rows WHERE tenant = ${tenant} OR ${owned}`;
  const decisions = `FROM ${main}.decision_rows WHERE tenant = ${tenant}`;
  return `${named} OR agent IN (SELECT subject ${outcomes} UNION SELECT reporter ${outcomes}
    UNION SELECT subject ${days} UNION SELECT subject ${decisions}
    UNION SELECT viewer ${decisions})`;
}

/**
 * Agents that a tenant owns, has asked about or has reported on: those of a list for a key without
 * `analytics:read`. Its rows name more: who reported on its agents, and who asked beside them.
 */
export function buildOwnAgentsCondition({ tenant, named }: TenantConditions): string {
  const rowsOf = (table: string) => `FROM ${CATALOG}.main.${table} WHERE tenant = ${tenant}`;
  return `${named} OR agent IN (SELECT subject ${rowsOf("outcome_rows")}
    UNION SELECT subject ${rowsOf("agent_day_rows")}
    UNION SELECT subject ${rowsOf("decision_rows")})`;
}

/** Rows of each table that a tenant sees. */
export const VISIBLE_ROW_CONDITIONS = {
  outcome_rows: ({ tenant, owned }) => `tenant = ${tenant} OR ${owned}`,
  agent_day_rows: ({ tenant, owned }) => `tenant = ${tenant} OR ${owned}`,
  decision_rows: ({ tenant }) => `tenant = ${tenant}`,
  decision_day_rows: ({ tenant }) => `tenant = ${tenant}`,
  decision_count_rows: ({ tenant }) => `tenant = ${tenant}`,
  provenance_rows: ({ tenant }) => `tenant = ${tenant}`,
  cited_source_rows: ({ tenant }) => `tenant = ${tenant}`,
  review_rows: ({ tenant }) => `tenant = ${tenant}`,
  source_rows: ({ tenant }) => `tenant = ${tenant} OR visibility = 'public'`,
  // All events of the tenant's keys, by any actor.
  audit_rows: ({ tenant, kids }) => `tenant = ${tenant} OR kid IN (${kids})`,
  audit_note_rows: ({ tenant }) => `tenant = ${tenant}`,
  review_event_rows: ({ tenant }) => `tenant = ${tenant}`,
  review_call_rows: ({ tenant }) =>
    `review_id IN (SELECT review_id FROM ${CATALOG}.main.review_event_rows WHERE tenant = ${tenant})`,
  usage_rows: ({ tenant }) => `tenant = ${tenant}`,
  policy_rows: ({ tenant }) => `tenant = ${tenant}`,
  backtest_rows: ({ tenant }) => `tenant = ${tenant}`,
  agent_rows: (scope) => buildKnownAgentsCondition(scope),
  score_day_rows: (scope) => buildKnownAgentsCondition(scope),
  // Of reporters whose outcomes it may see.
  standing_rows: ({ tenant, owned }) =>
    `agent IN (SELECT reporter FROM ${CATALOG}.main.outcome_rows
      WHERE tenant = ${tenant} OR ${owned})`,
  assessment_rows: ({ tenant }) => `tenant = ${tenant}`,
  // A run covers the evidence of all tenants, a time the requests of all.
  kaizen_run_rows: () => "false",
  latency_rows: () => "false",
} satisfies Record<string, (scope: TenantConditions) => string>;

export type BaseTable = keyof typeof VISIBLE_ROW_CONDITIONS;

/** An instant (a TIMESTAMP in UTC) as a local time that says its zone, the operator's. */
export function buildLocalTimeSql(column: string): string {
  return `timezone('UTC', ${column})`;
}

/** Comment on such a column. */
export const LOCAL_TIME_COMMENT = "in local time; the zone is TRUSTRANK_TIME_ZONE, else UTC";

/** A text as SQL writes it. */
export function quoteLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A name as SQL writes it. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
