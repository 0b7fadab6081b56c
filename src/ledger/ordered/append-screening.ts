// Appends that wait for their place in the ordered log, screened before they leave: what depends on this node
// alone is refused here, for after the log all nodes must agree.
import type { MessagePort } from "node:worker_threads";
import { markBulkRefused } from "../admission/admission.ts";
import type { LedgerCore } from "../core.ts";
import type { AppendMessage } from "../messages.ts";
import {
  type CommitResult,
  createPendingRecord,
  type PendingRecord,
  VERDICT_RECORDED,
} from "../replay-guard.ts";

/** One append that waits for its place. */
export interface ScreenedAppend {
  readonly port: MessagePort;
  /** Of each of its records; those refused here have their verdict already. */
  readonly results: CommitResult[];
  /** Indexes in `results` of the records that were sent. */
  readonly sent: readonly number[];
  readonly frames: Buffer;
  isDone: boolean;
}

export function screenAppend(
  { space, admission }: Pick<LedgerCore, "space" | "admission">,
  port: MessagePort,
  { frames, byteCount, recordCount, nowMs }: AppendMessage,
): ScreenedAppend {
  const bytes = Buffer.from(frames, 0, byteCount);
  const records = splitPendingRecords(bytes, recordCount);
  if (space.isLow) markBulkRefused(records);
  admission?.markRefused(records, nowMs);
  const results = records.map(({ result }) => result);
  const sent = results.flatMap(({ verdict }, at) => (verdict === VERDICT_RECORDED ? [at] : []));
  const isWhole = sent.length === records.length;
  const parts = sent.map((at) => bytes.subarray(records[at]!.at, records[at]!.end));
  return { port, results, sent, frames: isWhole ? bytes : Buffer.concat(parts), isDone: false };
}

/** The records of an append, without what only the guard needs. */
function splitPendingRecords(bytes: Buffer, count: number): PendingRecord[] {
  const run = { bytes, count };
  const records: PendingRecord[] = [];
  for (let at = 0; at < bytes.byteLength; at = records.at(-1)!.end) {
    records.push(createPendingRecord(run, at));
  }
  return records;
}
