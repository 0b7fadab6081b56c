// Piscina pool: threads for work that costs more than a hop between threads. Bounded in every
// direction; only the worker file and its caller know the tasks.
import { availableParallelism } from "node:os";
import type { MessagePort, Worker } from "node:worker_threads";
import { FixedQueue, Piscina } from "piscina";

/** Tasks waiting for a thread before new ones are refused. */
const QUEUE_MAX = 256;

export interface PoolOptions {
  /** Of its threads, in metrics. */
  name: string;
  /** Absolute URL of the worker module. */
  filename: string;
  workerData: unknown;
  threads?: number;
  /** Threads that start with the pool, all by default; the others when these are busy. */
  threadsAtOnce?: number;
}

/** A pool of worker threads. */
export interface Pool {
  /**
   * Runs one task; `transfer` moves buffers and ports instead of copying them.
   * @throws PoolBusy when the queue is full, the worker's error when it threw, an AbortError on
   *   `signal`.
   */
  run<Task, Result>(
    task: Task,
    transfer?: readonly (ArrayBuffer | MessagePort)[],
    signal?: AbortSignal,
  ): Promise<Result>;
  readonly queueLength: number;
  close(): Promise<void>;
}

/** The queue is full: shed the work, do not wait. */
export class PoolBusy extends Error {}

/** One thread less than there are cores, at least one: the HTTP thread keeps its own. */
export function computeDefaultThreads(): number {
  return Math.max(1, availableParallelism() - 1);
}

/** Wraps a task's result so that `transfer` moves to the caller instead of being copied. */
export function transferResult<Result extends object>(
  result: Result,
  transfer: ArrayBuffer[],
): Result {
  const transferable = {
    get [Piscina.transferableSymbol]() {
      return transfer;
    },
    get [Piscina.valueSymbol]() {
      return result;
    },
  };
  return Piscina.move(transferable as never) as unknown as Result;
}

/** Flags of this process that a thread may be given too; Node refuses those of whole processes. */
const isThreadFlag = (flag: string): boolean =>
  /^--(conditions|disable-warning|import)=/.test(flag);

/** Names of the open pools: Piscina gives its threads none. */
const openPools = new Map<Piscina, string>();

/** Name of the open pool that a thread belongs to. */
export function findPoolName(worker: Worker): string | undefined {
  for (const [pool, name] of openPools) if (pool.threads.includes(worker)) return name;
  return undefined;
}

/** Starts the threads at once, so that no request pays for it, or as many as are asked for. */
export function openPool(options: PoolOptions): Pool {
  const threads = options.threads ?? computeDefaultThreads();
  const piscina = new Piscina({
    filename: options.filename,
    workerData: options.workerData,
    minThreads: options.threadsAtOnce ?? threads,
    maxThreads: threads,
    // A thread once started stays.
    idleTimeout: Number.POSITIVE_INFINITY,
    maxQueue: QUEUE_MAX,
    concurrentTasksPerWorker: 1,
    // Workers sleep on an atomic between tasks: no event loop turn per message.
    atomics: "sync",
    taskQueue: new FixedQueue(),
    // Piscina tries require() before import(), and Node aborts the whole process when a thread ends
    // while a module that it requires is being linked: a pool closed right after its start.
    execArgv: [...process.execArgv.filter(isThreadFlag), "--no-experimental-require-module"],
    closeTimeout: 5000,
  });
  openPools.set(piscina, options.name);
  return {
    run(task, transfer = [], signal) {
      if (piscina.queueSize >= QUEUE_MAX) return Promise.reject(new PoolBusy("the pool is full"));
      return piscina.run(task, {
        transferList: [...transfer],
        ...(signal === undefined ? {} : { signal }),
      });
    },
    get queueLength() {
      return piscina.queueSize;
    },
    close: () => piscina.close().finally(() => openPools.delete(piscina)),
  };
}
