// Port of the ledger, as the bureau uses it: the one way evidence enters. Nothing is acknowledged
// before it is durable; nothing durable is lost or counted twice.
import type { OutcomeReceipt } from "../contract/schemas/outcomes.ts";
import type { BatchEvidence, OutcomeRecord } from "../journal/records.ts";

/** Frames back to back, alone in their buffer, and their number. */
export interface EncodedFrames {
  bytes: Buffer;
  count: number;
}

/** Results of frames, in order. */
export interface FrameReceipts {
  /** Three numbers per record: verdict (VERDICT_* of replay-guard.ts), position, recorded ms. */
  readonly numbers: Float64Array;
  /** Ids of the first outcomes, one for each record that repeats one. */
  readonly duplicateIds: readonly string[];
}

/**
 * Journals, syncs, folds, then acknowledges. Answers come on the calling thread, in order of
 * append.
 */
export interface Ledger {
  /**
   * Appends one outcome. Resolves once it is durable and folded.
   * @throws ServiceFault `idempotency_conflict` when the key was used for other content,
   *   `overloaded` when the queue is full, `journal_unavailable` when the disk is full or a sync
   *   failed.
   */
  append(record: OutcomeRecord): Promise<OutcomeReceipt>;
  /** Bulk form for import: one receipt per record, order kept. Waits while the queue is full. */
  appendBatch(records: readonly OutcomeRecord[]): Promise<OutcomeReceipt[]>;
  /** Outcomes accepted but not yet acknowledged. */
  readonly pendingCount: number;
  /** Syncs, then stops the thread. Resolves once it has ended. */
  close(): Promise<void>;
}

/** Takes records that were encoded as frames on another thread. */
export interface FrameLog {
  /**
   * Appends frames as one commit: all of them durable or none. Resolves with one verdict per
   * record. The buffer is transferred. Rejects as `append`.
   */
  appendFrames(frames: EncodedFrames): Promise<FrameReceipts>;
  /** The last durable position (a count of records from the start of the journal). */
  position(): number;
}

/** Records of the journal beside outcomes. */
export interface EventLog {
  /** Makes an event of the reporters' registry durable; resolves with its position. */
  appendKeyEvent(payload: Uint8Array): Promise<number>;
  /** Makes a change of a namespace's owner durable; resolves with its position. */
  appendNamespaceEvent(payload: Uint8Array): Promise<number>;
  /** Puts an audit event on record (JSON); resolves with its position once durable. */
  appendAudit(payload: Uint8Array): Promise<number>;
  /**
   * Makes the signed bytes of a batch durable, before its rows. A repeat is harmless. Resolves with
   * the evidence id, which depends on the signed bytes alone.
   * @throws ServiceFault `signature_replayed` when the same id was signed for other bytes.
   */
  appendEvidence(evidence: Omit<BatchEvidence, "evidenceId">): Promise<string>;
}

/** API keys of a cluster, which every node has to know. */
export interface ApiKeyLog {
  /** Makes the stored form of a key durable on the way to every node; resolves with its position. */
  appendApiKey(payload: Uint8Array): Promise<number>;
}

/** Notes of people and operators, as JSON; each resolves with its position once it is durable. */
export interface NoteLog {
  /** What a person made of a flagged decision. */
  appendReview(payload: Uint8Array): Promise<number>;
  /**
   * Provenance told after the fact. Bounded apart from all else (NOTE_BYTES_MAX): a flood of it
   * holds nothing up.
   * @throws ServiceFault `overloaded` when too much of it waits.
   */
  appendProvenance(payload: Uint8Array): Promise<number>;
  /** A key of the API was made or revoked. */
  appendKeyAudit(payload: Uint8Array): Promise<number>;
  /** Any other event for auditors. */
  appendAudit(payload: Uint8Array): Promise<number>;
}

/** The meter's part of the journal. */
export interface UsageLog {
  /** Makes sums of usage durable; resolves with their position. */
  appendUsage(payload: Uint8Array): Promise<number>;
}

/** The policies' part of the journal. */
export interface PolicyLog {
  /** Makes a policy of a tenant durable; resolves with its position. */
  appendPolicy(payload: Uint8Array): Promise<number>;
}

/** The conditions' part of the journal. */
export interface ConditionLog {
  /** Makes a condition or a stop, or the end of one, durable; resolves with its position. */
  appendCondition(payload: Uint8Array): Promise<number>;
}

/** The review queue's part of the journal, as JSON; each resolves with its position once durable. */
export interface ReviewLog {
  /** Calls that wait for a review: openings and counts. They wait behind outcomes. */
  appendReviewCalls(payload: Uint8Array): Promise<number>;
  /** What a person claims or decides. */
  appendReviewEvent(payload: Uint8Array): Promise<number>;
}

/** The evidence vault's part of the journal. */
export interface VaultEventLog {
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
