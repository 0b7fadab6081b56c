// Heap and external memory of each thread of the process, read from the main thread. Node interrupts each isolate
// for its figures: a thread that sleeps on an atomic answers, too. Threads that other threads start are not seen.
import { getHeapStatistics, type HeapInfo } from "node:v8";
import type { Worker } from "node:worker_threads";
import { withDeadline } from "../concurrency/deadline.ts";
import { findPoolName } from "./pool.ts";

/** A thread in native code answers when it is back; one that has ended never does. */
const ANSWER_MS_MAX = 2000;

/** Bytes of all threads of one name. */
export interface ThreadHeap {
  readonly name: string;
  /** Heap in use, garbage that is not collected yet included. */
  readonly used: number;
  /** Heap that is committed. */
  readonly committed: number;
  /** Array buffers and other memory that its objects hold outside the heap, shared buffers included. */
  readonly external: number;
}

/** Follows the threads that the main thread starts from its creation on. */
export class ThreadHeaps {
  readonly #workers = new Set<Worker>();

  constructor() {
    process.on("worker", this.#follow);
  }

  /** Threads by name, the main one (`main`) first; without those that have not answered within 2 s. */
  async read(): Promise<ThreadHeap[]> {
    const heaps = new Map([["main", describeHeap("main", getHeapStatistics())]]);
    const answers = [...this.#workers].map(async (worker) => {
      const name = worker.threadName || findPoolName(worker) || "other";
      const statistics = await readStatistics(worker);
      return statistics === undefined ? undefined : describeHeap(name, statistics);
    });
    for (const heap of await Promise.all(answers)) {
      if (heap !== undefined) heaps.set(heap.name, addHeaps(heaps.get(heap.name), heap));
    }
    return [...heaps.values()];
  }

  close(): void {
    process.off("worker", this.#follow);
    this.#workers.clear();
  }

  readonly #follow = (worker: Worker): void => {
    this.#workers.add(worker);
    worker.once("exit", () => this.#workers.delete(worker));
  };
}

/** Undefined for a thread that ends, and before Node 22.16. */
async function readStatistics(worker: Worker): Promise<HeapInfo | undefined> {
  if (typeof worker.getHeapStatistics !== "function") return undefined;
  const asked = worker.getHeapStatistics().catch(() => undefined);
  return withDeadline(asked, ANSWER_MS_MAX, () => undefined);
}

function describeHeap(name: string, statistics: HeapInfo): ThreadHeap {
  const {
    used_heap_size: used,
    total_heap_size: committed,
    external_memory: external,
  } = statistics;
  return { name, used, committed, external };
}

function addHeaps(known: ThreadHeap | undefined, more: ThreadHeap): ThreadHeap {
  if (known === undefined) return more;
  const { used, committed, external } = known;
  return {
    name: more.name,
    used: used + more.used,
    committed: committed + more.committed,
    external: external + more.external,
  };
}
