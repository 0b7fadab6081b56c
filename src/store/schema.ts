// The tables and the documented views of the outcome store. Everything here is derived from the
// journal: a change of schema raises SCHEMA_VERSION and the store is rebuilt, never migrated.
//
// House rules: append-only, no keys, no indexes, no updates (DuckDB's log replay has failed on
// each of them); DDL is followed by a CHECKPOINT.
import { DECISION_COMMENTS, decisionStatements } from "./decision-rows.ts";
import { EVENT_COMMENTS, eventStatements } from "./event-rows.ts";

/** Stored with the data; another number means rebuild. */
export const SCHEMA_VERSION = 4;

/** Columns of `outcome_rows` in append order, with what analysts read about them. */
export const OUTCOME_COLUMNS = [
  ["position", "BIGINT", "position in the evidence journal, from 1"],
  ["outcome_id", "UUID", "id given on receipt"],
  ["subject", "VARCHAR", "the agent reported on"],
  ["subject_namespace", "VARCHAR", "namespace of an agent:// subject, else null"],
  ["reporter", "VARCHAR", "the agent that reports"],
  ["reporter_namespace", "VARCHAR", "namespace of an agent:// reporter, else null"],
  ["outcome", "UTINYINT", "1 success, 0 failure"],
  ["stakes", "DOUBLE", "value at risk, in the tenant's unit"],
  ["grade", "VARCHAR", "evidence grade: onchain, escrow, mediator, counterparty, self"],
  ["signature", "VARCHAR", "how the origin was proved: none, bureau, reporter"],
  ["settled_at", "TIMESTAMP", "when the outcome settled, UTC"],
  ["recorded_at", "TIMESTAMP", "when the bureau recorded it, UTC"],
  ["agent_fault", "BOOLEAN", "false: the tool or network failed; stored, not scored"],
  ["tenant", "VARCHAR", "tenant of the reporting key"],
  ["action", "VARCHAR", "what was attempted, or empty"],
  ["request_id", "VARCHAR", "the verdict it settles, or empty"],
  ["source", "VARCHAR", "api, or import:<file>"],
] as const;

const ROWS = OUTCOME_COLUMNS.map(([name, type]) => `${name} ${type} NOT NULL`)
  .join(", ")
  .replaceAll(/(_namespace VARCHAR|_at TIMESTAMP) NOT NULL/g, "$1");

const AGENTS_DAILY = `
  SELECT subject, CAST(settled_at AS DATE) AS day,
    count(*) AS outcomes,
    count(*) FILTER (outcome = 1) AS successes,
    count(*) FILTER (outcome = 0) AS failures,
    count(*) FILTER (outcome = 0) / count(*) AS failure_rate,
    sum(stakes) AS stakes_total,
    coalesce(sum(stakes) FILTER (outcome = 0), 0) AS stakes_failed,
    count(DISTINCT reporter) AS reporters
  FROM outcome_rows WHERE agent_fault GROUP BY ALL`;

const REPORTERS = `
  SELECT reporter,
    count(*) AS outcomes,
    count(DISTINCT subject) AS subjects,
    count(*) FILTER (outcome = 0) AS failures,
    count(*) FILTER (outcome = 0) / count(*) AS failure_rate,
    sum(stakes) AS stakes_total,
    avg(CAST(signature <> 'none' AS INTEGER)) AS signed_share,
    min(settled_at) AS first_settled_at,
    max(settled_at) AS last_settled_at
  FROM outcome_rows GROUP BY reporter`;

const VIEW_COMMENTS: readonly (readonly [string, string])[] = [
  ["VIEW outcomes", "every recorded outcome, one row each"],
  ["VIEW agents_daily", "outcomes that were the agent's doing, by agent and day of settlement"],
  ["COLUMN agents_daily.day", "UTC day of settlement"],
  ["COLUMN agents_daily.failure_rate", "failures / outcomes, 0 to 1"],
  ["COLUMN agents_daily.stakes_total", "sum of stakes that day"],
  ["COLUMN agents_daily.stakes_failed", "sum of stakes of failures that day"],
  ["COLUMN agents_daily.reporters", "distinct reporters that day"],
  ["VIEW reporters", "who reports: volume, breadth, how often a failure"],
  ["COLUMN reporters.subjects", "distinct agents reported on"],
  ["COLUMN reporters.failure_rate", "share of reported failures, 0 to 1"],
  ["COLUMN reporters.signed_share", "share of outcomes with a proved origin, 0 to 1"],
];

/** Statements that make an empty database ours, in order. */
export function schemaStatements(): string[] {
  const comments = [
    ...OUTCOME_COLUMNS.map(([name, , comment]) => [`COLUMN outcomes.${name}`, comment] as const),
    ...VIEW_COMMENTS,
    ...DECISION_COMMENTS,
    ...EVENT_COMMENTS,
  ];
  return [
    `CREATE TABLE outcome_rows (${ROWS})`,
    // One row per applied batch, in the same transaction as its outcomes: the last row says how
    // far the journal is in here, how many outcomes that makes, and which record was the last.
    `CREATE TABLE applied (node VARCHAR NOT NULL, epoch BIGINT NOT NULL, lsn BIGINT NOT NULL,
      outcome_count BIGINT NOT NULL, record_crc BIGINT NOT NULL, schema_version BIGINT NOT NULL)`,
    `CREATE VIEW outcomes AS SELECT * FROM outcome_rows`,
    `CREATE VIEW agents_daily AS ${AGENTS_DAILY}`,
    `CREATE VIEW reporters AS ${REPORTERS}`,
    ...decisionStatements(),
    ...eventStatements(),
    ...comments.map(([target, text]) => `COMMENT ON ${target} IS '${text.replaceAll("'", "''")}'`),
    "CHECKPOINT",
  ];
}
