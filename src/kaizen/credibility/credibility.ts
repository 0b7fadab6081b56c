// Reporters' credibility as the rest of the service sees it: bring it up to date, see what it says.
// The composition root implements it over a pool thread, the journal and the ledger's writer.
import type { StandingFigures } from "./standings.ts";

/** One batch and what it found. */
export interface CredibilityBatch {
  at: string;
  /** The journal was read up to here. */
  position: number;
  /** Journal records written: 0 when nothing changed. */
  records: number;
  /** `written`, `nothing changed`, or why nothing could be said. */
  reason: string;
  duration_ms: number;
  /** Absent when nothing could be said. */
  figures?: StandingFigures;
}

export interface CredibilityStatus {
  /** The operator's switch. */
  is_wanted: boolean;
  /** Whether the operator vouches for anybody. */
  has_seeds: boolean;
  /** Whether standings count in the fold now. */
  in_force: boolean;
  is_running: boolean;
  /** The last batch of this process. */
  last?: CredibilityBatch;
}

export interface Credibility {
  /** Computes standings from the whole history and writes what changed; joins a batch under way. */
  refresh(): Promise<CredibilityBatch>;
  status(): CredibilityStatus;
}
