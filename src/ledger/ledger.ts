// The ledger seen from the bureau: the one way evidence enters. Nothing is acknowledged before it
// is durable; nothing durable is lost or counted twice.
import type { OutcomeReceipt } from "../contract/messages.ts";
import type { BatchEvidence, OutcomeRecord } from "../journal/records.ts";

/** Frames back to back, alone in their buffer, and how many. */
export interface EncodedFrames {
  bytes: Buffer;
  count: number;
}

/** What became of frames, in order. */
export interface FrameReceipts {
  /** Three numbers per record: verdict (VERDICT_* of replay-guard.ts), position, recorded ms. */
  readonly numbers: Float64Array;
  /** Ids of the first outcomes, one for each record that repeats one. */
  readonly duplicateIds: readonly string[];
}

/** Journal, sync, fold, acknowledge. */
export interface Ledger {
  /**
   * Resolves when durable and folded. Rejects with ServiceFault `idempotency_conflict` (same key,
   * other content), `overloaded` (queue full), `journal_unavailable` (disk full or sync failed).
   */
  append(record: OutcomeRecord): Promise<OutcomeReceipt>;
  /** Bulk form for import; one receipt per record, order kept. */
  appendBatch(records: readonly OutcomeRecord[]): Promise<OutcomeReceipt[]>;
  /** Outcomes accepted but not yet acknowledged. */
  readonly pendingCount: number;
  /** Syncs, stops the thread. */
  close(): Promise<void>;
}

/** Records that are frames already, made on another thread. */
export interface FrameLog {
  /**
   * One commit: all of them durable or none. Rejects as `append`; what became of each record is
   * told by its verdict. The buffer is given away.
   */
  appendFrames(frames: EncodedFrames): Promise<FrameReceipts>;
  /** The last durable position. */
  position(): number;
}

/** What else the journal takes, beside outcomes. */
export interface EventLog {
  /** Makes an event of the reporters' registry durable; resolves with its position. */
  appendKeyEvent(payload: Uint8Array): Promise<number>;
  /** Puts an audit event on record (JSON); resolves with its position once durable. */
  appendAudit(payload: Uint8Array): Promise<number>;
  /**
   * Makes the signed bytes of a batch durable, before its rows. Rejects with `signature_replayed`
   * when the same id was signed for other bytes; a repeat is harmless. Resolves with the evidence
   * id, which depends on the signed bytes alone.
   */
  appendEvidence(evidence: Omit<BatchEvidence, "evidenceId">): Promise<string>;
}

/** The evidence vault's part of the journal. */
export interface SourceLog {
  /** Makes an event of the vault durable (frame kind `evidence`); resolves with its position. */
  appendSource(payload: Uint8Array): Promise<number>;
}

/** Kaizen's part of the journal. */
export interface KaizenLog {
  /** Records a promoted config; resolves with its position once durable. */
  appendConfig(payload: Uint8Array): Promise<number>;
  /** Records one part of a batch of standings; resolves with its position once applied. */
  appendStandings(payload: Uint8Array): Promise<number>;
}
