// Exact counts of decisions by minute: their block in a segment, their rows, and the views over them. A row is a
// part of a count: they are summed when read, and once a day for the days that are over.
import { MINUTE_MS } from "../../contract/units.ts";
import { appendRows, appendValues, readNumber, type Connection } from "../duckdb.ts";
import type { ViewDefinition } from "../view.ts";

/** Decisions of one minute and one kind; texts are empty where they do not apply. */
export interface DecisionCount {
  /** Epoch ms. */
  readonly minuteMs: number;
  readonly tenant: string;
  readonly kind: string;
  readonly toolLevel: string;
  /** Verdict of verify, decision of check and handshake. */
  readonly result: string;
  readonly effective: string;
  readonly logReason: string;
  readonly configVersion: string;
  readonly policyVersion: string;
  readonly isEnforced: boolean;
  readonly decisions: number;
  /** Of them without a row, because they were not in the sample. */
  readonly notRecorded: number;
  readonly stakesTotal: number;
}

const TEXT_MEMBERS = [
  "tenant",
  "kind",
  "toolLevel",
  "result",
  "effective",
  "logReason",
  "configVersion",
  "policyVersion",
] as const;
const NUMBER_MEMBERS = ["minuteMs", "decisions", "notRecorded", "stakesTotal"] as const;

/** Counts as the content of a block: JSON, a list of lists. */
export function encodeCounts(counts: readonly DecisionCount[]): Buffer {
  const rows = counts.map((count) => [
    ...TEXT_MEMBERS.map((name) => count[name]),
    count.isEnforced,
    ...NUMBER_MEMBERS.map((name) => count[name]),
  ]);
  return Buffer.from(JSON.stringify(rows));
}

/** Reads them back; undefined where they cannot be counts. */
export function decodeCounts(content: Buffer): DecisionCount[] | undefined {
  let rows: unknown;
  try {
    rows = JSON.parse(content.toString());
  } catch {
    return undefined;
  }
  if (!Array.isArray(rows) || !rows.every(isCountRow)) return undefined;
  return rows.map((row) => {
    const texts = TEXT_MEMBERS.map((name, index) => [name, row[index]]);
    const numbers = NUMBER_MEMBERS.map((name, index) => [
      name,
      row[TEXT_MEMBERS.length + 1 + index],
    ]);
    const isEnforced = row[TEXT_MEMBERS.length];
    return { ...Object.fromEntries([...texts, ...numbers]), isEnforced } as DecisionCount;
  });
}

function isCountRow(row: unknown): row is readonly (string | boolean | number)[] {
  if (!Array.isArray(row) || row.length !== TEXT_MEMBERS.length + 1 + NUMBER_MEMBERS.length) {
    return false;
  }
  const numbers: unknown[] = row.slice(TEXT_MEMBERS.length + 1);
  return (
    row.slice(0, TEXT_MEMBERS.length).every((each) => typeof each === "string") &&
    typeof row[TEXT_MEMBERS.length] === "boolean" &&
    numbers.every((each) => Number.isFinite(each))
  );
}

/** One count for each minute and key. */
export function mergeCounts(counts: readonly DecisionCount[]): DecisionCount[] {
  const sums = new Map<string, DecisionCount>();
  for (const count of counts) {
    const { decisions, notRecorded, stakesTotal, ...named } = count;
    const key = JSON.stringify(named);
    const sum = sums.get(key);
    sums.set(key, {
      ...named,
      decisions: decisions + (sum?.decisions ?? 0),
      notRecorded: notRecorded + (sum?.notRecorded ?? 0),
      stakesTotal: stakesTotal + (sum?.stakesTotal ?? 0),
    });
  }
  return [...sums.values()];
}

const KEY_COLUMNS = `minute_ms, tenant, kind, tool_level, result, effective, log_reason, config_version,
  policy_version, enforced`;
const SUM_COLUMNS = `CAST(sum(decisions) AS BIGINT) AS decisions,
  CAST(sum(not_recorded) AS BIGINT) AS not_recorded, sum(stakes_total) AS stakes_total`;

