// Queue of records towards the ledger thread, and of answers on their way back. Appends of one turn
// of the event loop leave as one message; a caller with whole frames sends them as a message of its
// own and gets one answer for all of them. Bounded: an append beyond the bound is refused at once.
import { ServiceFault } from "../contract/faults.ts";
import type { OutcomeReceipt } from "../contract/schemas/outcomes.ts";
import type { EncodedFrames, FrameReceipts } from "./ledger.ts";
import { type AppendMessage, NUMBERS_PER_RECEIPT, type ReceiptsMessage } from "./messages.ts";
import { type AwaitedOutcome, buildReceipt } from "./receipts.ts";
import { DURATION_BOUNDS_SEC, Histograms } from "../platform/histogram.ts";
import { FrameBatch } from "./frame-batch.ts";
import { VERDICT_DUPLICATE } from "./replay-guard.ts";

/** Outcomes accepted and not yet acknowledged: by count and by bytes. */
export const QUEUE_RECORDS_MAX = 20_000;
export const QUEUE_BYTES_MAX = 32 * 1024 * 1024;
/** Room on top for records that must not be turned away: audits, revocations, policies, configs. */
export const PRIORITY_RECORDS_MAX = 2000;
export const PRIORITY_BYTES_MAX = 16 * 1024 * 1024;

const MS_PER_S = 1000;

interface PendingAppend extends AwaitedOutcome {
  resolve: (receipt: OutcomeReceipt) => void;
  reject: (error: Error) => void;
}

/** One caller that waits for all records of a message. */
interface PendingFrames {
  readonly count: number;
  readonly resolve: (receipts: FrameReceipts) => void;
  readonly reject: (error: Error) => void;
}

interface SentAppend {
  readonly byteCount: number;
  readonly count: number;
  /** Monotonic. */
  readonly sentMs: number;
  readonly framed: PendingFrames | undefined;
}

export class AppendQueue {
  /** Posts a message to the thread; its buffer is transferred. */
  readonly #post: (message: AppendMessage) => void;
  /** Fault for every further append; undefined while the ledger takes appends. */
  readonly #findEndFault: () => ServiceFault | undefined;
  readonly #clock: () => number;
  /** In order of append; `#answered` of them at the front are done. */
  #pending: PendingAppend[] = [];
  #answeredCount = 0;
  #batch = new FrameBatch();
  #isFlushDue = false;
  /** Seconds from sending to the answer, a count for each record. */
  readonly durationsSec = new Histograms(1, DURATION_BOUNDS_SEC);
  /** Messages not yet answered, in order. */
  #unansweredMessages: SentAppend[] = [];
  #framedCount = 0;
  #queuedBytes = 0;

  constructor(
    post: (message: AppendMessage) => void,
    ended: () => ServiceFault | undefined,
    clock: () => number,
  ) {
    this.#post = post;
    this.#findEndFault = ended;
    this.#clock = clock;
  }

  /** Records accepted and not yet answered. */
  get count(): number {
    return this.#pending.length - this.#answeredCount + this.#framedCount;
  }

