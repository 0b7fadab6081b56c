// Composition of the scoring pool behind http's BatchScorer port: tasks out, results or faults
// back.
import type { AssessmentLog } from "../../bureau/decisions/assessments.ts";
import { ServiceFault } from "../../contract/faults.ts";
import { openPool, PoolBusy } from "../../platform/pool.ts";
import type { Pool } from "../../platform/pool.ts";
import type { PolicyEvent } from "../../contract/policy.ts";
import type { BatchScorer } from "../../http/services.ts";
import { FIRST_SLOT } from "./modes.ts";
import type { ScoringMode } from "./modes.ts";
import type {
  ScoringPolicies,
  ScoringReply,
  ScoringTable,
  ScoringTask,
  ScoringWorkerData,
} from "./worker.ts";

/**
 * Body size from which `auto` takes the hop, which costs some 0.2 ms: about 100 items, which in
 * place would hold up every verdict behind them for 0.4 ms (bench:batch).
 */
const AUTO_BYTES_MIN = 12 * 1024;
const WORKER = new URL("./worker.ts", import.meta.url).href;

export interface ScoringPool extends BatchScorer {
  /** Switches to another table from now on; running tasks end on the old one. */
  rebind(memory: WebAssembly.Memory): void;
  /** Every batch sent from now on is judged by this policy of its tenant. */
  sendPolicy(event: PolicyEvent): void;
  /** Batches that wait for a thread. */
  readonly waiting: number;
  close(): Promise<void>;
}

/** Start data of the threads, and where the assessments go that their batches leave. */
export type ScoringPoolOptions = Omit<ScoringWorkerData, "nextSlot"> & {
  readonly assessments: AssessmentLog;
};

/** Starts the pool for a mode; undefined for `inline`. */
export function openScoringPool(
  mode: ScoringMode,
  { assessments, ...shared }: ScoringPoolOptions,
): ScoringPool | undefined {
  if (mode === "inline") return undefined;
  const pool = poolOver(shared);
  const score = (task: ScoringTask) => scoreOn(pool, assessments, task);
  let table: ScoringTable | undefined;
  let policies: ScoringPolicies | undefined;
  const changed = new Map<string, PolicyEvent>();
  return {
    bytesMin: mode === "pool" ? 0 : AUTO_BYTES_MIN,
    score(task) {
      if (table === undefined && policies === undefined) return score(task);
      return score({ ...task, table, policies });
    },
    // With the tasks, not by other threads: those would take a second to start, and batches with a
    // deadline wait for them.
    rebind(memory) {
      table = { memory, generation: (table?.generation ?? 0) + 1 };
    },
    // With the tasks as well, so that a thread started later knows them all. Shared, because a
    // task may be cloned a thousand times a second.
    sendPolicy(event) {
      changed.set(event.tenant, event);
      const text = Buffer.from(JSON.stringify([...changed.values()]));
      const json = new SharedArrayBuffer(text.byteLength);
      new Uint8Array(json).set(text);
      policies = { json, generation: (policies?.generation ?? 0) + 1 };
    },
    get waiting() {
      return pool.queueLength;
    },
    close: () => pool.close(),
  };
}

function poolOver(shared: Omit<ScoringWorkerData, "nextSlot">): Pool {
  const nextSlot = new Int32Array(new SharedArrayBuffer(4));
  nextSlot[0] = FIRST_SLOT;
  const workerData: ScoringWorkerData = { ...shared, nextSlot };
  return openPool({ filename: WORKER, workerData });
}

async function scoreOn(pool: Pool, assessments: AssessmentLog, task: ScoringTask) {
  const reply = await pool
    .run<ScoringTask, ScoringReply>(task, [task.body.buffer as ArrayBuffer])
    .catch((error: unknown) => {
      if (!(error instanceof PoolBusy)) throw error;
      throw new ServiceFault("overloaded", "too many batches are waiting");
    });
  if ("result" in reply) {
    for (const assessment of reply.assessments) assessments.note(assessment);
    return reply.result;
  }
  const { code, detail, errors } = reply.fault;
  throw new ServiceFault(code, detail, errors);
}
