// Brings a journal directory back to its last commit at start: verifies every segment, replays the
// records to a visitor, cuts a torn end, and refuses damage in the middle (JournalDamaged).
import { verifyWithRawKey } from "./bureau-key.ts";
import { type FileLayer, readWhole } from "./journal-files.ts";
import { JournalDamaged } from "./journal-faults.ts";
import {
  CHAIN_START,
  chainBefore,
  COMMIT_FRAME_BYTES,
  commitSignature,
  decodeHeader,
  HEADER_BYTES,
  type SegmentHeader,
  segmentsOf,
} from "./journal-format.ts";
import { isNeverUsed, isTornTail, type RecordVisitor, scanBatches } from "./journal-scan.ts";

/** The end of a verified journal: where the next batch goes. */
export interface JournalTail {
  /** The newest segment; undefined for an empty journal. */
  segment: string | undefined;
  header: SegmentHeader | undefined;
  /** Bytes of that segment that verified. */
  offset: number;
  lsn: number;
  chain: Buffer;
}

export interface Recovery {
  tail: JournalTail;
  /** Bytes cut from the end: an unfinished write that nobody was promised. */
  truncatedBytes: number;
  bytes: number;
}

/**
 * Name of the small file that names the newest segment. It is replaced after a segment is created
 * and before it is used, so that a newest segment that vanished as a whole does not go unnoticed.
 */
export const NEWEST_FILE = "newest";

interface Walk {
  files: FileLayer;
  directory: string;
  visit: RecordVisitor;
  tail: JournalTail;
  buffer: Buffer;
  bytes: number;
  truncatedBytes: number;
  /** Verification only: leave files as they are. */
  isReadOnly: boolean;
}

/**
 * Verifies and replays. With `isReadOnly` a torn end is measured but not cut, for readers beside a
 * stopped or foreign writer.
 * @throws JournalDamaged when acknowledged evidence does not verify.
 */
export function recoverJournal(
  files: FileLayer,
  directory: string,
  visit: RecordVisitor,
  isReadOnly = false,
): Recovery {
  const names = files.list(directory);
  const segments = segmentsOf(names);
  const walk: Walk = {
    files,
    directory,
    visit,
    tail: { segment: undefined, header: undefined, offset: 0, lsn: 0, chain: CHAIN_START },
    buffer: Buffer.alloc(0),
    bytes: 0,
    truncatedBytes: 0,
    isReadOnly,
  };
  assertNewestIsThere(walk, names);
  for (const [index, segment] of segments.entries()) {
    recoverSegment(walk, segment, index === segments.length - 1);
  }
  return { tail: walk.tail, truncatedBytes: walk.truncatedBytes, bytes: walk.bytes };
}

function assertNewestIsThere(walk: Walk, names: readonly string[]): void {
  if (!names.includes(NEWEST_FILE)) return;
  const newest = readWhole(walk.files, `${walk.directory}/${NEWEST_FILE}`).toString("latin1");
  if (newest !== "" && !names.includes(newest)) {
    throw damaged(newest, 0, 0, "the newest segment is missing");
  }
}

function damaged(segment: string, offset: number, afterLsn: number, reason: string) {
  return new JournalDamaged({ segment, offset, afterLsn, reason });
}

function recoverSegment(
  walk: Walk,
  segment: { name: string; firstLsn: number },
  isLast: boolean,
): void {
  const bytes = readWhole(walk.files, `${walk.directory}/${segment.name}`, walk.buffer);
  // Segments are of one size: keep the buffer for the next one.
  if (bytes.byteLength > walk.buffer.byteLength) walk.buffer = bytes;
  const header = decodeHeader(bytes);
  const { lsn } = walk.tail;
  if (header === undefined) {
    if (isLast && isNeverUsed(bytes, lsn)) {
      dropUnusedSegment(walk, segment.name, bytes.byteLength);
      return;
    }
    throw damaged(segment.name, 0, lsn, "the segment header does not verify");
  }
  assertContinues(walk.tail, header, segment);
  const scan = scanBatches(bytes, HEADER_BYTES, lsn, walk.visit);
  walk.bytes += scan.end;
  if (scan.end < bytes.byteLength) {
    if (!isLast || !isTornTail(bytes, scan.end, scan.lsn)) {
      throw damaged(segment.name, scan.end, scan.lsn, "a batch does not verify");
    }
    cutTail(walk, segment.name, scan.end, bytes.byteLength);
  }
  if (isLast && scan.lastCommitAt >= 0) {
    const chain = chainBefore(bytes, scan.lastCommitAt + COMMIT_FRAME_BYTES);
    if (!verifyWithRawKey(header.publicKey, chain, commitSignature(bytes, scan.lastCommitAt))) {
      throw damaged(segment.name, scan.lastCommitAt, scan.lsn, "the last signature is not valid");
    }
  }
  walk.tail = {
    segment: segment.name,
    header,
    offset: scan.end,
    lsn: scan.lsn,
    chain: Buffer.from(chainBefore(bytes, scan.end)),
  };
}

function assertContinues(
  tail: JournalTail,
  header: SegmentHeader,
  segment: { name: string; firstLsn: number },
): void {
  if (header.firstLsn !== segment.firstLsn) {
    throw damaged(segment.name, 0, tail.lsn, "the segment's name and header disagree");
  }
  if (header.firstLsn !== tail.lsn + 1) {
    throw damaged(
      segment.name,
      0,
      tail.lsn,
      `positions ${tail.lsn + 1} to ${header.firstLsn - 1} are missing before it`,
    );
  }
  if (!header.previousChain.equals(tail.chain)) {
    throw damaged(segment.name, 0, tail.lsn, "the hash chain does not continue");
  }
}

/** Creation was cut short: its header was never synced, so nothing was ever written into it. */
function dropUnusedSegment(walk: Walk, name: string, size: number): void {
  walk.truncatedBytes += size;
  if (walk.isReadOnly) return;
  walk.files.remove(`${walk.directory}/${name}`);
  walk.files.syncDirectory(walk.directory);
}

function cutTail(walk: Walk, name: string, end: number, size: number): void {
  walk.truncatedBytes += size - end;
  if (walk.isReadOnly) return;
  const descriptor = walk.files.open(`${walk.directory}/${name}`, "write");
  try {
    walk.files.truncate(descriptor, end);
    walk.files.syncData(descriptor);
  } finally {
    walk.files.close(descriptor);
  }
}
