// All tables and views of the outcome store, and the number that goes with them. Outcomes, sources
// and audit events are derived from the journal: a change of schema raises SCHEMA_VERSION and the
// store is rebuilt, never migrated.
//
// House rules: append-only, no keys, no indexes, no updates (DuckDB's log replay has failed on
// each of them); DDL is followed by a CHECKPOINT.
import { decisionTables } from "./decision-rows.ts";
import { eventTables } from "./event-rows.ts";
import { journalTables } from "./journal-rows.ts";
import { outcomeTables } from "./outcome-views.ts";
import { viewStatements } from "./views.ts";

/**
 * Stored with the data; another number means rebuild. A new version of DuckDB raises it too: rows
 * hold values of its `hash`.
 */
export const SCHEMA_VERSION = 5;

/** Statements that make an empty database ours, in order. */
export function schemaStatements(): string[] {
  return [
    ...outcomeTables(),
    ...journalTables(),
    ...decisionTables(),
    ...eventTables(),
    ...viewStatements(),
    "CHECKPOINT",
  ];
}
