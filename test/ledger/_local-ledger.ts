// Ledger in the caller's own thread, over the same core: for imports without a server and for
// tests. Every call is one or more commits; nothing is queued.
import type { OutcomeReceipt } from "../../src/contract/schemas/outcomes.ts";
import { FRAME_KINDS } from "../../src/journal/format.ts";
import { encodeBatchEvidence, addEvidenceId } from "../../src/journal/proof.ts";
import type { EventLog, Ledger, NoteLog } from "../../src/ledger/ledger.ts";
import type { OutcomeRecord } from "../../src/journal/records.ts";
import type { LedgerCore } from "../../src/ledger/core.ts";
import { buildReceipt } from "../../src/ledger/receipts.ts";
import { FrameBatch } from "../../src/ledger/frame-batch.ts";
import type { CommitResult } from "../../src/ledger/replay-guard.ts";

/** Wraps an open core; `close` closes it. `clock` is epoch ms. */
export function openLocalLedger(
  core: LedgerCore,
  clock: () => number,
): Ledger & EventLog & NoteLog {
  const commit = (records: readonly OutcomeRecord[]): OutcomeReceipt[] => {
    const batch = new FrameBatch();
    const results: CommitResult[] = [];
    for (const record of records) {
      batch.addOutcome(record);
      if (batch.isFull) results.push(...core.commit([batch.drain()], clock()));
    }
    if (batch.count > 0) results.push(...core.commit([batch.drain()], clock()));
    return records.map((record, index) => {
      const result = results[index] as CommitResult;
      return buildReceipt(record, { ...result, firstOutcomeId: result.outcomeId });
    });
  };
  /** Position of one record of another kind. A re-fold it asks for is done before it returns. */
  const commitEvent = (kind: number, payload: Uint8Array): number => {
    const batch = new FrameBatch();
    batch.addEvent(kind, payload);
    const result = core.commit([batch.drain()], clock())[0] as CommitResult;
    while (core.isRefolding) core.continueRefold(Number.POSITIVE_INFINITY);
    const { outcomeId } = result;
    const awaited = { outcomeId, signature: "none" as const };
    return buildReceipt(awaited, { ...result, firstOutcomeId: outcomeId }).position;
  };
  return {
    appendKeyEvent: (payload) =>
      new Promise((resolve) => {
        resolve(commitEvent(FRAME_KINDS.key, payload));
      }),
    appendNamespaceEvent: (payload) =>
      new Promise((resolve) => {
        resolve(commitEvent(FRAME_KINDS.namespace, payload));
      }),
    appendAudit: (payload) =>
      new Promise((resolve) => {
        resolve(commitEvent(FRAME_KINDS.audit, payload));
      }),
    appendReview: async (payload) => commitEvent(FRAME_KINDS.review, payload),
    appendProvenance: async (payload) => commitEvent(FRAME_KINDS.provenance, payload),
    appendKeyAudit: async (payload) => commitEvent(FRAME_KINDS.keyAudit, payload),
    appendEvidence: (evidence) =>
      new Promise((resolve) => {
        const whole = addEvidenceId(evidence);
        commitEvent(FRAME_KINDS.evidence, encodeBatchEvidence(whole));
        resolve(whole.evidenceId);
      }),
    append: (record) =>
      new Promise((resolve) => {
        resolve(commit([record])[0] as OutcomeReceipt);
      }),
    appendBatch: (records) =>
      new Promise((resolve) => {
        resolve(commit(records));
      }),
    pendingCount: 0,
    close: () =>
      new Promise((resolve) => {
        core.close();
        resolve();
      }),
  };
}
