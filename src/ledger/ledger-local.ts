// The ledger in the caller's own thread, over the same core: for imports without a server and for
// tests. Every call is one or more commits; nothing is queued.
import type { OutcomeReceipt } from "../contract/messages.ts";
import type { Ledger, OutcomeRecord } from "./ledger.ts";
import type { CommitResult, LedgerCore } from "./ledger-core.ts";
import { receiptOf } from "./ledger-receipt.ts";
import { OutcomeBatch } from "./outcome-batch.ts";

/** Wraps an open core; `close` closes it. `clock` is epoch ms. */
export function openLocalLedger(core: LedgerCore, clock: () => number): Ledger {
  const commit = (records: readonly OutcomeRecord[]): OutcomeReceipt[] => {
    const batch = new OutcomeBatch();
    const results: CommitResult[] = [];
    for (const record of records) {
      batch.add(record);
      if (batch.isFull) results.push(...core.commit([batch.take()], clock()));
    }
    if (batch.count > 0) results.push(...core.commit([batch.take()], clock()));
    return records.map((record, index) => {
      const result = results[index] as CommitResult;
      return receiptOf(record, result.verdict, result.lsn, result.recordedAtMs, result.outcomeId);
    });
  };
  return {
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
