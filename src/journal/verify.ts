// Full verification of a stopped journal for `doctor`: chain, checksums and every signature, of
// commits and of the gaps an earlier repair declared. Reads only.
import { KeySuccession } from "./signing/rotation.ts";
import { EvidenceVerifier } from "./verify-signatures.ts";
import { verifyWithRawKey } from "./signing-key.ts";
import { type JournalDamage, JournalDamaged } from "./faults.ts";
import { type FileLayer, readWhole } from "../platform/files.ts";
import {
  readChainBefore,
  decodeGap,
  decodeSegmentHeader,
  FRAME_HEAD_BYTES,
  FRAME_KINDS,
  readFrameKind,
  readPayloadLength,
  encodeGapStatement,
  SEGMENT_HEADER_BYTES,
  type SegmentHeader,
  parseSegmentNames,
} from "./format.ts";
import { type KnownDurablePosition, recoverJournal } from "./recovery.ts";
import { isCommitSigned, type RecordVisitor } from "./scan.ts";

export interface JournalVerification {
  records: number;
  lsn: number;
  bytes: number;
  /** Bytes of an unfinished write at the end; cut at the next start, no reason to worry. */
  tornBytes: number;
  commits: number;
  /** Positions that an earlier repair declared lost. */
  gaps: { firstLost: number; lastLost: number; bytesLost: number }[];
  /** Hex of every key that signed commits, oldest first. */
  publicKeys: string[];
  /** Segments that begin under a key which the one before it has not announced: a repair's. */
  unannounced: string[];
  /** Number of reporters' signatures that hold. */
  signatures: number;
  /** Positions of records that differ from the signed bytes. */
  forged: readonly number[];
  /** Undefined when everything verifies. */
  damage: JournalDamage | undefined;
}

/**
 * Verifies chain, checksums and every signature, and that the journal reaches `known`. Reads only;
 * takes some 100 us per commit. `visitRecord` gets each record, also those before a damage.
 */
export function verifyJournal(
  files: FileLayer,
  directory: string,
  known?: KnownDurablePosition,
  visitRecord: RecordVisitor = () => undefined,
): JournalVerification {
  const report: JournalVerification = {
    records: 0,
    lsn: 0,
    bytes: 0,
    tornBytes: 0,
    commits: 0,
    gaps: [],
    publicKeys: [],
    unannounced: [],
    signatures: 0,
    forged: [],
    damage: undefined,
  };
  try {
    const isReadOnly = true;
    const evidence = new EvidenceVerifier();
    const visit: RecordVisitor = (bytes, at, lsn) => {
      report.records++;
      evidence.checkRecord(bytes, at, lsn);
      visitRecord(bytes, at, lsn);
    };
    const recovery = recoverJournal(files, directory, visit, { isReadOnly, known });
    report.signatures = evidence.validSignatureCount;
    report.forged = evidence.invalidLsns;
    report.lsn = recovery.tail.lsn;
    report.bytes = recovery.bytes;
    report.tornBytes = recovery.truncatedBytes;
    const succession = new KeySuccession();
    for (const { name } of parseSegmentNames(files.list(directory))) {
      const isNewest = name === recovery.tail.segment;
      const bytes = readWhole(files, `${directory}/${name}`);
      const header = decodeSegmentHeader(bytes);
      if (header === undefined) continue;
      const end = isNewest ? recovery.tail.offset : bytes.byteLength;
      if (!succession.beginSegment(header.publicKey)) report.unannounced.push(name);
      const segment = { name, header, bytes: bytes.subarray(0, end) };
      verifySegmentSignatures(report, segment, succession);
    }
  } catch (error) {
    if (!(error instanceof JournalDamaged)) throw error;
    report.damage = error.damage;
  }
  return report;
}

interface ReadSegment {
  readonly name: string;
  readonly header: SegmentHeader;
  /** Up to the last intact batch. */
  readonly bytes: Buffer;
}

function verifySegmentSignatures(
  report: JournalVerification,
  { name: segment, header, bytes }: ReadSegment,
  succession: KeySuccession,
): void {
  const key = header.publicKey.toString("hex");
  if (report.publicKeys.at(-1) !== key) report.publicKeys.push(key);
  let lsn = header.firstLsn - 1;
  let start = SEGMENT_HEADER_BYTES;
  for (let at = SEGMENT_HEADER_BYTES; at < bytes.byteLength;) {
    const kind = readFrameKind(bytes, at);
    const end = at + FRAME_HEAD_BYTES + readPayloadLength(bytes, at);
    if (kind === FRAME_KINDS.commit || kind === FRAME_KINDS.gap) {
      const isCommit = kind === FRAME_KINDS.commit;
      const isSigned = isCommit
        ? isCommitSigned(bytes, at, header.publicKey)
        : verifyAndReportGap(report, bytes, { start, at }, header.publicKey);
      if (!isSigned) {
        const reason = "a signature is not valid";
        throw new JournalDamaged({ segment, offset: at, afterLsn: lsn, reason });
      }
      if (isCommit) report.commits++;
      start = end;
    } else {
      if (kind === FRAME_KINDS.audit) {
        succession.applyAuditRecord(bytes.subarray(at + FRAME_HEAD_BYTES, end));
      }
      lsn++;
    }
    at = end;
  }
}

function verifyAndReportGap(
  report: JournalVerification,
  bytes: Buffer,
  { start, at }: { readonly start: number; readonly at: number },
  publicKey: Buffer,
): boolean {
  const { signature, ...gap } = decodeGap(bytes, at);
  const resume = readChainBefore(bytes, at + FRAME_HEAD_BYTES + readPayloadLength(bytes, at));
  const statement = encodeGapStatement(readChainBefore(bytes, start), gap, resume);
  if (gap.lastLost >= gap.firstLost) report.gaps.push(gap);
  return verifyWithRawKey(publicKey, statement, signature);
}
