// Lists of agents and outcomes, and one agent's days, over the rows that a tenant may see: the same
// rows as in its views. Pages begin behind a key; no OFFSET, so that the last page costs what the
// first does.
import type {
  AgentDay,
  AgentDaysFilter,
  AgentFilter,
  AgentOrder,
  AgentPage,
  ListedAgent,
  OutcomeFilter,
  RecordedOutcome,
} from "../contract/schemas/agents.ts";
import {
  joinConditions,
  ALLOWED_CONDITION,
  DECISIONS_SUM,
  SqlParameters,
} from "./decisions/read.ts";
import { WEIGHT_SQL } from "./decisions/table.ts";
import type { Connection } from "./duckdb.ts";
import { buildScoreSource, buildTableSource, buildViewQuery } from "./query/views.ts";
import { SCORE_COLUMNS, type ScoreRow } from "./rows/scores.ts";
import type { AgentDirectoryRequest } from "./store.ts";

/** Answers what was asked; `filter.tenant` decides whose rows it is answered from. */
export function readAgentDirectory(
  connection: Connection,
  ask: AgentDirectoryRequest,
): Promise<unknown> {
  if (ask.list === "agents") return readAgents(connection, ask.filter);
  if (ask.list === "outcomes") return readOutcomes(connection, ask.filter);
  return readAgentDays(connection, ask.filter);
}

/** Stands for the value where there is none but the name. */
const NAME_ORDER_COLUMN = "0";
/** Columns by which agents are listed; those of one value by name. */
const AGENT_ORDER_COLUMNS: Readonly<Record<AgentOrder, { column: string; isFalling: boolean }>> = {
  name: { column: NAME_ORDER_COLUMN, isFalling: false },
  score: { column: "internal_score", isFalling: false },
  "-score": { column: "internal_score", isFalling: true },
  "-outcomes": { column: "outcomes", isFalling: true },
  "-last_outcome": { column: "last_outcome_ms", isFalling: true },
};

/** Scores and counts of an agent, in the order of the reply. */
const LISTED_NUMBERS = SCORE_COLUMNS.slice(
  SCORE_COLUMNS.indexOf("score"),
  SCORE_COLUMNS.indexOf("failures_90d") + 1,
);

async function readAgents(connection: Connection, filter: AgentFilter): Promise<AgentPage> {
  const { prefix, contains, tier, after, limit } = filter;
  const from = await buildScoreSource(connection, "agent_rows", filter);
  const parameters = new SqlParameters();
  const where: string[] = [];
  if (prefix !== undefined) where.push(`starts_with(agent, ${parameters.bind(prefix)})`);
  if (contains !== undefined) where.push(`contains(agent, ${parameters.bind(contains)})`);
  if (tier !== undefined) where.push(`tier = ${parameters.bind(tier)}`);
  const [counted] = await connection.rows(
    `SELECT CAST(count(*) AS DOUBLE), (SELECT max(as_of_ms) FROM agent_rows)
     FROM ${from} WHERE ${joinConditions(where)}`,
    parameters.values,
  );
  const { column, isFalling } = AGENT_ORDER_COLUMNS[filter.order];
  if (after !== undefined) {
    const isBehind = `agent > ${parameters.bind(after.agent)}`;
    if (column === NAME_ORDER_COLUMN) where.push(isBehind);
    else {
      const value = `CAST(${parameters.bind(String(after.value))} AS DOUBLE)`;
      const step = `${column} ${isFalling ? "<" : ">"} ${value}`;
      where.push(`(${step} OR (${column} = ${value} AND ${isBehind}))`);
    }
  }
  const rows = await connection.rows(
    `SELECT ${SCORE_COLUMNS.join(", ")}, CAST(${column} AS DOUBLE) FROM ${from}
     WHERE ${joinConditions(where)}
     ORDER BY ${column === NAME_ORDER_COLUMN ? "" : `${column} ${isFalling ? "DESC" : "ASC"},`} agent
     LIMIT ${limit}`,
    parameters.values,
  );
  const last = rows.length < limit ? undefined : rows.at(-1);
  return {
    agents: rows.map(parseAgentRow),
    total: Number(counted?.[0]),
    last: last && { value: Number(last.at(-1)), agent: String(last[0]) },
    asOfMs: Number(counted?.[1] ?? 0),
  };
}

function parseAgentRow(row: unknown[]): ListedAgent {
  const of = (name: keyof ScoreRow) => row[SCORE_COLUMNS.indexOf(name)];
  const text = (name: "namespace" | "regime") => (of(name) === "" ? null : of(name));
  const credibility = Number(of("credibility"));
  return {
    agent_id: of("agent"),
    namespace: text("namespace"),
    tier: of("tier"),
    regime: text("regime"),
    ...Object.fromEntries(LISTED_NUMBERS.map((name) => [name, of(name)])),
    first_seen_at: formatInstantOrNull(of("first_seen_ms")),
    last_outcome_at: formatInstantOrNull(of("last_outcome_ms")),
    last_failure_at: formatInstantOrNull(of("last_failure_ms")),
    credibility: credibility < 0 ? null : credibility,
    cluster: Number(of("cluster")) || null,
  } as ListedAgent;
}

/** Epoch ms as text; null for 0, which stands for never. */
function formatInstantOrNull(ms: unknown): string | null {
  return ms === null || Number(ms) === 0 ? null : new Date(Number(ms)).toISOString();
}

