// Audit events of refused authorisations, in the journal. The journal is kept for good, so refused
// callers must not be able to fill it: the first refusal of a source is recorded at once and then
// its count every ten minutes, and all sources together have a daily budget of records. Refusals
// beyond the separate sources are counted as one.
import {
  RefusalCollector,
  type RefusalBatch,
  type RefusalCount,
  formatSourceKey,
} from "./refusals.ts";
import type { LabelledMetricValue } from "../metrics/metric-values.ts";
import type { Log } from "../../platform/log.ts";

/** Least time between two records of one source. */
export const RECORD_INTERVAL_MS = 600_000;
/** Burst of records, and the time in which another one is earned: 8,640 a day. */
export const RECORDS_BURST = 100;
export const RECORD_REFILL_MS = 10_000;
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
interface RefusalSourceState {
  unrecorded: RefusalCount | undefined;
  recordedAtMs: number;
}

interface RefusalOverflow {
  count: number;
  firstMs: number;
  lastMs: number;
}

export class RefusalAudit {
  /** Refusal counts of the main thread. */
  readonly counts: RefusalCollector;
  readonly #options: RefusalAuditOptions;
  readonly #byReason = new Map<string, number>();
  readonly #sources = new Map<string, RefusalSourceState>();
  readonly #timer: NodeJS.Timeout;
  readonly #pendingWrites = new Set<Promise<void>>();
  #overflow: RefusalOverflow | undefined;
  #overflowRecordedAtMs = Number.NEGATIVE_INFINITY;
  #budget = RECORDS_BURST;
  #budgetRefilledAtMs: number;

  constructor(options: RefusalAuditOptions, gatherMs?: number) {
    this.#options = options;
    this.#budgetRefilledAtMs = options.clock();
    this.counts = new RefusalCollector((batch) => this.addBatch(batch), gatherMs);
    this.#timer = setInterval(() => this.writeDueRecords(), TICK_MS).unref();
  }

  /** Takes the refusals of a thread. */
  addBatch({ counts, overflow }: RefusalBatch): void {
    for (const count of counts) {
      this.#addToSource(count);
      this.#addToReason(count.reason, count.count);
    }
    if (overflow > 0) {
      this.#addToReason("other", overflow);
      const nowMs = this.#options.clock();
      this.#addToOverflow({ count: overflow, firstMs: nowMs, lastMs: nowMs });
    }
    this.writeDueRecords();
  }

  /** Refusals since the start by reason. */
  countByReason(): LabelledMetricValue[] {
    return [...this.#byReason].map(([reason, value]) => ({ labels: [reason], value }));
  }

  /** Writes the records that are due and within the budget. */
  writeDueRecords(): void {
    const nowMs = this.#options.clock();
    this.#refillBudget(nowMs);
    if (!this.#options.mayWrite()) return;
    for (const [key, held] of this.#sources) {
      if (nowMs - held.recordedAtMs < RECORD_INTERVAL_MS) continue;
      const { unrecorded } = held;
      if (unrecorded !== undefined && this.#budget >= 1) {
        this.#budget -= 1;
        this.#writeEvent(createRefusalEvent(unrecorded, nowMs));
        this.#sources.set(key, { unrecorded: undefined, recordedAtMs: nowMs });
      } else if (unrecorded === undefined || nowMs - unrecorded.firstMs >= RECORD_INTERVAL_MS * 2) {
        // Makes room for others; refusals without a record go into the common count.
        if (unrecorded !== undefined) this.#addToOverflow(unrecorded);
        this.#sources.delete(key);
      }
    }
    this.#writeOverflow(nowMs);
  }

  /** Writes the rest; refusals beyond the budget as one count. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.counts.flush();
    for (const held of this.#sources.values()) held.recordedAtMs = Number.NEGATIVE_INFINITY;
    this.writeDueRecords();
    for (const { unrecorded } of this.#sources.values()) {
      if (unrecorded !== undefined) this.#addToOverflow(unrecorded);
    }
    this.#sources.clear();
    this.#overflowRecordedAtMs = Number.NEGATIVE_INFINITY;
    this.writeDueRecords();
    await Promise.all(this.#pendingWrites);
  }

  #addToReason(reason: string, count: number): void {
    this.#byReason.set(reason, (this.#byReason.get(reason) ?? 0) + count);
  }

  #addToSource(count: RefusalCount): void {
    const key = formatSourceKey(count);
    const held = this.#sources.get(key);
    if (held?.unrecorded !== undefined) {
      held.unrecorded.count += count.count;
      held.unrecorded.lastMs = count.lastMs;
    } else if (held !== undefined) {
      held.unrecorded = { ...count };
    } else if (this.#sources.size < SOURCES_MAX) {
      const recordedMs = Number.NEGATIVE_INFINITY;
      this.#sources.set(key, { unrecorded: { ...count }, recordedAtMs: recordedMs });
    } else this.#addToOverflow(count);
  }

  #addToOverflow({ count, firstMs, lastMs }: RefusalOverflow): void {
    this.#overflow ??= { count: 0, firstMs, lastMs };
    this.#overflow.count += count;
    this.#overflow.lastMs = lastMs;
  }

  /** Outside the budget, which is used up when there are any. */
  #writeOverflow(nowMs: number): void {
    if (this.#overflow === undefined || nowMs - this.#overflowRecordedAtMs < RECORD_INTERVAL_MS)
      return;
    const source = { reason: "many" as const, address: "", keyId: null, tenant: null };
    this.#writeEvent(
      createRefusalEvent({ ...source, route: "", requestId: "", ...this.#overflow }, nowMs),
    );
    this.#overflow = undefined;
    this.#overflowRecordedAtMs = nowMs;
  }

  #refillBudget(nowMs: number): void {
    const earned = Math.max(0, nowMs - this.#budgetRefilledAtMs) / RECORD_REFILL_MS;
    this.#budget = Math.min(RECORDS_BURST, this.#budget + earned);
    this.#budgetRefilledAtMs = nowMs;
  }

  #writeEvent(event: RefusalEvent): void {
    const { append, log } = this.#options;
    const { event: name, at_ms: _, ...fields } = event;
    log.warn(name, fields);
    const written = append(Buffer.from(JSON.stringify(event))).then(
      () => undefined,
      (error: unknown) =>
        log.error("a denial could not be put on record", { error: String(error) }),
    );
    this.#pendingWrites.add(written);
    void written.then(() => this.#pendingWrites.delete(written));
  }
}

type RefusalEvent = ReturnType<typeof createRefusalEvent>;

/** Journal payload; `actor` is the caller's key, where its secret was proved. */
function createRefusalEvent(
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
