// Scans the bytes of one segment: finds the batches that verify and the place where verification
// stops, and decides whether the rest is the torn end of an unfinished write or damage in evidence
// that was acknowledged.
import {
  readChainBefore,
  computeChain,
  COMMIT_FRAME_BYTES,
  readCommitRecordCount,
  readCommitSignature,
  decodeGap,
  FRAME_HEAD_BYTES,
  FRAME_KIND_MAX,
  FRAME_KINDS,
  readFrameKind,
  readPayloadLength,
  readFrameLsn,
  GAP_PAYLOAD_BYTES,
  SEGMENT_HEADER_BYTES,
  measureIntactFrame,
  PAYLOAD_BYTES_MAX,
} from "./format.ts";
import { verifyWithRawKey } from "./signing-key.ts";

/** Called for every record of a batch that verified. `at` is the frame; do not keep `bytes`. */
export type RecordVisitor = (bytes: Buffer, at: number, lsn: number) => void;

export interface SegmentScan {
  /** Byte behind the last batch that verified. */
  end: number;
  /** Position of the last record that verified. */
  lsn: number;
  /** Offset of the last commit frame, -1 when there is none. */
  lastCommitAt: number;
}

/**
 * Verifies batches from `from` on: dense positions, counts, and the hash chain, which covers every
 * byte of every frame (so the frames' own checksums are only needed to locate damage).
 * @param lsn the last position before `from`.
 */
export function scanBatches(
  bytes: Buffer,
  from: number,
  lsn: number,
  visit: RecordVisitor = () => undefined,
): SegmentScan {
  const scan: SegmentScan = { end: from, lsn, lastCommitAt: -1 };
  for (;;) {
    const gapBytes = measureGapFrame(bytes, scan.end, scan.lsn);
    if (gapBytes > 0) {
      scan.lsn = readFrameLsn(bytes, scan.end);
      scan.end += gapBytes;
      continue;
    }
    const commitAt = findClosingCommit(bytes, scan.end, scan.lsn);
    if (commitAt < 0) return scan;
    let at = scan.end;
    while (at < commitAt) {
      scan.lsn++;
      visit(bytes, at, scan.lsn);
      at += FRAME_HEAD_BYTES + readPayloadLength(bytes, at);
    }
    scan.lastCommitAt = commitAt;
    scan.end = commitAt + COMMIT_FRAME_BYTES;
  }
}

/** Length of a well-formed gap frame that continues `lsn`, else 0. */
function measureGapFrame(bytes: Buffer, at: number, lsn: number): number {
  if (at + FRAME_HEAD_BYTES > bytes.byteLength || readFrameKind(bytes, at) !== FRAME_KINDS.gap)
    return 0;
  const total = measureIntactFrame(bytes, at, bytes.byteLength);
  if (total !== FRAME_HEAD_BYTES + GAP_PAYLOAD_BYTES) return 0;
  const gap = decodeGap(bytes, at);
  const isNext = gap.firstLost === lsn + 1 && gap.lastLost >= lsn;
  return isNext && readFrameLsn(bytes, at) === gap.lastLost ? total : 0;
}

/** Offset of the commit that closes and verifies the batch at `from`, or -1. */
function findClosingCommit(bytes: Buffer, from: number, lsn: number): number {
  const size = bytes.byteLength;
  let at = from;
  let count = 0;
  while (at + FRAME_HEAD_BYTES <= size) {
    const length = readPayloadLength(bytes, at);
    const kind = readFrameKind(bytes, at);
    if (length > PAYLOAD_BYTES_MAX || at + FRAME_HEAD_BYTES + length > size) return -1;
    if (kind === FRAME_KINDS.commit) {
      return count > 0 && isMatchingCommit(bytes, { from, at, lsn, count }) ? at : -1;
    }
    count++;
    if (!isRecordKind(kind) || readFrameLsn(bytes, at) !== lsn + count) return -1;
    at += FRAME_HEAD_BYTES + length;
  }
  return -1;
}

/** `count` records from offset `from` after position `lsn`, closed by the commit at offset `at`. */
interface ScannedBatch {
  readonly from: number;
  readonly at: number;
  readonly lsn: number;
  readonly count: number;
}

function isMatchingCommit(bytes: Buffer, { from, at, lsn, count }: ScannedBatch): boolean {
  if (measureIntactFrame(bytes, at, bytes.byteLength) !== COMMIT_FRAME_BYTES) return false;
  if (readCommitRecordCount(bytes, at) !== count || readFrameLsn(bytes, at) !== lsn + count)
    return false;
  return computeChain(bytes, from, at).equals(readChainBefore(bytes, at + COMMIT_FRAME_BYTES));
}

