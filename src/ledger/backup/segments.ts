// Segments of a journal on their way into a backup and out of it: nothing passes that does not verify
// and continue the chain.
import { JournalDamaged } from "../../journal/faults.ts";
import {
  CHAIN_START,
  readChainBefore,
  decodeSegmentHeader,
  FRAME_HEAD_BYTES,
  FRAME_KINDS,
  readFrameKind,
  readPayloadLength,
  readFrameLsn,
  readFrameTimeUs,
  SEGMENT_HEADER_BYTES,
  formatSegmentName,
} from "../../journal/format.ts";
import type { JournalPoint } from "../../journal/recovery.ts";
import { isCommitSigned, isTornTail, scanBatches } from "../../journal/scan.ts";

export interface SegmentPoint extends JournalPoint {
  readonly chain: Buffer;
  /** Byte behind the last commit. */
  readonly end: number;
  /** Time of the latest commit, epoch us; 0 without one. */
  readonly timeUs: number;
}

/** Before the first record. */
export const JOURNAL_START: JournalPoint = { lsn: 0, chain: CHAIN_START };

/**
 * Verifies a segment that begins at position `first` and continues `before`.
 * @param isSealed its last byte belongs to a commit; else an unfinished write may follow.
 * @throws JournalDamaged when it does not verify.
 */
export function verifySegment(
  bytes: Buffer,
  first: number,
  before: JournalPoint,
  isSealed: boolean,
): SegmentPoint {
  const segment = formatSegmentName(first);
  const damaged = (offset: number, afterLsn: number, reason: string) =>
    new JournalDamaged({ segment, offset, afterLsn, reason });
  const header = decodeSegmentHeader(bytes);
  if (header?.firstLsn !== first) {
    throw damaged(0, before.lsn, "the segment header does not verify");
  }
  if (first !== before.lsn + 1 || !header.previousChain.equals(before.chain)) {
    throw damaged(0, before.lsn, "the hash chain does not continue");
  }
  const { end, lsn, lastCommitAt } = scanBatches(bytes, SEGMENT_HEADER_BYTES, before.lsn);
  if (end < bytes.byteLength && (isSealed || !isTornTail(bytes, end, lsn))) {
    throw damaged(end, lsn, "a batch does not verify");
  }
  if (lastCommitAt >= 0 && !isCommitSigned(bytes, lastCommitAt, header.publicKey)) {
    throw damaged(lastCommitAt, lsn, "the last signature is not valid");
  }
  let timeUs = 0;
  for (const commit of iterateCommits(bytes, end)) timeUs = Math.max(timeUs, commit.timeUs);
  return { lsn, chain: Buffer.from(readChainBefore(bytes, end)), end, timeUs };
}

/** Commits of a segment that has been verified from `from` up to `end`, in order. */
export function* iterateCommits(
  bytes: Buffer,
  end: number,
  from = SEGMENT_HEADER_BYTES,
): Generator<SegmentPoint, void> {
  for (let at = from; at < end;) {
    const next = at + FRAME_HEAD_BYTES + readPayloadLength(bytes, at);
    if (readFrameKind(bytes, at) === FRAME_KINDS.commit) {
      const chain = Buffer.from(readChainBefore(bytes, next));
      yield { lsn: readFrameLsn(bytes, at), timeUs: readFrameTimeUs(bytes, at), chain, end: next };
    }
    at = next;
  }
}

/** Point in time at which a journal is to end: a position, or a time in epoch us. */
export type RestoreLimit = { readonly position: number } | { readonly timeUs: number };

/** Whether a commit comes after it. */
export function isAfterLimit(
  until: RestoreLimit,
  commit: { lsn: number; timeUs: number },
): boolean {
  return "position" in until ? commit.lsn > until.position : commit.timeUs > until.timeUs;
}

/** The last commit before the first one that comes after `until`; undefined without one. */
export function findLastCommitWithin(
  bytes: Buffer,
  end: number,
  until: RestoreLimit,
): SegmentPoint | undefined {
  let last: SegmentPoint | undefined;
  for (const commit of iterateCommits(bytes, end)) {
    if (isAfterLimit(until, commit)) return last;
    last = commit;
  }
  return last;
}
