// Rare events of other rooms in the store: provenance told after the fact, reviews, evidence
// sources, kaizen runs. Append-only; a view shows the newest row of each.
import type { Connection } from "./duckdb.ts";
import type { StoreEvents } from "./store.ts";

type EventTable = keyof StoreEvents;
type Column = readonly [name: string, type: string, comment: string];

const RECORDED_AT: Column = ["recorded_at", "TIMESTAMP", "when the bureau recorded it, UTC"];

const COLUMNS: Readonly<Record<EventTable, readonly Column[]>> = {
  provenance: [
    RECORDED_AT,
    ["tenant", "VARCHAR", "tenant of the telling key"],
    ["agent_id", "VARCHAR", "whose content it is"],
    ["action", "VARCHAR", "what it was made for"],
    ["content_hash", "VARCHAR", "sha256 of the content"],
    ["cited_sources", "VARCHAR[]", "what it cites"],
    ["request_id", "VARCHAR", "the verdict it belongs to, or null"],
  ],
  reviews: [
    RECORDED_AT,
    ["tenant", "VARCHAR", "tenant of the decision"],
    ["request_id", "VARCHAR", "the decision looked at"],
    ["resolution", "VARCHAR", "upheld, overturned or dismissed"],
    ["note", "VARCHAR", "what the reviewer wrote, or null"],
    ["key_id", "VARCHAR", "the reviewer's key"],
  ],
  evidence_sources: [
    RECORDED_AT,
    ["source_id", "VARCHAR", "id that contents cite"],
    ["tenant", "VARCHAR", "whose source it is"],
    ["kind", "VARCHAR", "what sort of source"],
    ["title", "VARCHAR", "title, or null"],
    ["digest", "VARCHAR", "sha256 of the text"],
    ["status", "VARCHAR", "active or revoked"],
    ["registered_by", "VARCHAR", "key that registered or revoked it"],
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

const VIEWS: Readonly<Record<EventTable, readonly [sql: string, comment: string]>> = {
  provenance: ["SELECT * FROM provenance_rows", "provenance recorded after the fact"],
  // A decision has one review, however many legs are flagged.
  reviews: [
    `SELECT d.evaluated_at, d.request_id, d.tenant, d.kind, d.subject, d.viewer,
       d.tool_level, d.stakes, d.verdict, d.decision, d.internal_score, d.tier, d.reason_codes,
       r.resolution, r.note, r.key_id AS reviewer, r.recorded_at AS resolved_at
     FROM (FROM decisions WHERE flagged AND leg = 'a_to_b') AS d
     LEFT JOIN (FROM review_rows QUALIFY
       row_number() OVER (PARTITION BY tenant, request_id ORDER BY recorded_at DESC) = 1) AS r
     USING (tenant, request_id)`,
    "flagged decisions and what a person made of them",
  ],
  evidence_sources: [
    newest("evidence_source_rows", "tenant, source_id"),
    "sources that contents may cite, as they stand now",
  ],
  kaizen_runs: [newest("kaizen_run_rows", "run_id"), "every attempt to improve the config"],
};

const TABLES: Readonly<Record<EventTable, string>> = {
  provenance: "provenance_rows",
  reviews: "review_rows",
  evidence_sources: "evidence_source_rows",
  kaizen_runs: "kaizen_run_rows",
};

/** The tables behind the views. */
export const EVENT_TABLES: readonly string[] = Object.values(TABLES);

function newest(table: string, identity: string): string {
  return `FROM ${table} QUALIFY
    row_number() OVER (PARTITION BY ${identity} ORDER BY recorded_at DESC) = 1`;
}

export function eventStatements(): string[] {
  const tables = Object.keys(TABLES) as EventTable[];
  return [
    ...tables.map((table) => {
      const columns = COLUMNS[table].map(([name, type]) => `${name} ${type}`);
      return `CREATE TABLE ${TABLES[table]} (${columns.join(", ")})`;
    }),
    ...tables.map((table) => `CREATE VIEW ${table} AS ${VIEWS[table][0]}`),
  ];
}

/** `reviews` shows columns of two tables; the names of its own speak for themselves. */
export const EVENT_COMMENTS: readonly (readonly [string, string])[] = [
  ...(Object.keys(TABLES) as EventTable[]).map(
    (table) => [`VIEW ${table}`, VIEWS[table][1]] as const,
  ),
  ...(["provenance", "evidence_sources", "kaizen_runs"] as const).flatMap((table) =>
    COLUMNS[table].map(([name, , comment]) => [`COLUMN ${table}.${name}`, comment] as const),
  ),
];

type EventValue = string | number | boolean | null | undefined | readonly string[] | object;

/** Inserts one event, inside the open transaction. */
export async function insertEvent<Table extends EventTable>(
  connection: Connection,
  table: Table,
  event: StoreEvents[Table],
): Promise<void> {
  const columns = COLUMNS[table];
  const row = event as unknown as Record<string, EventValue>;
  const values = columns.map(([name, type]) => textOf(row[name], type));
  const casts = columns.map(([, type], i) =>
    type === "TIMESTAMP"
      ? `epoch_ms(CAST($${i + 1}::VARCHAR AS BIGINT))`
      : type === "VARCHAR[]"
        ? `CAST(CAST($${i + 1}::VARCHAR AS JSON) AS VARCHAR[])`
        : `CAST($${i + 1}::VARCHAR AS ${type})`,
  );
  const names = columns.map(([name]) => name).join(", ");
  await connection.rows(
    `INSERT INTO ${TABLES[table]} (${names}) VALUES (${casts.join(", ")})`,
    values,
  );
}

function textOf(value: EventValue, type: string): string | null {
  if (value === undefined || value === null) return null;
  if (type === "JSON" || typeof value === "object") return JSON.stringify(value);
  return String(value);
}