/** Verifies the signature of the commit frame at `at`. */
export function isCommitSigned(bytes: Buffer, at: number, publicKey: Uint8Array): boolean {
  const chain = readChainBefore(bytes, at + COMMIT_FRAME_BYTES);
  return verifyWithRawKey(publicKey, chain, readCommitSignature(bytes, at));
}

export function isRecordKind(kind: number): boolean {
  return (
    kind >= FRAME_KINDS.outcome &&
    kind <= FRAME_KIND_MAX &&
    kind !== FRAME_KINDS.commit &&
    kind !== FRAME_KINDS.gap
  );
}

export interface IntactFrame {
  at: number;
  end: number;
  kind: number;
  lsn: number;
}

/**
 * Frames behind `from` whose checksums hold and whose positions could follow `lsn`, found byte by
 * byte. Linear in the segment; only runs when something is wrong.
 */
export function findIntactFrames(bytes: Buffer, from: number, lsn: number): IntactFrame[] {
  const frames: IntactFrame[] = [];
  const size = bytes.byteLength;
  // No more records than bytes fit into the rest, so a far position is noise.
  const lsnMax = lsn + size;
  let at = from;
  let newest = lsn;
  while (at + FRAME_HEAD_BYTES <= size) {
    const kind = bytes[at + FRAME_HEAD_BYTES - 1] ?? 0;
    const isPlausible = kind >= 1 && kind <= FRAME_KIND_MAX && bytes[at + 3] === 0;
    const total = isPlausible ? measureIntactFrame(bytes, at, size) : 0;
    const found = total > 0 ? readFrameLsn(bytes, at) : 0;
    // A commit repeats the position of its last record, hence >= newest.
    if (total > 0 && found > lsn && found >= newest && found <= lsnMax) {
      frames.push({ at, end: at + total, kind, lsn: found });
      newest = found;
      at += total;
    } else {
      at++;
    }
  }
  return frames;
}

const SECTOR_BYTES = 512;

/**
 * True when the bytes from `from` on can only be the end of a write that was never acknowledged, so
 * that cutting them loses no acknowledged record.
 *
 * A batch is written only after the batch before it was synced. So an intact frame of a *later*
 * batch proves that the damaged one had been acknowledged. Intact frames of the *same* batch prove
 * nothing: a power cut may keep any of its sectors. But a sector that was lost reads as zeros or
 * lies beyond the end of the file, while rot inside an acknowledged batch leaves other bytes; hence
 * every bad stretch must hold such a hole.
 */
export function isTornTail(bytes: Buffer, from: number, lsn: number): boolean {
  const frames = findIntactFrames(bytes, from, lsn);
  if (frames.length === 0) return true;
  const closing = frames.findIndex((frame) => !isRecordKind(frame.kind));
  if (closing >= 0) {
    const frame = frames[closing] as IntactFrame;
    const isSameBatch =
      frame.kind === FRAME_KINDS.commit &&
      frame.lsn - readCommitRecordCount(bytes, frame.at) === lsn;
    if (!isSameBatch || closing !== frames.length - 1) return false;
  }
  const stretches = findBadRanges(frames, from, bytes.byteLength);
  if (closing >= 0 && stretches.length === 0) return false;
  return stretches.every(([start, end]) => hasLostSector(bytes, start, end));
}

/** The byte ranges in [from, size) that no intact frame covers. */
export function findBadRanges(
  frames: readonly IntactFrame[],
  from: number,
  size: number,
): [number, number][] {
  const stretches: [number, number][] = [];
  let at = from;
  for (const frame of frames) {
    if (frame.at > at) stretches.push([at, frame.at]);
    at = frame.end;
  }
  if (at < size) stretches.push([at, size]);
  return stretches;
}

function hasLostSector(bytes: Buffer, start: number, end: number): boolean {
  if (end === bytes.byteLength) return true;
  let sector = start;
  while (sector < end) {
    const next = Math.min((Math.floor(sector / SECTOR_BYTES) + 1) * SECTOR_BYTES, end);
    const isWhole = next % SECTOR_BYTES === 0;
    if (isWhole && isZero(bytes, sector, next)) return true;
    sector = next;
  }
  return false;
}

function isZero(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    if (bytes[at] !== 0) return false;
  }
  return true;
}

/** True when the whole file holds no intact frame: a segment that was never used. */
export function isUnusedSegment(bytes: Buffer, lsn: number): boolean {
  return (
    findIntactFrames(bytes, Math.min(SEGMENT_HEADER_BYTES, bytes.byteLength), lsn).length === 0
  );
}
