// Watches the disk between commits: tries to write again while it is full, grows the ballast in
// slices so small that no commit waits, and notifies the service of changes.
import type { DiskSpace } from "./reserve.ts";

/** Interval between two checks of the disk, in ms; a full one is tried again as often. */
const CHECK_INTERVAL_MS = 500;
/** Interval between two slices of the ballast, in ms. */
const SLICE_INTERVAL_MS = 10;
/** Changes of free space below this many bytes are not worth a message. */
const CHANGE_BYTES = 1024 * 1024;

export interface WatchedDisk {
  /** See LedgerCore. */
  probeDisk(): boolean;
  readonly isHealthy: boolean;
  readonly space: DiskSpace;
}

export interface DiskStatus {
  isHealthy: boolean;
  space: DiskSpace;
}

export class DiskWatch {
  readonly #disk: WatchedDisk;
  readonly #send: (status: DiskStatus) => void;
  readonly #fail: (error: unknown) => void;
  #timer: NodeJS.Timeout;
  #sent: DiskStatus;

  /** `fail` is called when the journal can no longer vouch for the disk; the watch ends then. */
  constructor(
    disk: WatchedDisk,
    send: (status: DiskStatus) => void,
    fail: (error: unknown) => void,
  ) {
    this.#disk = disk;
    this.#send = send;
    this.#fail = fail;
    this.#sent = { isHealthy: true, space: { freeBytes: 0, ballastBytes: 0, isLow: false } };
    // Not at once: a start has more urgent work than making a ballast.
    this.#timer = setTimeout(() => {
      this.sendIfChanged();
      this.#timer = setTimeout(() => this.#checkDisk(), CHECK_INTERVAL_MS);
    }, 0);
  }

  /** Call after a commit: it sends a change that the commit found at once. */
  sendIfChanged(): void {
    const { isHealthy, space } = this.#disk;
    const sent = this.#sent;
    const moved = Math.abs(space.freeBytes - sent.space.freeBytes);
    const isSame =
      isHealthy === sent.isHealthy &&
      space.isLow === sent.space.isLow &&
      space.ballastBytes === sent.space.ballastBytes &&
      (moved < CHANGE_BYTES || space.freeBytes === sent.space.freeBytes);
    if (isSame) return;
    this.#sent = { isHealthy, space: { ...space } };
    this.#send(this.#sent);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  // A server that reports itself unready gets no outcomes, so it must check by itself.
  #checkDisk(): void {
    try {
      const isGrowing = this.#disk.probeDisk();
      this.sendIfChanged();
      const waitMs = isGrowing ? SLICE_INTERVAL_MS : CHECK_INTERVAL_MS;
      this.#timer = setTimeout(() => this.#checkDisk(), waitMs);
    } catch (error) {
      this.#fail(error);
    }
  }
}
