// Spool of decisions between the rings and the table: the rings' bytes, unchanged, appended to
// small files and synced. Writing them costs next to nothing; turning them into rows is expensive
// and waits for quiet. Files survive a crash. A file's name is committed with its rows, so none is
// taken twice.
//
//   file   | block | block | ... | torn end of a crash |
//   block  | magic u32 | length u32 | crc32 u32 | 0 u32 | whole records (8-aligned) |
import * as fs from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { recordsAsNow } from "./spool-upgrade.ts";

const SUFFIX = ".spool";
/** "TRSR"; those of earlier versions are in spool-upgrade.ts. */
const MAGIC = 0x52535254;
const HEADER_BYTES = 16;
/** A file of this size takes no more; one transaction turns a whole file into rows. */
const FILE_BYTES_MAX = 4 * 1024 * 1024;

interface Spooled {
  readonly name: string;
  bytes: number;
}

export class DecisionSpool {
  readonly #directory: string;
  /** Oldest first; the last one may still be open. */
  readonly #waiting: Spooled[];
  /** Name part of this process's files: distinguishes them from those of earlier ones. */
  readonly #life: string;
  #descriptor = -1;
  #count = 0;
  #oldestMs = 0;

  readonly #sync: (descriptor: number) => void;

  /** `startMs` (epoch ms) must differ between processes. */
  constructor(directory: string, startMs: number, sync = fs.fdatasyncSync) {
    this.#directory = directory;
    this.#sync = sync;
    this.#life = String(startMs).padStart(15, "0");
    fs.mkdirSync(directory, { recursive: true });
    this.#waiting = fs
      .readdirSync(directory)
      .filter((name) => name.endsWith(SUFFIX))
      .toSorted()
      .map((name) => ({ name, bytes: fs.statSync(join(directory, name)).size }));
  }

  get fileCount(): number {
    return this.#waiting.length;
  }

  get bytes(): number {
    return this.#waiting.reduce((sum, file) => sum + file.bytes, 0);
  }

  /** Epoch ms at which the oldest file began to wait; files of an earlier process count from 0. */
  get oldestMs(): number {
    return this.#oldestMs;
  }

  /**
   * Appends the bytes of whole records; they are on disk when it returns.
   * @throws the file system's error when they are not.
   */
  put(parts: readonly Uint8Array[], nowMs: number): void {
    const block = Buffer.concat([Buffer.alloc(HEADER_BYTES), ...parts]);
    block.writeUInt32LE(MAGIC, 0);
    block.writeUInt32LE(block.byteLength - HEADER_BYTES, 4);
    block.writeUInt32LE(crc32(block.subarray(HEADER_BYTES)), 8);
    if (this.#descriptor < 0) this.#begin(nowMs);
    const file = this.#waiting.at(-1) as Spooled;
    try {
      for (let at = 0; at < block.byteLength;) {
        at += fs.writeSync(this.#descriptor, block, at);
      }
      this.#sync(this.#descriptor);
    } catch (error) {
      this.#giveUp(file.bytes);
      throw error;
    }
    file.bytes += block.byteLength;
    if (file.bytes >= FILE_BYTES_MAX) this.#seal();
  }

  /** The oldest file's records, or undefined. It stays until `taken`. */
  oldest(): { name: string; bytes: Buffer } | undefined {
    const file = this.#waiting[0];
    if (file === undefined) return undefined;
    if (this.#waiting.length === 1) this.#seal();
    return this.#read(file);
  }

  /** The same of the newest file, which takes no more records. */
  newest(): { name: string; bytes: Buffer } | undefined {
    const file = this.#waiting.at(-1);
    if (file === undefined) return undefined;
    this.#seal();
    return this.#read(file);
  }

  /** Name of the newest file; names grow with time. */
  get newestName(): string {
    return this.#waiting.at(-1)?.name ?? "";
  }

  /** Whether a file waits that is no newer than the one of this name. */
  hasUpTo(name: string): boolean {
    return this.#waiting[0] !== undefined && this.#waiting[0].name <= name;
  }

  /** Removes a file whose rows are committed: the oldest, unless named. */
  taken(nowMs: number, name = this.#waiting[0]?.name): void {
    const index = this.#waiting.findIndex((file) => file.name === name);
    const [file] = this.#waiting.splice(index, 1);
    fs.rmSync(this.#path((file as Spooled).name));
    if (index === 0) this.#oldestMs = nowMs;
  }

  /** Whether no file is left, for good: then no file's name has to be remembered any more. */
  isGone(): boolean {
    if (this.#waiting.length > 0) return false;
    this.#syncDirectory();
    return true;
  }

  close(): void {
    this.#seal();
  }

  #read({ name }: Spooled): { name: string; bytes: Buffer } {
    return { name, bytes: recordsOf(fs.readFileSync(this.#path(name))) };
  }

  #begin(nowMs: number): void {
    this.#count += 1;
    const name = `${this.#life}-${String(this.#count).padStart(9, "0")}${SUFFIX}`;
    this.#descriptor = fs.openSync(this.#path(name), "wx");
    if (this.#waiting.length === 0) this.#oldestMs = nowMs;
    this.#waiting.push({ name, bytes: 0 });
    // The name must be on disk with the first bytes.
    this.#syncDirectory();
  }

  #syncDirectory(): void {
    const directory = fs.openSync(this.#directory, "r");
    try {
      fs.fsyncSync(directory);
    } finally {
      fs.closeSync(directory);
    }
  }

  /**
   * Records that were not written whole are written again, elsewhere: they must not be read here
   * too.
   */
  #giveUp(bytes: number): void {
    try {
      fs.ftruncateSync(this.#descriptor, bytes);
    } catch {
      // Then the checksum shows it, or the same records come twice; none is lost.
    }
    this.#seal();
  }

  #seal(): void {
    if (this.#descriptor >= 0) fs.closeSync(this.#descriptor);
    this.#descriptor = -1;
  }

  #path(name: string): string {
    return join(this.#directory, name);
  }
}

/** The records of all whole blocks; a crash may have torn the last one. */
function recordsOf(file: Buffer): Buffer {
  const parts: Buffer[] = [];
  let at = 0;
  while (at + HEADER_BYTES <= file.byteLength) {
    const start = at + HEADER_BYTES;
    const end = start + file.readUInt32LE(at + 4);
    const records = file.subarray(start, end);
    if (end > file.byteLength || crc32(records) !== file.readUInt32LE(at + 8)) break;
    const magic = file.readUInt32LE(at);
    const readable = magic === MAGIC ? records : recordsAsNow(records, magic);
    if (readable === undefined) break;
    parts.push(readable);
    at = end;
  }
  return Buffer.concat(parts);
}
