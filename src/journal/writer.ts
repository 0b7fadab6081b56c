// Appends batches to the journal: seal, chain, sign, one write, one sync. The only writer of
// journal bytes while the ledger runs.
//
// INVARIANT (synced before acknowledged): `append` returns only after its batch's sync returned, unless
// the caller asks for `sync` later, once for several.
// INVARIANT (one sync, one chance): after a failed sync the writer never touches the disk again.
import { createHash } from "node:crypto";
import type { BureauKey } from "./signing-key.ts";
import { readErrno, type FileLayer, writeFully } from "../platform/files.ts";
import { JournalBroken, JournalFull } from "./faults.ts";
import {
  COMMIT_FRAME_BYTES,
  encodeCommitFrame,
  encodeSegmentHeader,
  FRAME_HEAD_BYTES,
  readPayloadLength,
  SEGMENT_HEADER_BYTES,
  sealFrame,
  JOURNAL_SEGMENT_BYTES_MAX,
  formatSegmentName,
} from "./format.ts";
import type { Fence } from "./ownership/fence.ts";
import type { FramePlace } from "./places.ts";
import { type JournalTail, writeNewestSegmentName } from "./recovery.ts";

/** Frames with kind, length and payload in place, back to back; `append` seals them. */
export interface FrameRun {
  bytes: Buffer;
  count: number;
}

export interface JournalWriterOptions {
  files: FileLayer;
  directory: string;
  key: BureauKey;
  epoch: number;
  /** Looked at before a segment is begun. */
  fence?: Fence | undefined;
  tail: JournalTail;
  /** Bytes after which a new segment is begun. A batch is never split. */
  segmentBytesMax?: number | undefined;
}

const PROBE_BYTES = 256 * 1024;

export class JournalWriter {
  /** Position of the last durable record. */
  lsn: number;
  syncCount = 0;
  /** Milliseconds of the last sync of a batch. */
  lastSyncDurationMs = 0;
  readonly #options: JournalWriterOptions;
  readonly #segmentBytesMax: number;
  #descriptor = -1;
  #offset: number;
  /** Chain of the last commit. */
  chain: Buffer;
  /** Place of the last appended batch. */
  batchPlace: FramePlace = { segment: 0, offset: 0 };
  #segment: number;
  #key: BureauKey;
  /** First bytes of the first key of this journal. */
  readonly #nodeId: Buffer;
  /** The open segment names another key. */
  #isKeyChanged = false;
  #broken: JournalBroken | undefined;
  /** Batches were written since the last sync. */
  #isUnsynced = false;

  constructor(options: JournalWriterOptions) {
    const { tail, files, directory } = options;
    this.#options = options;
    this.#key = options.key;
    this.#nodeId = tail.header?.nodeId ?? options.key.publicKey.subarray(0, 16);
    this.#segmentBytesMax = options.segmentBytesMax ?? JOURNAL_SEGMENT_BYTES_MAX;
    this.lsn = tail.lsn;
    this.#offset = tail.offset;
    this.chain = tail.chain;
    this.#segment = tail.header?.firstLsn ?? 0;
    // A segment names the one key that signs it: another key begins another segment.
    const isOurs = tail.header?.publicKey.equals(options.key.publicKey) ?? false;
    if (tail.segment !== undefined && isOurs) {
      this.#descriptor = files.open(`${directory}/${tail.segment}`, "write");
    }
  }

