// Callers' SQL in a process of its own, over a copy of the database: started when the first query comes,
// stopped after idle minutes, killed when a query does not stop, and restarted. Nothing that a query does
// reaches the store, whose own database runs our own SQL alone.
import * as fs from "node:fs";
import { ServiceFault } from "../../contract/faults.ts";
import type { JournalFollower } from "../journal-follower.ts";
import type { QueryProcessMetrics } from "../messages.ts";
import type { QueryResult } from "../store.ts";
import { isMemoryFault, isTimeoutAfter } from "../query/query.ts";
import { STREAM_WORK_MS, type RowStreamHandle } from "../query/row-streams.ts";
import {
  CancellableQueries,
  QUERY_TRIAL_MS,
  QueryBackoff,
  QueryNeedsMemory,
  QueryTrialEnded,
  type QueryTurn,
  TenantQueryQueue,
} from "./tenant-queue.ts";
import {
  type CallerCall,
  type LiableCaller,
  ProcessLost,
  SandboxProcess,
  SharedProcessLost,
  type ProcessStarter,
} from "./process.ts";
import { StreamTable } from "./stream-table.ts";
import { DatabaseCopyTracker } from "./supply.ts";

/** A query is interrupted at its limit; if it does not stop, its process is killed after this. */
const GRACE_MS = 1000;
/** Beyond the limit of any query: no process ends for being slow to hear that one is ended. */
const CANCEL_MS_MAX = 30_000;
/** Longest time to start and copy, and to add rows. */
const OPEN_MS_MAX = 60_000;
const ADD_MS_MAX = 60_000;
/** Times that a query is begun: the process may end under it for reasons that are not its own. */
const ATTEMPTS_MAX = 3;
const IDLE_MS = 5 * 60_000;
const SAMPLE_MS = 1000;

type QueryCall = Extract<CallerCall, { name: "query" }>;
type StreamCall = Extract<CallerCall, { name: "openStream" }>;

export interface SandboxOptions {
  core: JournalFollower;
  start: ProcessStarter;
  /** Directory of the store's database. */
  source: string;
  /** Directory of the copy; removed at the end. */
  directory: string;
  /** Limit on the memory of the process. */
  memoryBytes: number;
  timeZone: string;
  /** Refreshes the scores if the call may read them. */
  readScores: (call: QueryCall | StreamCall) => Promise<void>;
  /** Makes rows of all decisions so far; returns the epoch ms up to which they are among them. */
  settle: () => Promise<number>;
  /** Called when the metrics have changed. */
  onChange: () => void;
  log: (event: string, detail: string) => void;
  /** Without a query it ends after this long. */
  idleMs?: number;
}

interface PreparedProcess {
  readonly process: SandboxProcess;
  readonly asOfMs: number;
}

export class Sandbox {
  readonly #options: SandboxOptions;
  readonly #copyTracker: DatabaseCopyTracker;
  readonly #queryQueue = new TenantQueryQueue();
  readonly #backoff = new QueryBackoff();
  readonly #cancellableQueries = new CancellableQueries();
  readonly #streams = new StreamTable(GRACE_MS);
  #process: SandboxProcess | undefined;
  #preparing: Promise<unknown> = Promise.resolve();
  #restarts = 0;
  /** Queries in the process. */
  #running = 0;
  #isClosing = false;
  #idleTimer: NodeJS.Timeout | undefined;
  #samplingTimer: NodeJS.Timeout | undefined;

  constructor(options: SandboxOptions) {
    this.#options = options;
    this.#copyTracker = new DatabaseCopyTracker(options.core);
    fs.rmSync(options.directory, { recursive: true, force: true });
  }

  get metrics(): QueryProcessMetrics {
    return {
      running: this.#process === undefined ? 0 : 1,
      restarts: this.#restarts,
      memoryBytes: this.#process?.memoryBytes() ?? 0,
      waiting: this.#queryQueue.length,
    };
  }

