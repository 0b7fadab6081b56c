// High-water mark: a small file beside the journal that says up to which position the journal has
// been durable. It is written after a sync, never before, so no crash leaves it above the journal's
// end; an end below it is the loss of records that were acknowledged.
//
// Two slots are written in turn, each within a sector: a write that tears leaves the other.
//
//   0               8               16      20       512
//   +---------------+---------------+-------+- - - -+---- the second slot
//   | "TRHIGHWM"    | position      |crc32  | zero  |
//   +---------------+---------------+-------+- - - -+
import { join } from "node:path";
import { crc32 } from "node:zlib";
import {
  readErrno,
  type FileLayer,
  readFileRange,
  readWhole,
  replaceFile,
} from "../../platform/files.ts";
import { readUint64, writeUint64 } from "../../journal/format.ts";
import type { KnownDurablePosition } from "../../journal/recovery.ts";
import { decodeSnapshotHeader, SNAPSHOT_HEADER_BYTES, selectSnapshotNames } from "./format.ts";

const HIGH_WATER_FILE = "high-water";
const MAGIC = Buffer.from("TRHIGHWM", "latin1");
const SLOT_BYTES = 512;
const POSITION_AT = 8;
const CRC_AT = 16;
const USED_BYTES = 20;
/** The mark may lag behind the journal by this. */
export const MARK_INTERVAL_MS = 1000;

/** The mark of a directory; 0 without one. */
export function readHighWater(files: FileLayer, root: string): number {
  if (!files.list(root).includes(HIGH_WATER_FILE)) return 0;
  const bytes = readWhole(files, join(root, HIGH_WATER_FILE));
  return Math.max(decodeSlotAt(bytes, 0), decodeSlotAt(bytes, SLOT_BYTES));
}

/** Sets the mark, also to a lower position: after a loss that a person has accepted. */
export function setHighWater(files: FileLayer, root: string, lsn: number): void {
  const bytes = Buffer.alloc(2 * SLOT_BYTES);
  encodeSlot(lsn).copy(bytes, 0);
  replaceFile(files, root, HIGH_WATER_FILE, bytes);
}

/** Sets the mark to a position that something else knows; never lower. */
export function raiseHighWater(files: FileLayer, root: string, lsn: number): void {
  if (lsn > readHighWater(files, root)) setHighWater(files, root, lsn);
}

/** Highest position that the mark or a snapshot knows to have been durable. */
export function readKnownDurablePosition(
  files: FileLayer,
  root: string,
  snapshots: string,
): KnownDurablePosition {
  const known = { lsn: readHighWater(files, root), knownBy: "the high-water mark" };
  const lsn = readNewestSnapshotLsn(files, snapshots);
  return lsn > known.lsn ? { lsn, knownBy: "the newest snapshot" } : known;
}

/** Position of the newest snapshot whose header verifies; 0 without one. */
function readNewestSnapshotLsn(files: FileLayer, directory: string): number {
  for (const name of selectSnapshotNames(listUnlessMissing(files, directory))) {
    const head = readFileRange(files, join(directory, name), 0, SNAPSHOT_HEADER_BYTES);
    const header = decodeSnapshotHeader(head);
    if (header !== undefined) return header.lsn;
  }
  return 0;
}

function listUnlessMissing(files: FileLayer, directory: string): string[] {
  try {
    return files.list(directory);
  } catch (error) {
    if (readErrno(error) === "ENOENT") return [];
    throw error;
  }
}

/** Writes the mark while the journal grows; one for each ledger. */
export class HighWaterMark {
  readonly #files: FileLayer;
  readonly #log: (event: string, detail: string) => void;
  readonly #descriptor: number;
  #lsn: number;
  #slot = 0;
  #writtenMs = 0;
  #hasFailed = false;

  /**
   * Opens the file of a directory, making it when missing.
   * @throws the file layer's error.
   */
  constructor(files: FileLayer, root: string, log: (event: string, detail: string) => void) {
    this.#files = files;
    this.#log = log;
    this.#lsn = readHighWater(files, root);
    setHighWater(files, root, this.#lsn);
    this.#descriptor = files.open(join(root, HIGH_WATER_FILE), "write");
  }

  /** Marks a position that a sync has made durable, at most once a second. Never throws. */
  advance(lsn: number, nowMs: number): void {
    const sinceMs = nowMs - this.#writtenMs;
    if (lsn <= this.#lsn || (sinceMs >= 0 && sinceMs < MARK_INTERVAL_MS)) return;
    this.#writtenMs = nowMs;
    this.#write(lsn);
  }

  /** Marks the last position and closes the file. */
  close(lsn: number): void {
    if (lsn > this.#lsn) this.#write(lsn);
    this.#files.close(this.#descriptor);
  }

  #write(lsn: number): void {
    try {
      this.#slot = 1 - this.#slot;
      const at = this.#slot * SLOT_BYTES;
      this.#files.write(this.#descriptor, [encodeSlot(lsn)], at);
      this.#files.syncData(this.#descriptor);
      this.#lsn = lsn;
    } catch (error) {
      // The journal is what counts: it has its own disk checks.
      if (!this.#hasFailed) this.#log("high_water_failed", String(error));
      this.#hasFailed = true;
    }
  }
}

function encodeSlot(lsn: number): Buffer {
  const slot = Buffer.alloc(USED_BYTES);
  MAGIC.copy(slot, 0);
  writeUint64(slot, POSITION_AT, lsn);
  slot.writeUInt32LE(crc32(slot.subarray(0, CRC_AT)), CRC_AT);
  return slot;
}

function decodeSlotAt(bytes: Buffer, at: number): number {
  if (bytes.byteLength < at + USED_BYTES) return 0;
  const slot = bytes.subarray(at, at + USED_BYTES);
  const isWhole = crc32(slot.subarray(0, CRC_AT)) === slot.readUInt32LE(CRC_AT);
  return isWhole && slot.subarray(0, MAGIC.byteLength).equals(MAGIC)
    ? readUint64(slot, POSITION_AT)
    : 0;
}
