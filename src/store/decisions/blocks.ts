// Blocks of a decision segment: the rings' bytes under a length and a checksum. A block that does not
// verify is passed over and counted; the bytes behind the last whole one may be a write under way,
// or the torn end of a crash.
//
//   segment | block | block | ... | torn end of a crash |
//   block   | magic u32 | length u32 | crc32 u32 | 0 u32 | whole records (8-aligned) |
import { crc32 } from "node:zlib";
import { upgradeRecords } from "./spool-upgrade.ts";

/** "TRSR"; those of earlier versions are in spool-upgrade.ts. */
const MAGIC = 0x52535254;
const HEADER_BYTES = 16;
const ALIGNMENT = 8;

/** The bytes of whole records as one block. */
export function encodeBlock(parts: readonly Uint8Array[]): Buffer {
  const block = Buffer.concat([Buffer.alloc(HEADER_BYTES), ...parts]);
  block.writeUInt32LE(MAGIC, 0);
  block.writeUInt32LE(block.byteLength - HEADER_BYTES, 4);
  block.writeUInt32LE(crc32(block.subarray(HEADER_BYTES)), 8);
  return block;
}

export interface DecodedBlocks {
  /** Records of each whole block, in the form of today. */
  readonly records: readonly Buffer[];
  /** Byte behind the last whole block. */
  readonly end: number;
  /** Stretches between whole blocks that do not verify. */
  readonly damagedCount: number;
}

/** Reads every whole block. */
export function decodeBlocks(bytes: Buffer): DecodedBlocks {
  const records: Buffer[] = [];
  let damagedCount = 0;
  let end = 0;
  for (let at = 0; at + HEADER_BYTES <= bytes.byteLength;) {
    const found = decodeBlockAt(bytes, at);
    if (found === undefined) {
      at += ALIGNMENT;
      continue;
    }
    if (at > end) damagedCount += 1;
    records.push(found.records);
    at = found.end;
    end = at;
  }
  return { records, end, damagedCount };
}

function decodeBlockAt(bytes: Buffer, at: number): { records: Buffer; end: number } | undefined {
  const start = at + HEADER_BYTES;
  const length = bytes.readUInt32LE(at + 4);
  if (length === 0 || length > bytes.byteLength - start) return undefined;
  const magic = bytes.readUInt32LE(at);
  // The magic first: a checksum over the rest at every eighth byte would take for ever.
  const stored = bytes.subarray(start, start + length);
  if (magic === MAGIC) {
    return isChecksumValid(bytes, at, stored)
      ? { records: stored, end: start + length }
      : undefined;
  }
  const records = upgradeRecords(magic, () =>
    isChecksumValid(bytes, at, stored) ? stored : undefined,
  );
  return records && { records, end: start + length };
}

function isChecksumValid(bytes: Buffer, at: number, stored: Buffer): boolean {
  return crc32(stored) === bytes.readUInt32LE(at + 8);
}
