// Table and views of decisions, with the comment on each column. The table stores the ring's records
// unchanged, the views translate codes to words: eleven texts a row are expensive enough.
import { INPUT_COMMENTS } from "./input-comments.ts";
import {
  DECISION_KINDS,
  DECISION_LEGS,
  DECISION_INPUTS,
  DISPOSITIONS,
} from "../../contract/decisions.ts";
import {
  DECISION,
  DECISIONS,
  REGIMES,
  TIERS,
  TOOL_LEVELS,
  VERDICT,
  VERDICTS,
} from "../../contract/vocabulary.ts";
import type { LoggedLeg } from "../../contract/schemas/decisions.ts";
import {
  ACTION_INPUT,
  FLAG_ENFORCED,
  FLAG_FLAGGED,
  FLAG_KNOWN,
  FLAG_ALLOWED,
  FLAG_RESERVED,
  NUMBER_COUNT,
} from "./ring-layout.ts";
import { buildCountTableSql, buildDailySumsSql, COUNT_VIEWS } from "./counts.ts";
import type { DecisionColumns } from "./ring-reader.ts";
import type { Connection } from "../duckdb.ts";
import { LOCAL_TIME_COMMENT, buildLocalTimeSql, type ViewDefinition } from "../view.ts";

/** UTINYINT, DOUBLE and VARCHAR columns, in the order of a record (ring-layout.ts). */
const INDEX_COLUMNS = [
  "kind_index",
  "leg_index",
  "tool_level_index",
  "verdict_index",
  "decision_index",
  "leg_decision_index",
  "tier_index",
  "regime_index",
  "flag_bits",
];
const NUMERIC_COLUMNS = [
  "evaluated_ms",
  "stakes",
  "failure_probability",
  "failure_optimistic",
  "failure_pessimistic",
  "internal_score",
  "effective_score",
  "stakes_max",
  "minimum_score",
];
export const INPUT_COLUMNS = DECISION_INPUTS;
export const NAMED_INPUT_COLUMNS = INPUT_COLUMNS.filter((name) => name !== "");
const TEXT_COLUMNS = [
  "request_id",
  "tenant",
  "key_id",
  "subject",
  "viewer",
  "action",
  "log_reason",
  "hard_failure",
  "config_version",
  "reason_codes",
  "policy_version",
];

/** Last, and empty in rows that an older schema left: -1 where no duration was given. */
const SESSION = "session_seconds";
/** Behind it, and empty in rows of older schemas: decisions that the row stands for. */
const STANDS_FOR = "stands_for";
/** Likewise; empty too where the request was part of no trace. */
const TRACE_ID = "trace_id";
/** Likewise; empty too without a cluster. */
const NODE = "node";
/** Likewise: rows of older schemas stand for an unknown number of allowed decisions. */
const WEIGHT = "weight";

/** Likewise; empty too where no entry of a policy's `actions` decided. */
const ACTION_ENTRY = "action_entry";

/** Decisions that a row stands for, of older rows as far as it is known; else null. */
export const WEIGHT_SQL = `if(${WEIGHT} IS NULL
  AND (${buildFlagCondition(FLAG_ALLOWED)} AND NOT ${buildFlagCondition(FLAG_FLAGGED)}), NULL,
  coalesce(${WEIGHT}, ${STANDS_FOR}, 1))`;

const TABLE_COLUMNS: readonly (readonly [string, string])[] = [
  ...INDEX_COLUMNS.map((name) => [name, "UTINYINT"] as const),
  ...NUMERIC_COLUMNS.map((name) => [name, "DOUBLE"] as const),
  ...NAMED_INPUT_COLUMNS.map((name) => [name, "DOUBLE"] as const),
  ...TEXT_COLUMNS.map((name) => [name, "VARCHAR"] as const),
  [SESSION, "DOUBLE"],
  [STANDS_FOR, "DOUBLE"],
  [TRACE_ID, "VARCHAR"],
  [NODE, "VARCHAR"],
  [WEIGHT, "DOUBLE"],
  [ACTION_ENTRY, "DOUBLE"],
];
const NULLABLE_DECISION_COLUMNS = new Set([
  SESSION,
  STANDS_FOR,
  TRACE_ID,
  NODE,
  WEIGHT,
  ACTION_ENTRY,
]);

