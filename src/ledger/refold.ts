// Re-fold of the journal from its start into an empty table, without the outcomes that a revocation
// has excluded, while the old table goes on serving and counting. The new one takes over when it
// has seen every record: readers see the old state or the new one, never half of either.
import { decodeAssessment } from "../journal/assessments.ts";
import type { OutcomeExclusions } from "../journal/exclusions.ts";
import { FRAME_KINDS, readFrameKind } from "../journal/format.ts";
import { decodeFoldedOutcome, createFoldedOutcome } from "../journal/folded-outcome.ts";
import type { JournalReader } from "../journal/reader.ts";
import { StandingsOrder } from "../journal/standings.ts";
import { isRegistryKind, RevokedAgents } from "../journal/revoked-agents.ts";
import { type FoldTarget, copyFramePayload } from "./state.ts";

/** An empty agent table without readers yet. */
export interface RefoldTable extends FoldTarget {
  /** Makes this the live table, for the fold and for all readers. */
  publish(): void;
}

export class Refold {
  readonly #reader: JournalReader;
  readonly #table: RefoldTable;
  readonly #exclusions: OutcomeExclusions;
  readonly #revokedAgents = new RevokedAgents();
  readonly #standingsOrder = new StandingsOrder();
  readonly #reusedOutcome = createFoldedOutcome();
  #lsn = 0;

  constructor(reader: JournalReader, table: RefoldTable, exclusions: OutcomeExclusions) {
    this.#reader = reader;
    this.#table = table;
    this.#exclusions = exclusions;
  }

  /**
   * Folds at most `countMax` records, none beyond `durableLsn`; publishes once it has caught up.
   * @returns whether the new table has taken over.
   */
  foldSlice(durableLsn: number, countMax: number): boolean {
    this.#lsn = this.#reader.readRecords(this.#lsn, durableLsn, countMax, (bytes, at) => {
      const kind = readFrameKind(bytes, at);
      if (kind === FRAME_KINDS.outcome) this.#foldOutcome(bytes, at);
      else if (kind === FRAME_KINDS.assessment) {
        this.#table.foldAssessment?.(decodeAssessment(bytes, at));
      } else if (isRegistryKind(kind)) this.#applyKeyEvent(bytes, at);
      else if (kind === FRAME_KINDS.standings) {
        const standings = this.#standingsOrder.decodeIfInOrder(bytes, at);
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

  #foldOutcome(bytes: Buffer, at: number): void {
    if (this.#exclusions.isExcluded(bytes, at)) return;
    if (decodeFoldedOutcome(bytes, at, this.#reusedOutcome)) this.#table.fold(this.#reusedOutcome);
  }

  #applyKeyEvent(bytes: Buffer, at: number): void {
    for (const { agent, isRevoked } of this.#revokedAgents.applyRegistryEvent(
      copyFramePayload(bytes, at),
    )) {
      this.#table.markKeyRevoked?.(agent, isRevoked);
    }
  }
}
