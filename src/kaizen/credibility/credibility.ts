// Port of reporter credibility: recompute it, read its state. Implemented by
// service/credibility-service.ts over a pool thread, the journal and the ledger's writer.
import type { ReporterGraph } from "./reporter-graph.ts";
import type { StandingMetrics } from "./standings.ts";

/** One batch and its findings. */
export interface CredibilityBatch {
  at: string;
  /** Position of the journal up to which the batch read. */
  position: number;
  /** Journal records written: 0 when nothing changed. */
  records: number;
  /** `written`, `nothing changed`, or the reason why nothing could be computed. */
  reason: string;
  /** Milliseconds. */
  duration_ms: number;
  /** Absent when nothing could be computed. */
  figures?: StandingMetrics;
}

export interface CredibilityStatus {
  /** Setting of the operator. */
  is_wanted: boolean;
  /** Whether the operator named any seeds. */
  has_seeds: boolean;
  /** Whether the fold applies standings now. */
  in_force: boolean;
  /** Whether a batch is under way. */
  is_running: boolean;
  /** Last batch of this process. */
  last?: CredibilityBatch;
}

/** Part of the last batch's graph of reporters; empty before the first. */
export interface CredibilityGraph extends ReporterGraph {
  /** Time of the batch, and the position of the journal up to which it read. */
  at?: string;
  position?: number;
}

export interface Credibility {
  /**
   * Computes standings from the whole history and writes the changes. A call during a batch joins
   * that batch. Rejects with the error of the batch.
   */
  refresh(): Promise<CredibilityBatch>;
  status(): CredibilityStatus;
  /**
   * At most `limit` reporters: an overview, or around one. Undefined when the last batch has not kept
   * that one.
   */
  graph(limit: number, around?: string): CredibilityGraph | undefined;
}
