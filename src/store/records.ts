// Side of the store beside outcomes and SQL: decisions drained from the rings, kaizen's runs, the
// decision log read back, pruning, and what a rebuilt database lacks.
import type { DecisionCounts, DecisionFilter } from "../contract/decisions.ts";
import { DecisionFollower } from "./decisions/follower.ts";
import { DRAIN_INTERVAL_MS, RingDrain, SPOOL_BYTES_MAX } from "./decisions/ring-drain.ts";
import { countDecisions, readDecisions } from "./decisions/read.ts";
import { CopiedSegments } from "./decisions/copied.ts";
import type { SpoolMark } from "./decisions/segments.ts";
import { DecisionSpool } from "./decisions/spool.ts";
import { Upkeep } from "./upkeep.ts";
import { insertRun } from "./rows/events.ts";
import { inTransaction } from "./rows/outcomes.ts";
import type { Connection } from "./duckdb.ts";
import type { StoreCore } from "./core.ts";
import type { LogFigures } from "./messages.ts";
import type { DecisionPage, Review, StoreEvents } from "./store.ts";
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

export interface StoreRecordsOptions {
  core: StoreCore;
  rings: readonly SharedArrayBuffer[];
  /** Epoch ms of this start. */
  startMs: number;
  /** Name of this node of a cluster; left out: there is none. */
  node?: string;
  /** Days that rows of the decision log are kept. */
  decisionsKeptDays: number;
  /** Reads wait until a rebuilt database has everything. */
  isPatient?: boolean;
  /** Longest that a read waits for older decisions to become rows, ms; 1000 by default. */
  readWaitMs?: number;
  /** Whether the clock can be trusted to delete by; left out, it can. */
  mayExpire?: () => boolean;
  log?: (event: string, detail: string) => void;
}

export class StoreRecords {
  /** Where decisions come from. */
  readonly rings: RingDrain;
  readonly #core: StoreCore;
  readonly #spool: DecisionSpool;
  readonly #follower: DecisionFollower;
  /** Of other nodes' decisions. */
  readonly #copied: CopiedSegments;
  readonly #upkeep: Upkeep;
  readonly #isPatient: boolean;
  readonly #readWaitMs: number;
  #ingestAtMs = 0;

  constructor({ core, rings, startMs, ...options }: StoreRecordsOptions) {
    this.#core = core;
    this.#spool = new DecisionSpool(core.keptDirectory, startMs);
    this.rings = new RingDrain(rings, this.#spool);
    this.#follower = new DecisionFollower(
      core,
      core.keptDirectory,
      options.node ?? "",
      options.log,
    );
    this.#copied = new CopiedSegments(core.keptDirectory);
    this.#upkeep = new Upkeep({ ...options, core, keptDays: options.decisionsKeptDays });
    this.#isPatient = options.isPatient ?? false;
    this.#readWaitMs = options.readWaitMs ?? READ_WAIT_MS;
  }

  gauges(): LogFigures {
    return {
      restoringCount: this.#follower.restoringCount,
      damagedRecords: this.#follower.damagedCount,
      segmentCount: this.#upkeep.kept.count,
      segmentBytes: this.#upkeep.kept.bytes,
      spoolBytes: this.#spool.waitingBytes,
      decisionsCounted: this.rings.countedTotal,
      spoolMark: this.#spool.mark,
    };
  }

