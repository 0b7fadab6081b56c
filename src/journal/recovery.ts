// Recovers a journal directory to its last commit at start: verifies every segment, replays the
// records to a visitor, cuts a torn end, and refuses damage in the middle (JournalDamaged).
import { assertSupportedFrames, assertSupportedHeader } from "./formats.ts";
import { type FileLayer, readWhole, replaceFile, withFile } from "../platform/files.ts";
import { formatEndLostReason, JournalDamaged } from "./faults.ts";
import {
  CHAIN_START,
  readChainBefore,
  COMMIT_FRAME_BYTES,
  FRAME_KINDS,
  readFrameKind,
  readFrameLsn,
  measureIntactFrame,
  decodeSegmentHeader,
  SEGMENT_HEADER_BYTES,
  type SegmentHeader,
  formatSegmentName,
  parseSegmentNames,
} from "./format.ts";
import { isCommitSigned, isUnusedSegment, isTornTail, scanBatches } from "./scan.ts";

/** End of a verified journal: the place of the next batch. */
export interface JournalTail {
  /** The newest segment; undefined for an empty journal. */
  segment: string | undefined;
  header: SegmentHeader | undefined;
  /** Bytes of that segment that verified. */
  offset: number;
  lsn: number;
  chain: Buffer;
}

export interface RecoveryResult {
  tail: JournalTail;
  /** Bytes cut from the end: an unfinished write that was never acknowledged. */
  truncatedBytes: number;
  bytes: number;
}

/**
 * Name of the small file that names the newest segment. It is replaced after a segment is created
 * and before it is used, so that a newest segment that vanished as a whole does not go unnoticed.
 */
export const NEWEST_FILE = "newest";

/** Name of the newest segment as the file has it; empty without one. `names`: of the directory. */
export function readNewestSegmentName(
  files: FileLayer,
  directory: string,
  names: readonly string[],
): string {
  if (!names.includes(NEWEST_FILE)) return "";
  return readWhole(files, `${directory}/${NEWEST_FILE}`).toString("latin1");
}

export function writeNewestSegmentName(files: FileLayer, directory: string, name: string): void {
  replaceFile(files, directory, NEWEST_FILE, Buffer.from(name, "latin1"));
}

/** A commit up to which a derived state (a snapshot) has applied the journal. */
export interface JournalPoint {
  readonly lsn: number;
  /** The chain of that commit: another journal has another. */
  readonly chain: Uint8Array;
}

/**
 * Called for every record that verified, in order. `at` is the frame's offset in its segment, which
 * is named by its first position; do not keep `bytes`.
 */
export type RecoveryVisitor = (bytes: Buffer, at: number, lsn: number, segment: number) => void;

/** The journal does not pass through the given point; nothing behind it was visited. */
export class JournalPointUnknown extends Error {}

export interface RecoveryOptions {
  /** Measure a torn end, do not cut it: for readers beside a stopped or foreign writer. */
  readonly isReadOnly?: boolean;
  /**
   * Visit only records after this point. Segments that end before it are checked at both ends
   * (header, last commit with its signature, chain into the next segment); the rest is verified in
   * full.
   */
  readonly from?: JournalPoint;
  /** An end before this position is damage: nothing is cut then. */
  readonly known?: KnownDurablePosition | undefined;
}

/** A position known to have been durable, and who knows it. */
export interface KnownDurablePosition {
  readonly lsn: number;
  readonly knownBy: string;
}

interface RecoveryState {
  files: FileLayer;
  directory: string;
  visit: RecoveryVisitor;
  tail: JournalTail;
  buffer: Buffer;
  bytes: number;
  truncatedBytes: number;
  /** Verification only: leave files as they are. */
  isReadOnly: boolean;
  known: KnownDurablePosition | undefined;
}

/**
 * Verifies and replays.
 * @throws JournalDamaged when acknowledged evidence does not verify, or ends before `known`.
 * @throws JournalPointUnknown when `from` is not a commit of this journal.
 */
