// Scores as rows: every agent's as it stands, replaced as a whole, and daily scores that stay: samples of the
// agent table as it was read, and days of a replay of the journal.
import { DAY_MS } from "../../contract/units.ts";
import { readNumber, type Connection } from "../duckdb.ts";
import { LOCAL_TIME_COMMENT, buildLocalTimeSql, type ViewDefinition } from "../view.ts";

const SCORE_TEXT_COLUMNS = ["agent", "namespace", "tier", "regime", "config_version"] as const;
const SCORE_NUMBER_COLUMNS = [
  "score",
  "internal_score",
  "effective_score",
  "failure_probability",
  "failure_optimistic",
  "failure_pessimistic",
  "outcomes",
  "reported",
  "successes_90d",
  "failures_90d",
  "successes_14d",
  "failures_14d",
  "stakes_proven",
  "first_seen_ms",
  "last_outcome_ms",
  "last_failure_ms",
  "credibility",
  "cluster",
] as const;

/**
 * One agent's score. Times are epoch ms, 0 for never; `namespace` is empty without one, `regime` without
 * history; `credibility` is -1 for an unvouched reporter, `cluster` 0 for none.
 */
export type ScoreRow = Record<(typeof SCORE_TEXT_COLUMNS)[number], string> &
  Record<(typeof SCORE_NUMBER_COLUMNS)[number], number>;

/** Columns of `agent_rows` in append order, before the position and time of the score snapshot. */
export const SCORE_COLUMNS = [...SCORE_TEXT_COLUMNS, ...SCORE_NUMBER_COLUMNS];

const AS_OF_COLUMNS = ["as_of_position", "as_of_ms"];

export function buildScoreTableSql(): string[] {
  const columns = [
    ...SCORE_TEXT_COLUMNS.map((name) => `${name} VARCHAR NOT NULL`),
    ...[...SCORE_NUMBER_COLUMNS, ...AS_OF_COLUMNS].map((name) => `${name} DOUBLE NOT NULL`),
  ];
  return [
    `CREATE TABLE agent_rows (${columns.join(", ")})`,
    `CREATE TABLE score_day_rows (day DATE NOT NULL, sampled_share DOUBLE NOT NULL,
      ${columns.join(", ")})`,
  ];
}

const buildInstantSql = (name: string) =>
  `if(${name} = 0, NULL, epoch_ms(CAST(${name} AS BIGINT)))`;
const buildIntegerSql = (name: string) => `CAST(${name} AS BIGINT)`;

/** The views' columns: expression, name, comment for analysts. */
const SCORE_VIEW_COLUMNS: readonly (readonly [string, string, string])[] = [
  ["agent", "agent", "the agent scored"],
  ["nullif(namespace, '')", "namespace", "namespace of an agent:// name, else null"],
  ["score", "score", "0 to 100, as verify answers it"],
  ["internal_score", "internal_score", "300 to 850; 40 points more halve the odds of failure"],
  ["effective_score", "effective_score", "300 to 850, pessimistic"],
  ["tier", "tier", "A to D, or REVIEW: too little is known"],
  ["nullif(regime, '')", "regime", "stable, drifting or shock; null without history"],
  ["failure_probability", "failure_probability", "expected at stakes of 0, 0 to 1"],
  ["failure_optimistic", "failure_optimistic", "lower end, 0 to 1"],
  ["failure_pessimistic", "failure_pessimistic", "upper end, 0 to 1"],
  [
    buildIntegerSql("outcomes"),
    "outcomes",
    "outcomes about it that were folded into the score, ever",
  ],
  [buildIntegerSql("reported"), "reported", "outcomes that it has reported, ever"],
  ["successes_90d", "successes_90d", "weight of successes, half of it lost every 90 days"],
  ["failures_90d", "failures_90d", "weight of failures, half of it lost every 90 days"],
  ["successes_14d", "successes_14d", "the same with a half-life of 14 days"],
  ["failures_14d", "failures_14d", "the same with a half-life of 14 days"],
  ["stakes_proven", "stakes_proven", "stakes up to which it has succeeded, fading"],
  [buildInstantSql("first_seen_ms"), "first_seen_at", "its first outcome, UTC"],
  [buildInstantSql("last_outcome_ms"), "last_outcome_at", "when its newest outcome settled, UTC"],
  [
    buildLocalTimeSql(buildInstantSql("last_outcome_ms")),
    "last_outcome_local",
    `last_outcome_at, ${LOCAL_TIME_COMMENT}`,
  ],
  [
    buildInstantSql("last_failure_ms"),
    "last_failure_at",
    "when it last failed, UTC; null for never",
  ],
  ["if(credibility < 0, NULL, credibility)", "credibility", "as a reporter, 0 to 1, or null"],
  [
    buildIntegerSql("nullif(cluster, 0)"),
    "cluster",
    "reporters of one number are one voice, or null",
  ],
  ["config_version", "config_version", "the scoring config that gave the score"],
  [
    buildIntegerSql("as_of_position"),
    "as_of_position",
    "at least the journal up to here is in the score",
  ],
  [
    buildInstantSql("as_of_ms"),
    "as_of",
    "when the score was read, UTC; of a day that was rebuilt its last millisecond",
  ],
];

const SCORE_SELECT_SQL = SCORE_VIEW_COLUMNS.map(
  ([expression, name]) => `${expression} AS ${name}`,
).join(", ");
const SCORE_COMMENTS = SCORE_VIEW_COLUMNS.map(([, name, comment]) => [name, comment] as const);

