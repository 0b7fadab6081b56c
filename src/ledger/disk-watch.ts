// Looks after the disk between commits: asks it for room while it is full, makes the ballast in
// slices so small that no commit waits, and tells whoever answers for the service how it stands.
import type { DiskRoom } from "./disk-reserve.ts";

/** How often the disk is looked at, in ms; a full one is asked for room as often. */
const LOOK_INTERVAL_MS = 500;
/** Between two slices of the ballast. */
const SLICE_INTERVAL_MS = 10;
/** Changes of free space below this are not worth a message. */
const NEWS_BYTES = 1024 * 1024;

export interface WatchedDisk {
  /** See LedgerCore. */
  probe(): boolean;
  readonly isHealthy: boolean;
  readonly room: DiskRoom;
}

export interface DiskNews {
  isHealthy: boolean;
  room: DiskRoom;
}

export class DiskWatch {
  readonly #disk: WatchedDisk;
  readonly #tell: (news: DiskNews) => void;
  readonly #fail: (error: unknown) => void;
  #timer: NodeJS.Timeout;
  #told: DiskNews;

  /** `fail` is told when the journal can no longer vouch for the disk; the watch ends then. */
  constructor(disk: WatchedDisk, tell: (news: DiskNews) => void, fail: (error: unknown) => void) {
    this.#disk = disk;
    this.#tell = tell;
    this.#fail = fail;
    this.#told = { isHealthy: true, room: { freeBytes: 0, ballastBytes: 0, isLow: false } };
    // Not at once: a start has better things to do than to make a ballast.
    this.#timer = setTimeout(() => {
      this.tellNews();
      this.#timer = setTimeout(() => this.#look(), LOOK_INTERVAL_MS);
    }, 0);
  }

  /** Call after a commit: what it found out is told at once. */
  tellNews(): void {
    const { isHealthy, room } = this.#disk;
    const told = this.#told;
    const moved = Math.abs(room.freeBytes - told.room.freeBytes);
    const isSame =
      isHealthy === told.isHealthy &&
      room.isLow === told.room.isLow &&
      room.ballastBytes === told.room.ballastBytes &&
      (moved < NEWS_BYTES || room.freeBytes === told.room.freeBytes);
    if (isSame) return;
    this.#told = { isHealthy, room: { ...room } };
    this.#tell(this.#told);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  // A server that says it is not ready gets no outcomes: it must find out by itself.
  #look(): void {
    try {
      const isGrowing = this.#disk.probe();
      this.tellNews();
      const waitMs = isGrowing ? SLICE_INTERVAL_MS : LOOK_INTERVAL_MS;
      this.#timer = setTimeout(() => this.#look(), waitMs);
    } catch (error) {
      this.#fail(error);
    }
  }
}
