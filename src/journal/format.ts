// Byte format of the evidence journal: segment header, frame, commit, gap. Layouts and checksums only.
// Integers are little-endian; an lsn (log sequence number) counts records from 1.
import { hash } from "node:crypto";
import { crc32 } from "node:zlib";

/** Kinds of frames. Numbers are on disk for ever: add, never renumber. */
export const FRAME_KINDS = {
  outcome: 1,
  commit: 2,
  gap: 3,
  audit: 4,
  config: 5,
  key: 6,
  evidence: 7,
  snapshot: 8,
  standings: 9,
  policy: 10,
  assessment: 11,
  review: 12,
  provenance: 13,
  keyAudit: 14,
  namespace: 15,
  stream: 16,
  reviewEvent: 17,
  usage: 18,
  access: 19,
  condition: 20,
} as const;
/** The highest kind; one above it is a newer release's (formats.ts). */
export const FRAME_KIND_MAX = Math.max(...Object.values(FRAME_KINDS));
export const JOURNAL_SEGMENT_BYTES_MAX = 64 * 1024 * 1024;
/** Larger than any record we accept (an evidence document is at most 1 MiB). */
export const PAYLOAD_BYTES_MAX = 4 * 1024 * 1024;
export const JOURNAL_VERSION = 1;

/*
 * Segment header, 128 bytes. The previous chain is last, so that a batch's chain is one hash over
 * contiguous bytes: the 32 bytes right before a batch are always the chain it continues.
 *
 *   0               8       12      16                      32              40
 *   +---------------+-------+-------+-----------------------+---------------+
 *   | "TRJOURNL"    |version|crc32  | node id (16)          | epoch         |
 *   +---------------+-------+-------+-----------------------+---------------+
 *   40              48                          80          96             128
 *   +---------------+---------------------------+-----------+---------------+
 *   | first lsn     | Ed25519 public key (32)   | zero (16) | prev chain(32)|
 *   +---------------+---------------------------+-----------+---------------+
 *
 * The crc32 covers the header with the crc field itself taken as zero.
 */
export const SEGMENT_HEADER_BYTES = 128;
const MAGIC = Buffer.from("TRJOURNL", "latin1");
const HEADER_VERSION_AT = 8;
const HEADER_CRC_AT = 12;
const HEADER_NODE_AT = 16;
const HEADER_EPOCH_AT = 32;
const HEADER_LSN_AT = 40;
const HEADER_KEY_AT = 48;
const HEADER_CHAIN_AT = 96;

/*
 * Frame: 25 bytes, then the payload. The crc32 covers lsn to payload and is seeded with the
 * length, so a flipped bit in any of the five fields shows.
 *   0       4       8               16              24  25            25+length
 *   +-------+-------+---------------+---------------+---+-------------+
 *   |length |crc32  | lsn           | time us       |knd| payload     |
 *   +-------+-------+---------------+---------------+---+-------------+
 */
export const FRAME_HEAD_BYTES = 25;
const FRAME_CRC_AT = 4;
const FRAME_LSN_AT = 8;
export const FRAME_TIME_AT = 16;
const FRAME_KIND_AT = 24;

/*
 * Commit payload, 100 bytes; closes a batch. Its lsn is that of the batch's last record.
 *   0       4                               68                              100
 *   +-------+-------------------------------+-------------------------------+
 *   | count | Ed25519 over the chain (64)   | chain = SHA256(prev || frames)|
 *   +-------+-------------------------------+-------------------------------+
 */
export const COMMIT_PAYLOAD_BYTES = 100;
export const COMMIT_FRAME_BYTES = FRAME_HEAD_BYTES + COMMIT_PAYLOAD_BYTES;
const COMMIT_SIGNATURE_AT = 4;
const COMMIT_CHAIN_AT = 68;

/*
 * Gap payload, 120 bytes; written only by repair. It names the lost positions and the chain with
 * which the log goes on, and is signed, so that only the key's holder can cut a hole.
 *   0               8               16              24                      88         120
 *   +---------------+---------------+---------------+-----------------------+----------+
 *   | first lost    | last lost     | bytes lost    | signature (64)        | resume   |
 *   +---------------+---------------+---------------+-----------------------+----------+
 *
 * The signature is over prev chain || first || last || bytes || resume chain. First = last + 1
 * means that no position was lost, only the chain is resumed.
 */
export const GAP_PAYLOAD_BYTES = 120;
const GAP_SIGNATURE_AT = 24;
const GAP_CHAIN_AT = 88;

export const CHAIN_BYTES = 32;
export const SIGNATURE_BYTES = 64;
/** Before the first record of a journal. */
export const CHAIN_START: Buffer = Buffer.alloc(CHAIN_BYTES);
const TWO_POW_32 = 2 ** 32;

