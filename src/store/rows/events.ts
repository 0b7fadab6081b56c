// Events for people: provenance reported after the fact, reviews, changes of API keys, back-tests
// (records of the journal, see rows/notes.ts), and kaizen runs, whose source are their files.
// Append-only; a view shows the newest row of each.
import { findDecisionComment, buildDecisionsSql } from "../decisions/table.ts";
import type { Connection } from "../duckdb.ts";
import type { NoteTable } from "../../contract/notes.ts";
import type { StoreEvents } from "../store.ts";
import type { ViewDefinition } from "../view.ts";

type EventTable = keyof StoreEvents | NoteTable;
type EventColumn = readonly [name: string, type: string, comment: string];

const RECORDED_AT: EventColumn = ["recorded_at", "TIMESTAMP", "when the bureau recorded it, UTC"];

/** Last of the rows that the journal holds. */
const POSITION: EventColumn = [
  "position",
  "BIGINT",
  "its record in the evidence journal; null until a row of an older version has moved there",
];

export const EVENT_COLUMNS: Readonly<Record<EventTable, readonly EventColumn[]>> = {
  provenance: [
    RECORDED_AT,
    ["tenant", "VARCHAR", "tenant of the telling key"],
    ["agent_id", "VARCHAR", "whose content it is"],
    ["action", "VARCHAR", "what it was made for"],
    ["content_hash", "VARCHAR", "sha256 of the content"],
    ["cited_sources", "VARCHAR[]", "what it cites"],
    ["request_id", "VARCHAR", "the verdict it belongs to, or null"],
    POSITION,
  ],
  reviews: [
    RECORDED_AT,
    ["tenant", "VARCHAR", "tenant of the decision"],
    ["request_id", "VARCHAR", "the decision looked at"],
    ["resolution", "VARCHAR", "upheld, overturned or dismissed"],
    ["note", "VARCHAR", "what the reviewer wrote, or null"],
    ["key_id", "VARCHAR", "the reviewer's key"],
    POSITION,
  ],
  audit_events: [
    RECORDED_AT,
    ["event", "VARCHAR", "what happened"],
    ["tenant", "VARCHAR", "whose affair it is"],
    ["actor", "VARCHAR", "key that did it"],
    ["detail", "JSON", "all that is known"],
    POSITION,
  ],
  backtests: [
    RECORDED_AT,
    ["backtest_id", "VARCHAR", "id of the backtest"],
    ["tenant", "VARCHAR", "whose live policy it stood beside"],
    ["key_id", "VARCHAR", "API key that asked"],
    ["policy_version", "VARCHAR", "the policy that was tried"],
    ["compared_with", "VARCHAR", "the policy in force then"],
    ["decisions", "BIGINT", "outcomes judged again"],
    ["changed", "BIGINT", "of those, the ones that verify would rule otherwise at L2"],
    ["report", "JSON", "the answer, without its curves"],
    POSITION,
  ],
  kaizen_runs: [
    RECORDED_AT,
    ["run_id", "VARCHAR", "id of the run"],
    ["started_at", "TIMESTAMP", "when it began, UTC"],
    ["finished_at", "TIMESTAMP", "when it ended, UTC; null while it is under way"],
    ["started_by", "VARCHAR", "schedule, or the key that asked"],
    ["status", "VARCHAR", "running, kept, promoted, dry_run, failed or rolled_back"],
    ["promoted", "BOOLEAN", "whether the challenger became the config"],
    ["reason", "VARCHAR", "why, or why not"],
    ["config_from", "VARCHAR", "config that was challenged"],
    ["config_to", "VARCHAR", "config fitted or gone back to, or null"],
    ["outcome_count", "BIGINT", "outcomes it was fitted on"],
    ["gates", "JSON", "every gate and its numbers"],
    ["record", "JSON", "the whole run, with the fit and its figures"],
  ],
};

export const EVENT_TABLES: Readonly<Record<EventTable, string>> = {
  provenance: "provenance_rows",
  reviews: "review_rows",
  backtests: "backtest_rows",
  kaizen_runs: "kaizen_run_rows",
  audit_events: "audit_note_rows",
};

/** Sources of provenance that cites much; a short list stays in its own row. */
export const CITED_SOURCE_TABLE = "cited_source_rows";

