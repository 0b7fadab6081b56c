// Re-fold of the journal from its start into an empty table, without the outcomes that a revocation
// has excluded, while the old table goes on serving and counting. The new one takes over when it
// has seen every record: readers see the old state or the new one, never half of either.
import { decodeAssessment } from "../journal/assessments.ts";
import type { Exclusions } from "../journal/exclusions.ts";
import { FRAME_KINDS, frameKind } from "../journal/format.ts";
import { decodeFold, emptyFold } from "../journal/folded-outcome.ts";
import type { JournalReader } from "../journal/reader.ts";
import { StandingsOrder } from "../journal/standings.ts";
import { isRegistryKind, RevokedAgents } from "../journal/revoked-agents.ts";
import { type FoldTarget, copyPayload } from "./state.ts";

/** An empty agent table without readers yet. */
export interface FreshTable extends FoldTarget {
  /** Makes this the live table, for the fold and for all readers. */
  publish(): void;
}

export class Refold {
  readonly #reader: JournalReader;
  readonly #table: FreshTable;
  readonly #exclusions: Exclusions;
  readonly #standings = new RevokedAgents();
  readonly #batches = new StandingsOrder();
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
      const kind = frameKind(bytes, at);
      if (kind === FRAME_KINDS.outcome) this.#count(bytes, at);
      else if (kind === FRAME_KINDS.assessment) {
        this.#table.foldAssessment?.(decodeAssessment(bytes, at));
      } else if (isRegistryKind(kind)) this.#takeKeyEvent(bytes, at);
      else if (kind === FRAME_KINDS.standings) {
        const standings = this.#batches.next(bytes, at);
        if (standings !== undefined) this.#table.applyStandings?.(standings);
      }
    });
    if (this.#lsn < durableLsn) return false;
    this.#table.publish();
    this.close();
    return true;
  }

  close(): void {
    this.#reader.close();
  }

  #count(bytes: Buffer, at: number): void {
    if (this.#exclusions.excludes(bytes, at)) return;
    if (decodeFold(bytes, at, this.#folded)) this.#table.fold(this.#folded);
  }

  #takeKeyEvent(bytes: Buffer, at: number): void {
    for (const { agent, isRevoked } of this.#standings.apply(copyPayload(bytes, at))) {
      this.#table.markKeyRevoked?.(agent, isRevoked);
    }
  }
}
