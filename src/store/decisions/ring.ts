// Writing end of the decision log: a ring of bytes in shared memory, one writer and one reader, no
// locks and no allocation. Decisions that let through are dropped when the ring is three quarters
// full; denials have the last quarter, then wait in this thread's memory, then push back.
import type { DecisionEntry, DecisionLog } from "../../contract/decisions.ts";
import { ServiceFault } from "../../contract/faults.ts";
import {
  CONTROL_BYTES,
  DROP_BYTES,
  DROPPED,
  HEAD,
  RECORDED,
  RING_BYTES,
  TAIL,
} from "./ring-layout.ts";
import { bytesMaxOf, type Target, targetOf, writeEntry } from "./ring-record.ts";

/** Denials that did not fit, waiting in the writer's own memory. */
const WAITING_MAX = 16_384;
const REFILL_INTERVAL_MS = 20;

/** Default of legs that let through, recorded per second and thread. */
export const LET_THROUGH_PER_SECOND = 250;

export interface DecisionRingOptions {
  /** Legs that let through beyond this number in one second are dropped and counted. */
  letThroughPerSecond?: number;
  /**
   * Milliseconds that a denial may hold up the thread when the ring is full. 0 for a thread that
   * serves: there it waits in memory instead. A pool thread has no turns of an event loop to wait
   * with.
   */
  waitMs: number;
}

/** The writing end; one per thread that decides. */
export class DecisionRing implements DecisionLog {
  readonly #control: Uint32Array;
  readonly #gate: Int32Array;
  readonly #ring: Target;
  readonly #waitMs: number;
  readonly #perSecond: number;
  #second = 0;
  #letThrough = 0;
  #waiting: Uint8Array[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(ring: SharedArrayBuffer, options: DecisionRingOptions) {
    this.#control = new Uint32Array(ring, 0, 4);
    this.#gate = new Int32Array(ring, 0, 4);
    this.#ring = targetOf(ring, CONTROL_BYTES, RING_BYTES);
    this.#waitMs = options.waitMs;
    this.#perSecond = options.letThroughPerSecond ?? LET_THROUGH_PER_SECOND;
  }

  mayRecord(nowMs: number): boolean {
    const second = Math.trunc(nowMs / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#letThrough = 0;
    }
    this.#letThrough += 1;
    if (this.#letThrough <= this.#perSecond) return true;
    this.#control[DROPPED]! += 1;
    return false;
  }

  record(entry: DecisionEntry): void {
    const bytesMax = bytesMaxOf(entry);
    const mayDrop = entry.isLetThrough && !entry.isFlagged;
    const at = this.#reserve(bytesMax, mayDrop ? DROP_BYTES : RING_BYTES);
    if (at >= 0) this.#publish(at, writeEntry(this.#ring, at, entry));
    else if (mayDrop) this.#control[DROPPED]! += 1;
    else this.#keep(entry, bytesMax);
  }

  /** Resolves once nothing waits outside the ring; the reader must be at work. */
  async flush(): Promise<void> {
    while (this.#waiting.length > 0) {
      this.#refill();
      if (this.#waiting.length > 0) {
        await new Promise((resolve) => setTimeout(resolve, REFILL_INTERVAL_MS));
      }
    }
  }

  /** Offset of `length` contiguous free bytes that do not fill more than `usedMax`, or -1. */
  #reserve(length: number, usedMax: number): number {
    const head = this.#control[HEAD]!;
    const used = (head - Atomics.load(this.#control, TAIL)) >>> 0;
    const at = head & (RING_BYTES - 1);
    const rest = RING_BYTES - at;
    if (length <= rest) return used + length <= usedMax ? at : -1;
    if (used + rest + length > usedMax) return -1;
    this.#ring.words[at / 4] = 0;
    Atomics.store(this.#control, HEAD, (head + rest) >>> 0);
    return 0;
  }

  #publish(at: number, length: number): void {
    const head = this.#control[HEAD]!;
    this.#ring.words[at / 4] = length;
    // This store makes the bytes before it visible to the reader.
    Atomics.store(this.#control, HEAD, (head + length) >>> 0);
    // Only this thread writes it: a torn read of a counter does no harm.
    this.#control[RECORDED]! += 1;
  }

  /** Back-pressure: a denial that cannot be kept is not given. */
  #keep(entry: DecisionEntry, bytesMax: number): void {
    if (this.#waitMs > 0) {
      this.#waitAndWrite(entry, bytesMax);
      return;
    }
    if (this.#waiting.length >= WAITING_MAX) throw saturated();
    const aside = targetOf(new ArrayBuffer(bytesMax), 0, bytesMax);
    const length = writeEntry(aside, 0, entry);
    aside.words[0] = length;
    this.#waiting.push(aside.bytes.subarray(0, length));
    this.#timer ??= setTimeout(() => this.#refill(), REFILL_INTERVAL_MS).unref();
  }

  #refill(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    let count = 0;
    for (const bytes of this.#waiting) {
      const at = this.#reserve(bytes.length, RING_BYTES);
      if (at < 0) break;
      this.#ring.bytes.set(bytes, at);
      this.#publish(at, bytes.length);
      count++;
    }
    this.#waiting = this.#waiting.slice(count);
    if (this.#waiting.length > 0) {
      this.#timer = setTimeout(() => this.#refill(), REFILL_INTERVAL_MS).unref();
    }
  }

  #waitAndWrite(entry: DecisionEntry, bytesMax: number): void {
    const tail = this.#gate[TAIL]!;
    Atomics.wait(this.#gate, TAIL, tail, this.#waitMs);
    const at = this.#reserve(bytesMax, RING_BYTES);
    if (at < 0) throw saturated();
    this.#publish(at, writeEntry(this.#ring, at, entry));
  }
}

function saturated(): ServiceFault {
  return new ServiceFault("overloaded", "the decision log cannot keep up");
}