/** An unsigned 64-bit integer as a number; exact below 2^53. */
export function readUint64(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * TWO_POW_32;
}

export function writeUint64(bytes: Buffer, at: number, value: number): void {
  bytes.writeUInt32LE(value % TWO_POW_32, at);
  bytes.writeUInt32LE(Math.floor(value / TWO_POW_32), at + 4);
}

export interface SegmentHeader {
  nodeId: Buffer;
  epoch: number;
  firstLsn: number;
  /** Raw Ed25519 public key that signs this segment's commits. */
  publicKey: Buffer;
  previousChain: Buffer;
}

export function encodeSegmentHeader(header: SegmentHeader): Buffer {
  const bytes = Buffer.alloc(SEGMENT_HEADER_BYTES);
  MAGIC.copy(bytes, 0);
  bytes.writeUInt32LE(JOURNAL_VERSION, HEADER_VERSION_AT);
  header.nodeId.copy(bytes, HEADER_NODE_AT, 0, 16);
  writeUint64(bytes, HEADER_EPOCH_AT, header.epoch);
  writeUint64(bytes, HEADER_LSN_AT, header.firstLsn);
  header.publicKey.copy(bytes, HEADER_KEY_AT, 0, 32);
  header.previousChain.copy(bytes, HEADER_CHAIN_AT, 0, CHAIN_BYTES);
  bytes.writeUInt32LE(crc32(bytes), HEADER_CRC_AT);
  return bytes;
}

/** Version of a segment, of any release; undefined when its header does not verify. */
export function readSegmentVersion(bytes: Buffer): number | undefined {
  if (bytes.byteLength < SEGMENT_HEADER_BYTES) return undefined;
  const header = Buffer.from(bytes.subarray(0, SEGMENT_HEADER_BYTES));
  header.writeUInt32LE(0, HEADER_CRC_AT);
  if (crc32(header) !== bytes.readUInt32LE(HEADER_CRC_AT)) return undefined;
  const isOurs = header.subarray(0, MAGIC.byteLength).equals(MAGIC);
  return isOurs ? header.readUInt32LE(HEADER_VERSION_AT) : undefined;
}

/** The header of a segment, or undefined when it does not verify. Copies out of `bytes`. */
export function decodeSegmentHeader(bytes: Buffer): SegmentHeader | undefined {
  if (readSegmentVersion(bytes) !== JOURNAL_VERSION) return undefined;
  const header = Buffer.from(bytes.subarray(0, SEGMENT_HEADER_BYTES));
  return {
    nodeId: header.subarray(HEADER_NODE_AT, HEADER_NODE_AT + 16),
    epoch: readUint64(header, HEADER_EPOCH_AT),
    firstLsn: readUint64(header, HEADER_LSN_AT),
    publicKey: header.subarray(HEADER_KEY_AT, HEADER_KEY_AT + 32),
    previousChain: header.subarray(HEADER_CHAIN_AT, SEGMENT_HEADER_BYTES),
  };
}

/** Fields of the frame at `at`, of which 25 bytes are there. */
export function readPayloadLength(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at);
}
export function readFrameLsn(bytes: Buffer, at: number): number {
  return readUint64(bytes, at + FRAME_LSN_AT);
}
export function readFrameChecksum(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at + FRAME_CRC_AT);
}
export function readFrameTimeUs(bytes: Buffer, at: number): number {
  return readUint64(bytes, at + FRAME_TIME_AT);
}
export function readFrameKind(bytes: Buffer, at: number): number {
  return bytes[at + FRAME_KIND_AT] ?? 0;
}

/** Writes length and kind of a frame whose payload is, or will be, in place behind it. */
export function writeFrameHead(
  bytes: Buffer,
  at: number,
  kind: number,
  payloadBytes: number,
): void {
  bytes.writeUInt32LE(payloadBytes, at);
  bytes[at + FRAME_KIND_AT] = kind;
}

/** Sets an opened frame's position and time, and seals it with the checksum. */
export function sealFrame(bytes: Buffer, at: number, lsn: number, timeUs: number): void {
  writeUint64(bytes, at + FRAME_LSN_AT, lsn);
  writeUint64(bytes, at + FRAME_TIME_AT, timeUs);
  bytes.writeUInt32LE(computeFrameCrc(bytes, at), at + FRAME_CRC_AT);
}

function computeFrameCrc(bytes: Buffer, at: number): number {
  const length = readPayloadLength(bytes, at);
  return crc32(bytes.subarray(at + FRAME_LSN_AT, at + FRAME_HEAD_BYTES + length), length);
}

