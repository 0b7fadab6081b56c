// Drains the rings of the deciding threads into the spool: urgent records at once, others by the second, and
// denials that repeat as counts. What the disk refuses stays in the rings.
import { RepeatedDenialCounter } from "./denial-counts.ts";
import { DROP_ALLOWED_ABOVE_BYTES } from "./ring-layout.ts";
import { DecisionRingReader } from "./ring-reader.ts";
import type { DecisionSpool } from "./spool.ts";

/** Longest time in ms between drains while records wait; urgent ones drain at every check. */
export const DRAIN_INTERVAL_MS = 1000;
/** Milliseconds before a disk that refused the spool is tried again. */
const RETRY_INTERVAL_MS = 1000;
/** Bytes in one second that make it a busy one: some 1,000 decisions. */
const BUSY_BYTES = 512 * 1024;
/** A spool this large takes no more: rings fill, and their own rules hold. */
export const SPOOL_BYTES_MAX = 1024 * 1024 * 1024;

export class RingDrain {
  readonly #readers: readonly DecisionRingReader[];
  readonly #spool: DecisionSpool;
  readonly #denialCounter = new RepeatedDenialCounter();
  /** Records that the disk refused, and the positions of the rings behind them. */
  #unwritten: { parts: Uint8Array[]; positions: number[] } | undefined;
  #drainedAtMs = 0;
  #retryAtMs = 0;
  #secondMs = 0;
  #secondBytes = 0;
  #busyAtMs = Number.NEGATIVE_INFINITY;

  constructor(rings: readonly SharedArrayBuffer[], spool: DecisionSpool) {
    this.#readers = rings.map((ring) => new DecisionRingReader(ring));
    this.#spool = spool;
  }

  /** Repeated denials counted in another's record, since the start. */
  get mergedDenialsTotal(): number {
    return this.#denialCounter.mergedDenialsTotal;
  }

  /** Whether to empty the rings now: an urgent record waits, or one for long, or many. */
  isDue(nowMs: number): boolean {
    if (nowMs < this.#retryAtMs) return false;
    if (this.#denialCounter.isDue(nowMs)) return true;
    const used = Math.max(0, ...this.#readers.map((reader) => reader.usedBytes));
    if (used > DROP_ALLOWED_ABOVE_BYTES / 2) return true;
    if (used > 0 && nowMs - this.#drainedAtMs >= DRAIN_INTERVAL_MS) return true;
    return used > 0 && this.#readers.some((reader) => reader.hasDenialOrFlagged());
  }

  /**
   * Empties the rings into the spool; it is on disk when this returns, but for the counts of
   * repeated denials of this second, unless `withCounts`. Waits for no database.
   * @throws the file system's error when the disk refuses: then the rings keep their records.
   */
  drain(nowMs: number, withCounts = false): void {
    this.#trackBusySeconds(nowMs);
    if (this.#spool.pendingBytes >= SPOOL_BYTES_MAX) return;
    // What the disk refused has been sifted already: it goes first, as it is.
    if (this.#unwritten !== undefined) this.#writeToSpool(this.#unwritten, nowMs);
    const copied: Uint8Array[] = [];
    const positions = this.#readers.map((reader) => reader.copyRecords(copied));
    const parts = this.#denialCounter.mergeRepeats(copied, nowMs);
    if (withCounts) parts.push(...this.#denialCounter.takeCountRecords());
    if (copied.length > 0 || parts.length > 0) this.#writeToSpool({ parts, positions }, nowMs);
  }

  #writeToSpool(batch: { parts: Uint8Array[]; positions: number[] }, nowMs: number): void {
    this.#drainedAtMs = nowMs;
    this.#unwritten = batch;
    try {
      if (batch.parts.length > 0) this.#spool.append(batch.parts, nowMs);
    } catch (error) {
      this.#retryAtMs = nowMs + RETRY_INTERVAL_MS;
      throw error;
    }
    this.#unwritten = undefined;
    for (const [index, reader] of this.#readers.entries()) reader.release(batch.positions[index]!);
  }

  /** Whether many decisions have come in the last seconds. */
  isBusy(nowMs: number): boolean {
    return nowMs - this.#busyAtMs <= 2 * DRAIN_INTERVAL_MS;
  }

  /** A second with many bytes makes the next ones busy. */
  #trackBusySeconds(nowMs: number): void {
    if (nowMs - this.#secondMs >= DRAIN_INTERVAL_MS) {
      this.#secondMs = nowMs;
      this.#secondBytes = 0;
    }
    this.#secondBytes += this.#readers.reduce((sum, reader) => sum + reader.usedBytes, 0);
    if (this.#secondBytes > BUSY_BYTES) this.#busyAtMs = nowMs;
  }
}
