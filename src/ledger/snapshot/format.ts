// Byte format of a snapshot file: the agent table and the replay guard as of one commit of the
// journal. Derived data: a file that does not fit exactly is ignored and the journal replayed
// instead.
import { readKeySet } from "../../journal/signing/key-set.ts";
import type { BureauKey } from "../../journal/signing-key.ts";
import { hash } from "node:crypto";
import { crc32 } from "node:zlib";
import { CHAIN_BYTES, readUint64, writeUint64 } from "../../journal/format.ts";
import type { FramePlace } from "../../journal/places.ts";

/**
 * 4: the policies that tenants have set follow the key events. 6: the table holds unproved grades as
 * those of a counterparty, and the key events those of namespaces.
 */
export const SNAPSHOT_VERSION = 6;

/*
 * Header, 256 bytes, little-endian. The body follows: the parts of the agent table back to back,
 * the entries of the replay guard, oldest first, the key events so far, each behind its length as
 * u32, the policies so far in the same form, where the vault's sources stand in the journal
 * (segment and byte offset, each as u64), the reviews in the form of the policies, the progress
 * along the ordered log as JSON, and the conditions in the form of the policies. Files of before have
 * none of these: their lengths are zero there.
 *
 *   0               8       12      16              24      28      32
 *   +---------------+-------+-------+---------------+-------+-------+
 *   | "TRSNAPSH"    |version|crc32  | position      |layout | zero  |
 *   +---------------+-------+-------+---------------+-------+-------+
 *   32                              64              72              80
 *   +-------------------------------+---------------+---------------+
 *   | engine digest (32)            | seed          | table bytes   |
 *   +-------------------------------+---------------+---------------+
 *   80              88              96                              128
 *   +---------------+---------------+-------------------------------+
 *   | guard bytes   | outcomes      | chain at position (32)        |
 *   +---------------+---------------+-------------------------------+
 *   128                             160                             256
 *   +-------------------------------+-------------------------------+
 *   | sha256 of the body (32)       | key event bytes u64,          |
 *   |                               | source bytes u64,             |
 *   |                               | policy bytes u64,             |
 *   |                               | review bytes u64,             |
 *   |                               | stream bytes u64,             |
 *   |                               | condition bytes u64, zero     |
 *   +-------------------------------+-------------------------------+
 *
 * The crc32 covers the header with the crc field itself taken as zero.
 */
export const SNAPSHOT_HEADER_BYTES = 256;
const MAGIC = Buffer.from("TRSNAPSH", "latin1");
const VERSION_AT = 8;
const CRC_AT = 12;
const LSN_AT = 16;
const LAYOUT_AT = 24;
const ENGINE_AT = 32;
const SEED_AT = 64;
const TABLE_BYTES_AT = 72;
const GUARD_BYTES_AT = 80;
const OUTCOMES_AT = 88;
const CHAIN_AT = 96;
const BODY_HASH_AT = 128;
const KEY_EVENT_BYTES_AT = 160;
const SOURCE_BYTES_AT = 168;
const POLICY_BYTES_AT = 176;
const REVIEW_BYTES_AT = 184;
const STREAM_BYTES_AT = 192;
const CONDITION_BYTES_AT = 200;
const PLACE_BYTES = 16;
const HASH_BYTES = 32;

/** Identity of the engine: it must be equal before the bytes of a table mean anything. */
export interface EngineIdentity {
  readonly layoutVersion: number;
  /** 32 bytes; see `engineDigest`. */
  readonly engineDigest: Uint8Array;
  readonly seed: bigint;
}

export interface SnapshotHeader extends EngineIdentity {
  readonly lsn: number;
  readonly chain: Uint8Array;
  /** Number of outcomes folded. */
  readonly outcomes: number;
  readonly tableBytes: number;
  readonly guardBytes: number;
  readonly keyEventBytes: number;
  readonly policyBytes: number;
  readonly sourceBytes: number;
  readonly reviewBytes: number;
  readonly streamBytes: number;
  readonly conditionBytes: number;
}

/** Bytes of the body: table, guard, key events, policies, sources, reviews, progress, conditions. */
export function computeSnapshotBodyBytes(header: SnapshotHeader): number {
  const { tableBytes, guardBytes, keyEventBytes, policyBytes } = header;
  const { sourceBytes, reviewBytes, streamBytes, conditionBytes } = header;
  const known = tableBytes + guardBytes + keyEventBytes + policyBytes;
  return known + sourceBytes + reviewBytes + streamBytes + conditionBytes;
}

/** The header of a body with this sha256. */
export function encodeSnapshotHeader(header: SnapshotHeader, bodyHash: Uint8Array): Buffer {
  const bytes = Buffer.alloc(SNAPSHOT_HEADER_BYTES);
  MAGIC.copy(bytes, 0);
  bytes.writeUInt32LE(SNAPSHOT_VERSION, VERSION_AT);
  writeUint64(bytes, LSN_AT, header.lsn);
  bytes.writeUInt32LE(header.layoutVersion, LAYOUT_AT);
  bytes.set(header.engineDigest, ENGINE_AT);
  bytes.writeBigUInt64LE(header.seed, SEED_AT);
  writeUint64(bytes, TABLE_BYTES_AT, header.tableBytes);
  writeUint64(bytes, GUARD_BYTES_AT, header.guardBytes);
  writeUint64(bytes, KEY_EVENT_BYTES_AT, header.keyEventBytes);
  writeUint64(bytes, SOURCE_BYTES_AT, header.sourceBytes);
  writeUint64(bytes, POLICY_BYTES_AT, header.policyBytes);
  writeUint64(bytes, REVIEW_BYTES_AT, header.reviewBytes);
  writeUint64(bytes, STREAM_BYTES_AT, header.streamBytes);
  writeUint64(bytes, CONDITION_BYTES_AT, header.conditionBytes);
  writeUint64(bytes, OUTCOMES_AT, header.outcomes);
  bytes.set(header.chain, CHAIN_AT);
  bytes.set(bodyHash, BODY_HASH_AT);
  bytes.writeUInt32LE(crc32(bytes), CRC_AT);
  return bytes;
}