export const SCORE_VIEWS: Readonly<Record<string, ViewDefinition>> = {
  agents: {
    sql: (from) => `SELECT ${SCORE_SELECT_SQL} FROM ${from("agent_rows")}`,
    comment:
      "every agent's score as it stands: read anew when it is asked for; see as_of_position. A key " +
      "needs score:read as well",
    columns: SCORE_COMMENTS,
  },
  scores_daily: {
    sql: (from) => `SELECT day, ${SCORE_SELECT_SQL}, sampled_share FROM ${from("score_day_rows")}`,
    comment:
      "every agent's score once each UTC day: at its first reading, or at the end of the day where a replay " +
      "of the journal rebuilt it (after an import, or on demand); of very many agents a sample, the " +
      "same every day. A key needs score:read as well",
    columns: [
      ["day", "UTC day of the reading"],
      ...SCORE_COMMENTS,
      ["sampled_share", "share of all agents that the day's rows are, 0 to 1"],
    ],
  },
};

/** Of which state of the journal scores are, and at what time (epoch ms) they were read. */
export interface ScoreReading {
  readonly position: number;
  readonly nowMs: number;
}

/** Appends scores to a table like `agent_rows`, inside the open transaction. */
export function appendScores(
  connection: Connection,
  rows: readonly ScoreRow[],
  { position, nowMs }: ScoreReading,
  table = "agent_rows",
): Promise<void> {
  const types = [
    ...SCORE_TEXT_COLUMNS.map(() => "VARCHAR"),
    ...[...SCORE_NUMBER_COLUMNS, ...AS_OF_COLUMNS].map(() => "DOUBLE"),
  ];
  const columns = [
    ...SCORE_COLUMNS.map((name) => rows.map((row) => row[name])),
    rows.map(() => position),
    rows.map(() => nowMs),
  ];
  return connection.appendColumns(table, types, columns, rows.length);
}

/** The newest day of which there is a sample, as days since 1970; -1 without one. */
export function readLastSampledDay(connection: Connection): Promise<number> {
  const day = "date_diff('day', DATE '1970-01-01', max(day))";
  return readNumber(connection, `SELECT coalesce(${day}, -1) FROM score_day_rows`);
}

/**
 * Puts the scores that `agent_rows` holds on record for a day, and forgets days before `cutoffDay`
 * (both days since 1970). Inside the open transaction.
 * @param agentsMax more than these are sampled by the hash of their names: the same every day.
 */
export async function insertDailySample(
  connection: Connection,
  day: number,
  cutoffDay: number,
  agentsMax: number,
): Promise<void> {
  const agentCount = await readNumber(connection, "SELECT count(*) FROM agent_rows");
  const share = Math.min(1, agentsMax / Math.max(1, agentCount));
  await connection.run(
    `INSERT INTO score_day_rows SELECT ${buildDaySql(day)}, ${share}, * FROM agent_rows
     WHERE ${buildSampleSql(share)}`,
  );
  await connection.run(`DELETE FROM score_day_rows WHERE day < ${buildDaySql(cutoffDay)}`);
}

const buildDaySql = (day: number) => `DATE '1970-01-01' + ${day}`;

/** Whether the row's agent is in a sample of this share of all agents. */
const buildSampleSql = (share: number) => `hash(agent) % 1000000 < ${Math.ceil(share * 1_000_000)}`;

/** Table of replayed scores on their way into a day; of the writer's connection alone. */
const REPLAYED_TABLE = "replayed_score_rows";

/** Those of `agents` that a daily sample of at most `agentsMax` has, and their share of all. */
export async function selectSampledAgents(
  connection: Connection,
  agents: readonly string[],
  agentsMax: number,
): Promise<{ sampled: string[]; share: number }> {
  const share = Math.min(1, agentsMax / Math.max(1, agents.length));
  if (share === 1) return { sampled: [...agents], share };
  await connection.run("CREATE OR REPLACE TEMP TABLE replayed_agents (agent VARCHAR)");
  await connection.appendColumns("replayed_agents", ["VARCHAR"], [agents], agents.length);
  const sampled = await connection.rows(`FROM replayed_agents WHERE ${buildSampleSql(share)}`);
  await connection.run("DROP TABLE replayed_agents");
  return { sampled: sampled.map(([agent]) => String(agent)), share };
}

/** Replaces what is on record for a day (since 1970) by `rows`. Inside the open transaction. */
export async function replaceDailyScores(
  connection: Connection,
  { day, share, ...reading }: ScoreReading & { readonly day: number; readonly share: number },
  rows: readonly ScoreRow[],
): Promise<void> {
  const daySql = buildDaySql(day);
  await connection.run(`CREATE OR REPLACE TEMP TABLE ${REPLAYED_TABLE} AS FROM agent_rows LIMIT 0`);
  await appendScores(connection, rows, reading, REPLAYED_TABLE);
  await connection.run(`DELETE FROM score_day_rows WHERE day = ${daySql}`);
  await connection.run(
    `INSERT INTO score_day_rows SELECT ${daySql}, ${share}, * FROM ${REPLAYED_TABLE}`,
  );
  await connection.run(`DROP TABLE ${REPLAYED_TABLE}`);
}

/**
 * When the newest imported outcome was recorded (epoch ms, or null) that settled before `settledBeforeMs`, stands
 * after `position` and is in no replay on record. A replay reads a day at its last millisecond, the daily
 * sample long before.
 */
export function buildNewestImportSql(position: number, settledBeforeMs: number): string {
  return `SELECT max(epoch_ms(recorded_at)) FROM outcome_rows WHERE signature = 'bureau'
    AND settled_at < epoch_ms(CAST(${settledBeforeMs} AS BIGINT)) AND position > greatest(${position},
      (SELECT coalesce(max(as_of_position), 0) FROM score_day_rows
       WHERE as_of_ms = epoch_ms(CAST(day AS TIMESTAMP)) + ${DAY_MS - 1}))`;
}
