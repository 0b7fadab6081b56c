// Batch of journal frames, encoded back to back into one buffer, which moves between threads
// without copying. Owns the caps of one commit.
import { FRAME_BYTES, openFrame } from "../journal/format.ts";
import type { FrameRun } from "../journal/writer.ts";
import type { OutcomeRecord } from "../journal/records.ts";
import { encodeOutcomeFrame, outcomeFrameBytesMax } from "../journal/outcome.ts";

/** Caps of one sync; records beyond them wait for the next. */
export const COMMIT_RECORDS_MAX = 1000;
export const COMMIT_BYTES_MAX = 256 * 1024;

const BUFFER_BYTES_MIN = 4096;

/** Collects outcomes; `take` returns the collected frames and starts anew. */
export class FrameBatch {
  #bytes = Buffer.allocUnsafeSlow(BUFFER_BYTES_MIN);
  #used = 0;
  #size = 0;

  get count(): number {
    return this.#size;
  }

  get byteCount(): number {
    return this.#used;
  }

  get isFull(): boolean {
    return this.#size >= COMMIT_RECORDS_MAX || this.#used >= COMMIT_BYTES_MAX;
  }

  add(record: OutcomeRecord): void {
    this.#makeRoom(outcomeFrameBytesMax(record));
    this.#used = encodeOutcomeFrame(record, this.#bytes, this.#used);
    this.#size++;
  }

  /** Adds any other record: its payload is taken as it is. */
  addEvent(kind: number, payload: Uint8Array): void {
    this.#makeRoom(FRAME_BYTES + payload.byteLength);
    openFrame(this.#bytes, this.#used, kind, payload.byteLength);
    this.#bytes.set(payload, this.#used + FRAME_BYTES);
    this.#used += FRAME_BYTES + payload.byteLength;
    this.#size++;
  }

  #makeRoom(byteCount: number): void {
    const needed = this.#used + byteCount;
    if (needed > this.#bytes.byteLength) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.byteLength * 2));
      this.#bytes.copy(larger, 0, 0, this.#used);
      this.#bytes = larger;
    }
  }

  /** The frames so far. Their buffer is not shared with anything else: it may be transferred. */
  take(): FrameRun {
    const run = { bytes: this.#bytes.subarray(0, this.#used), count: this.#size };
    this.#bytes = Buffer.allocUnsafeSlow(BUFFER_BYTES_MIN);
    this.#used = 0;
    this.#size = 0;
    return run;
  }
}
