// Rows of notes, which the journal holds (contract/notes.ts). Rows that an older version kept in the
// database alone have no position: they are given out once, to be journaled, and the record that
// comes back takes their place in the same transaction.
import type { MigratedNote, NoteEvents, NoteTable } from "../../contract/notes.ts";
import { appendRows, appendValues, type Connection, type RowAppender } from "../duckdb.ts";
import { CITED_SOURCE_TABLE, convertToColumnText, EVENT_COLUMNS, EVENT_TABLES } from "./events.ts";
import type { PositionedRow } from "./review-queue.ts";

/**
 * Characters of a list that stays in its note's row. DuckDB compresses rows in groups of 122,880 and, at a checkpoint,
 * the last group anew: with lists of 33 kB in them that takes more memory than it has.
 */
const INLINE_CITATIONS_LENGTH_MAX = 1024;

const NOTE_TABLES = [
  "provenance",
  "reviews",
  "audit_events",
  "backtests",
] as const satisfies readonly NoteTable[];

/** A note as the journal has it. */
export interface NoteRow {
  readonly table: NoteTable;
  readonly event: NoteEvents[NoteTable];
  /** Id of the row of an older version whose place it takes. */
  readonly moved?: string | undefined;
}

/** Appends notes, inside the open transaction. */
export async function appendNotes(
  connection: Connection,
  notes: readonly PositionedRow<NoteRow>[],
): Promise<void> {
  for (const table of NOTE_TABLES) {
    const rows = notes.filter((note) => note.table === table);
    await appendRows(connection, EVENT_TABLES[table], rows, appendNote);
    for (const { moved } of rows)
      if (moved !== undefined) await deleteMovedRows(connection, table, moved);
  }
  await appendRows(
    connection,
    CITED_SOURCE_TABLE,
    notes.flatMap(listCitedRows),
    (appender, row) => {
      appendValues(appender, BigInt(row.position), row.tenant);
      appender.appendInteger(row.place);
      appender.appendVarchar(row.source);
    },
  );
}

/** Sources that do not stay in the note's own row; none for most notes. */
function listCitedRows(note: PositionedRow<NoteRow>) {
  if (!hasLongCitations(note)) return [];
  const { tenant, cited_sources: sources } = note.event as NoteEvents["provenance"];
  return sources.map((source, place) => ({ position: note.position, tenant, place, source }));
}

function hasLongCitations({ table, event }: NoteRow): boolean {
  if (table !== "provenance") return false;
  const { cited_sources: sources } = event as NoteEvents["provenance"];
  return sources.reduce((sum, { length }) => sum + length, 0) > INLINE_CITATIONS_LENGTH_MAX;
}

function appendNote(appender: RowAppender, note: PositionedRow<NoteRow>): void {
  const { table, event, position } = note;
  const row: Record<string, unknown> = { ...event, position };
  if (hasLongCitations(note)) row["cited_sources"] = null;
  for (const [name, type] of EVENT_COLUMNS[table]) {
    const value = row[name];
    if (value === undefined || value === null) appender.appendNull();
    else if (type === "TIMESTAMP") appender.appendInstant(value as number);
    else if (type === "BIGINT") appender.appendBigInt(BigInt(value as number));
    else if (type === "VARCHAR[]") appender.appendTexts(value as readonly string[]);
    else appender.appendVarchar(convertToColumnText(value, type) ?? "");
  }
}

/** Columns without the position, and their digest as SQL: equal rows have equal digests. */
const listValueColumns = (table: NoteTable) =>
  EVENT_COLUMNS[table].map(([name]) => name).filter((name) => name !== "position");
const buildDigestSql = (table: NoteTable) =>
  `md5(to_json({${listValueColumns(table)
    .map((name) => `'${name}': ${name}`)
    .join(", ")}})::VARCHAR)`;

async function deleteMovedRows(
  connection: Connection,
  table: NoteTable,
  id: string,
): Promise<void> {
  await connection.rows(
    `DELETE FROM ${EVENT_TABLES[table]} WHERE position IS NULL AND ${buildDigestSql(table)} = $1::VARCHAR`,
    [id],
  );
}

/**
 * Rows that the journal does not hold, at most `countMax` different ones. Equal rows come together,
 * because their records replace all of them at once.
 */
export async function readUnjournaledNotes(
  connection: Connection,
  countMax: number,
): Promise<MigratedNote[]> {
  const found: MigratedNote[] = [];
  for (const table of NOTE_TABLES) {
    const members = EVENT_COLUMNS[table]
      .filter(([name]) => name !== "position")
      .map(([name, type]) => `'${name}': ${type === "TIMESTAMP" ? `epoch_ms(${name})` : name}`);
    const rows = await connection.rows(
      `SELECT ${buildDigestSql(table)} AS id, count(*), any_value(to_json({${members.join(", ")}})::VARCHAR)
       FROM ${EVENT_TABLES[table]} WHERE position IS NULL GROUP BY id LIMIT ${countMax}`,
    );
    for (const [id, count, text] of rows as [string, number, string][]) {
      const event = JSON.parse(text) as NoteEvents[NoteTable];
      for (let n = 0; n < count; n++) found.push({ table, event, id });
    }
  }
  return found;
}
