// Replay guard for the records of one commit: which identities each has, which of them were
// recorded before, and the verdict that follows. An outcome has up to three identities: the id its
// sender gave, the one its reporter signed (kid and jti), and the transaction that another party
// attested. Any one is enough to recognise it.
import {
  FRAME_HEAD_BYTES,
  FRAME_KINDS,
  readFrameKind,
  readPayloadLength,
} from "../journal/format.ts";
import { type FirstReceipt, type ReplayIdentity, hashReplayIdentity } from "./replay-table.ts";
import {
  readOutcomeBody,
  readOutcomeIdBytes,
  readOutcomeProofBytes,
  readOutcomeReplayParts,
  readOutcomeSender,
  readTransactionReplayParts,
} from "../journal/outcome.ts";
import {
  readBatchEvidenceId,
  decodeBatchEvidence,
  readProofKid,
  readSignedIdentity,
} from "../journal/proof.ts";
import { readAssessmentReplayParts } from "../journal/assessments.ts";
import type { FrameRun } from "../journal/writer.ts";
import { FrameBatch } from "./frame-batch.ts";
import { formatUuid } from "../platform/uuid.ts";

/** Verdict on one record. */
export const VERDICT_RECORDED = 0;
export const VERDICT_DUPLICATE = 1;
export const VERDICT_CONFLICT = 2;
export const VERDICT_DISK_FULL = 3;
/** A conflict under a signed id: the reporter has signed two bodies under one id. */
export const VERDICT_REPLAYED = 4;
/** A row of a signed batch whose signed bytes, in the same commit, were refused. */
export const VERDICT_DROPPED = 5;
/** The agent table has no room for what is new in it. */
export const VERDICT_TABLE_FULL = 6;
/** Its key has brought more new agents or pairs than it may by the hour. */
export const VERDICT_NEWCOMERS_LIMITED = 7;
/** In a cluster: the ordered log did not take it in time, or nobody could say whether it did. */
export const VERDICT_LOG_UNAVAILABLE = 8;
const REFUSED_VERDICTS: ReadonlySet<number> = new Set([
  VERDICT_DISK_FULL,
  VERDICT_TABLE_FULL,
  VERDICT_NEWCOMERS_LIMITED,
]);

export interface CommitResult {
  verdict: number;
  /** Position of the record, or of the first one for a duplicate or conflict. */
  lsn: number;
  recordedAtMs: number;
  /** Set for duplicates and conflicts only: the id of the first. */
  outcomeId: string;
}

export interface GuardedIdentity extends ReplayIdentity {
  /** Proved by a signature; else claimed by the sender. */
  readonly isSigned: boolean;
}

/** One record of a commit in progress. */
export interface PendingRecord {
  run: FrameRun;
  at: number;
  end: number;
  /** Number of the API key that an outcome came with, 0 for none that is counted. */
  sender: number;
  identities: readonly GuardedIdentity[];
  result: CommitResult;
  /** The earlier record of the same commit that this one repeats. */
  first: PendingRecord | undefined;
  /** The signed bytes that arrived with this row in one message. */
  batch: PendingRecord | undefined;
}

/** No tenant has this name: tenants hold no control characters. */
const SIGNED_SCOPE = Buffer.from("\u0001jws");
/** Only a verified attestation sets it: an id without one could be used up by any reporter. */
const ATTESTED_SCOPE = Buffer.from("\u0001attested");
const BATCH_CONTENT = Buffer.from("batch\n");
const ASSESSED_SCOPE = Buffer.from("\u0001assessed");
const NO_IDENTITIES: readonly GuardedIdentity[] = [];

/**
 * Identities by which the record in the frame at `at` is recognised as a repeat; the attested
 * transaction is one where it `countsTransactions`.
 */