/** The tables of this file; `audit_note_rows` is shown by the view `audit_events`. */
export function buildEventTableSql(): string[] {
  const cited = `CREATE TABLE ${CITED_SOURCE_TABLE} (position BIGINT NOT NULL, tenant VARCHAR,
    place INTEGER NOT NULL, source VARCHAR NOT NULL)`;
  const tables = (Object.keys(EVENT_TABLES) as EventTable[]).map((table) => {
    const columns = EVENT_COLUMNS[table].map(([name, type]) => `${name} ${type}`);
    return `CREATE TABLE ${EVENT_TABLES[table]} (${columns.join(", ")})`;
  });
  return [...tables, cited];
}

function listColumnComments(table: EventTable): (readonly [string, string])[] {
  return EVENT_COLUMNS[table].map(([name, , comment]) => [name, comment] as const);
}

/** Columns of a decision that its review shows. */
const REVIEWED_DECISION_COLUMNS = [
  "evaluated_at",
  "request_id",
  "tenant",
  "kind",
  "subject",
  "viewer",
  "tool_level",
  "stakes",
  "verdict",
  "decision",
  "internal_score",
  "tier",
  "reason_codes",
] as const;

export const EVENT_VIEWS: Readonly<Record<string, ViewDefinition>> = {
  provenance: {
    // By note: only the sources of rows that a condition leaves are gathered.
    sql: (from) => `SELECT p.* REPLACE (coalesce(
        (SELECT list_transform(
            list_sort(list({place: c.place, source: c.source})), lambda pair: pair.source)
          FROM ${from(CITED_SOURCE_TABLE)} AS c WHERE c.position = p.position),
        p.cited_sources) AS cited_sources)
      FROM ${from("provenance_rows")} AS p`,
    comment: "provenance recorded after the fact",
    columns: listColumnComments("provenance"),
  },
  // A decision has one review, however many legs are flagged.
  reviews: {
    sql: (
      from,
    ) => `SELECT ${REVIEWED_DECISION_COLUMNS.map((name) => `d.${name}`).join(", ")}, r.resolution, r.note, r.key_id AS reviewer, r.recorded_at AS resolved_at
      FROM (FROM (${buildDecisionsSql(from("decision_rows"))}) WHERE flagged AND leg = 'a_to_b') AS d
      LEFT JOIN (FROM ${from("review_rows")} QUALIFY
        row_number() OVER (PARTITION BY tenant, request_id ORDER BY recorded_at DESC) = 1) AS r
      USING (tenant, request_id)`,
    comment: "flagged decisions and what a person made of them",
    columns: [
      ...REVIEWED_DECISION_COLUMNS.map((name) => [name, findDecisionComment(name)] as const),
      ["resolution", "upheld, overturned or dismissed; null while nobody has looked"],
      ["note", "what the reviewer wrote, or null"],
      ["reviewer", "the reviewer's key, or null"],
      ["resolved_at", "when it was resolved, UTC; null while nobody has looked"],
    ],
  },
  backtests: {
    sql: (from) => `SELECT * FROM ${from("backtest_rows")}`,
    comment: "policies that were tried on logged decisions before they were set, or not",
    columns: listColumnComments("backtests"),
  },
  kaizen_runs: {
    sql: (from) => `FROM ${from("kaizen_run_rows")} QUALIFY
      row_number() OVER (PARTITION BY run_id ORDER BY recorded_at DESC) = 1`,
    comment: "every attempt to improve the config; for the operator's keys",
    columns: listColumnComments("kaizen_runs"),
  },
};

/** Inserts one run of kaizen, inside the open transaction. */
export async function insertKaizenRun(
  connection: Connection,
  event: StoreEvents["kaizen_runs"],
): Promise<void> {
  const columns = EVENT_COLUMNS.kaizen_runs;
  const row = event as unknown as Record<string, unknown>;
  const values = columns.map(([name, type]) => convertToColumnText(row[name], type));
  const casts = columns.map(([, type], i) =>
    type === "TIMESTAMP"
      ? `epoch_ms(CAST($${i + 1}::VARCHAR AS BIGINT))`
      : `CAST($${i + 1}::VARCHAR AS ${type})`,
  );
  await connection.rows(
    `INSERT INTO ${EVENT_TABLES.kaizen_runs} VALUES (${casts.join(", ")})`,
    values,
  );
}

/** A value as text for a column of that type. */
export function convertToColumnText(value: unknown, type: string): string | null {
  if (value === undefined || value === null) return null;
  return type !== "JSON" && typeof value === "string" ? value : JSON.stringify(value);
}