/** The header and the hash its body must have; undefined when it does not verify. */
export function decodeSnapshotHeader(
  bytes: Buffer,
): (SnapshotHeader & { bodyHash: Buffer }) | undefined {
  if (bytes.byteLength < SNAPSHOT_HEADER_BYTES) return undefined;
  const header = Buffer.from(bytes.subarray(0, SNAPSHOT_HEADER_BYTES));
  const crc = header.readUInt32LE(CRC_AT);
  header.writeUInt32LE(0, CRC_AT);
  if (crc32(header) !== crc || !header.subarray(0, MAGIC.byteLength).equals(MAGIC)) {
    return undefined;
  }
  if (header.readUInt32LE(VERSION_AT) !== SNAPSHOT_VERSION) return undefined;
  return {
    lsn: readUint64(header, LSN_AT),
    layoutVersion: header.readUInt32LE(LAYOUT_AT),
    engineDigest: header.subarray(ENGINE_AT, ENGINE_AT + HASH_BYTES),
    seed: header.readBigUInt64LE(SEED_AT),
    tableBytes: readUint64(header, TABLE_BYTES_AT),
    guardBytes: readUint64(header, GUARD_BYTES_AT),
    keyEventBytes: readUint64(header, KEY_EVENT_BYTES_AT),
    sourceBytes: readUint64(header, SOURCE_BYTES_AT),
    reviewBytes: readUint64(header, REVIEW_BYTES_AT),
    streamBytes: readUint64(header, STREAM_BYTES_AT),
    conditionBytes: readUint64(header, CONDITION_BYTES_AT),
    policyBytes: readUint64(header, POLICY_BYTES_AT),
    outcomes: readUint64(header, OUTCOMES_AT),
    chain: header.subarray(CHAIN_AT, CHAIN_AT + CHAIN_BYTES),
    bodyHash: header.subarray(BODY_HASH_AT, BODY_HASH_AT + HASH_BYTES),
  };
}

/** Version and table layout that a file's header names, of any release; undefined without its magic. */
export function readSnapshotFormat(bytes: Buffer): { version: number; layout: number } | undefined {
  const isOurs = bytes.subarray(0, MAGIC.byteLength).equals(MAGIC);
  if (!isOurs || bytes.byteLength < SNAPSHOT_HEADER_BYTES) return undefined;
  return { version: bytes.readUInt32LE(VERSION_AT), layout: bytes.readUInt32LE(LAYOUT_AT) };
}

/** Payloads of records (key events, policies) and reviews in their form in a body. */
export function encodePayloads(payloads: readonly Buffer[]): Buffer {
  return Buffer.concat(
    payloads.flatMap((payload) => {
      const length = Buffer.alloc(4);
      length.writeUInt32LE(payload.byteLength);
      return [length, payload];
    }),
  );
}

export function decodePayloads(bytes: Buffer): Buffer[] {
  const payloads: Buffer[] = [];
  for (let at = 0; at + 4 <= bytes.byteLength;) {
    const end = at + 4 + bytes.readUInt32LE(at);
    payloads.push(bytes.subarray(at + 4, end));
    at = end;
  }
  return payloads;
}

/** Places in the journal in their form in a body. */
export function encodePlaces(places: readonly FramePlace[]): Buffer {
  const bytes = Buffer.alloc(places.length * PLACE_BYTES);
  for (const [index, { segment, offset }] of places.entries()) {
    writeUint64(bytes, index * PLACE_BYTES, segment);
    writeUint64(bytes, index * PLACE_BYTES + 8, offset);
  }
  return bytes;
}

export function decodePlaces(bytes: Buffer): FramePlace[] {
  const places: FramePlace[] = [];
  for (let at = 0; at + PLACE_BYTES <= bytes.byteLength; at += PLACE_BYTES) {
    places.push({ segment: readUint64(bytes, at), offset: readUint64(bytes, at + 8) });
  }
  return places;
}

const SNAPSHOT_NAME = /^snap-(\d{20})\.bin$/;

export function formatSnapshotName(lsn: number): string {
  return `snap-${String(lsn).padStart(20, "0")}.bin`;
}

/** Snapshot files, newest first; other names are ignored. */
export function selectSnapshotNames(names: readonly string[]): string[] {
  return names
    .filter((name) => SNAPSHOT_NAME.test(name))
    .toSorted()
    .toReversed();
}

/**
 * The key of the identifier hash, from a signature of the bureau's first key: secret, and the same at
 * every start. Kept from the first rotation on, which ends that key.
 */
export function readOrDeriveTableSeed(root: string, key: BureauKey): bigint {
  const kept = readKeySet(root, key.publicKey);
  if (kept !== undefined) return kept.tableSeed;
  const signature = key.sign(Buffer.from("trustrank agent table seed", "latin1"));
  return hash("sha256", signature, "buffer").readBigUInt64LE(0);
}
