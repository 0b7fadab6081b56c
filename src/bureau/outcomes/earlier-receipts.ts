// Receipts of outcomes recorded longer ago than the replay guard remembers. The same body under the
// same signed id gets the first receipt again; another body is a contradiction and goes on record.
import { ServiceFault } from "../../contract/faults.ts";
import type { OutcomeReceipt } from "../../contract/schemas/outcomes.ts";
import {
  digestSignedBody,
  type SignedOutcomeEntry,
  type SignedRecords,
} from "../../contract/signed-records.ts";
import type { SignedBody } from "../reporters/signed-body.ts";

/**
 * First receipt of an outcome signed alone, or undefined when nothing is on record.
 * @throws ServiceFault `signature_replayed` when the id signs another body, once that is on record.
 */
export async function findEarlierReceipt(
  signed: SignedBody,
  { alone, batch }: SignedRecords,
): Promise<OutcomeReceipt | undefined> {
  const first = alone ?? batch;
  if (first === undefined) return undefined;
  // The same bytes mean another thing as a batch than alone: one id is good for one of the two.
  if (alone === undefined || alone.bodyDigest !== digestSignedBody(signed.body)) {
    throw await signed.recordContradiction(first.position);
  }
  return buildDuplicateReceipt(alone);
}

/**
 * First receipts of a batch, one item per row, or undefined when nothing is on record. A row that
 * was not recorded then is not recorded now: `faults` holds its reason, where that is known.
 * @throws ServiceFault `signature_replayed` when the id signs another body, once that is on record.
 */
export async function findEarlierBatchItems(
  signed: SignedBody,
  { alone, batch }: SignedRecords,
  faults: readonly (ServiceFault | undefined)[],
): Promise<(OutcomeReceipt | ServiceFault)[] | undefined> {
  const first = batch ?? alone;
  if (first === undefined) return undefined;
  if (batch === undefined || batch.bodyDigest !== digestSignedBody(signed.body)) {
    throw await signed.recordContradiction(first.position);
  }
  return faults.map((fault, index) => {
    const row = batch.rows.get(index);
    if (row === undefined) return fault ?? createUnrecordedRowFault();
    return { ...buildDuplicateReceipt(row), evidence_id: batch.evidenceId, evidence_index: index };
  });
}

function buildDuplicateReceipt({
  outcomeId,
  position,
  recordedAtMs,
}: SignedOutcomeEntry): OutcomeReceipt {
  return {
    outcome_id: outcomeId,
    position,
    recorded_at: new Date(recordedAtMs).toISOString(),
    duplicate: true,
    signature: "reporter",
  };
}

function createUnrecordedRowFault(): ServiceFault {
  return new ServiceFault("signature_stale", "the batch is on record, without this row");
}
