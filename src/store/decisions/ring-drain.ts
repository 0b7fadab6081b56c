// Drains the rings of the deciding threads into the spool: urgent records at once, others by the second, exact
// counts every few seconds, and denials that repeat as counts; beside them the times of answers that the main
// thread sends. What the disk refuses stays in the rings.
import { RepeatedDenialCounter } from "./denial-counts.ts";
import type { DecisionBudget } from "./budget.ts";
import { DecisionCountReader } from "./count-slots.ts";
import { mergeCounts, type DecisionCount } from "./counts.ts";
import { OFFSET_COUNTS, RING_BYTES } from "./ring-layout.ts";
import { DecisionRingReader } from "./ring-reader.ts";
import type { DecisionSpool } from "./spool.ts";
import type { LatencyCount } from "../rows/latencies.ts";

/** Longest time in ms between drains while records wait; urgent ones drain at every check. */
export const DRAIN_INTERVAL_MS = 1000;
/** Longest time in ms between two writes of exact counts while there are some: what a crash loses of them. */
const COUNTS_INTERVAL_MS = 5000;
/** A ring filled beyond this is drained at once: sampling for want of room begins at half. */
const DRAIN_ABOVE_BYTES = (RING_BYTES / 8) * 3;
/** Milliseconds before a disk that refused the spool is tried again. */
const RETRY_INTERVAL_MS = 1000;
/** Bytes in one second that make it a busy one: some 1,000 decisions. */
const BUSY_BYTES = 512 * 1024;
/** A spool this large takes no more: rings fill, and their own rules hold. */
export const SPOOL_BYTES_MAX = 1024 * 1024 * 1024;
/** Times of answers that wait for the disk, by minute, route and class: beyond it the oldest go. */
const LATENCIES_WAITING_MAX = 10_000;

/** Read from the rings and not yet on disk. */
interface DrainedBatch {
  readonly parts: readonly Uint8Array[];
  /** Of the rings, behind the records. */
  readonly positions: readonly number[];
  readonly counts: readonly DecisionCount[];
  readonly commitCounts: () => void;
  readonly latencies: readonly LatencyCount[];
}

export class RingDrain {
  readonly #readers: readonly DecisionRingReader[];
  readonly #countReaders: readonly DecisionCountReader[];
  readonly #budget: DecisionBudget | undefined;
  readonly #spool: DecisionSpool;
  readonly #denialCounter = new RepeatedDenialCounter();
  /** What the disk refused. */
  #unwritten: DrainedBatch | undefined;
  #latencies: readonly LatencyCount[] = [];
  #drainedAtMs = 0;
  #countedAtMs = 0;
  #retryAtMs = 0;
  #secondMs = 0;
  #secondBytes = 0;
  #busyAtMs = Number.NEGATIVE_INFINITY;

  /** `budget`: where bytes of merged records go back to. */
  constructor(
    rings: readonly SharedArrayBuffer[],
    spool: DecisionSpool,
    budget: DecisionBudget | undefined,
  ) {
    this.#readers = rings.map((ring) => new DecisionRingReader(ring));
    this.#countReaders = rings.map((ring) => new DecisionCountReader(ring, OFFSET_COUNTS));
    this.#budget = budget;
    this.#spool = spool;
  }

  /** Repeated denials counted in another's record, since the start. */
  get mergedDenialsTotal(): number {
    return this.#denialCounter.mergedDenialsTotal;
  }

  /** Takes times of answers; they are on disk with the next drain. */
  addLatencies(latencies: readonly LatencyCount[]): void {
    this.#latencies = [...this.#latencies, ...latencies].slice(-LATENCIES_WAITING_MAX);
  }

  /** Whether to empty the rings now: an urgent record waits, or one for long, or many. */
  isDue(nowMs: number): boolean {
    if (nowMs < this.#retryAtMs) return false;
    if (this.#denialCounter.isDue(nowMs)) return true;
    if (this.#areCountsDue(nowMs) && this.#countReaders.some((reader) => reader.hasCounts()))
      return true;
    const used = Math.max(0, ...this.#readers.map((reader) => reader.usedBytes));
    if (used > DRAIN_ABOVE_BYTES) return true;
    const hasWork = used > 0 || this.#latencies.length > 0;
    if (hasWork && nowMs - this.#drainedAtMs >= DRAIN_INTERVAL_MS) return true;
    return used > 0 && this.#readers.some((reader) => reader.hasDenialOrFlagged());
  }

  #areCountsDue(nowMs: number): boolean {
    const isOld = Math.abs(nowMs - this.#countedAtMs) >= COUNTS_INTERVAL_MS;
    return isOld || this.#countReaders.some((reader) => reader.isUrgent);
  }

  /**
   * Empties the rings into the spool; it is on disk when this returns, but for the counts of
   * repeated denials of this second and the exact counts of the last seconds, unless `withCounts`.
   * Waits for no database.
   * @throws the file system's error when the disk refuses: then the rings keep their records.
   */
  drain(nowMs: number, withCounts = false): void {
    this.#trackBusySeconds(nowMs);
    if (this.#spool.pendingBytes >= SPOOL_BYTES_MAX) return;
    // What the disk refused has been sifted already: it goes first, as it is.
    if (this.#unwritten !== undefined) this.#writeToSpool(this.#unwritten, nowMs);
    const isCounted = withCounts || this.#areCountsDue(nowMs);
    const copied: Uint8Array[] = [];
    const positions = this.#readers.map((reader) => reader.copyRecords(copied));
    const parts = this.#denialCounter.mergeRepeats(copied, nowMs);
    if (withCounts) parts.push(...this.#denialCounter.takeCountRecords());
    this.#budget?.refund(this.#denialCounter.takeMergedBytes());
    const { counts, commitCounts } = isCounted ? this.#collectCounts(nowMs) : NO_COUNTS;
    const latencies = this.#latencies;
    this.#latencies = [];
    if (copied.length + parts.length + counts.length + latencies.length === 0) {
      commitCounts();
      return;
    }
    this.#writeToSpool({ parts, positions, counts, commitCounts, latencies }, nowMs);
  }

  #collectCounts(nowMs: number): Pick<DrainedBatch, "counts" | "commitCounts"> {
    this.#countedAtMs = nowMs;
    const collected = this.#countReaders.map((reader) => reader.collect(nowMs));
    const commitCounts = () => {
      for (const { commit } of collected) commit();
    };
    return { counts: mergeCounts(collected.flatMap(({ counts }) => counts)), commitCounts };
  }

  #writeToSpool(batch: DrainedBatch, nowMs: number): void {
    this.#drainedAtMs = nowMs;
    this.#unwritten = batch;
    const { parts, counts, latencies } = batch;
    try {
      if (parts.length + counts.length + latencies.length > 0) {
        this.#spool.append(parts, nowMs, counts, latencies);
      }
    } catch (error) {
      this.#retryAtMs = nowMs + RETRY_INTERVAL_MS;
      throw error;
    }
    this.#unwritten = undefined;
    batch.commitCounts();
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

const NO_COUNTS: Pick<DrainedBatch, "counts" | "commitCounts"> = {
  counts: [],
  commitCounts: () => undefined,
};