export function listGuardedIdentities(
  bytes: Buffer,
  at: number,
  countsTransactions: boolean,
): readonly GuardedIdentity[] {
  const kind = readFrameKind(bytes, at);
  if (kind === FRAME_KINDS.evidence) {
    const batch = decodeBatchEvidence(bytes, at);
    if (batch === undefined) return NO_IDENTITIES;
    // The same bytes mean another thing as a batch than alone: one id is good for one of the two.
    return [buildSignedIdentity(batch.identity, Buffer.concat([BATCH_CONTENT, batch.body]))];
  }
  if (kind === FRAME_KINDS.assessment) {
    const assessed = { tenant: ASSESSED_SCOPE, ...readAssessmentReplayParts(bytes, at) };
    return [{ ...hashReplayIdentity(assessed), isSigned: false }];
  }
  if (kind !== FRAME_KINDS.outcome) return NO_IDENTITIES;
  const parts = readOutcomeReplayParts(bytes, at);
  const proof = readOutcomeProofBytes(bytes, at);
  const signer = proof === undefined ? undefined : readSignedIdentity(proof);
  const transaction = countsTransactions ? readTransactionReplayParts(bytes, at) : undefined;
  if (parts === undefined && signer === undefined && transaction === undefined)
    return NO_IDENTITIES;
  const identities: GuardedIdentity[] = [];
  if (parts !== undefined) identities.push({ ...hashReplayIdentity(parts), isSigned: false });
  if (signer !== undefined)
    identities.push(buildSignedIdentity(signer, readOutcomeBody(bytes, at)));
  if (transaction !== undefined) {
    const attested = { tenant: ATTESTED_SCOPE, ...transaction };
    identities.push({ ...hashReplayIdentity(attested), isSigned: false });
  }
  return identities;
}

function buildSignedIdentity(key: Buffer, content: Buffer): GuardedIdentity {
  return { ...hashReplayIdentity({ tenant: SIGNED_SCOPE, key, content }), isSigned: true };
}

/**
 * Id of the record as receipts name it: outcomes and signed batches have one, and for an assessment
 * half of the digest stands in.
 */
export function readRecordIdBytes(bytes: Buffer, at: number): Buffer | undefined {
  const kind = readFrameKind(bytes, at);
  if (kind === FRAME_KINDS.outcome) return readOutcomeIdBytes(bytes, at);
  if (kind === FRAME_KINDS.assessment) return readAssessmentReplayParts(bytes, at).idBytes;
  return kind === FRAME_KINDS.evidence ? decodeBatchEvidence(bytes, at)?.idBytes : undefined;
}

/** The record in the frame at `at` of a run. */
export function createPendingRecord(
  run: FrameRun,
  at: number,
  identities: readonly GuardedIdentity[] = NO_IDENTITIES,
): PendingRecord {
  const isOutcome = readFrameKind(run.bytes, at) === FRAME_KINDS.outcome;
  return {
    run,
    at,
    end: at + FRAME_HEAD_BYTES + readPayloadLength(run.bytes, at),
    sender: isOutcome ? readOutcomeSender(run.bytes, at) : 0,
    identities,
    result: { verdict: VERDICT_RECORDED, lsn: 0, recordedAtMs: 0, outcomeId: "" },
    first: undefined,
    batch: undefined,
  };
}

export function splitRun(run: FrameRun, countsTransactions: boolean): PendingRecord[] {
  const records: PendingRecord[] = [];
  let batch: PendingRecord | undefined;
  let batchId: Buffer | undefined;
  let at = 0;
  while (at < run.bytes.byteLength) {
    const identities = listGuardedIdentities(run.bytes, at, countsTransactions);
    const record = createPendingRecord(run, at, identities);
    if (readFrameKind(run.bytes, at) === FRAME_KINDS.evidence) {
      batch = record;
      batchId = readRecordIdBytes(run.bytes, at);
    } else if (batchId !== undefined && isRowOfBatch(batchId, run.bytes, at)) record.batch = batch;
    records.push(record);
    at = record.end;
  }
  return records;
}

/** Whether the record at `at` is an outcome of the batch with this id. */
function isRowOfBatch(batchId: Buffer, bytes: Buffer, at: number): boolean {
  if (readFrameKind(bytes, at) !== FRAME_KINDS.outcome) return false;
  const proof = readOutcomeProofBytes(bytes, at);
  const evidence = proof === undefined ? undefined : readBatchEvidenceId(proof);
  return evidence !== undefined && evidence.equals(batchId);
}

