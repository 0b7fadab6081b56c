// Side of the store beside outcomes and SQL: decisions drained from the rings, kaizen's runs, the
// decision log read back, pruning, and what a rebuilt database lacks.
import type { DecisionCounts, DecisionFilter } from "../contract/decisions.ts";
import type { ReplayableLeg } from "../contract/schemas/decisions.ts";
import { DecisionBudget } from "./decisions/budget.ts";
import { DecisionProjector } from "./decisions/projector.ts";
import { DRAIN_INTERVAL_MS, RingDrain, SPOOL_BYTES_MAX } from "./decisions/ring-drain.ts";
import { countDecisions, hasSampledDecisions, readDecisions } from "./decisions/read.ts";
import { PendingCopies, DecisionSpool } from "./decisions/spool.ts";
import type { SpoolPosition } from "./decisions/segments.ts";
import { Upkeep } from "./upkeep.ts";
import { insertKaizenRun } from "./rows/events.ts";
import { inTransaction } from "./rows/outcomes.ts";
import type { Connection } from "./duckdb.ts";
import type { JournalFollower } from "./journal-follower.ts";
import type { DecisionLogMetrics } from "./messages.ts";
import type { DecisionPage, ReviewRow, StoreEvents } from "./store.ts";
import { withDeadline } from "../concurrency/deadline.ts";

/** Milliseconds before a database that failed is tried again. */
const RETRY_INTERVAL_MS = 1000;
/** While busy the spool is left alone, except for bytes this old. */
const SPOOL_AGE_MS_MAX = 5 * 60_000;
/**
 * Rest after a part of the spool, in multiples of the time it took: a third of a core, busy a
 * tenth.
 */
const REST_QUIET = 2;
const REST_BUSY = 10;
/** Segments that a stop may still turn into rows; the rest waits for the next start. */
const CLOSING_SEGMENTS_MAX = 4;
/** A query waits this long for what a rebuilt database lacks, then takes what is there. */
const RESTORE_WAIT_MS = 3000;
/** Longest that a read of the log waits for older decisions than the newest part to become rows. */
const READ_WAIT_MS = 1000;

interface StoreDecisionLogOptions {
  core: JournalFollower;
  rings: readonly SharedArrayBuffer[];
  /** Shared with the rings' writers (decisions/budget.ts); left out: there is none. */
  budget?: SharedArrayBuffer | undefined;
  /** Epoch ms of this start. */
  startMs: number;
  /** Name of this node of a cluster; left out: there is none. */
  node?: string;
  /** Days that rows of the decision log are kept. */
  decisionsKeptDays: number;
  /** Reads wait until a rebuilt database has everything. */
  waitsForRebuild?: boolean;
  /** Longest that a read waits for older decisions to become rows, ms; 1000 by default. */
  readWaitMs?: number;
  /** Whether the clock can be trusted to delete by; left out, it can. */
  mayExpire?: () => boolean;
  log?: (event: string, detail: string) => void;
}

export class StoreDecisionLog {
  /** Where decisions come from. */
  readonly ringDrain: RingDrain;
  readonly #core: JournalFollower;
  readonly #spool: DecisionSpool;
  readonly #projector: DecisionProjector;
  /** Of other nodes' decisions. */
  readonly #pendingCopies: PendingCopies;
  readonly #upkeep: Upkeep;
  readonly #waitsForRebuild: boolean;
  readonly #readWaitMs: number;
  #nextIngestAtMs = 0;

  constructor({ core, rings, startMs, budget, ...options }: StoreDecisionLogOptions) {
    this.#core = core;
    this.#spool = new DecisionSpool(core.keptDirectory, startMs);
    this.ringDrain = new RingDrain(rings, this.#spool, budget && new DecisionBudget(budget));
    this.#projector = new DecisionProjector(
      core,
      core.keptDirectory,
      options.node ?? "",
      options.log,
    );
    this.#pendingCopies = new PendingCopies(core.keptDirectory);
    this.#upkeep = new Upkeep({ ...options, core, keptDays: options.decisionsKeptDays });
    this.#waitsForRebuild = options.waitsForRebuild ?? false;
    this.#readWaitMs = options.readWaitMs ?? READ_WAIT_MS;
  }

  readMetrics(): DecisionLogMetrics {
    return {
      restoringCount: this.#projector.restoringCount,
      damagedRecords: this.#projector.damagedCount,
      segmentCount: this.#upkeep.compressedSegments.count,
      segmentBytes: this.#upkeep.compressedSegments.bytes,
      spoolBytes: this.#spool.pendingBytes,
      decisionsCounted: this.ringDrain.mergedDenialsTotal,
      spoolMark: this.#spool.writtenUpTo,
    };
  }