const SILENT_DAYS = "silent_days";
const NEVER_HEARD_OF = -1;
const INPUTS_OF_LATER_VERSIONS = new Set(["record_mean", "record_variance", SILENT_DAYS]);

/**
 * Index into DISPOSITIONS. A challenge waits for a reviewer where the stakes ask for one and only the record
 * denies, which is what opens a review (policy/rules.ts, `isReviewRequired`).
 */
export const DISPOSITION_INDEX_SQL = `CASE
  WHEN verdict_index >= ${VERDICTS.length} THEN decision_index
  WHEN verdict_index = ${VERDICT.ALLOW} THEN ${DISPOSITIONS.indexOf("allow")}
  WHEN verdict_index > ${VERDICT.CHALLENGE} THEN ${DISPOSITIONS.indexOf("refuse")}
  WHEN decision_index = ${DECISION.escalate} AND hard_failure = ''
    AND log_reason NOT IN ('BELOW_TENANT_MINIMUM', 'VERIFIED_SOURCES_REQUIRED')
    THEN ${DISPOSITIONS.indexOf("person")}
  ELSE ${DISPOSITIONS.indexOf("step_up")} END`;

const EVALUATED_AT = "epoch_ms(CAST(evaluated_ms AS BIGINT))";

/** The view's columns: expression, name, comment for analysts. */
const VIEW_COLUMNS: readonly (readonly [string, keyof LoggedLeg, string])[] = [
  [EVALUATED_AT, "evaluated_at", "when it was decided, UTC"],
  ["request_id", "request_id", "id of the answer; outcomes name it as theirs"],
  [
    buildWordSql(DECISION_KINDS, "kind_index"),
    "kind",
    "verify, check or handshake; gateways ask verify",
  ],
  [buildWordSql(DECISION_LEGS, "leg_index"), "leg", "direction; a handshake has one row for each"],
  ["tenant", "tenant", "tenant of the asking key"],
  ["key_id", "key_id", "the asking key"],
  ["subject", "subject", "the agent judged"],
  ["nullif(viewer, '')", "viewer", "the other party of a handshake, else null"],
  ["nullif(action, '')", "action", "what verify was asked about, else null"],
  [
    `if(${SESSION} < 0, NULL, ${SESSION})`,
    "session_duration_sec",
    "age of the agent's session as verify was given it, else null",
  ],
  [buildWordSql(TOOL_LEVELS, "tool_level_index"), "tool_level", "L0 to L3, verify only"],
  ["stakes", "stakes", "value at risk, in the tenant's unit"],
  [buildWordSql(VERDICTS, "verdict_index"), "verdict", "what the policy said, verify only"],
  [
    buildWordSql(DECISIONS, "decision_index"),
    "decision",
    "what the scores said, of the whole answer",
  ],
  [
    buildWordSql(DECISIONS, "leg_decision_index"),
    "leg_decision",
    "what the score of this leg said",
  ],
  [
    `if(${buildFlagCondition(FLAG_ALLOWED)} OR NOT ${buildFlagCondition(FLAG_ENFORCED)}, 'allow', 'deny')`,
    "effective",
    "what it came to for the caller: allow or deny; in shadow mode always allow",
  ],
  [
    buildWordSql(DISPOSITIONS, DISPOSITION_INDEX_SQL),
    "disposition",
    "what the answer asks of the caller, enforced or not: allow, step_up, person or refuse",
  ],
  [
    buildFlagCondition(FLAG_ENFORCED),
    "enforced",
    "false: the key or the policy was in shadow mode",
  ],
  [buildFlagCondition(FLAG_FLAGGED), "flagged", "marked for a person to look at"],
  [buildFlagCondition(FLAG_KNOWN), "known", "false: the agent had no history"],
  [buildFlagCondition(FLAG_RESERVED), "is_test", "a reserved test agent: the features say nothing"],
  ["internal_score", "internal_score", "300 to 850"],
  ["effective_score", "effective_score", "300 to 850, pessimistic"],
  [
    "minimum_score",
    "minimum_score",
    "the minimum that counted, the key's or the policy's; verify only, else 0",
  ],
  ["failure_probability", "failure_probability", "expected, 0 to 1"],
  ["failure_optimistic", "failure_optimistic", "lower end, 0 to 1"],
  ["failure_pessimistic", "failure_pessimistic", "upper end, 0 to 1"],
  [buildWordSql(TIERS, "tier_index"), "tier", "A to D, or REVIEW"],
  [
    buildWordSql(REGIMES, "regime_index"),
    "regime",
    "stable, drifting or shock; null without history",
  ],
  ["if(isinf(stakes_max), NULL, stakes_max)", "max_stakes", "largest stakes no stricter"],
  ["nullif(log_reason, '')", "log_reason", "the rule that decided, verify only"],
  ["nullif(hard_failure, '')", "hard_failure", "broken provenance, or null"],
  [
    "if(reason_codes = '', [], string_split(reason_codes, ','))",
    "reason_codes",
    "by weight, at most four",
  ],
  ["config_version", "config_version", "the scoring config that answered"],
  [
    "nullif(policy_version, '')",
    "policy_version",
    "the policy in force; null for decisions of older versions",
  ],
  [
    `CAST(coalesce(${STANDS_FOR}, 1) AS INTEGER)`,
    "stands_for",
    "identical denials of that second merged into this row; 1 for a row of its own",
  ],
  [
    WEIGHT_SQL,
    "weight",
    "decisions that the row stands for, more than stands_for in a sample: sum it to count; null in older rows",
  ],
  [
    `nullif(${TRACE_ID}, '')`,
    "trace_id",
    "the trace that the request was part of (W3C Trace Context), or null",
  ],
  [
    `CAST(${ACTION_ENTRY} AS INTEGER)`,
    "action_entry",
    "index of the entry of the policy's actions that decided the level, from 0; else null",
  ],
  [`nullif(${NODE}, '')`, "node", "the node that decided; null without a cluster"],
];

