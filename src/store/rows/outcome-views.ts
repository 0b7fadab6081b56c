// Tables and views of outcomes: their rows, the daily counts that remain of expired rows, the views
// over both.
import { LOCAL_TIME_COMMENT, buildLocalTimeSql, type ViewDefinition } from "../view.ts";

/** Columns of `outcome_rows` in append order, with comments for analysts. */
export const OUTCOME_COLUMNS = [
  ["position", "BIGINT", "position in the evidence journal, from 1"],
  ["outcome_id", "UUID", "id given on receipt"],
  ["subject", "VARCHAR", "the agent reported on, as the wire names it"],
  ["subject_namespace", "VARCHAR", "namespace of an agent:// subject; plain: of any other"],
  ["reporter", "VARCHAR", "the agent that reports"],
  ["reporter_namespace", "VARCHAR", "namespace of an agent:// reporter, else null"],
  ["outcome", "UTINYINT", "1 success, 0 failure"],
  ["stakes", "DOUBLE", "value at risk, in the tenant's unit"],
  [
    "grade",
    "VARCHAR",
    "evidence grade that it weighs as: onchain, escrow, mediator, counterparty, self",
  ],
  ["signature", "VARCHAR", "reporter: signed with its key; bureau: imported by the operator; none"],
  ["settled_at", "TIMESTAMP", "when the outcome settled, UTC"],
  ["recorded_at", "TIMESTAMP", "when the bureau recorded it, UTC"],
  ["agent_fault", "BOOLEAN", "false: the tool or network failed; stored, not scored"],
  ["tenant", "VARCHAR", "tenant of the reporting key"],
  ["action", "VARCHAR", "what was attempted, or empty"],
  ["request_id", "VARCHAR", "the verdict it settles, or empty"],
  ["source", "VARCHAR", "api, import:<file> or ratings:<file>"],
  ["kid", "VARCHAR", "key that the reporter signed with, else null"],
  ["jti", "UUID", "id that the reporter signed, else null"],
  ["evidence_id", "UUID", "the signed batch it came in, else null"],
  ["evidence_index", "INTEGER", "its place in that batch, from 0"],
  ["body_digest", "VARCHAR", "signed alone: half the SHA-256 of the body, hex"],
  ["incident_id", "VARCHAR", "the incident that it belongs to, as its tenant names it, else null"],
  ["stakes_scored", "DOUBLE", "the stakes in the bureau's unit of account, as scored"],
  [
    "counted_share",
    "DOUBLE",
    "share of its weight that counted when it was folded: below 1 for a failure beyond its incident's cap",
  ],
  [
    "signed_by",
    "VARCHAR",
    "who answers for it: reporter (its key signed), bureau (for a first-party API key), import, none",
  ],
  [
    "claimed_grade",
    "VARCHAR",
    "the grade as sent; above `grade` where nothing proves it, below it where it is attested",
  ],
  ["attested", "VARCHAR", "who signed beside the reporter: cosigned, mediator; else null"],
  ["transaction_id", "VARCHAR", "the attested transaction, which counts once, else null"],
] as const;

/** Columns that not every outcome has. */
const NULLABLE_OUTCOME_COLUMNS: ReadonlySet<string> = new Set([
  "subject_namespace",
  "reporter_namespace",
  "settled_at",
  "recorded_at",
  "kid",
  "jti",
  "evidence_id",
  "evidence_index",
  "body_digest",
  "incident_id",
  "attested",
  "transaction_id",
]);

const OUTCOME_ROWS_SQL = OUTCOME_COLUMNS.map(
  ([name, type]) => `${name} ${type}${NULLABLE_OUTCOME_COLUMNS.has(name) ? "" : " NOT NULL"}`,
).join(", ");

/**
 * Daily counts that remain of expired outcomes: enough to answer `agents_daily` for any choice of
 * tenants and namespaces. Reporters are kept by `hash`, whose values may change with DuckDB's
 * version.
 */
const AGENT_DAY_ROWS_SQL = `day DATE NOT NULL, subject VARCHAR NOT NULL, subject_namespace VARCHAR,
  reporter_namespace VARCHAR, tenant VARCHAR NOT NULL, outcomes BIGINT NOT NULL,
  successes BIGINT NOT NULL, stakes_total DOUBLE NOT NULL, stakes_failed DOUBLE NOT NULL,
  reporter_hashes UBIGINT[] NOT NULL`;

const DAY_COUNTS_SQL = `count(*) AS outcomes, count(*) FILTER (outcome = 1) AS successes,
  sum(stakes) AS stakes_total, coalesce(sum(stakes) FILTER (outcome = 0), 0) AS stakes_failed,
  list(DISTINCT hash(reporter)) AS reporter_hashes`;

/** Counts of the outcomes in `rows`, in the columns of `agent_day_rows`. */
export function buildDayCountsSql(rows: string): string {
  return `SELECT CAST(settled_at AS DATE) AS day, subject, subject_namespace, reporter_namespace,
    tenant, ${DAY_COUNTS_SQL} FROM ${rows} WHERE agent_fault GROUP BY ALL`;
}

/**
 * Rows and remaining counts add up in one pass. Reporters are counted by their hashes, each from one
 * row or one entry of a list: no list is made for a day of an agent, of which there are as many as
 * outcomes where outcomes are sparse.
 */