  /** @throws ServiceFault as Store.query does, and `rate_limited`. */
  query(call: QueryCall): Promise<QueryResult> {
    const tenant = selectQueueName(call);
    const assertFree = () => this.#backoff.assertMayQuery(tenant, performance.now());
    assertFree();
    return this.#cancellableQueries.run(call.handle, (assertWanted) => {
      const work = async ({ isTrial, isAlone, begin }: QueryTurn) => {
        assertFree();
        assertWanted();
        const given = isTrial ? limitToTrial(call) : call;
        // Killed only after its own limit: a trial ends where the query can be interrupted.
        const liable = { tenant, limitMs: call.limits.timeoutMs, isAlone };
        const { result, asOfMs } = await this.#runInProcess<QueryResult>(given, liable, () => {
          assertWanted();
          begin();
        }).catch((error: unknown) => {
          const isTrialOver = given !== call && isTimeoutAfter(error, QUERY_TRIAL_MS);
          throw isTrialOver ? new QueryTrialEnded() : error;
        });
        return { ...result, asOf: { ...result.asOf, timeMs: asOfMs } };
      };
      return this.#queryQueue.run(tenant, work, () => this.#options.readScores(call));
    });
  }

  /** Ends the query of that name, running or waiting; false when there is none. */
  cancel(handle: string): boolean {
    if (!this.#cancellableQueries.cancel(handle)) return false;
    // Where it runs already, it is interrupted. A process that does not hear ends at its deadline.
    this.#process?.call({ name: "cancelQuery", handle }, CANCEL_MS_MAX).catch(() => undefined);
    return true;
  }

  /** @throws ServiceFault as Store.stream does, and `rate_limited`. */
  async openStream(call: StreamCall): Promise<RowStreamHandle> {
    const tenant = selectQueueName(call);
    this.#backoff.assertMayQuery(tenant, performance.now());
    this.#streams.reserve(tenant);
    try {
      await this.#options.readScores(call);
      const liable = { tenant, limitMs: call.workMs ?? STREAM_WORK_MS };
      const asked = await this.#runInProcess<RowStreamHandle>(call, liable);
      const { result, process, asOfMs, tookMs } = asked;
      const id = this.#streams.add(process, result.id, liable, tookMs);
      return { ...result, id, asOf: { ...result.asOf, timeMs: asOfMs } };
    } catch (error) {
      this.#streams.release(tenant);
      throw error;
    }
  }

  /** The next part of a stream, undefined after the last. @throws ServiceFault */
  next(stream: number): Promise<Uint8Array | undefined> {
    return this.#streams.next(stream).finally(() => this.#restartIdleTimer());
  }

  close(stream: number): void {
    this.#streams.close(stream);
    this.#restartIdleTimer();
  }

  /** Kills the process without waiting for queries, and rejects those in progress. */
  async end(): Promise<void> {
    this.#isClosing = true;
    clearTimeout(this.#idleTimer);
    this.#queryQueue.close(createSandboxUnavailableFault());
    this.#streams.closeAll();
    await this.#endProcess();
  }

  async #runInProcess<T>(
    call: QueryCall | StreamCall,
    liable: LiableCaller,
    assertWanted = () => {},
  ) {
    for (let attempt = 1; ; attempt++) {
      try {
        const ready = await this.#prepareSerially();
        assertWanted();
        const startedAt = performance.now();
        const deadlineMs = liable.limitMs + GRACE_MS;
        this.#running++;
        const result = await ready.process
          .call<T>(call, deadlineMs, liable)
          .catch((error: unknown) => {
            const isRefused = isMemoryFault(error) && !ready.process.hasEnded;
            throw isRefused && liable.isAlone?.() === false ? new QueryNeedsMemory() : error;
          })
          .finally(() => {
            this.#running--;
            this.#discardBroken(ready.process, liable.tenant);
          });
        return { result, ...ready, tookMs: performance.now() - startedAt };
      } catch (error) {
        // The others may have taken it: all share what DuckDB and the process may have.
        if (error instanceof SharedProcessLost) throw new QueryNeedsMemory();
        if (!(error instanceof ProcessLost)) throw error;
        if (this.#isClosing || attempt === ATTEMPTS_MAX) throw createSandboxUnavailableFault();
      } finally {
        this.#restartIdleTimer();
      }
    }
  }

  /** The process with all rows of now. One call at a time. */
  #prepareSerially(): Promise<PreparedProcess> {
    const done = this.#preparing.then(() => this.#prepare());
    this.#preparing = done.catch(() => undefined);
    return done;
  }

  async #prepare(): Promise<PreparedProcess> {
    const asOfMs = await this.#options.settle();
    const process = await this.#ensureProcess();
    const supply = await this.#copyTracker.exportMissingRows(
      this.#streams.openCount + this.#running === 0,
    );
    if (supply === undefined) {
      this.#copyTracker.invalidate();
      process.kill();
      return { process: await this.#ensureProcess(), asOfMs };
    }
    let isAdded = supply.parts.length === 0;
    try {
      if (!isAdded) await process.call({ name: "add", parts: supply.parts }, ADD_MS_MAX);
      isAdded = true;
    } catch (error) {
      process.kill();
      if (error instanceof ProcessLost) throw error;
      // The next attempt begins with another copy, in a process that has all its memory.
      this.#options.log("query_process_failed", String(error));
      throw new ProcessLost(String(error));
    } finally {
      supply.done(isAdded);
    }
    return { process, asOfMs };
  }

  async #ensureProcess(): Promise<SandboxProcess> {
    // Its files stay locked until it is gone.
    if (this.#process?.hasEnded === true) await this.#process.whenEnded;
    if (this.#isClosing) throw createSandboxUnavailableFault();
    if (this.#process !== undefined) return this.#process;
    const { source, directory, memoryBytes, timeZone, start } = this.#options;
    const process = new SandboxProcess(start, (tenant) =>
      this.#backoff.recordForcedEnd(tenant, performance.now()),
    );
    this.#trackProcess(process);
    const partsDirectory = this.#copyTracker.directory;
    const opening = { directory, partsDirectory, timeZone, memoryBytes };
    const open = (copyFrom?: string) =>
      process.call<void>({ name: "open", copyFrom, ...opening }, OPEN_MS_MAX);
    const isCopied = this.#copyTracker.hasUsableCopy;
    try {
      await (isCopied ? open() : this.#copyTracker.copyWhileLocked(() => open(source)));
    } catch (error) {
      this.#copyTracker.invalidate();
      process.kill();
      // A copy that does not open is replaced by another one.
      if (isCopied) throw new ProcessLost(String(error));
      throw this.#hideInternalError(error);
    }
    return process;
  }

  #trackProcess(process: SandboxProcess): void {
    this.#process = process;
    this.#samplingTimer = setInterval(this.#options.onChange, SAMPLE_MS);
    void this.#awaitProcessEnd(process);
  }

  async #awaitProcessEnd(process: SandboxProcess): Promise<void> {
    const how = await process.whenEnded;
    clearInterval(this.#samplingTimer);
    this.#process = undefined;
    if (how !== "") {
      this.#restarts++;
      this.#options.log("query_process_ended", how);
    }
    this.#options.onChange();
  }

  /** The caller gets only a generic fault: internal messages may contain paths. */
  #hideInternalError(error: unknown): Error {
    if (error instanceof ProcessLost && !this.#isClosing) return error;
    this.#options.log("query_process_failed", String(error));
    return createSandboxUnavailableFault();
  }

  #discardBroken(process: SandboxProcess, tenant: string): void {
    if (process.brokenReason === undefined || process.hasEnded) return;
    this.#backoff.recordForcedEnd(tenant, performance.now());
    this.#options.log("query_process_failed", process.brokenReason);
    this.#copyTracker.invalidate();
    process.kill();
  }

  #restartIdleTimer(): void {
    clearTimeout(this.#idleTimer);
    if (this.#isClosing) return;
    this.#idleTimer = setTimeout(() => {
      if (this.#queryQueue.length > 0 || this.#streams.reservedCount > 0) this.#restartIdleTimer();
      else void this.#endProcess();
    }, this.#options.idleMs ?? IDLE_MS);
  }

  async #endProcess(): Promise<void> {
    this.#copyTracker.invalidate();
    const process = this.#process;
    process?.kill();
    await process?.whenEnded;
    if (this.#process === undefined) {
      fs.rmSync(this.#options.directory, { recursive: true, force: true });
    }
  }
}

/** The query with the time of a trial; the same object where its own limit is no longer. */
function limitToTrial(call: QueryCall): QueryCall {
  if (call.limits.timeoutMs <= QUERY_TRIAL_MS) return call;
  return { ...call, limits: { ...call.limits, timeoutMs: QUERY_TRIAL_MS } };
}

/** Administrators' keys, which see all rows, take their turns together. */
function selectQueueName({ asker }: QueryCall | StreamCall): string {
  return asker.tenant ?? "";
}

function createSandboxUnavailableFault(): ServiceFault {
  return new ServiceFault("store_unavailable", "the outcome store cannot answer queries now");
}
