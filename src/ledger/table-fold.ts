// Fold of journal records into an agent table: outcomes that are not excluded, assessments, standings, and marks of
// agents whose newest key was revoked. The same for a start, for each commit and for a re-fold.
import type { FoldAssessment, StandingsPart } from "../engine/reading.ts";
import { decodeAssessment } from "../journal/assessments.ts";
import type { OutcomeExclusions } from "../journal/exclusions.ts";
import {
  createFoldedOutcome,
  decodeFoldedOutcome,
  type FoldedOutcome,
} from "../journal/folded-outcome.ts";
import { FRAME_KINDS, readFrameKind, readFrameLsn } from "../journal/format.ts";
import { RevokedAgents } from "../journal/revoked-agents.ts";
import { StandingsOrder } from "../journal/standings.ts";

/** The agent table as the fold writes it. */
export interface FoldTarget {
  /** Called in order of position (`lsn`) with a reused object, at replay and after each sync. */
  readonly fold: (outcome: FoldedOutcome, lsn: number) => void;
  /** Called like `fold`, with the finding of a provenance assessment on an agent's text. */
  readonly foldAssessment?: (assessment: FoldAssessment) => void;
  /** Called like `fold`, with the result of a credibility batch. Left out: ignored. */
  readonly applyStandings?: (standings: StandingsPart) => void;
  /** Called when an agent's newest key was revoked, or followed by another. */
  readonly markKeyRevoked?: (agent: string, isRevoked: boolean) => void;
}

export class TableFold {
  readonly standingsOrder = new StandingsOrder();
  readonly #target: FoldTarget;
  readonly #exclusions: OutcomeExclusions;
  readonly #revokedAgents = new RevokedAgents();
  readonly #reusedOutcome = createFoldedOutcome();

  constructor(target: FoldTarget, exclusions: OutcomeExclusions) {
    this.#target = target;
    this.#exclusions = exclusions;
  }

  /** Folds the record in the frame at `at`, unless it is of the reporters' registry or changes no table. */
  applyRecord(bytes: Buffer, at: number): void {
    const kind = readFrameKind(bytes, at);
    if (kind === FRAME_KINDS.outcome) {
      if (this.#exclusions.isExcluded(bytes, at)) return;
      if (decodeFoldedOutcome(bytes, at, this.#reusedOutcome))
        this.#target.fold(this.#reusedOutcome, readFrameLsn(bytes, at));
    } else if (kind === FRAME_KINDS.assessment) {
      this.#target.foldAssessment?.(decodeAssessment(bytes, at));
    } else if (kind === FRAME_KINDS.standings) {
      const standings = this.standingsOrder.decodeIfInOrder(bytes, at);
      if (standings !== undefined) this.#target.applyStandings?.(standings);
    }
  }

  /** Folds an event of the reporters' registry that the table has the marks of already. */
  restoreRegistryEvent(payload: Buffer): void {
    this.#revokedAgents.applyRegistryEvent(payload);
  }

  /** Folds an event of the reporters' registry: marks the agents that it changes. */
  markRevokedAgents(payload: Buffer): void {
    for (const { agent, isRevoked } of this.#revokedAgents.applyRegistryEvent(payload))
      this.#target.markKeyRevoked?.(agent, isRevoked);
  }
}
