// Room on the journal's disk, kept before it runs out: a ballast file that is given up when
// something meets the end of the disk, and a watermark below which outcomes are refused while what
// must still be written (revocations, an orderly end, the store's own files) finds room.
import { randomFillSync } from "node:crypto";
import { errnoOf, type FileLayer, writeFully } from "../journal/files.ts";

/** Ballast and watermark, each of so many bytes, unless the operator says otherwise. */
export const DISK_RESERVE_BYTES = 64 * 1024 * 1024;

/** Beside the segments; holds nothing anyone needs. */
export const BALLAST_FILE = "ballast";

/** Written and synced by so much at a time, between two batches. */
const SLICE_BYTES = 1024 * 1024;
/** Outcomes are taken again once there is so much more room than the watermark asks for. */
const HEALED = 1.25;
/** With less left than this part of the watermark, others on the disk need the ballast now. */
const URGENT = 0.25;

/** Calls of `restore` that pass after it failed: a quota is not seen in the free space. */
const PAUSE_CALLS = 120;

/** How it stands with the disk, in bytes. */
export interface DiskRoom {
  freeBytes: number;
  ballastBytes: number;
  /** Outcomes are refused until there is room again. */
  isLow: boolean;
}

/** How it stands with the disk for a journal that asks for `bytes`; changes nothing. */
export function diskRoom(files: FileLayer, directory: string, bytes: number): DiskRoom {
  const ballastBytes = ballastIn(files, directory);
  const freeBytes = files.freeBytes(directory);
  return { freeBytes, ballastBytes, isLow: bytes > 0 && freeBytes - bytes + ballastBytes < bytes };
}

/** One per journal that is written. With 0 bytes it does nothing and is never low. */
export class DiskReserve {
  readonly room: DiskRoom;
  readonly #files: FileLayer;
  readonly #directory: string;
  readonly #bytes: number;
  readonly #slice: Buffer;
  #pause = 0;

  /** Takes over the ballast of an earlier process. The directory must exist. */
  constructor(files: FileLayer, directory: string, bytes: number) {
    this.#files = files;
    this.#directory = directory;
    this.#bytes = bytes;
    // What cannot be compressed is what a file system cannot save itself the room for.
    this.#slice = randomFillSync(Buffer.alloc(Math.min(SLICE_BYTES, bytes)));
    this.room = diskRoom(files, directory, bytes);
    if (this.room.ballastBytes > bytes) this.release();
    this.look();
  }

  /** Asks the disk; call before every batch. Gives the ballast up when others run out of room. */
  look(): void {
    const { room } = this;
    room.freeBytes = this.#files.freeBytes(this.#directory);
    if (this.#bytes === 0) return;
    // Reckoned as if the ballast were whole, so that giving it up heals nothing.
    const spare = room.freeBytes - this.#missing();
    room.isLow = spare < (room.isLow ? this.#bytes * HEALED : this.#bytes);
    if (room.ballastBytes > 0 && room.freeBytes < this.#bytes * URGENT) this.release();
  }

  /**
   * Makes the ballast larger by a slice, really written and synced, if there is room for it.
   * @returns whether there is more to do now.
   */
  restore(): boolean {
    const { room } = this;
    const files = this.#files;
    if (room.isLow || this.#missing() <= 0) return false;
    if (this.#pause > 0) {
      this.#pause--;
      return false;
    }
    const path = `${this.#directory}/${BALLAST_FILE}`;
    const slice = this.#slice.subarray(0, this.#missing());
    try {
      const isThere = files.list(this.#directory).includes(BALLAST_FILE);
      const descriptor = files.open(path, isThere ? "write" : "create");
      try {
        writeFully(files, descriptor, [slice], room.ballastBytes);
        files.syncData(descriptor);
      } finally {
        files.close(descriptor);
      }
    } catch (cause) {
      if (errnoOf(cause) === "") throw cause;
      // Somebody else took the room: the journal itself is not touched by that.
      this.release();
      this.#pause = PAUSE_CALLS;
      return false;
    }
    room.ballastBytes += slice.byteLength;
    return this.#missing() > 0;
  }

  /** Gives the ballast's room to whoever needs it. Returns whether there was any. */
  release(): boolean {
    const { room } = this;
    const files = this.#files;
    if (!files.list(this.#directory).includes(BALLAST_FILE)) return false;
    try {
      files.remove(`${this.#directory}/${BALLAST_FILE}`);
    } catch (cause) {
      if (errnoOf(cause) === "") throw cause;
      return false;
    }
    room.ballastBytes = 0;
    return true;
  }

  #missing(): number {
    return this.#bytes - this.room.ballastBytes;
  }
}

function ballastIn(files: FileLayer, directory: string): number {
  if (!files.list(directory).includes(BALLAST_FILE)) return 0;
  const descriptor = files.open(`${directory}/${BALLAST_FILE}`, "read");
  try {
    return files.size(descriptor);
  } finally {
    files.close(descriptor);
  }
}
