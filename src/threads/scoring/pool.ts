// Composition of the scoring pool behind http's BatchScorer port: tasks out, results or faults
// back.
import type { AssessmentLog } from "../../contract/assessments.ts";
import { ServiceFault } from "../../contract/faults.ts";
import { openPool, PoolBusy } from "../../platform/pool.ts";
import type { Pool } from "../../platform/pool.ts";
import {
  type ReviewCalls,
  type ReviewUpdate,
  buildReviewSubject,
} from "../../contract/reviews/events.ts";
import { ConditionBook } from "../../contract/conditions/book.ts";
import type { ConditionEvent } from "../../contract/conditions/events.ts";
import type { PolicyEvent } from "../../contract/policy.ts";
import type { BatchScorer } from "../../http/services.ts";
import { FIRST_POOL_READER_SLOT } from "./modes.ts";
import type { ScoringMode } from "./modes.ts";
import type {
  ScoringConditions,
  ScoringPolicies,
  ScoringReply,
  ScoringReviews,
  ScoringTable,
  ScoringTask,
  ScoringWorkerData,
} from "./worker.ts";
import { decodeFault } from "../../contract/encoded-fault.ts";

/**
 * Body size from which `auto` takes the hop, which costs some 0.2 ms: about 100 items, which in
 * place would hold up every verdict behind them for 0.4 ms (npm run bench -- batch).
 */
const AUTO_BYTES_MIN = 12 * 1024;
const WORKER = new URL("./worker.ts", import.meta.url).href;

export interface ScoringPool extends BatchScorer {
  /** Switches to another table from now on; running tasks end on the old one. */
  rebind(memory: WebAssembly.Memory): void;
  /** Every batch sent from now on is judged by this policy of its tenant. */
  sendPolicy(event: PolicyEvent): void;
  /** Every batch sent from now on is judged by this as well. */
  sendCondition(event: ConditionEvent): void;
  /** Every batch sent from now on is judged by this. */
  sendReview(news: ReviewUpdate): void;
  /** Batches that wait for a thread. */
  readonly waiting: number;
  close(): Promise<void>;
}

/** Start data of the threads, and where the assessments go that their batches leave. */
export type ScoringPoolOptions = Omit<ScoringWorkerData, "nextSlot"> & {
  readonly assessments: AssessmentLog;
  /** Takes the calls of the batches that wait for a person. */
  readonly onAsked: (asked: readonly ReviewCalls[]) => void;
};

/** Starts the pool for a mode; undefined for `inline`. */
export function openScoringPool(
  mode: ScoringMode,
  { assessments, onAsked, ...shared }: ScoringPoolOptions,
): ScoringPool | undefined {
  if (mode === "inline") return undefined;
  const pool = openScoringThreads(shared);
  const score = (task: ScoringTask) => scoreOnPool(pool, { assessments, onAsked }, task);
  let table: ScoringTable | undefined;
  let policies: ScoringPolicies | undefined;
  let conditions: ScoringConditions | undefined;
  let hasNewConditions = false;
  let reviews: ScoringReviews | undefined;
  const book = new ConditionBook(shared.conditions);
  const changed = new Map<string, PolicyEvent>();
  const decided = new Map<string, ReviewUpdate>();
  return {
    bytesMin: mode === "pool" ? 0 : AUTO_BYTES_MIN,
    score(task) {
      // Only now: a thousand conditions may be set at once.
      if (hasNewConditions) {
        const json = shareJson([...book.listStored()]);
        conditions = { json, generation: (conditions?.generation ?? 0) + 1 };
        hasNewConditions = false;
      }
      const changes = { table, policies, conditions, reviews };
      const isUnchanged = Object.values(changes).every((each) => each === undefined);
      return score(isUnchanged ? task : { ...task, ...changes });
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
      const json = shareJson([...changed.values()]);
      policies = { json, generation: (policies?.generation ?? 0) + 1 };
    },
    sendCondition(event) {
      book.apply(event);
      hasNewConditions = true;
    },
    sendReview(news) {
      decided.set("ruling" in news ? buildReviewSubject(news.ruling) : news.tenant, news);
      const json = shareJson([...decided.values()]);
      reviews = { json, generation: (reviews?.generation ?? 0) + 1 };
    },
    get waiting() {
      return pool.queueLength;
    },
    close: () => pool.close(),
  };
}

function shareJson(value: unknown): SharedArrayBuffer {
  const text = Buffer.from(JSON.stringify(value));
  const json = new SharedArrayBuffer(text.byteLength);
  new Uint8Array(json).set(text);
  return json;
}

function openScoringThreads(shared: Omit<ScoringWorkerData, "nextSlot">): Pool {
  const nextSlot = new Int32Array(new SharedArrayBuffer(4));
  nextSlot[0] = FIRST_POOL_READER_SLOT;
  const workerData: ScoringWorkerData = { ...shared, nextSlot };
  return openPool({ name: "scoring", filename: WORKER, workerData });
}

type BatchSideEffectSinks = Pick<ScoringPoolOptions, "assessments" | "onAsked">;

async function scoreOnPool(
  pool: Pool,
  { assessments, onAsked }: BatchSideEffectSinks,
  task: ScoringTask,
) {
  const reply = await pool
    .run<ScoringTask, ScoringReply>(task, [task.body.buffer as ArrayBuffer])
    .catch((error: unknown) => {
      if (!(error instanceof PoolBusy)) throw error;
      throw new ServiceFault("overloaded", "too many batches are waiting");
    });
  if ("result" in reply) {
    for (const assessment of reply.assessments) assessments.enqueue(assessment);
    if (reply.asked.length > 0) onAsked(reply.asked);
    return reply.result;
  }
  throw decodeFault(reply.fault);
}