  /**
   * Makes a batch durable. Positions are given in order, without holes.
   * @returns the position of the last record.
   * @throws JournalFull when the disk is full: nothing was recorded, later calls may succeed.
   * @throws JournalBroken when a write or sync failed otherwise: every later call throws too.
   * @throws OwnershipLost when another process writes here, found where a segment is begun.
   */
  append(runs: readonly FrameRun[], timeUs: number, isSyncedLater = false): number {
    if (this.#broken !== undefined) throw this.#broken;
    let bytes = COMMIT_FRAME_BYTES;
    for (const run of runs) bytes += run.bytes.byteLength;
    if (this.#descriptor < 0 || this.#isKeyChanged || this.#isOverfull(bytes)) this.#beginSegment();
    const parts: Uint8Array[] = [];
    const digest = createHash("sha256").update(this.chain);
    let lsn = this.lsn;
    for (const run of runs) {
      lsn = sealRun(run, lsn, timeUs);
      digest.update(run.bytes);
      parts.push(run.bytes);
    }
    const chain = digest.digest();
    const signature = this.#key.sign(chain);
    parts.push(encodeCommitFrame({ lsn, timeUs, count: lsn - this.lsn, chain, signature }));
    this.#write(parts);
    this.#isUnsynced = true;
    if (!isSyncedLater) this.sync();
    this.batchPlace = { segment: this.#segment, offset: this.#offset };
    this.#offset += bytes;
    this.chain = chain;
    this.lsn = lsn;
    return lsn;
  }

  /** Syncs batches that were appended to be synced later. Throws as `append`. */
  sync(): void {
    if (this.#broken !== undefined) throw this.#broken;
    if (!this.#isUnsynced) return;
    const startedMs = performance.now();
    this.#sync(() => this.#options.files.syncData(this.#descriptor));
    this.#isUnsynced = false;
    this.lastSyncDurationMs = performance.now() - startedMs;
  }

  /** Signs with another key from the next record on, in a segment of its own. */
  useKey(key: BureauKey): void {
    this.#key = key;
    this.#isKeyChanged = true;
  }

  /** Checks whether the disk has space again, without recording anything. Throws as `append`. */
  probeSpace(): void {
    if (this.#broken !== undefined) throw this.#broken;
    // Zeros after the last commit read as a torn end, should the process die right here.
    if (this.#descriptor < 0) this.#beginSegment();
    const { files } = this.#options;
    this.#runDiskWrite("probe", () => {
      writeFully(files, this.#descriptor, [Buffer.alloc(PROBE_BYTES)], this.#offset);
      files.truncate(this.#descriptor, this.#offset);
    });
  }

  close(): void {
    if (this.#descriptor < 0) return;
    const descriptor = this.#descriptor;
    this.#descriptor = -1;
    this.#broken ??= new JournalBroken("the journal is closed");
    this.#options.files.close(descriptor);
  }

  #isOverfull(bytes: number): boolean {
    return this.#offset > SEGMENT_HEADER_BYTES && this.#offset + bytes > this.#segmentBytesMax;
  }

  #write(parts: readonly Uint8Array[]): void {
    const { files } = this.#options;
    this.#runDiskWrite("write", () => {
      writeFully(files, this.#descriptor, parts, this.#offset);
    });
  }

  /** Runs a write; on a full disk returns to the last commit, on any other error gives up. */
  #runDiskWrite(name: string, act: () => void): void {
    try {
      act();
    } catch (cause) {
      if (!isDiskFullError(cause))
        throw this.#breakWith(`${name} failed (${readErrno(cause)})`, cause);
      this.#truncateToCommit();
      throw new JournalFull(`no room to ${name}`, { cause });
    }
  }

  #truncateToCommit(): void {
    try {
      this.#options.files.truncate(this.#descriptor, this.#offset);
    } catch (cause) {
      throw this.#breakWith(`cannot cut an unfinished write (${readErrno(cause)})`, cause);
    }
  }

  #sync(act: () => void): void {
    try {
      act();
      this.syncCount++;
    } catch (cause) {
      throw this.#breakWith(`sync failed (${readErrno(cause)})`, cause);
    }
  }

  #breakWith(detail: string, cause: unknown): JournalBroken {
    this.#broken = new JournalBroken(detail, { cause });
    return this.#broken;
  }

  /** Creates, writes and syncs the next segment, then its directory, then names it the newest. */
  #beginSegment(): void {
    const { files, directory, epoch, fence } = this.#options;
    fence?.assertOwner();
    // What stands before the next segment has to be there whenever that one is.
    this.sync();
    const firstLsn = this.lsn + 1;
    const name = formatSegmentName(firstLsn);
    const path = `${directory}/${name}`;
    const header = encodeSegmentHeader({
      nodeId: this.#nodeId,
      epoch,
      firstLsn,
      publicKey: this.#key.publicKey,
      previousChain: this.chain,
    });
    let descriptor = -1;
    try {
      this.#removeEmptyNamesake(name);
      descriptor = files.open(path, "create");
      writeFully(files, descriptor, [header], 0);
    } catch (cause) {
      if (!isDiskFullError(cause))
        throw this.#breakWith(`cannot begin a segment (${readErrno(cause)})`, cause);
      this.#removePartial(descriptor, path);
      throw new JournalFull("no room to begin a segment", { cause });
    }
    this.#sync(() => files.syncData(descriptor));
    this.#sync(() => files.syncDirectory(directory));
    this.#writeNewestName(name, descriptor, path);
    if (this.#descriptor >= 0) files.close(this.#descriptor);
    this.#descriptor = descriptor;
    this.#isKeyChanged = false;
    this.#segment = firstLsn;
    this.#offset = SEGMENT_HEADER_BYTES;
  }

  /**
   * With another key and an empty newest segment, the new one has the same first position. An
   * empty segment holds no evidence, so it makes way.
   */
  #removeEmptyNamesake(name: string): void {
    const { files, directory, tail } = this.#options;
    if (this.#descriptor < 0 && tail.segment === name && tail.offset === SEGMENT_HEADER_BYTES) {
      files.remove(`${directory}/${name}`);
    }
  }

  #writeNewestName(name: string, descriptor: number, path: string): void {
    const { files, directory } = this.#options;
    try {
      writeNewestSegmentName(files, directory, name);
    } catch (cause) {
      if (!isDiskFullError(cause))
        throw this.#breakWith(`cannot name a segment (${readErrno(cause)})`, cause);
      this.#removePartial(descriptor, path);
      throw new JournalFull("no room to begin a segment", { cause });
    }
  }

  #removePartial(descriptor: number, path: string): void {
    const { files } = this.#options;
    try {
      if (descriptor >= 0) {
        files.close(descriptor);
        files.remove(path);
      }
    } catch (cause) {
      throw this.#breakWith(`cannot remove an unused segment (${readErrno(cause)})`, cause);
    }
  }
}

function sealRun(run: FrameRun, lsn: number, timeUs: number): number {
  let at = 0;
  let next = lsn;
  while (at < run.bytes.byteLength) {
    next++;
    sealFrame(run.bytes, at, next, timeUs);
    at += FRAME_HEAD_BYTES + readPayloadLength(run.bytes, at);
  }
  return next;
}

function isDiskFullError(cause: unknown): boolean {
  const errno = readErrno(cause);
  return errno === "ENOSPC" || errno === "EDQUOT";
}
