// Maps a record's result to its reporter's answer: a receipt or a fault.
import { ServiceFault } from "../contract/faults.ts";
import type { OutcomeReceipt } from "../contract/schemas/outcomes.ts";
import { GRADES, type Signature } from "../contract/vocabulary.ts";
import type { RecordedAttestation } from "../journal/records.ts";
import {
  VERDICT_CONFLICT,
  VERDICT_DUPLICATE,
  VERDICT_NEWCOMERS_LIMITED,
  VERDICT_RECORDED,
  VERDICT_REPLAYED,
  VERDICT_TABLE_FULL,
  VERDICT_DISK_FULL,
  VERDICT_LOG_UNAVAILABLE,
} from "./replay-guard.ts";

/** The sender's notes on a record until its answer comes. */
export interface AwaitedOutcome {
  outcomeId: string;
  signature: Signature;
  /** Index into GRADES of a claimed grade that it does not weigh as; -1 for none. */
  claimedGradeIndex?: number | undefined;
  attestation?: Pick<RecordedAttestation, "attester"> | undefined;
}

/** The ledger's result for one record. */
export interface RecordResult {
  readonly verdict: number;
  /** Position of the record, or of the earlier one that it repeats or contradicts. */
  readonly lsn: number;
  readonly recordedAtMs: number;
  /** Outcome id of the earlier record of a duplicate. */
  readonly firstOutcomeId: string;
}

/**
 * Receipt of a recorded or repeated outcome.
 * @throws ServiceFault `idempotency_conflict`, `signature_replayed`, `table_full`,
 *   `newcomers_limited` or `journal_unavailable` for any other verdict.
 */
export function buildReceipt(
  awaited: AwaitedOutcome,
  { verdict, lsn, recordedAtMs, firstOutcomeId }: RecordResult,
): OutcomeReceipt {
  if (verdict === VERDICT_CONFLICT) {
    throw new ServiceFault(
      "idempotency_conflict",
      `the id or the attested transaction was used for the outcome at position ${lsn} with another body`,
    );
  }
  if (verdict === VERDICT_REPLAYED) {
    throw new ServiceFault(
      "signature_replayed",
      `the signed id was used for the record at position ${lsn} with another body`,
    );
  }
  if (verdict === VERDICT_DISK_FULL)
    throw createJournalUnavailableFault("the disk is full or nearly so");
  if (verdict === VERDICT_LOG_UNAVAILABLE) {
    throw new ServiceFault(
      "journal_unavailable",
      "the cluster's ordered log is not to be had; repeated under the same id, the outcome is recorded once",
    );
  }
  if (verdict === VERDICT_TABLE_FULL) {
    throw new ServiceFault(
      "table_full",
      "there is no room for another agent or pair; outcomes of known ones are still taken",
    );
  }
  if (verdict === VERDICT_NEWCOMERS_LIMITED) {
    throw new ServiceFault(
      "newcomers_limited",
      "this key has named more new agents or pairs than it may by the hour",
    );
  }
  const isDuplicate = verdict === VERDICT_DUPLICATE;
  if (!isDuplicate && verdict !== VERDICT_RECORDED) throw new Error(`verdict ${verdict}?`);
  const { claimedGradeIndex = -1, attestation } = awaited;
  const claimedGrade = GRADES[claimedGradeIndex];
  return {
    outcome_id: isDuplicate ? firstOutcomeId : awaited.outcomeId,
    position: lsn,
    recorded_at: new Date(recordedAtMs).toISOString(),
    duplicate: isDuplicate,
    signature: awaited.signature,
    ...(claimedGrade === undefined ? {} : { claimed_grade: claimedGrade }),
    // Of a repeat the first record counts, which need not be attested.
    ...(attestation === undefined || isDuplicate ? {} : { attested: attestation.attester }),
  };
}

export function createJournalUnavailableFault(why: string): ServiceFault {
  return new ServiceFault("journal_unavailable", `${why}; the outcome was not recorded`);
}
