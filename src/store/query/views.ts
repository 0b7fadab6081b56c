// Documented views, as templates over the tables they read: once over everything, for the operator,
// and again for a tenant's key, over the rows it may see. Both have the same columns.
import { DECISION_VIEWS } from "../decisions/table.ts";
import type { Connection } from "../duckdb.ts";
import { CONDITION_VIEWS } from "../rows/condition-views.ts";
import { EVENT_VIEWS } from "../rows/events.ts";
import { FINDING_VIEWS } from "../rows/finding-views.ts";
import { JOURNAL_VIEWS } from "../rows/journal.ts";
import { LATENCY_VIEWS } from "../rows/latencies.ts";
import { MOVER_VIEWS } from "../rows/mover-views.ts";
import { OUTCOME_VIEWS } from "../rows/outcome-views.ts";
import { POLICY_VIEWS } from "../rows/policies.ts";
import { REVIEW_QUEUE_VIEWS } from "../rows/review-queue.ts";
import { SCORE_VIEWS } from "../rows/scores.ts";
import { USAGE_VIEWS } from "../rows/usage.ts";
import {
  type BaseTable,
  buildOwnAgentsCondition,
  CATALOG,
  quoteLiteral,
  type ViewDefinition,
  VISIBLE_ROW_CONDITIONS,
} from "../view.ts";
import type { AgentRestriction } from "../../contract/schemas/agents.ts";
import type { StoreDescription } from "../store.ts";

export const VIEWS: Readonly<Record<string, ViewDefinition>> = {
  ...OUTCOME_VIEWS,
  ...CONDITION_VIEWS,
  ...DECISION_VIEWS,
  ...EVENT_VIEWS,
  ...FINDING_VIEWS,
  ...JOURNAL_VIEWS,
  ...LATENCY_VIEWS,
  ...MOVER_VIEWS,
  ...POLICY_VIEWS,
  ...REVIEW_QUEUE_VIEWS,
  ...SCORE_VIEWS,
  ...USAGE_VIEWS,
};

/** The views over everything, with their comments. */
export function buildViewSql(): string[] {
  const comment = (target: string, text: string) => `COMMENT ON ${target} IS ${quoteLiteral(text)}`;
  return Object.entries(VIEWS).flatMap(([name, { sql, comment: about, columns }]) => [
    `CREATE VIEW ${name} AS ${sql((table) => table)}`,
    comment(`VIEW ${name}`, about),
    ...columns.map(([column, text]) => comment(`COLUMN ${name}.${column}`, text)),
  ]);
}

/** Marks by which a tenant's rows are recognised. */
interface TenantScope {
  tenant: string;
  /** Namespaces that it owns. */
  namespaces: readonly string[];
}

/**
 * More rows than there can be. A LIMIT is a fence: DuckDB moves no condition of the query below it,
 * so that none is ever evaluated on (and fails with the values of) a row of another tenant.
 */
const PUSHDOWN_BARRIER = "LIMIT 9223372036854775807";

/** The rows of a table that a tenant may see, in the form for FROM. */
function buildVisibleRowsSql(
  table: BaseTable,
  scope: TenantScope,
  buildCondition = VISIBLE_ROW_CONDITIONS[table],
): string {
  const tenant = quoteLiteral(scope.tenant);
  const names = scope.namespaces.map(quoteLiteral).join(", ");
  const owned =
    names === "" ? "false" : `subject_namespace IN (${names}) OR reporter_namespace IN (${names})`;
  const named = names === "" ? "false" : `namespace IN (${names})`;
  const kids = `SELECT kid FROM ${CATALOG}.main.audit_rows
    WHERE event = 'reporter_key.registered' AND tenant = ${tenant}`;
  const condition = buildCondition({ tenant, owned, named, kids });
  return `(SELECT * FROM ${CATALOG}.main.${table} WHERE ${condition} ${PUSHDOWN_BARRIER})`;
}