export function recoverJournal(
  files: FileLayer,
  directory: string,
  visit: RecoveryVisitor,
  mode: RecoveryOptions = {},
): RecoveryResult {
  const names = files.list(directory);
  const segments = parseSegmentNames(names);
  const walk: RecoveryState = {
    files,
    directory,
    visit: mode.from === undefined ? visit : createVisitorAfter(mode.from, visit),
    tail: { segment: undefined, header: undefined, offset: 0, lsn: 0, chain: CHAIN_START },
    buffer: Buffer.alloc(0),
    bytes: 0,
    truncatedBytes: 0,
    isReadOnly: mode.isReadOnly ?? false,
    known: mode.known,
  };
  assertNewestSegmentExists(walk, names);
  for (const [index, segment] of segments.entries()) {
    const next = segments[index + 1];
    const isBehind = next !== undefined && next.firstLsn <= (mode.from?.lsn ?? 0);
    const isPassed = isBehind && tryPassSegment(walk, segment, next.firstLsn - 1);
    if (!isPassed) recoverSegment(walk, segment, next === undefined);
  }
  if (segments.length === 0) assertKnownPositionReached(walk, formatSegmentName(1), 0, 0);
  if (mode.from !== undefined) assertReached(walk.tail, mode.from);
  return { tail: walk.tail, truncatedBytes: walk.truncatedBytes, bytes: walk.bytes };
}

function assertNewestSegmentExists(walk: RecoveryState, names: readonly string[]): void {
  const newest = readNewestSegmentName(walk.files, walk.directory, names);
  if (newest !== "" && !names.includes(newest)) {
    throw createDamageError(newest, 0, 0, "the newest segment is missing");
  }
}

/** Drops records up to the point; verifies the point before the first record after it. */
function createVisitorAfter(from: JournalPoint, visit: RecoveryVisitor): RecoveryVisitor {
  let isSure = false;
  return (bytes, at, lsn, segment) => {
    if (lsn <= from.lsn) return;
    if (!isSure && (lsn !== from.lsn + 1 || !readChainBefore(bytes, at).equals(from.chain))) {
      throw new JournalPointUnknown(`the journal has no commit like it at position ${from.lsn}`);
    }
    isSure = true;
    visit(bytes, at, lsn, segment);
  };
}

function assertReached(tail: JournalTail, from: JournalPoint): void {
  if (tail.lsn < from.lsn) {
    throw new JournalPointUnknown(`position ${from.lsn} is ahead of the journal at ${tail.lsn}`);
  }
  if (tail.lsn === from.lsn && !tail.chain.equals(from.chain)) {
    throw new JournalPointUnknown(`the journal has no commit like it at position ${from.lsn}`);
  }
}

/** Called before an unfinished write is cut: it may be the rest of what is lost. */
function assertKnownPositionReached(
  { known }: RecoveryState,
  segment: string,
  offset: number,
  lsn: number,
): void {
  if (known === undefined || lsn >= known.lsn) return;
  const reason = formatEndLostReason(lsn, known.lsn, known.knownBy);
  throw new JournalDamaged({ segment, offset, afterLsn: lsn, reason, lostUpto: known.lsn });
}

function createDamageError(segment: string, offset: number, afterLsn: number, reason: string) {
  return new JournalDamaged({ segment, offset, afterLsn, reason });
}

function recoverSegment(
  walk: RecoveryState,
  segment: { name: string; firstLsn: number },
  isLast: boolean,
): void {
  const bytes = readWhole(walk.files, `${walk.directory}/${segment.name}`, walk.buffer);
  // Segments are of one size: keep the buffer for the next one.
  if (bytes.byteLength > walk.buffer.byteLength) walk.buffer = bytes;
  const header = decodeSegmentHeader(bytes);
  const { lsn } = walk.tail;
  if (header === undefined) {
    assertSupportedHeader(bytes, walk.directory, segment.name);
    if (isLast && isUnusedSegment(bytes, lsn)) {
      assertKnownPositionReached(walk, segment.name, 0, lsn);
      dropUnusedSegment(walk, segment.name, bytes.byteLength);
      return;
    }
    throw createDamageError(segment.name, 0, lsn, "the segment header does not verify");
  }
  assertSegmentContinues(walk.tail, header, segment);
  const scan = scanBatches(bytes, SEGMENT_HEADER_BYTES, lsn, (frames, at, found) => {
    walk.visit(frames, at, found, segment.firstLsn);
  });
  assertSupportedFrames(bytes, scan.end, walk.directory, segment.name);
  walk.bytes += scan.end;
  const isRotten = scan.end < bytes.byteLength && !isTornTail(bytes, scan.end, scan.lsn);
  if (isLast && !isRotten) assertKnownPositionReached(walk, segment.name, scan.end, scan.lsn);
  if (scan.end < bytes.byteLength) {
    if (!isLast || isRotten) {
      throw createDamageError(segment.name, scan.end, scan.lsn, "a batch does not verify");
    }
    cutTail(walk, segment.name, scan.end, bytes.byteLength);
  }
  const { lastCommitAt } = scan;
  if (isLast && lastCommitAt >= 0 && !isCommitSigned(bytes, lastCommitAt, header.publicKey)) {
    const reason = "the last signature is not valid";
    throw createDamageError(segment.name, lastCommitAt, scan.lsn, reason);
  }
  walk.tail = {
    segment: segment.name,
    header,
    offset: scan.end,
    lsn: scan.lsn,
    chain: Buffer.from(readChainBefore(bytes, scan.end)),
  };
}