const AGENTS_DAILY: ViewDefinition = {
  sql: (from) => `SELECT subject, day,
      CAST(sum(n) AS BIGINT) AS outcomes,
      CAST(sum(good) AS BIGINT) AS successes,
      CAST(sum(n) - sum(good) AS BIGINT) AS failures,
      (sum(n) - sum(good)) / sum(n) AS failure_rate,
      sum(stakes) AS stakes_total,
      sum(lost) AS stakes_failed,
      count(DISTINCT reporter) AS reporters
    FROM (
      SELECT subject, CAST(settled_at AS DATE) AS day, 1 AS n, outcome AS good, stakes,
        if(outcome = 0, stakes, 0) AS lost, hash(reporter) AS reporter
      FROM ${from("outcome_rows")} WHERE agent_fault
      UNION ALL
      SELECT subject, day, outcomes, successes, stakes_total, stakes_failed, NULL
      FROM ${from("agent_day_rows")}
      UNION ALL
      SELECT subject, day, 0, 0, 0, 0, unnest(reporter_hashes) FROM ${from("agent_day_rows")})
    GROUP BY subject, day`,
  comment: "outcomes that were the agent's doing, by agent and day; kept when rows expire",
  columns: [
    ["subject", "the agent reported on"],
    ["day", "UTC day of settlement"],
    ["outcomes", "outcomes that were its doing"],
    ["successes", "of those, successes"],
    ["failures", "of those, failures"],
    ["failure_rate", "failures / outcomes, 0 to 1"],
    ["stakes_total", "sum of stakes that day"],
    ["stakes_failed", "sum of stakes of failures that day"],
    ["reporters", "distinct reporters that day"],
  ],
};

const REPORTERS: ViewDefinition = {
  sql: (from) => `SELECT reporter,
      count(*) AS outcomes,
      count(DISTINCT subject) AS subjects,
      count(*) FILTER (outcome = 0) AS failures,
      count(*) FILTER (outcome = 0) / count(*) AS failure_rate,
      sum(stakes) AS stakes_total,
      avg(CAST(signature = 'reporter' AS INTEGER)) AS signed_share,
      min(settled_at) AS first_settled_at,
      max(settled_at) AS last_settled_at,
      any_value(s.credibility) AS credibility,
      coalesce(any_value(s.is_seed), false) AS is_seed,
      any_value(s.cluster) AS cluster,
      coalesce(any_value(s.in_ring), false) AS in_ring
    FROM ${from("outcome_rows")} AS o LEFT JOIN (
      SELECT agent, credibility, is_seed, cluster, in_ring FROM ${from("standing_rows")}
      QUALIFY row_number() OVER (PARTITION BY agent ORDER BY position DESC) = 1
    ) AS s ON o.reporter = s.agent
    GROUP BY reporter`,
  comment: "who reports: volume, breadth, how often a failure; of the outcomes that are kept",
  columns: [
    ["reporter", "the agent that reports"],
    ["outcomes", "outcomes that it reported"],
    ["failures", "of those, failures"],
    ["stakes_total", "sum of their stakes"],
    ["first_settled_at", "when its first outcome settled, UTC"],
    ["last_settled_at", "when its newest outcome settled, UTC"],
    ["subjects", "distinct agents reported on"],
    ["failure_rate", "share of reported failures, 0 to 1"],
    ["signed_share", "share of outcomes that it signed with its own key, 0 to 1"],
    ["credibility", "what its word counts while credibility is in force, 0 to 1; null: a stranger"],
    ["is_seed", "whether the operator vouches for it"],
    ["cluster", "reporters of one number are one voice; null for none"],
    ["in_ring", "whether that cluster is a ring: it praises one another and fails outsiders"],
  ],
};

export const OUTCOME_VIEWS: Readonly<Record<string, ViewDefinition>> = {
  outcomes: {
    sql: (from) => `SELECT *, ${buildLocalTimeSql("settled_at")} AS settled_local,
      ${buildLocalTimeSql("recorded_at")} AS recorded_local FROM ${from("outcome_rows")}`,
    comment: "every recorded outcome that is kept, one row each",
    columns: [
      ...OUTCOME_COLUMNS.map(([name, , comment]) => [name, comment] as const),
      ["settled_local", `settled_at, ${LOCAL_TIME_COMMENT}`],
      ["recorded_local", `recorded_at, ${LOCAL_TIME_COMMENT}`],
    ],
  },
  agents_daily: AGENTS_DAILY,
  reporters: REPORTERS,
};

/** The tables of this file. */
export function buildOutcomeTableSql(): string[] {
  return [
    `CREATE TABLE outcome_rows (${OUTCOME_ROWS_SQL})`,
    `CREATE TABLE agent_day_rows (${AGENT_DAY_ROWS_SQL})`,
    // One row per applied batch, in the same transaction as its outcomes: the last row gives the
    // applied position of the journal, the number of outcomes up to it, how many of them have
    // expired, and which record was the last.
    `CREATE TABLE applied (node VARCHAR NOT NULL, epoch BIGINT NOT NULL, lsn BIGINT NOT NULL,
      outcome_count BIGINT NOT NULL, expired_count BIGINT NOT NULL, record_crc BIGINT NOT NULL,
      schema_version BIGINT NOT NULL)`,
  ];
}
