// Scrub: verifies in full the segments that a start from a snapshot has only checked at both ends.
// Rot in them changes no score, because the table holds their outcomes; but the next replay needs
// them, and an operator who learns of it early still has a backup.
import type { JournalDamage } from "./faults.ts";
import { readErrno, type FileLayer, readWhole } from "../platform/files.ts";
import { decodeSegmentHeader, SEGMENT_HEADER_BYTES, parseSegmentNames } from "./format.ts";
import { isCommitSigned, scanBatches } from "./scan.ts";

/** Result of one segment. */
export interface ScrubbedSegment {
  readonly name: string;
  readonly bytes: number;
  /** Undefined when every byte verifies. */
  readonly damage: JournalDamage | undefined;
}

/**
 * Verifies one segment per step, oldest first: those that end at or before `uptoLsn`, which must be
 * sealed. Reads only; keeps no more than one segment in memory.
 */
export function* scrubSegments(
  files: FileLayer,
  directory: string,
  uptoLsn: number,
): Generator<ScrubbedSegment, void> {
  const segments = parseSegmentNames(files.list(directory));
  let buffer: Buffer = Buffer.alloc(0);
  for (const [index, { name, firstLsn }] of segments.entries()) {
    const next = segments[index + 1];
    if (next === undefined || next.firstLsn > uptoLsn + 1) return;
    const damaged = (offset: number, afterLsn: number, reason: string): ScrubbedSegment => ({
      name,
      bytes: 0,
      damage: { segment: name, offset, afterLsn, reason },
    });
    try {
      const bytes = readWhole(files, `${directory}/${name}`, buffer);
      if (bytes.byteLength > buffer.byteLength) buffer = bytes;
      yield (
        findSegmentDamage(bytes, firstLsn, next.firstLsn - 1, damaged) ?? {
          name,
          bytes: bytes.byteLength,
          damage: undefined,
        }
      );
    } catch (cause) {
      if (readErrno(cause) === "") throw cause;
      yield damaged(0, firstLsn - 1, `it cannot be read (${readErrno(cause)})`);
    }
  }
}

/** The damage of a segment, or undefined. */
function findSegmentDamage(
  bytes: Buffer,
  firstLsn: number,
  lastLsn: number,
  damaged: (offset: number, afterLsn: number, reason: string) => ScrubbedSegment,
): ScrubbedSegment | undefined {
  const header = decodeSegmentHeader(bytes);
  if (header?.firstLsn !== firstLsn) {
    return damaged(0, firstLsn - 1, "the segment header does not verify");
  }
  const { end, lsn, lastCommitAt } = scanBatches(bytes, SEGMENT_HEADER_BYTES, firstLsn - 1);
  if (end < bytes.byteLength) return damaged(end, lsn, "a batch does not verify");
  if (lsn !== lastLsn) return damaged(end, lsn, `it ends before position ${lastLsn}`);
  if (lastCommitAt < 0 || isCommitSigned(bytes, lastCommitAt, header.publicKey)) return undefined;
  return damaged(lastCommitAt, lsn, "the last signature is not valid");
}