export function sliceFrameRun(record: PendingRecord): FrameRun {
  return { bytes: record.run.bytes.subarray(record.at, record.end), count: 1 };
}

/** Marks repeats: of durable records at once, of earlier ones in this commit by link. */
export function markRepeats(
  records: readonly PendingRecord[],
  find: (identity: ReplayIdentity) => FirstReceipt | undefined,
): void {
  const firsts = new Map<string, { record: PendingRecord; identity: GuardedIdentity }>();
  for (const record of records) {
    // Nothing of a contradicting batch is recorded, not even its rows.
    if (record.batch?.result.verdict === VERDICT_REPLAYED) {
      record.result.verdict = VERDICT_DROPPED;
      continue;
    }
    for (const identity of record.identities) {
      const known = find(identity);
      if (known !== undefined) markDurableRepeat(record.result, known, identity.isSigned);
    }
    if (record.result.verdict !== VERDICT_RECORDED) continue;
    for (const identity of record.identities) {
      const first = firsts.get(identity.identity);
      if (first === undefined) continue;
      record.first = first.record;
      const isSameContent = first.identity.content === identity.content;
      raiseVerdict(record.result, isSameContent, identity.isSigned);
    }
    if (record.first !== undefined) continue;
    for (const identity of record.identities) {
      firsts.set(identity.identity, { record, identity });
    }
  }
}

function markDurableRepeat(result: CommitResult, known: FirstReceipt, isSigned: boolean): void {
  raiseVerdict(result, known.isSameContent, isSigned);
  result.lsn = known.lsn;
  result.recordedAtMs = known.recordedAtMs;
  result.outcomeId = known.outcomeId;
}

/** A contradiction weighs more than a repetition, a signed one most. */
function raiseVerdict(result: CommitResult, isSameContent: boolean, isSigned: boolean): void {
  const conflict = isSigned ? VERDICT_REPLAYED : VERDICT_CONFLICT;
  result.verdict = Math.max(result.verdict, isSameContent ? VERDICT_DUPLICATE : conflict);
}

/** Gives a repeat within the commit the result of its first record. */
export function copyFirstResult(record: PendingRecord): void {
  const { first, result } = record;
  if (first === undefined) return;
  if (REFUSED_VERDICTS.has(first.result.verdict)) {
    result.verdict = first.result.verdict;
    return;
  }
  result.lsn = first.result.lsn;
  result.recordedAtMs = first.result.recordedAtMs;
  const id = readRecordIdBytes(first.run.bytes, first.at);
  result.outcomeId = id === undefined ? "" : formatUuid(id);
}

/** Journal payload of the audit event for a reporter that signed two things under one id. */
function encodeEquivocationEvent(record: PendingRecord, nowMs: number): Buffer {
  const { bytes } = record.run;
  const isOutcome = readFrameKind(bytes, record.at) === FRAME_KINDS.outcome;
  const batch = isOutcome ? undefined : decodeBatchEvidence(bytes, record.at);
  const proof = isOutcome ? readOutcomeProofBytes(bytes, record.at) : undefined;
  const content = record.identities.find((identity) => identity.isSigned)?.content;
  return Buffer.from(
    JSON.stringify({
      event: "signature.replayed",
      at_ms: nowMs,
      kid: batch?.kid ?? (proof === undefined ? "" : readProofKid(proof)),
      jti: batch?.jti ?? (proof === undefined ? "" : formatUuid(proof.subarray(33, 49))),
      content_sha256_16: Buffer.from(content ?? "", "latin1").toString("hex"),
    }),
  );
}

/** One audit record for every record whose signer contradicts itself. */
export function encodeReplayAudits(records: readonly PendingRecord[], nowMs: number): FrameRun {
  const batch = new FrameBatch();
  for (const record of records) {
    if (record.result.verdict !== VERDICT_REPLAYED) continue;
    batch.addEvent(FRAME_KINDS.audit, encodeEquivocationEvent(record, nowMs));
  }
  return batch.drain();
}