  /**
   * Queues one record; resolves with its receipt. `isFirst`: it may use the room on top.
   * @throws ServiceFault as `receiptOf`, `overloaded` when the queue is full, or the fault of
   *   `ended`.
   */
  addRecord(
    { outcomeId, signature, claimedGradeIndex, attestation }: AwaitedOutcome,
    add: (batch: FrameBatch) => void,
    isFirst = false,
  ): Promise<OutcomeReceipt> {
    return new Promise((resolve, reject) => {
      const refusal = this.#findRefusal(isFirst);
      if (refusal !== undefined) {
        reject(refusal);
        return;
      }
      add(this.#batch);
      const awaited = { outcomeId, signature, claimedGradeIndex, attestation };
      this.#pending.push({ ...awaited, resolve, reject });
      if (this.#batch.isFull) this.flush();
      else this.#scheduleFlush();
    });
  }

  /** Queues frames that share one commit; earlier appends stay before them. Rejects as `add`. */
  addFrames(frames: EncodedFrames): Promise<FrameReceipts> {
    return new Promise((resolve, reject) => {
      const refusal = this.#findRefusal();
      if (refusal !== undefined) {
        reject(refusal);
        return;
      }
      this.flush();
      const { count } = frames;
      this.#framedCount += count;
      this.#send(frames, { count, resolve, reject });
    });
  }

  /** Sends the gathered records. */
  flush(): void {
    if (this.#batch.count > 0) this.#send(this.#batch.drain(), undefined);
  }

  /** Answers the oldest message. */
  settleOldestMessage({ numbers, duplicateIds }: ReceiptsMessage): void {
    const { byteCount, count, sentMs, framed } = this.#unansweredMessages.shift() as SentAppend;
    this.durationsSec.add(0, (performance.now() - sentMs) / MS_PER_S, count);
    this.#queuedBytes -= byteCount;
    if (framed !== undefined) {
      this.#framedCount -= framed.count;
      framed.resolve({ numbers, duplicateIds });
      return;
    }
    let duplicate = 0;
    for (let at = 0; at < numbers.length; at += NUMBERS_PER_RECEIPT) {
      const verdict = numbers[at]!;
      const lsn = numbers[at + 1]!;
      const recordedAtMs = numbers[at + 2]!;
      const firstOutcomeId = verdict === VERDICT_DUPLICATE ? (duplicateIds[duplicate++] ?? "") : "";
      const waiting = this.#pending[this.#answeredCount++] as PendingAppend;
      try {
        waiting.resolve(buildReceipt(waiting, { verdict, lsn, recordedAtMs, firstOutcomeId }));
      } catch (error) {
        waiting.reject(error as Error);
      }
    }
    this.#dropAnswered();
  }

  /** Rejects all waiting callers. */
  rejectAll(why: Error): void {
    const framed = this.#unansweredMessages.splice(0).flatMap((sent) => sent.framed ?? []);
    const waiting = [...this.#pending.slice(this.#answeredCount), ...framed];
    this.#pending = [];
    this.#answeredCount = 0;
    this.#framedCount = 0;
    for (const entry of waiting) entry.reject(why);
  }

  #findRefusal(isFirst = false): ServiceFault | undefined {
    const isOver =
      this.count >= QUEUE_RECORDS_MAX + (isFirst ? PRIORITY_RECORDS_MAX : 0) ||
      this.#queuedBytes + this.#batch.byteCount >=
        QUEUE_BYTES_MAX + (isFirst ? PRIORITY_BYTES_MAX : 0);
    const overloaded = () => new ServiceFault("overloaded", "too many outcomes are waiting");
    return this.#findEndFault() ?? (isOver ? overloaded() : undefined);
  }

  #scheduleFlush(): void {
    if (this.#isFlushDue) return;
    this.#isFlushDue = true;
    // The check phase comes after all callbacks of this turn: one message for all of them.
    setImmediate(() => {
      this.#isFlushDue = false;
      if (this.#findEndFault() === undefined) this.flush();
    });
  }

  #send({ bytes, count }: EncodedFrames, framed: PendingFrames | undefined): void {
    const byteCount = bytes.byteLength;
    this.#queuedBytes += byteCount;
    this.#unansweredMessages.push({ byteCount, count, sentMs: performance.now(), framed });
    const frames = bytes.buffer as ArrayBuffer;
    const nowMs = this.#clock();
    this.#post({ kind: "append", frames, byteCount, recordCount: count, nowMs });
  }

  /** Drops answered entries once they are most of the list: constant work per entry. */
  #dropAnswered(): void {
    if (this.#answeredCount * 2 < this.#pending.length) return;
    this.#pending = this.#pending.slice(this.#answeredCount);
    this.#answeredCount = 0;
  }
}
