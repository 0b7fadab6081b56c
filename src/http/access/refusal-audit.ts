// Audit events of refused authorisations, in the journal. The journal is kept for good, so refused
// callers must not be able to fill it: the first refusal of a source is recorded at once and then
// its count every ten minutes, and all sources together have a daily budget of records. Refusals
// beyond the separate sources are counted as one.
import { RefusalCounts, type RefusalBatch, type RefusalCount, sourceKey } from "./refusals.ts";
import type { Labelled } from "../metrics/figures.ts";
import type { Log } from "../../platform/log.ts";

/** Least time between two records of one source. */
export const REPEAT_MS = 600_000;
/** Burst of records, and the time in which another one is earned: 8,640 a day. */
export const RECORDS_BURST = 100;
export const RECORD_EARNED_MS = 10_000;
/** Sources remembered between their records. */
export const SOURCES_MAX = 1024;
/** Interval between checks of waiting sources. */
const TICK_MS = 30_000;

export interface RefusalAuditOptions {
  /** Makes an audit event durable. */
  readonly append: (payload: Uint8Array) => Promise<unknown>;
  /** False while the disk needs its space otherwise. */
  readonly mayWrite: () => boolean;
  /** Epoch ms. */
  readonly clock: () => number;
  readonly log: Log;
}

/** A source with its unrecorded refusals. */
interface Held {
  waiting: RefusalCount | undefined;
  recordedMs: number;
}

interface Overflow {
  count: number;
  firstMs: number;
  lastMs: number;
}

export class RefusalAudit {
  /** Refusal counts of the main thread. */
  readonly counts: RefusalCounts;
  readonly #options: RefusalAuditOptions;
  readonly #byReason = new Map<string, number>();
  readonly #sources = new Map<string, Held>();
  readonly #timer: NodeJS.Timeout;
  readonly #writing = new Set<Promise<void>>();
  #overflow: Overflow | undefined;
  #overflowRecordedMs = Number.NEGATIVE_INFINITY;
  #budget = RECORDS_BURST;
  #budgetMs: number;

  constructor(options: RefusalAuditOptions, gatherMs?: number) {
    this.#options = options;
    this.#budgetMs = options.clock();
    this.counts = new RefusalCounts((batch) => this.take(batch), gatherMs);
    this.#timer = setInterval(() => this.record(), TICK_MS).unref();
  }

  /** Takes the refusals of a thread. */
  take({ counts, overflow }: RefusalBatch): void {
    for (const count of counts) {
      this.#hold(count);
      this.#tally(count.reason, count.count);
    }
    if (overflow > 0) {
      this.#tally("other", overflow);
      const nowMs = this.#options.clock();
      this.#countOverflow({ count: overflow, firstMs: nowMs, lastMs: nowMs });
    }
    this.record();
  }

  /** Refusals since the start by reason. */
  figure(): Labelled[] {
    return [...this.#byReason].map(([reason, value]) => ({ labels: [reason], value }));
  }

  /** Writes the records that are due and within the budget. */
  record(): void {
    const nowMs = this.#options.clock();
    this.#earn(nowMs);
    if (!this.#options.mayWrite()) return;
    for (const [key, held] of this.#sources) {
      if (nowMs - held.recordedMs < REPEAT_MS) continue;
      const { waiting } = held;
      if (waiting !== undefined && this.#budget >= 1) {
        this.#budget -= 1;
        this.#write(eventOf(waiting, nowMs));
        this.#sources.set(key, { waiting: undefined, recordedMs: nowMs });
      } else if (waiting === undefined || nowMs - waiting.firstMs >= REPEAT_MS * 2) {
        // Makes room for others; refusals without a record go into the common count.
        if (waiting !== undefined) this.#countOverflow(waiting);
        this.#sources.delete(key);
      }
    }
    this.#recordOverflow(nowMs);
  }

  /** Writes the rest; refusals beyond the budget as one count. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.counts.flush();
    for (const held of this.#sources.values()) held.recordedMs = Number.NEGATIVE_INFINITY;
    this.record();
    for (const { waiting } of this.#sources.values()) {
      if (waiting !== undefined) this.#countOverflow(waiting);
    }
    this.#sources.clear();
    this.#overflowRecordedMs = Number.NEGATIVE_INFINITY;
    this.record();
    await Promise.all(this.#writing);
  }

  #tally(reason: string, count: number): void {
    this.#byReason.set(reason, (this.#byReason.get(reason) ?? 0) + count);
  }

  #hold(count: RefusalCount): void {
    const key = sourceKey(count);
    const held = this.#sources.get(key);
    if (held?.waiting !== undefined) {
      held.waiting.count += count.count;
      held.waiting.lastMs = count.lastMs;
    } else if (held !== undefined) {
      held.waiting = { ...count };
    } else if (this.#sources.size < SOURCES_MAX) {
      const recordedMs = Number.NEGATIVE_INFINITY;
      this.#sources.set(key, { waiting: { ...count }, recordedMs });
    } else this.#countOverflow(count);
  }

  #countOverflow({ count, firstMs, lastMs }: Overflow): void {
    this.#overflow ??= { count: 0, firstMs, lastMs };
    this.#overflow.count += count;
    this.#overflow.lastMs = lastMs;
  }

  /** Outside the budget, which is used up when there are any. */
  #recordOverflow(nowMs: number): void {
    if (this.#overflow === undefined || nowMs - this.#overflowRecordedMs < REPEAT_MS) return;
    const source = { reason: "many" as const, address: "", keyId: null, tenant: null };
    this.#write(eventOf({ ...source, route: "", requestId: "", ...this.#overflow }, nowMs));
    this.#overflow = undefined;
    this.#overflowRecordedMs = nowMs;
  }

  #earn(nowMs: number): void {
    const earned = Math.max(0, nowMs - this.#budgetMs) / RECORD_EARNED_MS;
    this.#budget = Math.min(RECORDS_BURST, this.#budget + earned);
    this.#budgetMs = nowMs;
  }

  #write(event: RefusalEvent): void {
    const { append, log } = this.#options;
    const { event: name, at_ms: _, ...fields } = event;
    log.warn(name, fields);
    const written = append(Buffer.from(JSON.stringify(event))).then(
      () => undefined,
      (error: unknown) =>
        log.error("a denial could not be put on record", { error: String(error) }),
    );
    this.#writing.add(written);
    void written.then(() => this.#writing.delete(written));
  }
}

type RefusalEvent = ReturnType<typeof eventOf>;

/** Journal payload; `actor` is the caller's key, where its secret was proved. */
function eventOf(
  refusal: Omit<RefusalCount, "reason"> & { reason: RefusalCount["reason"] | "many" },
  nowMs: number,
) {
  const { reason, address, keyId, tenant, route, requestId, count, firstMs, lastMs } = refusal;
  const isProved = reason !== "wrong_secret";
  return {
    event: "access.denied",
    at_ms: nowMs,
    reason,
    address: address === "" ? null : address,
    actor: isProved ? keyId : null,
    key_id: keyId,
    tenant,
    route: route === "" ? null : route,
    request_id: requestId === "" ? null : requestId,
    count,
    first_at: new Date(firstMs).toISOString(),
    last_at: new Date(lastMs).toISOString(),
  };
}
