// Queue of assessments towards the ledger thread. The verdict that made one does not wait for it: what
// finds no room, or a disk that is nearly full, is dropped and counted. One message is under way at a
// time, so that a burst shares its syncs.
import type { Assessment } from "../contract/assessments.ts";
import { encodeAssessment } from "../journal/assessments.ts";
import { FRAME_KINDS } from "../journal/format.ts";
import { FrameBatch } from "./frame-batch.ts";
import type { FrameLog } from "./ledger.ts";
import { NUMBERS_PER_RECEIPT } from "./messages.ts";
import { VERDICT_DUPLICATE, VERDICT_RECORDED } from "./replay-guard.ts";

/** Bounded by the size of one commit (FrameBatch), and as much again under way. */
export class AssessmentQueue {
  readonly #log: Pick<FrameLog, "appendFrames">;
  #batch = new FrameBatch();
  #sending: Promise<void> | undefined;
  #isSendDue = false;
  #isClosed = false;
  #recorded = 0;
  /** Of texts that were counted before. */
  #duplicates = 0;
  #dropped = 0;

  constructor(log: Pick<FrameLog, "appendFrames">) {
    this.#log = log;
  }

  /** Fates of the assessments since the start, under the names of their metrics. */
  gauges(): Record<string, number> {
    return {
      assessments_recorded_total: this.#recorded,
      assessments_repeated_total: this.#duplicates,
      assessments_dropped_total: this.#dropped,
    };
  }

  /** Takes one assessment; never waits and never throws for want of room. */
  enqueue(assessment: Assessment): void {
    if (this.#isClosed || this.#batch.isFull) {
      this.#dropped++;
      return;
    }
    this.#batch.addEvent(FRAME_KINDS.assessment, encodeAssessment(assessment));
    this.#scheduleSend();
  }

  /** Sends what waits; resolves once it is answered. Later ones are dropped. */
  async close(): Promise<void> {
    this.#isClosed = true;
    while (this.#sending !== undefined || this.#batch.count > 0) {
      this.#send();
      await this.#sending;
    }
  }

  #scheduleSend(): void {
    if (this.#isSendDue || this.#sending !== undefined) return;
    this.#isSendDue = true;
    setImmediate(() => {
      this.#isSendDue = false;
      this.#send();
    });
  }

  #send(): void {
    if (this.#sending !== undefined || this.#batch.count === 0) return;
    this.#sending = this.#append().finally(() => {
      this.#sending = undefined;
      if (this.#batch.count > 0) this.#scheduleSend();
    });
  }

  async #append(): Promise<void> {
    const frames = this.#batch.drain();
    const { count } = frames;
    try {
      const { numbers } = await this.#log.appendFrames(frames);
      for (let at = 0; at < numbers.length; at += NUMBERS_PER_RECEIPT)
        this.#countVerdict(numbers[at]!);
    } catch {
      // Full, or failed: then the ledger itself says so, louder.
      this.#dropped += count;
    }
  }

  #countVerdict(verdict: number): void {
    if (verdict === VERDICT_RECORDED) this.#recorded++;
    else if (verdict === VERDICT_DUPLICATE) this.#duplicates++;
    else this.#dropped++;
  }
}
