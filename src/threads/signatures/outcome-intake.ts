// Intake of outcome batches on the HTTP thread: bytes go to a pool thread and come back as journal
// frames, frames go to the ledger as one commit, receipts come back together. This thread only
// carries; parsing a thousand rows here would hold up every verdict behind them.
import type { CallContext, ImportResult } from "../../bureau/bureau.ts";
import type {
  OutcomeBatchBody,
  OutcomeIntakeTask,
  OutcomeIntake,
} from "../../bureau/outcomes/batch-reader.ts";
import { selectOutcomeSender, type SenderSources } from "../../bureau/outcomes/record.ts";
import { isOfOneRow } from "../../contract/faults.ts";
import { ATTESTERS } from "../../contract/vocabulary.ts";
import type { OutcomeReceipt } from "../../contract/schemas/outcomes.ts";
import type { FrameLog, FrameReceipts } from "../../ledger/ledger.ts";
import { NUMBERS_PER_RECEIPT } from "../../ledger/messages.ts";
import { type AwaitedOutcome, buildReceipt } from "../../ledger/receipts.ts";
import { VERDICT_DUPLICATE } from "../../ledger/replay-guard.ts";
import type { SignaturePool } from "./pool.ts";
import type { IntakeFrames } from "./worker.ts";
import { decodeFault, type EncodedFault } from "../../contract/encoded-fault.ts";

export interface IntakeOptions extends SenderSources {
  readonly pool: SignaturePool;
  readonly ledger: FrameLog;
  readonly serviceId: string;
  readonly isSignatureRequired: boolean;
  readonly rememberedSinceMs: () => number;
  /** Epoch ms. */
  readonly clock: () => number;
}

export function openOutcomeIntake(options: IntakeOptions): OutcomeIntake {
  return { record: (document, call) => readAndAppendBatch(options, document, call) };
}

async function readAndAppendBatch(
  options: IntakeOptions,
  document: OutcomeBatchBody,
  { principal }: CallContext,
): Promise<ImportResult[]> {
  const { pool, ledger, serviceId, isSignatureRequired } = options;
  const task: OutcomeIntakeTask = {
    ...document,
    serviceId,
    isSignatureRequired,
    ...selectOutcomeSender(principal, options),
    rememberedSinceMs: options.rememberedSinceMs(),
    nowMs: options.clock(),
  };
  const reply = await pool.takeIn(task);
  if ("fault" in reply) throw decodeFault(reply.fault);
  if (reply.count === 0) return reply.rows.map((row) => decodeFault(row as EncodedFault));
  const { frames, count } = reply;
  const bytes = Buffer.from(frames.buffer, 0, frames.byteLength);
  return buildImportResults(reply, await ledger.appendFrames({ bytes, count }));
}

/**
 * Results of the rows.
 * @throws ServiceFault when a fault cannot be laid to one row: nothing was acknowledged of the
 *   batch.
 */
function buildImportResults(
  { rows, evidenceId, isSigned, claimedGrades, attesters }: IntakeFrames,
  { numbers, duplicateIds }: FrameReceipts,
): ImportResult[] {
  let recorded = 0;
  let duplicate = 0;
  const next = (awaited: AwaitedOutcome): OutcomeReceipt => {
    const at = recorded++ * NUMBERS_PER_RECEIPT;
    const verdict = numbers[at]!;
    const lsn = numbers[at + 1]!;
    const recordedAtMs = numbers[at + 2]!;
    const firstOutcomeId = verdict === VERDICT_DUPLICATE ? (duplicateIds[duplicate++] ?? "") : "";
    const result = { verdict, lsn, recordedAtMs, firstOutcomeId };
    return buildReceipt(awaited, result);
  };
  // A signer that contradicts itself is refused by the batch, not row by row.
  if (evidenceId !== "") next({ outcomeId: "", signature: "reporter" });
  return rows.map((row, index) => {
    if (typeof row !== "string") return decodeFault(row);
    try {
      const attester = ATTESTERS[attesters[index]!];
      const receipt = next({
        outcomeId: row,
        signature: isSigned[index] === 1 ? "reporter" : "none",
        claimedGradeIndex: claimedGrades[index],
        attestation: attester === undefined ? undefined : { attester },
      });
      if (evidenceId === "") return receipt;
      return { ...receipt, evidence_id: evidenceId, evidence_index: index };
    } catch (thrown) {
      if (isOfOneRow(thrown)) return thrown;
      throw thrown;
    }
  });
}