  /** Quiet: every second. Busy: only old bytes, and then a share of the time. */
  isIngestDue(nowMs: number): boolean {
    if (nowMs < this.#nextIngestAtMs) return false;
    if (this.#isRestoring) return true;
    if (this.#spool.pendingBytes === 0) {
      return this.#findPendingCopies(nowMs) || this.#upkeep.isDue(nowMs);
    }
    const ageMs = nowMs - this.#spool.pendingSinceMs;
    return ageMs >= (this.ringDrain.isBusy(nowMs) ? SPOOL_AGE_MS_MAX : DRAIN_INTERVAL_MS);
  }

  /** Turns a part of the spool into rows, and once a day removes expired rows. */
  async ingestPart(nowMs: number): Promise<void> {
    try {
      await this.#ingestStep(nowMs);
      if (!this.#isRestoring) await this.#upkeep.runIfDue(nowMs);
    } catch (error) {
      this.#nextIngestAtMs = nowMs + RETRY_INTERVAL_MS;
      throw error;
    }
  }

  /** Turns all waiting records into rows, so that a read sees every decision made before it. */
  async ingestAll(nowMs: number): Promise<void> {
    const startedAt = performance.now();
    for (let isFull = true; isFull;) {
      this.ringDrain.drain(nowMs, true);
      isFull = this.#spool.pendingBytes >= SPOOL_BYTES_MAX;
      // Records that arrive meanwhile are for the next call.
      for (let left = this.#spool.pendingBytes; left > 0;) {
        const taken = await this.#ingestStep(nowMs);
        left = taken === 0 ? 0 : left - taken;
      }
    }
    const isInTime = () => this.#waitsForRebuild || performance.now() - startedAt < RESTORE_WAIT_MS;
    while (this.#isRestoring && isInTime()) await this.#ingestStep(nowMs);
    this.#pendingCopies.scan(this.#projector.progress, nowMs);
    while (this.#pendingCopies.peekNext() !== undefined) await this.#ingestStep(nowMs);
    if (!this.#isRestoring) await this.#upkeep.runIfDue(nowMs);
  }

  /**
   * Turns waiting records into rows, the newest first. The newest part is always waited for: the database may
   * still be opening, or an apply may be in front. Older parts get `readWaitMs`, so that a read does not wait for
   * everything that a flood left.
   * @returns whether every decision made before the call is a row now.
   */
  async #ingestNewestFirst(nowMs: number): Promise<boolean> {
    try {
      this.ringDrain.drain(nowMs, true);
    } catch {
      // The loop's own attempts log it.
    }
    const mark = this.#spool.writtenUpTo;
    if (!(await this.#tryIngestNewest(nowMs, mark))) return false;
    const deadline = new AbortController();
    const ingest = this.#ingestUntilDeadline(nowMs, mark, deadline.signal);
    await withDeadline(ingest, this.#readWaitMs, () => deadline.abort());
    return !this.#hasPendingBefore(mark);
  }

  /** Whether decisions before `mark`, or those that a rebuilt database lacks, are no rows yet. */
  #hasPendingBefore(mark: SpoolPosition): boolean {
    return this.#isRestoring || this.#spool.findNewestPendingBefore(mark) !== undefined;
  }

  /** One part. @returns false when the database refuses: the read returns the rows there are. */
  async #tryIngestNewest(nowMs: number, mark: SpoolPosition): Promise<boolean> {
    try {
      if (this.#hasPendingBefore(mark)) await this.#ingestStep(nowMs, mark);
      return true;
    } catch {
      // The next ingest logs why.
      return false;
    }
  }

  async #ingestUntilDeadline(
    nowMs: number,
    mark: SpoolPosition,
    deadline: AbortSignal,
  ): Promise<void> {
    const startedAt = performance.now();
    while (!deadline.aborted && this.#hasPendingBefore(mark)) {
      const isDone = await this.#tryIngestNewest(nowMs + performance.now() - startedAt, mark);
      if (!isDone) return;
    }
  }

  /** Before a stop: the rings are emptied, a long spool is left for the next start. */
  async close(nowMs: number): Promise<void> {
    this.ringDrain.drain(nowMs, true);
    for (let part = 0; part < CLOSING_SEGMENTS_MAX && this.#spool.pendingBytes > 0; part += 1) {
      await this.#ingestStep(nowMs);
    }
    this.#spool.close();
  }

  /** Whether the open database lacks something, or has not been looked at yet. */
  get #isRestoring(): boolean {
    return this.#projector.isStale || this.#projector.restoringCount > 0;
  }

  /**
   * One step: what waits in the spool, the newest before `mark` or without one the oldest; else what
   * a rebuilt database lacks.
   * @returns the bytes that it took off the spool.
   */
  async #ingestStep(nowMs: number, mark?: SpoolPosition): Promise<number> {
    const startedAt = performance.now();
    let taken = 0;
    await this.#core.write(async (writer) => {
      if (this.#projector.isStale) {
        await this.#projector.loadProgress(writer);
        this.#spool.restoreProgress(this.#projector.progress.bytesByName);
        this.#pendingCopies.reset();
        this.#upkeep.reset();
      }
      const next =
        mark === undefined
          ? this.#spool.findOldestPending()
          : this.#spool.findNewestPendingBefore(mark);
      if (next === undefined) {
        if (mark === undefined && (await this.#ingestCopy(writer, nowMs))) return;
        await this.#projector.restoreNextFile(writer);
        return;
      }
      const { segment, from, size } = next;
      // This process has written whole blocks up to `size`: what does not verify will not come.
      const step = await this.#projector.projectSegment(writer, segment, from, size);
      this.#spool.markIngested(segment.name, step.toByte, nowMs);
      this.#upkeep.noteOldestDecision(step.oldestMs, nowMs);
      taken = step.toByte - from;
    });
    for (const each of [this.#spool, this.#pendingCopies]) {
      const keptBytes = each.compressOne();
      if (keptBytes > 0) this.#upkeep.addCompressedSegment(keptBytes);
    }
    const tookMs = performance.now() - startedAt;
    this.#nextIngestAtMs =
      nowMs + tookMs * (1 + (this.ringDrain.isBusy(nowMs) ? REST_BUSY : REST_QUIET));
    return taken;
  }

  /** Whether other nodes' decisions wait; looks for them now and then. */
  #findPendingCopies(nowMs: number): boolean {
    if (this.#pendingCopies.isScanDue(nowMs))
      this.#pendingCopies.scan(this.#projector.progress, nowMs);
    return this.#pendingCopies.peekNext() !== undefined;
  }

  /** @returns whether there was one. */
  async #ingestCopy(writer: Connection, nowMs: number): Promise<boolean> {
    const next = this.#pendingCopies.peekNext();
    if (next === undefined) return false;
    // Whole blocks alone: the rest of the last one may still come.
    const step = await this.#projector.projectSegment(writer, next.segment, next.from, undefined);
    this.#pendingCopies.markIngested(next);
    this.#upkeep.noteOldestDecision(step.oldestMs, nowMs);
    return true;
  }

  /** Commits one state of a kaizen run. */
  async recordRun(event: StoreEvents["kaizen_runs"]): Promise<void> {
    await this.#core.write((writer) => inTransaction(writer, () => insertKaizenRun(writer, event)));
  }

  /** Reads the log in a lane of its own: behind no query, and behind no flood of decisions. */
  async readDecisionPage(filter: DecisionFilter, nowMs: number): Promise<DecisionPage> {
    const isComplete = await this.#ingestNewestFirst(nowMs);
    return this.#core.logQueue.read(async (reader) => {
      const legs = await readDecisions(reader, filter);
      const isSampled = await isPageOfSample(reader, filter, legs);
      return { legs, isComplete, isSampled };
    });
  }

  /** The same lane: what is listed is what is counted. */
  async countDecisions(filter: DecisionFilter, nowMs: number): Promise<DecisionCounts> {
    const isSettled = await this.#ingestNewestFirst(nowMs);
    const counts = await this.#core.logQueue.read((reader) => countDecisions(reader, filter));
    return { ...counts, isComplete: counts.isComplete && isSettled };
  }

  async listReviews(filter: DecisionFilter, isOpen: boolean, nowMs: number): Promise<ReviewRow[]> {
    await this.#ingestNewestFirst(nowMs);
    return this.#core.logQueue.read(async (connection) => {
      const tenant = filter.tenant === undefined ? [] : [filter.tenant];
      const rows = await connection.rows(
        `SELECT to_json(r) FROM reviews AS r WHERE true
         ${filter.tenant === undefined ? "" : "AND tenant = $1::VARCHAR"}
         ${isOpen ? "AND resolution IS NULL" : ""}
         ORDER BY evaluated_at DESC LIMIT ${filter.limit}`,
        tenant,
      );
      return rows.map(([text]) => JSON.parse(String(text)) as ReviewRow);
    });
  }
}

/** Whether decisions between those of a page have no entry; of one decision by its id there are none. */
async function isPageOfSample(
  reader: Connection,
  filter: DecisionFilter,
  legs: readonly ReplayableLeg[],
): Promise<boolean> {
  if (filter.requestId !== undefined) return false;
  if (legs.some(({ weight }) => weight === null)) return true;
  const last = legs.length < filter.limit ? undefined : legs.at(-1);
  const sinceMs = last === undefined ? filter.sinceMs : Date.parse(last.evaluated_at);
  return hasSampledDecisions(reader, { ...filter, ...(sinceMs === undefined ? {} : { sinceMs }) });
}
