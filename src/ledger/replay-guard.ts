// Replay guard for the records of one commit: which identities each has, which of them were
// recorded before, and the verdict that follows. An outcome has up to two identities: the id its
// sender gave, and the one its reporter signed (kid and jti). Either one is enough to recognise it.
import { FRAME_BYTES, FRAME_KINDS, frameKind, frameLength } from "../journal/format.ts";
import { type FirstReceipt, type ReplayIdentity, replayIdentity } from "./replay-table.ts";
import {
  outcomeBody,
  outcomeIdBytes,
  outcomeProofBytes,
  outcomeReplayParts,
  outcomeSender,
} from "../journal/outcome.ts";
import { batchEvidenceId, decodeEvidence, proofKid, signedIdentity } from "../journal/proof.ts";
import { assessmentReplayParts } from "../journal/assessments.ts";
import type { FrameRun } from "../journal/writer.ts";
import { FrameBatch } from "./frame-batch.ts";
import { formatUuid } from "../platform/uuid.ts";

/** Verdict on one record. */
export const VERDICT_RECORDED = 0;
export const VERDICT_DUPLICATE = 1;
export const VERDICT_CONFLICT = 2;
export const VERDICT_UNAVAILABLE = 3;
/** A conflict under a signed id: the reporter has signed two bodies under one id. */
export const VERDICT_REPLAYED = 4;
/** A row of a signed batch whose signed bytes, in the same commit, were refused. */
export const VERDICT_DROPPED = 5;
/** The agent table has no room for what is new in it. */
export const VERDICT_TABLE_FULL = 6;
/** Its key has brought more new agents or pairs than it may by the hour. */
export const VERDICT_NEWCOMERS = 7;
/** In a cluster: the ordered log did not take it in time, or nobody could say whether it did. */
export const VERDICT_UNHEARD = 8;
const REFUSED: ReadonlySet<number> = new Set([
  VERDICT_UNAVAILABLE,
  VERDICT_TABLE_FULL,
  VERDICT_NEWCOMERS,
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
export interface Pending {
  run: FrameRun;
  at: number;
  end: number;
  /** Number of the API key that an outcome came with, 0 for none that is counted. */
  sender: number;
  identities: readonly GuardedIdentity[];
  result: CommitResult;
  /** The earlier record of the same commit that this one repeats. */
  first: Pending | undefined;
  /** The signed bytes that arrived with this row in one message. */
  batch: Pending | undefined;
}

/** No tenant has this name: tenants hold no control characters. */
const SIGNED_SCOPE = Buffer.from("\u0001jws");
const BATCH_CONTENT = Buffer.from("batch\n");
const ASSESSED_SCOPE = Buffer.from("\u0001assessed");
const NO_IDENTITIES: readonly GuardedIdentity[] = [];

/** Identities by which the record in the frame at `at` is recognised as a repeat. */
export function listGuardedIdentities(bytes: Buffer, at: number): readonly GuardedIdentity[] {
  const kind = frameKind(bytes, at);
  if (kind === FRAME_KINDS.evidence) {
    const batch = decodeEvidence(bytes, at);
    if (batch === undefined) return NO_IDENTITIES;
    // The same bytes mean another thing as a batch than alone: one id is good for one of the two.
    return [signed(batch.identity, Buffer.concat([BATCH_CONTENT, batch.body]))];
  }
  if (kind === FRAME_KINDS.assessment) {
    const assessed = { tenant: ASSESSED_SCOPE, ...assessmentReplayParts(bytes, at) };
    return [{ ...replayIdentity(assessed), isSigned: false }];
  }
  if (kind !== FRAME_KINDS.outcome) return NO_IDENTITIES;
  const parts = outcomeReplayParts(bytes, at);
  const proof = outcomeProofBytes(bytes, at);
  const signer = proof === undefined ? undefined : signedIdentity(proof);
  if (parts === undefined && signer === undefined) return NO_IDENTITIES;
  const identities: GuardedIdentity[] = [];
  if (parts !== undefined) identities.push({ ...replayIdentity(parts), isSigned: false });
  if (signer !== undefined) identities.push(signed(signer, outcomeBody(bytes, at)));
  return identities;
}

function signed(key: Buffer, content: Buffer): GuardedIdentity {
  return { ...replayIdentity({ tenant: SIGNED_SCOPE, key, content }), isSigned: true };
}

/**
 * Id of the record as receipts name it: outcomes and signed batches have one, and for an assessment
 * half of the digest stands in.
 */
export function recordIdBytes(bytes: Buffer, at: number): Buffer | undefined {
  const kind = frameKind(bytes, at);
  if (kind === FRAME_KINDS.outcome) return outcomeIdBytes(bytes, at);
  if (kind === FRAME_KINDS.assessment) return assessmentReplayParts(bytes, at).idBytes;
  return kind === FRAME_KINDS.evidence ? decodeEvidence(bytes, at)?.idBytes : undefined;
}

export function splitRun(run: FrameRun): Pending[] {
  const records: Pending[] = [];
  let batch: Pending | undefined;
  let batchId: Buffer | undefined;
  let at = 0;
  while (at < run.bytes.byteLength) {
    const end = at + FRAME_BYTES + frameLength(run.bytes, at);
    const result = { verdict: VERDICT_RECORDED, lsn: 0, recordedAtMs: 0, outcomeId: "" };
    const identities = listGuardedIdentities(run.bytes, at);
    const isOutcome = frameKind(run.bytes, at) === FRAME_KINDS.outcome;
    const sender = isOutcome ? outcomeSender(run.bytes, at) : 0;
    const record: Pending = {
      run,
      at,
      end,
      sender,
      identities,
      result,
      first: undefined,
      batch: undefined,
    };
    if (frameKind(run.bytes, at) === FRAME_KINDS.evidence) {
      batch = record;
      batchId = recordIdBytes(run.bytes, at);
    } else if (batchId !== undefined && isRowOfBatch(batchId, run.bytes, at)) record.batch = batch;
    records.push(record);
    at = end;
  }
  return records;
}

/** Whether the record at `at` is an outcome of the batch with this id. */
function isRowOfBatch(batchId: Buffer, bytes: Buffer, at: number): boolean {
  if (frameKind(bytes, at) !== FRAME_KINDS.outcome) return false;
  const proof = outcomeProofBytes(bytes, at);
  const evidence = proof === undefined ? undefined : batchEvidenceId(proof);
  return evidence !== undefined && evidence.equals(batchId);
}

export function encodeFrameRun(record: Pending): FrameRun {
  return { bytes: record.run.bytes.subarray(record.at, record.end), count: 1 };
}

/** Marks repeats: of durable records at once, of earlier ones in this commit by link. */
export function guardCommit(
  records: readonly Pending[],
  find: (identity: ReplayIdentity) => FirstReceipt | undefined,
): void {
  const firsts = new Map<string, { record: Pending; identity: GuardedIdentity }>();
  for (const record of records) {
    // Nothing of a contradicting batch is recorded, not even its rows.
    if (record.batch?.result.verdict === VERDICT_REPLAYED) {
      record.result.verdict = VERDICT_DROPPED;
      continue;
    }
    for (const identity of record.identities) {
      const known = find(identity);
      if (known !== undefined) markRepeat(record.result, known, identity.isSigned);
    }
    if (record.result.verdict !== VERDICT_RECORDED) continue;
    for (const identity of record.identities) {
      const first = firsts.get(identity.identity);
      if (first === undefined) continue;
      record.first = first.record;
      const isSameContent = first.identity.content === identity.content;
      mark(record.result, isSameContent, identity.isSigned);
    }
    if (record.first !== undefined) continue;
    for (const identity of record.identities) {
      firsts.set(identity.identity, { record, identity });
    }
  }
}

function markRepeat(result: CommitResult, known: FirstReceipt, isSigned: boolean): void {
  mark(result, known.isSameContent, isSigned);
  result.lsn = known.lsn;
  result.recordedAtMs = known.recordedAtMs;
  result.outcomeId = known.outcomeId;
}

/** A contradiction weighs more than a repetition, a signed one most. */
function mark(result: CommitResult, isSameContent: boolean, isSigned: boolean): void {
  const conflict = isSigned ? VERDICT_REPLAYED : VERDICT_CONFLICT;
  result.verdict = Math.max(result.verdict, isSameContent ? VERDICT_DUPLICATE : conflict);
}

/** Gives a repeat within the commit the result of its first record. */
export function settleRepeat(record: Pending): void {
  const { first, result } = record;
  if (first === undefined) return;
  if (REFUSED.has(first.result.verdict)) {
    result.verdict = first.result.verdict;
    return;
  }
  result.lsn = first.result.lsn;
  result.recordedAtMs = first.result.recordedAtMs;
  const id = recordIdBytes(first.run.bytes, first.at);
  result.outcomeId = id === undefined ? "" : formatUuid(id);
}

/** Journal payload of the audit event for a reporter that signed two things under one id. */
function equivocationEvent(record: Pending, nowMs: number): Buffer {
  const { bytes } = record.run;
  const isOutcome = frameKind(bytes, record.at) === FRAME_KINDS.outcome;
  const batch = isOutcome ? undefined : decodeEvidence(bytes, record.at);
  const proof = isOutcome ? outcomeProofBytes(bytes, record.at) : undefined;
  const content = record.identities.find((identity) => identity.isSigned)?.content;
  return Buffer.from(
    JSON.stringify({
      event: "signature.replayed",
      at_ms: nowMs,
      kid: batch?.kid ?? (proof === undefined ? "" : proofKid(proof)),
      jti: batch?.jti ?? (proof === undefined ? "" : formatUuid(proof.subarray(33, 49))),
      content_sha256_16: Buffer.from(content ?? "", "latin1").toString("hex"),
    }),
  );
}

/** One audit record for every record whose signer contradicts itself. */
export function encodeReplayAudits(records: readonly Pending[], nowMs: number): FrameRun {
  const batch = new FrameBatch();
  for (const record of records) {
    if (record.result.verdict !== VERDICT_REPLAYED) continue;
    batch.addEvent(FRAME_KINDS.audit, equivocationEvent(record, nowMs));
  }
  return batch.take();
}