/** Comment on a column of the view `decisions`. */
export function findDecisionComment(column: keyof LoggedLeg): string {
  return VIEW_COLUMNS.find(([, name]) => name === column)?.[2] ?? "";
}

/** The word of an index column, as SQL; null past the last word. */
export function buildWordSql(words: readonly string[], column: string): string {
  // Past the last word (255: does not apply) a list gives null.
  return `[${words.map((each) => `'${each}'`).join(", ")}][CAST(${column} AS INTEGER) + 1]`;
}

/** Names of the view's columns, without the inputs. */
export const LEG_COLUMNS = VIEW_COLUMNS.map(([, name]) => name);

/** Whether a bit of a row is set, as SQL. */
export function buildFlagCondition(bit: number): string {
  return `((flag_bits & ${bit}) <> 0)`;
}

/** The tables of this file and of counts.ts. Daily counts stay when the rows they were made from are pruned. */
export function buildDecisionTableSql(): string[] {
  // Rows that an older schema left are carried over without the columns that they lack.
  const columns = TABLE_COLUMNS.map(([name, type]) => {
    if (NULLABLE_DECISION_COLUMNS.has(name)) return `${name} ${type}`;
    if (INPUTS_OF_LATER_VERSIONS.has(name)) {
      return `${name} ${type} NOT NULL DEFAULT ${name === SILENT_DAYS ? NEVER_HEARD_OF : 0}`;
    }
    if (name.startsWith("x_")) return `${name} ${type} NOT NULL DEFAULT 0`;
    return `${name} ${type} NOT NULL${name === "policy_version" ? " DEFAULT ''" : ""}`;
  }).join(", ");
  return [
    `CREATE TABLE decision_rows (${columns})`,
    `CREATE TABLE decision_day_rows (day DATE NOT NULL, tenant VARCHAR NOT NULL,
      kind VARCHAR NOT NULL, result VARCHAR NOT NULL, effective VARCHAR NOT NULL,
      decisions BIGINT NOT NULL, stakes_total DOUBLE NOT NULL)`,
    buildCountTableSql(),
    // Segments and kept files by name: bytes that are rows, and whether that is all of it.
    `CREATE TABLE spool_taken (file VARCHAR NOT NULL, bytes BIGINT NOT NULL,
      is_done BOOLEAN NOT NULL)`,
  ];
}

/** The decisions in `rows`, codes turned into words. */
export function buildDecisionsSql(rows: string): string {
  const shown = VIEW_COLUMNS.map(([expression, name]) => `${expression} AS ${name}`).join(", ");
  const local = `${buildLocalTimeSql(EVALUATED_AT)} AS evaluated_local`;
  return `SELECT ${shown}, ${NAMED_INPUT_COLUMNS.join(", ")}, ${local} FROM ${rows}`;
}

