// A review of the service's queue, as far as whoever waits for it has to know.
import type { ReviewDecision, ReviewLevel, ReviewState } from "../contract/vocabulary.ts";

/** An agent that is held back until a person has looked, and what they have decided. */
export interface Review {
  readonly id: string;
  readonly state: ReviewState;
  readonly agent: string;
  /** The tool level of verify; `connect` for check and handshake. */
  readonly level: ReviewLevel;
  /** Null while nobody has decided. */
  readonly decision: ReviewDecision | null;
  readonly note: string | null;
  readonly decided_by: string | null;
  /** The decision holds before this. */
  readonly until: string | null;
  readonly in_force: boolean;
  /** What is overturned is let through up to these stakes; null for any. */
  readonly max_stakes: number | null;
}
