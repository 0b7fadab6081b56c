// Scans the bytes of one segment: finds the batches that verify and the place where verification
// stops, and decides whether the rest is the torn end of an unfinished write or damage in evidence
// that was acknowledged.
import {
  chainBefore,
  chainOver,
  COMMIT_BYTES,
  commitCount,
  decodeGap,
  FRAME_BYTES,
  FRAME_KIND_MAX,
  FRAME_KINDS,
  frameKind,
  frameLength,
  frameLsn,
  GAP_BYTES,
  HEADER_BYTES,
  intactFrameBytes,
  PAYLOAD_BYTES_MAX,
} from "./format.ts";

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
  visit: RecordVisitor,
): SegmentScan {
  const scan: SegmentScan = { end: from, lsn, lastCommitAt: -1 };
  for (;;) {
    const gapBytes = gapAt(bytes, scan.end, scan.lsn);
    if (gapBytes > 0) {
      scan.lsn = frameLsn(bytes, scan.end);
      scan.end += gapBytes;
      continue;
    }
    const commitAt = findCommit(bytes, scan.end, scan.lsn);
    if (commitAt < 0) return scan;
    let at = scan.end;
    while (at < commitAt) {
      scan.lsn++;
      visit(bytes, at, scan.lsn);
      at += FRAME_BYTES + frameLength(bytes, at);
    }
    scan.lastCommitAt = commitAt;
    scan.end = commitAt + FRAME_BYTES + COMMIT_BYTES;
  }
}

/** Length of a well-formed gap frame that continues `lsn`, else 0. */
function gapAt(bytes: Buffer, at: number, lsn: number): number {
  if (at + FRAME_BYTES > bytes.byteLength || frameKind(bytes, at) !== FRAME_KINDS.gap) return 0;
  const total = intactFrameBytes(bytes, at, bytes.byteLength);
  if (total !== FRAME_BYTES + GAP_BYTES) return 0;
  const gap = decodeGap(bytes, at);
  const isNext = gap.firstLost === lsn + 1 && gap.lastLost >= lsn;
  return isNext && frameLsn(bytes, at) === gap.lastLost ? total : 0;
}

/** Offset of the commit that closes and verifies the batch at `from`, or -1. */
function findCommit(bytes: Buffer, from: number, lsn: number): number {
  const size = bytes.byteLength;
  let at = from;
  let count = 0;
  while (at + FRAME_BYTES <= size) {
    const length = frameLength(bytes, at);
    const kind = frameKind(bytes, at);
    if (length > PAYLOAD_BYTES_MAX || at + FRAME_BYTES + length > size) return -1;
    if (kind === FRAME_KINDS.commit) {
      return count > 0 && isMatchingCommit(bytes, from, at, lsn, count) ? at : -1;
    }
    count++;
    if (!isRecordKind(kind) || frameLsn(bytes, at) !== lsn + count) return -1;
    at += FRAME_BYTES + length;
  }
  return -1;
}

function isMatchingCommit(
  bytes: Buffer,
  from: number,
  at: number,
  lsn: number,
  count: number,
): boolean {
  if (intactFrameBytes(bytes, at, bytes.byteLength) !== FRAME_BYTES + COMMIT_BYTES) return false;
  if (commitCount(bytes, at) !== count || frameLsn(bytes, at) !== lsn + count) return false;
  return chainOver(bytes, from, at).equals(chainBefore(bytes, at + FRAME_BYTES + COMMIT_BYTES));
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
  while (at + FRAME_BYTES <= size) {
    const kind = bytes[at + FRAME_BYTES - 1] ?? 0;
    const isPlausible = kind >= 1 && kind <= FRAME_KIND_MAX && bytes[at + 3] === 0;
    const total = isPlausible ? intactFrameBytes(bytes, at, size) : 0;
    const found = total > 0 ? frameLsn(bytes, at) : 0;
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
      frame.kind === FRAME_KINDS.commit && frame.lsn - commitCount(bytes, frame.at) === lsn;
    if (!isSameBatch || closing !== frames.length - 1) return false;
  }
  const stretches = badStretches(frames, from, bytes.byteLength);
  if (closing >= 0 && stretches.length === 0) return false;
  return stretches.every(([start, end]) => hasHole(bytes, start, end));
}

/** The byte ranges in [from, size) that no intact frame covers. */
export function badStretches(
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

function hasHole(bytes: Buffer, start: number, end: number): boolean {
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
export function isNeverUsed(bytes: Buffer, lsn: number): boolean {
  return findIntactFrames(bytes, Math.min(HEADER_BYTES, bytes.byteLength), lsn).length === 0;
}