export function buildCountTableSql(): string {
  return `CREATE TABLE decision_count_rows (minute_ms DOUBLE NOT NULL, tenant VARCHAR NOT NULL,
    kind VARCHAR NOT NULL, tool_level VARCHAR NOT NULL, result VARCHAR NOT NULL,
    effective VARCHAR NOT NULL, log_reason VARCHAR NOT NULL, config_version VARCHAR NOT NULL,
    policy_version VARCHAR NOT NULL, enforced BOOLEAN NOT NULL, decisions BIGINT NOT NULL,
    not_recorded BIGINT NOT NULL, stakes_total DOUBLE NOT NULL)`;
}

/** Appends counts, inside the open transaction. */
export async function appendCounts(
  connection: Connection,
  counts: readonly DecisionCount[],
): Promise<void> {
  await appendRows(connection, "decision_count_rows", mergeCounts(counts), (appender, count) => {
    appendValues(appender, count.minuteMs, ...TEXT_MEMBERS.map((name) => count[name]));
    appendValues(appender, count.isEnforced, BigInt(count.decisions), BigInt(count.notRecorded));
    appendValues(appender, count.stakesTotal);
  });
}

/** Daily counts, as far as `condition` (SQL) chooses their minutes. */
export function buildDailySumsSql(rows: string, condition = "true"): string {
  return `SELECT CAST(epoch_ms(CAST(minute_ms AS BIGINT)) AS DATE) AS day, tenant, kind, result, effective,
    CAST(sum(decisions) AS BIGINT) AS decisions, sum(stakes_total) AS stakes_total
    FROM ${rows} WHERE ${condition} GROUP BY ALL`;
}

/** Rows of minutes that others stand beside, before `beforeMs`, epoch ms. */
export function countSpareCountRows(connection: Connection, beforeMs: number): Promise<number> {
  return readNumber(
    connection,
    `SELECT coalesce(sum(n - 1), 0) FROM (SELECT count(*) AS n FROM decision_count_rows
     WHERE minute_ms < ${beforeMs} GROUP BY ${KEY_COLUMNS})`,
  );
}

/** Makes one row of those of each minute and key before `beforeMs`, inside the open transaction. */
export async function compactCountRows(connection: Connection, beforeMs: number): Promise<void> {
  const sums = "decision_count_sums";
  const rows = `decision_count_rows WHERE minute_ms < ${beforeMs}`;
  await connection.run(
    `CREATE OR REPLACE TEMP TABLE ${sums} AS SELECT ${KEY_COLUMNS}, ${SUM_COLUMNS} FROM ${rows}
     GROUP BY ${KEY_COLUMNS} ORDER BY minute_ms`,
  );
  await connection.run(`DELETE FROM ${rows}`);
  await connection.run(`INSERT INTO decision_count_rows SELECT * FROM ${sums}`);
  await connection.run(`DROP TABLE ${sums}`);
}

/** Start of the minute of a time, both epoch ms. */
export function computeMinuteMs(atMs: number): number {
  return Math.floor(atMs / MINUTE_MS) * MINUTE_MS;
}

export const COUNT_VIEWS: Readonly<Record<string, ViewDefinition>> = {
  decisions_minutely: {
    sql: (from) => `SELECT epoch_ms(CAST(minute_ms AS BIGINT)) AS minute, tenant, kind,
      nullif(tool_level, '') AS tool_level, result, effective, enforced,
      nullif(log_reason, '') AS log_reason, config_version, policy_version, decisions,
      not_recorded, stakes_total
      FROM (SELECT ${KEY_COLUMNS}, ${SUM_COLUMNS} FROM ${from("decision_count_rows")}
        GROUP BY ${KEY_COLUMNS})`,
    comment:
      "exact counts of all decisions by minute, also of those that the log holds a sample of",
    columns: [
      ["minute", "start of the minute of the decision, UTC"],
      ["tenant", "tenant of the asking key; empty beyond 4,095 kinds of decisions at a time"],
      ["kind", "verify, check or handshake; gateways ask verify"],
      ["tool_level", "L0 to L3, verify only"],
      ["result", "verdict of verify, decision of check and handshake"],
      ["effective", "what it came to for the caller: allow or deny; in shadow mode always allow"],
      ["enforced", "false: the key or the policy was in shadow mode"],
      ["log_reason", "the rule that decided; of check and handshake only a review"],
      ["config_version", "the scoring config that answered"],
      ["policy_version", "the policy in force"],
      ["decisions", "number of decisions; a handshake is one"],
      ["not_recorded", "of them, those without a row in decisions: others stand for them"],
      ["stakes_total", "sum of their stakes, in the tenant's unit"],
    ],
  },
};