/** Statements that make the named views for a tenant, ahead of those of the same name. */
export function buildTenantViewSql(names: Iterable<string>, scope: TenantScope): string[] {
  return [...names].map((name) => {
    const { sql } = VIEWS[name] as ViewDefinition;
    return `CREATE TEMP VIEW ${name} AS ${sql((table) => buildVisibleRowsSql(table, scope))}`;
  });
}

/** A view's SQL over the rows that a tenant may see; over all of them without a tenant. */
export async function buildViewQuery(
  connection: Connection,
  name: string,
  tenant: string | undefined,
): Promise<string> {
  const { sql } = VIEWS[name] as ViewDefinition;
  if (tenant === undefined) return sql((table) => table);
  const scope = await readTenantScope(connection, tenant);
  return sql((table) => buildVisibleRowsSql(table, scope));
}

/** A table in FROM, of which only the rows are left that the tenant may see. */
export async function buildTableSource(
  connection: Connection,
  table: BaseTable,
  tenant: string | undefined,
): Promise<string> {
  return tenant === undefined
    ? table
    : buildVisibleRowsSql(table, await readTenantScope(connection, tenant));
}

/** A table of scores in FROM; without `analytics:read` only rows of the tenant's own agents are left. */
export async function buildScoreSource(
  connection: Connection,
  table: "agent_rows" | "score_day_rows",
  { tenant, isAnalyst }: AgentRestriction,
): Promise<string> {
  if (tenant === undefined || isAnalyst) return buildTableSource(connection, table, tenant);
  return buildVisibleRowsSql(
    table,
    await readTenantScope(connection, tenant),
    buildOwnAgentsCondition,
  );
}

/** The tenant's namespaces and keys as of now. */
export async function readTenantScope(
  connection: Connection,
  tenant: string,
): Promise<TenantScope> {
  const rows = await connection.rows(TENANT_NAMESPACES_SQL, [tenant]);
  return { tenant, namespaces: rows.map(([name]) => String(name)) };
}

/**
 * Namespaces of a tenant, as NamespaceOwners folds them: by the last change of its owner, else by the
 * first key, as long as keys claimed namespaces (they did until they said in whose right).
 */
const TENANT_NAMESPACES_SQL = `SELECT namespace FROM ${CATALOG}.main.audit_rows
  WHERE event LIKE 'namespace.%'
    OR (event = 'reporter_key.registered' AND (detail->>'$.by') IS NULL)
  GROUP BY namespace
  HAVING if(count(*) FILTER (event LIKE 'namespace.%') > 0,
    arg_max(if(event = 'namespace.revoked', '', tenant), position)
      FILTER (event LIKE 'namespace.%'),
    arg_min(tenant, position)) = $1::VARCHAR ORDER BY 1`;

/**
 * Statements that leave the tables behind the views out of what a connection lists: SHOW TABLES and
 * information_schema look these functions up by name and find the macros first.
 */
export function buildCatalogSql(): string[] {
  const names = Object.keys(VIEWS).map(quoteLiteral).join(", ");
  const hide = (listing: string, condition: string) =>
    `CREATE TEMP MACRO ${listing}() AS TABLE FROM system.main.${listing}() WHERE ${condition}`;
  return [
    hide("duckdb_tables", "false"),
    hide("duckdb_columns", `internal OR table_name IN (${names})`),
  ];
}

/** Describes every documented view. */
export async function describeViews(connection: Connection): Promise<StoreDescription> {
  const [zone] = await connection.rows("SELECT current_setting('TimeZone')");
  const rows = await connection.rows(
    `SELECT table_name, column_name, data_type, coalesce(comment, '') FROM duckdb_columns()
     WHERE schema_name = 'main' AND NOT internal ORDER BY table_name, column_index`,
  );
  const views = Object.entries(VIEWS).map(([name, { comment }]) => ({
    name,
    comment,
    columns: rows
      .filter(([table]) => table === name)
      .map(([, column, type, about]) => ({
        name: String(column),
        type: String(type),
        comment: String(about),
      })),
  }));
  return { views, timeZone: String(zone?.[0]) };
}
