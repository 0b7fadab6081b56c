// Definition of a documented view: its SQL over tables of which each tenant sees its own rows.

/** The database's own name in SQL: that of its file. */
export const CATALOG = "outcomes";

/** SQL of a table in FROM. */
export type From = (table: BaseTable) => string;

export interface View {
  sql: (from: From) => string;
  /** Comment for analysts on the view and its columns. */
  comment: string;
  columns: readonly (readonly [name: string, comment: string])[];
}

/** Rows of each table that a tenant sees; `owned` is a condition on namespaces. */
export const VISIBLE = {
  outcome_rows: ({ tenant, owned }) => `tenant = ${tenant} OR ${owned}`,
  agent_day_rows: ({ tenant, owned }) => `tenant = ${tenant} OR ${owned}`,
  decision_rows: ({ tenant }) => `tenant = ${tenant}`,
  decision_day_rows: ({ tenant }) => `tenant = ${tenant}`,
  provenance_rows: ({ tenant }) => `tenant = ${tenant}`,
  review_rows: ({ tenant }) => `tenant = ${tenant}`,
  source_rows: ({ tenant }) => `tenant = ${tenant} OR visibility = 'public'`,
  // All events of the tenant's keys, by any actor.
  audit_rows: ({ tenant, kids }) => `tenant = ${tenant} OR kid IN (${kids})`,
  audit_note_rows: ({ tenant }) => `tenant = ${tenant}`,
  // Of reporters whose outcomes it may see.
  standing_rows: ({ tenant, owned }) =>
    `agent IN (SELECT reporter FROM ${CATALOG}.main.outcome_rows
      WHERE tenant = ${tenant} OR ${owned})`,
  assessment_rows: ({ tenant }) => `tenant = ${tenant}`,
  // A run covers the evidence of all tenants.
  kaizen_run_rows: () => "false",
} satisfies Record<string, (scope: { tenant: string; owned: string; kids: string }) => string>;

export type BaseTable = keyof typeof VISIBLE;

/** A text as SQL writes it. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
