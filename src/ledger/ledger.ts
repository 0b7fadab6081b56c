// The ledger seen from the bureau: the one way evidence enters. Nothing is acknowledged before it
// is durable; nothing durable is lost or counted twice.
import type { OutcomeReceipt } from "../contract/messages.ts";
import type { Signature } from "../contract/vocabulary.ts";

/** One outcome as the journal keeps it: parsed members plus the exact bytes received. */
export interface OutcomeRecord {
  /** UUIDv7, ours. */
  outcomeId: string;
  /** Replay identity, scoped by tenant or key; empty when the caller gave none. */
  idempotencyKey: string;
  subject: string;
  reporter: string;
  outcome: 0 | 1;
  stakes: number;
  gradeIndex: number;
  signature: Signature;
  settledAtMs: number;
  recordedAtMs: number;
  /** False: stored, not folded (the tool failed, not the agent). */
  isAgentFault: boolean;
  tenant: string;
  action: string;
  /** The verdict this settles, or empty. */
  requestId: string;
  /** Where it came from: `api` or `import:<file>`. */
  source: string;
  /** The exact received bytes (empty for imports: the members above are the evidence). */
  body: Uint8Array;
}

/** Journal, sync, fold, acknowledge. */
export interface Ledger {
  /**
   * Resolves when durable and folded. Rejects with ServiceFault `idempotency_conflict` (same key,
   * other body), `overloaded` (queue full), `journal_unavailable` (disk full or sync failed).
   */
  append(record: OutcomeRecord): Promise<OutcomeReceipt>;
  /** Bulk form for import; one receipt per record, order kept. */
  appendBatch(records: readonly OutcomeRecord[]): Promise<OutcomeReceipt[]>;
  /** Outcomes accepted but not yet acknowledged. */
  readonly pendingCount: number;
  /** Syncs, stops the thread. */
  close(): Promise<void>;
}
