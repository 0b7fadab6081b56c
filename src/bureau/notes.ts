// Use case of notes: what people made of decisions, provenance told afterwards, changes of API keys,
// and back-tests. A note is durable in the journal before it is answered; the store shows it from
// there.
import type { MigratedNote, NoteEvents, NoteTable, NoteRecorder } from "../contract/notes.ts";
import type { NoteLog } from "../ledger/ledger.ts";

export class JournaledNotes implements NoteRecorder {
  readonly #log: NoteLog;

  constructor(log: NoteLog) {
    this.#log = log;
  }

  recordNote<Table extends NoteTable>(table: Table, event: NoteEvents[Table]): Promise<number> {
    return this.#append(table, event);
  }

  /** Journals a row that an older version kept in the store alone. */
  move({ table, event, id }: MigratedNote): Promise<number> {
    return this.#append(table, { ...event, moved: id });
  }

  #append(table: NoteTable, event: object): Promise<number> {
    if (table === "reviews") return this.#log.appendReview(encodeNote(event));
    if (table === "provenance") return this.#log.appendProvenance(encodeNote(event));
    if (table === "audit_events") return this.#log.appendKeyAudit(encodeNote(event));
    // A kind of its own is not worth it: auditors want to see it too.
    const { tenant, key_id: actor, recorded_at: at_ms } = event as NoteEvents["backtests"];
    const audit = { event: BACKTEST_AUDIT_EVENT, at_ms, tenant, actor, backtest: event };
    return this.#log.appendAudit(encodeNote(audit));
  }
}

/** Name of a back-test's audit event. */
export const BACKTEST_AUDIT_EVENT = "policy.backtested";

function encodeNote(event: object): Buffer {
  return Buffer.from(JSON.stringify(event));
}
