// Folds the journal again from its start into an empty table, leaving out what a revocation has
// excluded, while the old table goes on serving and counting. The new one takes over when it has
// seen every record: readers see the old state or the new one, never half of either.
import type { Exclusions } from "./exclusions.ts";
import { FRAME_KINDS, frameKind } from "./journal-format.ts";
import { decodeFold, emptyFold, type FoldedOutcome } from "./journal-outcome.ts";
import type { JournalReader } from "./journal-reader.ts";

/** An empty agent table that nobody reads yet. */
export interface FreshTable {
  fold(outcome: FoldedOutcome): void;
  /** Makes this the table that is folded into and read from. */
  publish(): void;
}

export class Refold {
  readonly #reader: JournalReader;
  readonly #table: FreshTable;
  readonly #exclusions: Exclusions;
  readonly #folded = emptyFold();
  #lsn = 0;

  constructor(reader: JournalReader, table: FreshTable, exclusions: Exclusions) {
    this.#reader = reader;
    this.#table = table;
    this.#exclusions = exclusions;
  }

  /**
   * Folds at most `countMax` records, none beyond `durableLsn`; publishes once it has caught up.
   * @returns whether the new table has taken over.
   */
  step(durableLsn: number, countMax: number): boolean {
    this.#lsn = this.#reader.read(this.#lsn, durableLsn, countMax, (bytes, at) => {
      if (frameKind(bytes, at) !== FRAME_KINDS.outcome) return;
      if (this.#exclusions.excludes(bytes, at)) return;
      if (decodeFold(bytes, at, this.#folded)) this.#table.fold(this.#folded);
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