/** Daily counts of rows that an older version left: it made no exact counts. */
function buildOldDailyCountsSql(rows: string): string {
  return `SELECT CAST(evaluated_at AS DATE) AS day, tenant, kind,
    coalesce(verdict, decision) AS result, effective, CAST(sum(stands_for) AS BIGINT) AS decisions,
    sum(stakes * stands_for) AS stakes_total FROM (${buildDecisionsSql(`(FROM ${rows} WHERE ${WEIGHT} IS NULL)`)}) WHERE leg = 'a_to_b'`;
}

export const DECISION_VIEWS: Readonly<Record<string, ViewDefinition>> = {
  decisions: {
    sql: (from) => buildDecisionsSql(from("decision_rows")),
    comment: "the decision log: one row per leg, with the features it was judged from",
    columns: [
      ...VIEW_COLUMNS.map(([, name, comment]) => [name, comment] as const),
      ...NAMED_INPUT_COLUMNS.map((name) => [name, INPUT_COMMENTS[name] as string] as const),
      ["evaluated_local", `evaluated_at, ${LOCAL_TIME_COMMENT}`],
    ],
  },
  decisions_daily: {
    sql: (from) => `SELECT day, tenant, kind, result, effective,
      CAST(sum(decisions) AS BIGINT) AS decisions, sum(stakes_total) AS stakes_total
      FROM (FROM ${from("decision_day_rows")}
        UNION ALL ${buildDailySumsSql(from("decision_count_rows"))}
        UNION ALL ${buildOldDailyCountsSql(from("decision_rows"))} GROUP BY ALL)
      GROUP BY ALL`,
    comment: "exact counts of decisions by day, tenant, kind and result; kept when rows are pruned",
    columns: [
      ["day", "UTC day of the decision"],
      ["tenant", findDecisionComment("tenant")],
      ["kind", findDecisionComment("kind")],
      ["result", "verdict of verify, decision of check and handshake"],
      ["effective", findDecisionComment("effective")],
      [
        "decisions",
        "number of decisions; a handshake is one. Of older versions: those that had rows",
      ],
      ["stakes_total", "sum of their stakes"],
    ],
  },
  ...COUNT_VIEWS,
};

/** Appends records read from a ring of that node, inside the open transaction. */
export function appendDecisions(
  connection: Connection,
  columns: DecisionColumns,
  node: string,
): Promise<void> {
  const { indexes, numbers, texts, sessions, counts, traceIds } = columns;
  const inputs = numbers.slice(NUMBER_COUNT).filter((_, i) => INPUT_COLUMNS[i] !== "");
  const weights = (numbers[NUMBER_COUNT - 1] as number[]).map((weight) =>
    Number.isNaN(weight) ? null : weight,
  );
  const all = [
    ...indexes,
    ...numbers.slice(0, NUMERIC_COLUMNS.length),
    ...inputs,
    ...texts,
    sessions,
    counts,
    traceIds,
    Array.from({ length: columns.count }, () => node),
    weights,
    (numbers[NUMBER_COUNT + ACTION_INPUT] as number[]).map((input) =>
      input < 0 ? -1 - input : null,
    ),
  ];
  const types = TABLE_COLUMNS.map(([, type]) => type);
  return connection.appendColumns("decision_rows", types, all, columns.count);
}

/**
 * Turns rows older than `cutoffMs` (a midnight) into daily counts and removes them. Inside the open
 * transaction.
 */
export async function pruneDecisions(connection: Connection, cutoffMs: number): Promise<void> {
  await connection.run(
    `INSERT INTO decision_day_rows ${buildOldDailyCountsSql("decision_rows")}
     AND evaluated_at < epoch_ms(CAST(${cutoffMs} AS BIGINT)) GROUP BY ALL`,
  );
  await connection.run(
    `INSERT INTO decision_day_rows
     ${buildDailySumsSql("decision_count_rows", `minute_ms < ${cutoffMs}`)}`,
  );
  await connection.run(`DELETE FROM decision_rows WHERE evaluated_ms < ${cutoffMs}`);
  await connection.run(`DELETE FROM decision_count_rows WHERE minute_ms < ${cutoffMs}`);
  await connection.run(`DELETE FROM latency_rows WHERE minute_ms < ${cutoffMs}`);
}