const LISTED_OUTCOME_COLUMNS = `CAST(position AS DOUBLE), CAST(outcome_id AS VARCHAR), subject, reporter,
  CAST(outcome AS INTEGER), stakes, grade, signature, agent_fault, tenant, source,
  nullif(action, ''), nullif(request_id, ''), kid, CAST(epoch_ms(settled_at) AS DOUBLE),
  CAST(epoch_ms(recorded_at) AS DOUBLE), incident_id, counted_share, claimed_grade, attested,
  transaction_id`;

async function readOutcomes(
  connection: Connection,
  { subject, reporter, before, limit, tenant }: OutcomeFilter,
): Promise<RecordedOutcome[]> {
  const from = await buildTableSource(connection, "outcome_rows", tenant);
  const parameters = new SqlParameters();
  const where: string[] = [];
  if (subject !== undefined) where.push(`subject = ${parameters.bind(subject)}`);
  if (reporter !== undefined) where.push(`reporter = ${parameters.bind(reporter)}`);
  if (before !== undefined) where.push(`position < ${before}`);
  const rows = await connection.rows(
    `SELECT ${LISTED_OUTCOME_COLUMNS} FROM ${from} WHERE ${joinConditions(where)}
     ORDER BY position DESC LIMIT ${limit}`,
    parameters.values,
  );
  return rows.map((row) => {
    const [position, outcome_id, subject_, reporter_, outcome, stakes, grade, signature] = row;
    const [agent_fault, tenant_, source, action, request_id, kid, settledMs, recordedMs] =
      row.slice(8);
    const [incident_id, counted_share, claimed_grade, attested, transaction_id] = row.slice(16);
    return {
      position,
      outcome_id,
      subject: subject_,
      reporter: reporter_,
      outcome,
      stakes,
      grade,
      signature,
      agent_fault,
      tenant: tenant_,
      source,
      action,
      request_id,
      kid,
      settled_at: formatInstantOrNull(settledMs),
      recorded_at: formatInstantOrNull(recordedMs),
      incident_id,
      counted_share,
      claimed_grade,
      attested,
      transaction_id,
    } as RecordedOutcome;
  });
}

/**
 * What is on record of an agent by day: three scans, each of one agent's rows in the days asked for.
 * Scores are as they were given at the time, and are not worked out again.
 */
async function readAgentDays(connection: Connection, filter: AgentDaysFilter): Promise<AgentDay[]> {
  const { agent, from, tenant } = filter;
  const days = new Map<string, AgentDay>();
  const formatDay = (day: unknown) => {
    const name = String(day);
    const known = days.get(name) ?? createEmptyAgentDay(name);
    days.set(name, known);
    return known;
  };
  const read = (sql: string) => connection.rows(sql, [agent, from]);
  const since = "CAST($2::VARCHAR AS DATE)";
  const outcomes = await buildViewQuery(connection, "agents_daily", tenant);
  for (const [day, ...sums] of await read(
    `SELECT CAST(day AS VARCHAR), CAST(outcomes AS DOUBLE), CAST(failures AS DOUBLE), stakes_total,
       stakes_failed FROM (${outcomes}) WHERE subject = $1::VARCHAR AND day >= ${since}`,
  )) {
    const [count, failures, stakes_total, stakes_failed] = sums.map(Number) as AgentDaySums;
    Object.assign(formatDay(day), { outcomes: count, failures, stakes_total, stakes_failed });
  }
  const readings = await buildScoreSource(connection, "score_day_rows", filter);
  for (const [day, ...figures] of await read(
    `SELECT CAST(day AS VARCHAR), internal_score, failure_probability FROM ${readings}
     WHERE agent = $1::VARCHAR AND day >= ${since}`,
  )) {
    Object.assign(formatDay(day), buildDayScore(figures, "reading"));
  }
  const decisions = await buildTableSource(connection, "decision_rows", tenant);
  for (const [day, count, denials, ...figures] of await read(
    `SELECT CAST(CAST(epoch_ms(CAST(evaluated_ms AS BIGINT)) AS DATE) AS VARCHAR) AS day,
       ${DECISIONS_SUM}, coalesce(${DECISIONS_SUM} FILTER (NOT ${ALLOWED_CONDITION}), 0),
       arg_max(internal_score, evaluated_ms), arg_max(failure_probability, evaluated_ms)
     FROM (SELECT *, ${WEIGHT_SQL} AS row_weight FROM ${decisions})
     WHERE subject = $1::VARCHAR AND evaluated_ms >= epoch_ms(CAST(${since} AS TIMESTAMP))
     GROUP BY day`,
  )) {
    const counts = {
      decisions: Math.round(Number(count)),
      denials: Math.round(Number(denials)),
    };
    Object.assign(formatDay(day), counts, buildDayScore(figures, "decision"));
  }
  return [...days.values()].toSorted((a, b) => (a.day < b.day ? -1 : 1));
}

type AgentDaySums = [number, number, number, number];

function buildDayScore([internal_score, failure_probability]: unknown[], score_from: string) {
  return {
    internal_score: Number(internal_score),
    failure_probability: Number(failure_probability),
    score_from,
  };
}

function createEmptyAgentDay(day: string): AgentDay {
  return {
    day,
    outcomes: 0,
    failures: 0,
    stakes_total: 0,
    stakes_failed: 0,
    decisions: 0,
    denials: 0,
    internal_score: null,
    failure_probability: null,
    score_from: null,
  };
}