/** Total bytes of an intact frame at `at` that ends by `end`; 0 when there is none. */
export function measureIntactFrame(
  bytes: Buffer,
  at: number,
  end: number,
  kindMax = FRAME_KIND_MAX,
) {
  if (at + FRAME_HEAD_BYTES > end) return 0;
  const kind = readFrameKind(bytes, at);
  if (kind < 1 || kind > kindMax) return 0;
  const length = readPayloadLength(bytes, at);
  if (length > PAYLOAD_BYTES_MAX || at + FRAME_HEAD_BYTES + length > end) return 0;
  if (computeFrameCrc(bytes, at) !== readFrameChecksum(bytes, at)) return 0;
  return FRAME_HEAD_BYTES + length;
}

export interface CommitFields {
  lsn: number;
  timeUs: number;
  count: number;
  chain: Uint8Array;
  signature: Uint8Array;
}

export function encodeCommitFrame(fields: CommitFields): Buffer {
  const bytes = Buffer.alloc(COMMIT_FRAME_BYTES);
  writeFrameHead(bytes, 0, FRAME_KINDS.commit, COMMIT_PAYLOAD_BYTES);
  bytes.writeUInt32LE(fields.count, FRAME_HEAD_BYTES);
  bytes.set(fields.signature, FRAME_HEAD_BYTES + COMMIT_SIGNATURE_AT);
  bytes.set(fields.chain, FRAME_HEAD_BYTES + COMMIT_CHAIN_AT);
  sealFrame(bytes, 0, fields.lsn, fields.timeUs);
  return bytes;
}

/** Records in the batch that the commit frame at `at` closes. */
export function readCommitRecordCount(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at + FRAME_HEAD_BYTES);
}

/** A view of the signature of the commit frame at `at`. */
export function readCommitSignature(bytes: Buffer, at: number): Buffer {
  const from = at + FRAME_HEAD_BYTES + COMMIT_SIGNATURE_AT;
  return bytes.subarray(from, from + SIGNATURE_BYTES);
}

/** A view of the chain that ends at `end`: the last 32 bytes of a header, commit or gap. */
export function readChainBefore(bytes: Buffer, end: number): Buffer {
  return bytes.subarray(end - CHAIN_BYTES, end);
}

/** SHA256(prev || frames), where `prev` is the 32 bytes before `from`. */
export function computeChain(bytes: Buffer, from: number, to: number): Buffer {
  return hash("sha256", bytes.subarray(from - CHAIN_BYTES, to), "buffer");
}

export interface GapFields {
  firstLost: number;
  lastLost: number;
  bytesLost: number;
}

/** The bytes that a gap's signature covers. */
export function encodeGapStatement(
  previous: Uint8Array,
  gap: GapFields,
  resume: Uint8Array,
): Buffer {
  const fields = Buffer.alloc(GAP_SIGNATURE_AT);
  writeUint64(fields, 0, gap.firstLost);
  writeUint64(fields, 8, gap.lastLost);
  writeUint64(fields, 16, gap.bytesLost);
  return Buffer.concat([previous, fields, resume]);
}

export function encodeGapFrame(
  gap: GapFields,
  timeUs: number,
  signature: Uint8Array,
  resume: Uint8Array,
): Buffer {
  const bytes = Buffer.alloc(FRAME_HEAD_BYTES + GAP_PAYLOAD_BYTES);
  writeFrameHead(bytes, 0, FRAME_KINDS.gap, GAP_PAYLOAD_BYTES);
  writeUint64(bytes, FRAME_HEAD_BYTES, gap.firstLost);
  writeUint64(bytes, FRAME_HEAD_BYTES + 8, gap.lastLost);
  writeUint64(bytes, FRAME_HEAD_BYTES + 16, gap.bytesLost);
  bytes.set(signature, FRAME_HEAD_BYTES + GAP_SIGNATURE_AT);
  bytes.set(resume, FRAME_HEAD_BYTES + GAP_CHAIN_AT);
  sealFrame(bytes, 0, gap.lastLost, timeUs);
  return bytes;
}

export function decodeGap(bytes: Buffer, at: number): GapFields & { signature: Buffer } {
  const from = at + FRAME_HEAD_BYTES;
  return {
    firstLost: readUint64(bytes, from),
    lastLost: readUint64(bytes, from + 8),
    bytesLost: readUint64(bytes, from + 16),
    signature: bytes.subarray(from + GAP_SIGNATURE_AT, from + GAP_CHAIN_AT),
  };
}

const SEGMENT_NAME = /^seg-\d{20}\.log$/;

export function formatSegmentName(firstLsn: number): string {
  return `seg-${String(firstLsn).padStart(20, "0")}.log`;
}

/** Segment files in order of position; other names are ignored. */
export function parseSegmentNames(names: readonly string[]): { name: string; firstLsn: number }[] {
  // Numbers of one length: their order is that of the names.
  const own = names.filter((name) => SEGMENT_NAME.test(name)).toSorted();
  return own.map((name) => ({ name, firstLsn: Number(name.slice(4, 24)) }));
}