/**
 * Reads a segment's two ends only. False when they alone do not prove that the chain passes through
 * it: then the whole segment has to be verified.
 */
function tryPassSegment(
  walk: RecoveryState,
  segment: { name: string; firstLsn: number },
  lastLsn: number,
): boolean {
  const { files, directory } = walk;
  return withFile(files, `${directory}/${segment.name}`, "read", (descriptor) => {
    const size = files.size(descriptor);
    const ends = Buffer.alloc(SEGMENT_HEADER_BYTES + COMMIT_FRAME_BYTES);
    const commitAt = Math.max(size - COMMIT_FRAME_BYTES, SEGMENT_HEADER_BYTES);
    files.read(descriptor, ends, 0, SEGMENT_HEADER_BYTES, 0);
    files.read(descriptor, ends, SEGMENT_HEADER_BYTES, COMMIT_FRAME_BYTES, commitAt);
    const header = decodeSegmentHeader(ends);
    if (
      header === undefined ||
      !isSignedCommit(ends, SEGMENT_HEADER_BYTES, lastLsn, header.publicKey)
    ) {
      return false;
    }
    assertSegmentContinues(walk.tail, header, segment);
    const chain = Buffer.from(readChainBefore(ends, ends.byteLength));
    walk.tail = { segment: segment.name, header, offset: size, lsn: lastLsn, chain };
    walk.bytes += size;
    return true;
  });
}

function isSignedCommit(bytes: Buffer, at: number, lsn: number, publicKey: Buffer): boolean {
  if (readFrameKind(bytes, at) !== FRAME_KINDS.commit || readFrameLsn(bytes, at) !== lsn)
    return false;
  if (measureIntactFrame(bytes, at, bytes.byteLength) !== COMMIT_FRAME_BYTES) return false;
  return isCommitSigned(bytes, at, publicKey);
}

function assertSegmentContinues(
  tail: JournalTail,
  header: SegmentHeader,
  segment: { name: string; firstLsn: number },
): void {
  if (header.firstLsn !== segment.firstLsn) {
    throw createDamageError(segment.name, 0, tail.lsn, "the segment's name and header disagree");
  }
  if (header.firstLsn !== tail.lsn + 1) {
    const reason = `positions ${tail.lsn + 1} to ${header.firstLsn - 1} are missing before it`;
    throw createDamageError(segment.name, 0, tail.lsn, reason);
  }
  if (!header.previousChain.equals(tail.chain)) {
    throw createDamageError(segment.name, 0, tail.lsn, "the hash chain does not continue");
  }
}

/** Creation was cut short: its header was never synced, so nothing was ever written into it. */
function dropUnusedSegment(walk: RecoveryState, name: string, size: number): void {
  walk.truncatedBytes += size;
  if (walk.isReadOnly) return;
  walk.files.remove(`${walk.directory}/${name}`);
  walk.files.syncDirectory(walk.directory);
}

function cutTail(walk: RecoveryState, name: string, end: number, size: number): void {
  walk.truncatedBytes += size - end;
  if (walk.isReadOnly) return;
  withFile(walk.files, `${walk.directory}/${name}`, "write", (descriptor) => {
    walk.files.truncate(descriptor, end);
    walk.files.syncData(descriptor);
  });
}
