// Reserve of space on the journal's disk: a ballast file that is released when a write meets the
// end of the disk, and a watermark below which outcomes are refused while necessary writes
// (revocations, an orderly end, the store's own files) still find space.
import { randomFillSync } from "node:crypto";
import {
  readErrno,
  type FileLayer,
  readFileSize,
  withFile,
  writeFully,
} from "../../platform/files.ts";

/** Default size in bytes of the ballast, and of the watermark. */
export const DISK_RESERVE_BYTES = 64 * 1024 * 1024;

/** Lies beside the segments; its content means nothing. */
export const BALLAST_FILE = "ballast";

/** Written and synced by this many bytes at a time, between two batches. */
const SLICE_BYTES = 1024 * 1024;
/** Outcomes are taken again once free space exceeds the watermark by this factor. */
const RECOVERY_FACTOR = 1.25;
/**
 * With less free space than this part of the watermark, others on the disk need the ballast now.
 */
const URGENT_SHARE = 0.25;

/** Calls of `restore` that pass after it failed: a quota does not show in the free space. */
const PAUSED_CALLS = 120;

/** Space on the disk, in bytes. */
export interface DiskSpace {
  freeBytes: number;
  ballastBytes: number;
  /** Outcomes are refused until there is space again. */
  isLow: boolean;
}

/** Space on the disk for a journal with a reserve of `bytes`; changes nothing. */
export function measureDiskSpace(files: FileLayer, directory: string, bytes: number): DiskSpace {
  const ballastBytes = readBallastBytes(files, directory);
  const freeBytes = files.freeBytes(directory);
  return { freeBytes, ballastBytes, isLow: bytes > 0 && freeBytes - bytes + ballastBytes < bytes };
}

/** One per journal that is written. With 0 bytes it does nothing and is never low. */
export class DiskReserve {
  readonly space: DiskSpace;
  readonly #files: FileLayer;
  readonly #directory: string;
  readonly #reserveBytes: number;
  readonly #slice: Buffer;
  #pausedCalls = 0;

  /** Takes over the ballast of an earlier process. The directory must exist. */
  constructor(files: FileLayer, directory: string, bytes: number) {
    this.#files = files;
    this.#directory = directory;
    this.#reserveBytes = bytes;
    // Random bytes, because a file system stores compressible ones in less space.
    this.#slice = randomFillSync(Buffer.alloc(Math.min(SLICE_BYTES, bytes)));
    this.space = measureDiskSpace(files, directory, bytes);
    if (this.space.ballastBytes > bytes) this.releaseBallast();
    this.checkSpace();
  }

  /**
   * Checks the disk; call before every batch. Releases the ballast when others run out of space.
   */
  checkSpace(): void {
    const { space } = this;
    space.freeBytes = this.#files.freeBytes(this.#directory);
    if (this.#reserveBytes === 0) return;
    // Computed as if the ballast were whole, so that releasing it heals nothing.
    const spare = space.freeBytes - this.#computeMissingBytes();
    space.isLow = spare < (space.isLow ? this.#reserveBytes * RECOVERY_FACTOR : this.#reserveBytes);
    if (space.ballastBytes > 0 && space.freeBytes < this.#reserveBytes * URGENT_SHARE)
      this.releaseBallast();
  }

  /**
   * Grows the ballast by a slice, really written and synced, if there is space for it.
   * @returns whether there is more to do now.
   */
  growBallast(): boolean {
    const { space } = this;
    const files = this.#files;
    if (space.isLow || this.#computeMissingBytes() <= 0) return false;
    if (this.#pausedCalls > 0) {
      this.#pausedCalls--;
      return false;
    }
    const path = `${this.#directory}/${BALLAST_FILE}`;
    const slice = this.#slice.subarray(0, this.#computeMissingBytes());
    try {
      const isThere = files.list(this.#directory).includes(BALLAST_FILE);
      withFile(files, path, isThere ? "write" : "create", (descriptor) => {
        writeFully(files, descriptor, [slice], space.ballastBytes);
        files.syncData(descriptor);
      });
    } catch (cause) {
      if (readErrno(cause) === "") throw cause;
      // Another process took the space; the journal itself is not affected.
      this.releaseBallast();
      this.#pausedCalls = PAUSED_CALLS;
      return false;
    }
    space.ballastBytes += slice.byteLength;
    return this.#computeMissingBytes() > 0;
  }

  /** Releases the ballast's space. @returns whether there was any. */
  releaseBallast(): boolean {
    const { space } = this;
    const files = this.#files;
    if (!files.list(this.#directory).includes(BALLAST_FILE)) return false;
    try {
      files.remove(`${this.#directory}/${BALLAST_FILE}`);
    } catch (cause) {
      if (readErrno(cause) === "") throw cause;
      return false;
    }
    space.ballastBytes = 0;
    return true;
  }

  #computeMissingBytes(): number {
    return this.#reserveBytes - this.space.ballastBytes;
  }
}

function readBallastBytes(files: FileLayer, directory: string): number {
  if (!files.list(directory).includes(BALLAST_FILE)) return 0;
  return readFileSize(files, `${directory}/${BALLAST_FILE}`);
}
