// Re-fold of the journal from its start into an empty table, without the outcomes that a revocation
// has excluded, while the old table goes on serving and counting. The new one takes over when it
// has seen every record: readers see the old state or the new one, never half of either.
import type { OutcomeExclusions } from "../journal/exclusions.ts";
import { readFrameKind } from "../journal/format.ts";
import type { JournalReader } from "../journal/reader.ts";
import { isRegistryKind } from "../journal/revoked-agents.ts";
import { copyFramePayload } from "./state.ts";
import { type FoldTarget, TableFold } from "./table-fold.ts";

/** An empty agent table without readers yet. */
export interface RefoldTable extends FoldTarget {
  /** Makes this the live table, for the fold and for all readers. */
  publish(): void;
}

export class Refold {
  readonly #reader: JournalReader;
  readonly #table: RefoldTable;
  readonly #fold: TableFold;
  #lsn = 0;

  constructor(reader: JournalReader, table: RefoldTable, exclusions: OutcomeExclusions) {
    this.#reader = reader;
    this.#table = table;
    this.#fold = new TableFold(table, exclusions);
  }

  /**
   * Folds at most `countMax` records, none beyond `durableLsn`; publishes once it has caught up.
   * @returns whether the new table has taken over.
   */
  foldSlice(durableLsn: number, countMax: number): boolean {
    this.#lsn = this.#reader.readRecords(this.#lsn, durableLsn, countMax, (bytes, at) => {
      if (isRegistryKind(readFrameKind(bytes, at)))
        this.#fold.markRevokedAgents(copyFramePayload(bytes, at));
      else this.#fold.applyRecord(bytes, at);
    });
    if (this.#lsn < durableLsn) return false;
    this.#table.publish();
    this.close();
    return true;
  }

  close(): void {
    this.#reader.close();
  }
}
