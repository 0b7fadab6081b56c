// Batch of journal frames, encoded back to back into one buffer, which moves between threads
// without copying. Owns the caps of one commit.
import { FRAME_HEAD_BYTES, writeFrameHead } from "../journal/format.ts";
import type { FrameRun } from "../journal/writer.ts";
import type { OutcomeRecord } from "../journal/records.ts";
import { writeOutcomeFrame, computeOutcomeFrameBytesMax } from "../journal/outcome.ts";

/** Caps of one sync; records beyond them wait for the next. */
export const COMMIT_RECORDS_MAX = 1000;
export const COMMIT_BYTES_MAX = 256 * 1024;

const BUFFER_BYTES_MIN = 4096;

/** A record that is no outcome, alone in its buffer. */
export function encodeEventFrame(kind: number, payload: Uint8Array): FrameRun {
  const batch = new FrameBatch();
  batch.addEvent(kind, payload);
  return batch.drain();
}

/** Collects outcomes; `take` returns the collected frames and starts anew. */
export class FrameBatch {
  #bytes = Buffer.allocUnsafeSlow(BUFFER_BYTES_MIN);
  #usedBytes = 0;
  #recordCount = 0;

  get count(): number {
    return this.#recordCount;
  }

  get byteCount(): number {
    return this.#usedBytes;
  }

  get isFull(): boolean {
    return this.#recordCount >= COMMIT_RECORDS_MAX || this.#usedBytes >= COMMIT_BYTES_MAX;
  }

  addOutcome(record: OutcomeRecord): void {
    this.#ensureCapacity(computeOutcomeFrameBytesMax(record));
    this.#usedBytes = writeOutcomeFrame(record, this.#bytes, this.#usedBytes);
    this.#recordCount++;
  }

  /** Adds any other record: its payload is taken as it is. */
  addEvent(kind: number, payload: Uint8Array): void {
    this.#ensureCapacity(FRAME_HEAD_BYTES + payload.byteLength);
    writeFrameHead(this.#bytes, this.#usedBytes, kind, payload.byteLength);
    this.#bytes.set(payload, this.#usedBytes + FRAME_HEAD_BYTES);
    this.#usedBytes += FRAME_HEAD_BYTES + payload.byteLength;
    this.#recordCount++;
  }

  #ensureCapacity(byteCount: number): void {
    const needed = this.#usedBytes + byteCount;
    if (needed > this.#bytes.byteLength) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.byteLength * 2));
      this.#bytes.copy(larger, 0, 0, this.#usedBytes);
      this.#bytes = larger;
    }
  }

  /** The frames so far. Their buffer is not shared with anything else: it may be transferred. */
  drain(): FrameRun {
    const run = { bytes: this.#bytes.subarray(0, this.#usedBytes), count: this.#recordCount };
    this.#bytes = Buffer.allocUnsafeSlow(BUFFER_BYTES_MIN);
    this.#usedBytes = 0;
    this.#recordCount = 0;
    return run;
  }
}