  /** Quiet: every second. Busy: only old bytes, and then a share of the time. */
  isIngestDue(nowMs: number): boolean {
    if (nowMs < this.#ingestAtMs) return false;
    if (this.#isRestoring) return true;
    if (this.#spool.waitingBytes === 0) {
      return this.#areCopiesDue(nowMs) || this.#upkeep.isDue(nowMs);
    }
    const ageMs = nowMs - this.#spool.waitingSinceMs;
    return ageMs >= (this.rings.isBusy(nowMs) ? SPOOL_AGE_MS_MAX : DRAIN_INTERVAL_MS);
  }

  /** Turns a part of the spool into rows, and once a day removes expired rows. */
  async ingest(nowMs: number): Promise<void> {
    try {
      await this.#ingestOne(nowMs);
      if (!this.#isRestoring) await this.#upkeep.run(nowMs);
    } catch (error) {
      this.#ingestAtMs = nowMs + RETRY_INTERVAL_MS;
      throw error;
    }
  }

  /** Turns all waiting records into rows, so that a read sees every decision made before it. */
  async settle(nowMs: number): Promise<void> {
    const startedAt = performance.now();
    for (let isFull = true; isFull;) {
      this.rings.empty(nowMs, true);
      isFull = this.#spool.waitingBytes >= SPOOL_BYTES_MAX;
      // Records that arrive meanwhile are for the next call.
      for (let left = this.#spool.waitingBytes; left > 0;) {
        const taken = await this.#ingestOne(nowMs);
        left = taken === 0 ? 0 : left - taken;
      }
    }
    const isInTime = () => this.#isPatient || performance.now() - startedAt < RESTORE_WAIT_MS;
    while (this.#isRestoring && isInTime()) await this.#ingestOne(nowMs);
    this.#copied.look(this.#follower.taken, nowMs);
    while (this.#copied.next() !== undefined) await this.#ingestOne(nowMs);
    if (!this.#isRestoring) await this.#upkeep.run(nowMs);
  }

  /**
   * Turns waiting records into rows, the newest first. The newest part is always waited for: the database may
   * still be opening, or an apply may be in front. Older parts get `readWaitMs`, so that a read does not wait for
   * everything that a flood left.
   * @returns whether every decision made before the call is a row now.
   */
  async #settleNewest(nowMs: number): Promise<boolean> {
    try {
      this.rings.empty(nowMs, true);
    } catch {
      // The loop's own attempts log it.
    }
    const mark = this.#spool.mark;
    if (!(await this.#ingestNewest(nowMs, mark))) return false;
    const deadline = new AbortController();
    const ingest = this.#ingestOlder(nowMs, mark, deadline.signal);
    await withDeadline(ingest, this.#readWaitMs, () => deadline.abort());
    return !this.#isLacking(mark);
  }

  /** Whether decisions before `mark`, or those that a rebuilt database lacks, are no rows yet. */
  #isLacking(mark: SpoolMark): boolean {
    return this.#isRestoring || this.#spool.nextBefore(mark) !== undefined;
  }

  /** One part. @returns false when the database refuses: the read returns the rows there are. */
  async #ingestNewest(nowMs: number, mark: SpoolMark): Promise<boolean> {
    try {
      if (this.#isLacking(mark)) await this.#ingestOne(nowMs, mark);
      return true;
    } catch {
      // The next ingest logs why.
      return false;
    }
  }

  async #ingestOlder(nowMs: number, mark: SpoolMark, deadline: AbortSignal): Promise<void> {
    const startedAt = performance.now();
    while (!deadline.aborted && this.#isLacking(mark)) {
      const isDone = await this.#ingestNewest(nowMs + performance.now() - startedAt, mark);
      if (!isDone) return;
    }
  }

  /** Before a stop: the rings are emptied, a long spool is left for the next start. */
  async close(nowMs: number): Promise<void> {
    this.rings.empty(nowMs, true);
    for (let part = 0; part < CLOSING_SEGMENTS_MAX && this.#spool.waitingBytes > 0; part += 1) {
      await this.#ingestOne(nowMs);
    }
    this.#spool.close();
  }

  /** Whether the open database lacks something, or has not been looked at yet. */
  get #isRestoring(): boolean {
    return this.#follower.isStale || this.#follower.restoringCount > 0;
  }

  /**
   * One step: what waits in the spool, the newest before `mark` or without one the oldest; else what
   * a rebuilt database lacks.
   * @returns the bytes that it took off the spool.
   */
  async #ingestOne(nowMs: number, mark?: SpoolMark): Promise<number> {
    const startedAt = performance.now();
    let taken = 0;
    await this.#core.write(async (writer) => {
      if (this.#follower.isStale) {
        await this.#follower.load(writer);
        this.#spool.resume(this.#follower.taken.bytes);
        this.#copied.renew();
        this.#upkeep.renew();
      }
      const next = mark === undefined ? this.#spool.next() : this.#spool.nextBefore(mark);
      if (next === undefined) {
        if (mark === undefined && (await this.#ingestCopy(writer, nowMs))) return;
        await this.#follower.restoreOne(writer);
        return;
      }
      const { segment, from, size } = next;
      // This process has written whole blocks up to `size`: what does not verify will not come.
      const step = await this.#follower.project(writer, segment, from, size);
      this.#spool.took(segment.name, step.to, nowMs);
      this.#upkeep.sawDecisions(step.oldestMs, nowMs);
      taken = step.to - from;
    });
    for (const each of [this.#spool, this.#copied]) {
      const keptBytes = each.keepOne();
      if (keptBytes > 0) this.#upkeep.sawKept(keptBytes);
    }
    const tookMs = performance.now() - startedAt;
    this.#ingestAtMs = nowMs + tookMs * (1 + (this.rings.isBusy(nowMs) ? REST_BUSY : REST_QUIET));
    return taken;
  }

  /** Whether other nodes' decisions wait; looks for them now and then. */
  #areCopiesDue(nowMs: number): boolean {
    if (this.#copied.isLookDue(nowMs)) this.#copied.look(this.#follower.taken, nowMs);
    return this.#copied.next() !== undefined;
  }

  /** @returns whether there was one. */
  async #ingestCopy(writer: Connection, nowMs: number): Promise<boolean> {
    const next = this.#copied.next();
    if (next === undefined) return false;
    // Whole blocks alone: the rest of the last one may still come.
    const step = await this.#follower.project(writer, next.segment, next.from, undefined);
    this.#copied.took(next);
    this.#upkeep.sawDecisions(step.oldestMs, nowMs);
    return true;
  }

  /** Commits one state of a kaizen run. */
  async note(event: StoreEvents["kaizen_runs"]): Promise<void> {
    await this.#core.write((writer) => inTransaction(writer, () => insertRun(writer, event)));
  }

  /** Reads the log in a lane of its own: behind no query, and behind no flood of decisions. */
  async decisions(filter: DecisionFilter, nowMs: number): Promise<DecisionPage> {
    const isComplete = await this.#settleNewest(nowMs);
    const legs = await this.#core.logQueue.read((reader) => readDecisions(reader, filter));
    return { legs, isComplete };
  }

  /** The same lane: what is listed is what is counted. */
  async counts(filter: DecisionFilter, nowMs: number): Promise<DecisionCounts> {
    const isSettled = await this.#settleNewest(nowMs);
    const counts = await this.#core.logQueue.read((reader) => countDecisions(reader, filter));
    return { ...counts, isComplete: counts.isComplete && isSettled };
  }

  async reviews(filter: DecisionFilter, isOpen: boolean, nowMs: number): Promise<Review[]> {
    await this.#settleNewest(nowMs);
    return this.#core.logQueue.read(async (connection) => {
      const tenant = filter.tenant === undefined ? [] : [filter.tenant];
      const rows = await connection.rows(
        `SELECT to_json(r) FROM reviews AS r WHERE true
         ${filter.tenant === undefined ? "" : "AND tenant = $1::VARCHAR"}
         ${isOpen ? "AND resolution IS NULL" : ""}
         ORDER BY evaluated_at DESC LIMIT ${filter.limit}`,
        tenant,
      );
      return rows.map(([text]) => JSON.parse(String(text)) as Review);
    });
  }
}
