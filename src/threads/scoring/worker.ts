// Worker entry: scores whole verify batches with a reader and a bureau of its own over the shared
// agent table. Never handles outcomes.
import { randomFillSync } from "node:crypto";
import { workerData } from "node:worker_threads";
import { ConditionBook, type StoredCondition } from "../../contract/conditions/book.ts";
import { PolicyBook } from "../../policy/policy-book.ts";
import { ReviewDecisionCache } from "../../bureau/reviews/decision-cache.ts";
import { openBureau } from "../../bureau/open.ts";
import { ServiceFault } from "../../contract/faults.ts";
import type { Assessment } from "../../contract/assessments.ts";
import type { ReviewCalls, ReviewUpdate, ReviewRuling } from "../../contract/reviews/events.ts";
import type { PolicyEvent } from "../../contract/policy.ts";
import { openEngineReader } from "../../engine/reader.ts";
import { openAssessor } from "../texts/records.ts";
import { RequestIdGenerator } from "../../http/codec/request-id.ts";
import { scoreVerifyBatch } from "../../http/codec/verify-batch.ts";
import type { VerifyBatchResult, VerifyBatchTask } from "../../http/codec/verify-batch.ts";
import { UuidV7Generator } from "../../platform/uuid.ts";
import { openThreadClock } from "../clock.ts";
import { AgentActivity } from "../../bureau/activity/activity.ts";
import { DecisionRingWriter } from "../../store/decisions/ring.ts";
import { BATCH_WORK_UNITS_MAX } from "../../vault/assessment/assessor.ts";
import type { VaultMemory } from "../../vault/memory.ts";
import { encodeFault, type EncodedFault } from "../../contract/encoded-fault.ts";

/** Start data of each thread. */
export interface ScoringWorkerData {
  memory: WebAssembly.Memory;
  vaultMemory: VaultMemory;
  /** Scratch slots are handed out from here, one per thread. */
  nextSlot: Int32Array;
  isReservedEnabled: boolean;
  /** Journal payloads of the policies at the start, in order. */
  policies: readonly Uint8Array[];
  /** Conditions and stops that stand at the start. */
  conditions: readonly StoredCondition[];
  /** What people had decided on agents that are held back at the start. */
  reviews: readonly ReviewRuling[];
  /** One ring of the decision log for each thread. */
  decisionRings: readonly SharedArrayBuffer[];
  /** Of all threads (store/decisions/budget.ts). */
  decisionBudget: SharedArrayBuffer;
  /** In which stakes are held. */
  activityMemory: SharedArrayBuffer;
}

/** The table made by a re-fold; comes with every task from then on. */
export interface ScoringTable {
  readonly memory: WebAssembly.Memory;
  /** Rises with every re-fold: the memory itself is another object in every message. */
  readonly generation: number;
}

/** Policies set since the start; come with every task from then on. */
export interface ScoringPolicies {
  /** JSON of the newest event of each tenant. */
  readonly json: SharedArrayBuffer;
  /** Rises with every change. */
  readonly generation: number;
}

/** Conditions and stops; come with every task since the first change. */
export interface ScoringConditions {
  /** JSON of all that stand. */
  readonly json: SharedArrayBuffer;
  readonly generation: number;
}

/** News of reviews since the start; come with every task from then on. */
export interface ScoringReviews {
  /** JSON of the newest of each subject. */
  readonly json: SharedArrayBuffer;
  readonly generation: number;
}

export type ScoringTask = VerifyBatchTask & {
  readonly table?: ScoringTable | undefined;
  readonly policies?: ScoringPolicies | undefined;
  readonly conditions?: ScoringConditions | undefined;
  readonly reviews?: ScoringReviews | undefined;
};

/** A result, or a fault as data: class instances do not survive the crossing. */
export type ScoringReply =
  | {
      result: VerifyBatchResult;
      assessments: readonly Assessment[];
      /** Calls that wait for a person. */
      asked: readonly ReviewCalls[];
    }
  | { fault: EncodedFault };

/** Longest time in ms that a denial holds a batch up while the decision log is full. */
const LOG_WAIT_MS = 2000;

const {
  memory,
  vaultMemory,
  nextSlot,
  isReservedEnabled,
  decisionRings,
  decisionBudget,
  activityMemory,
  ...started
} = workerData as ScoringWorkerData;
const clock = openThreadClock().now;
const slot = Atomics.add(nextSlot, 0, 1);
// A thread that replaces a dead one takes the next slot, and so a ring that has no writer now.
const ring = decisionRings[slot % decisionRings.length] as SharedArrayBuffer;
const engine = openEngineReader(memory, slot);
/** Generation of the table in use; 0 for the one the thread was started with. */
let generation = 0;
const book = new PolicyBook(started.policies);
let conditions = new ConditionBook(started.conditions);
/** Generation of the conditions in use; 0 for those that the thread was started with. */
let conditionGeneration = 0;
/** Generation of the policies in use; 0 for those that the thread was started with. */
let policyGeneration = 0;
/** Left by the batch in progress: this thread has no way to the ledger, so they go with the reply. */
let assessments: Assessment[] = [];
let asked: ReviewCalls[] = [];
const reviews = new ReviewDecisionCache((calls) => void asked.push(...calls), started.reviews);
/** Generation of the news of reviews in use; 0 for none. */
let reviewGeneration = 0;
const bureau = openBureau({
  engine,
  ledger: {
    append: () => Promise.reject(new Error("a scoring thread takes no outcomes")),
    appendBatch: () => Promise.reject(new Error("a scoring thread takes no outcomes")),
    pendingCount: 0,
    close: () => Promise.resolve(),
  },
  clock,
  provenance: openAssessor(vaultMemory, clock, BATCH_WORK_UNITS_MAX),
  environment: {
    delay: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    outcomeIds: new UuidV7Generator(randomFillSync),
    isReservedEnabled,
  },
  policies: book,
  // The book is replaced as a whole.
  conditions: {
    findInForce: (tenant, agent, nowMs) => conditions.findInForce(tenant, agent, nowMs),
    findPast: () => undefined,
  },
  assessments: { enqueue: (assessment) => void assessments.push(assessment) },
  decisions: new DecisionRingWriter(ring, { waitMs: LOG_WAIT_MS, budget: decisionBudget }),
  reviews,
  activity: new AgentActivity(activityMemory),
});
const requestIds = new RequestIdGenerator(clock);

/** The task function that the pool calls. */
export default async function runScoringTask(task: ScoringTask): Promise<ScoringReply> {
  if (task.table !== undefined && task.table.generation !== generation) {
    engine.rebind(task.table.memory);
    generation = task.table.generation;
  }
  if (task.policies !== undefined && task.policies.generation !== policyGeneration) {
    // Copied: text cannot be decoded from shared memory.
    const json = Buffer.from(new Uint8Array(task.policies.json)).toString();
    for (const event of JSON.parse(json) as PolicyEvent[]) book.apply(event);
    policyGeneration = task.policies.generation;
  }
  if (task.conditions !== undefined && task.conditions.generation !== conditionGeneration) {
    const json = Buffer.from(new Uint8Array(task.conditions.json)).toString();
    conditions = new ConditionBook(JSON.parse(json) as StoredCondition[]);
    conditionGeneration = task.conditions.generation;
  }
  if (task.reviews !== undefined && task.reviews.generation !== reviewGeneration) {
    const json = Buffer.from(new Uint8Array(task.reviews.json)).toString();
    for (const news of JSON.parse(json) as ReviewUpdate[]) reviews.apply(news);
    reviewGeneration = task.reviews.generation;
  }
  try {
    const result = await scoreVerifyBatch(task, bureau, () => requestIds.next());
    reviews.flush(clock());
    const left = { assessments, asked };
    assessments = [];
    asked = [];
    return { result, ...left };
  } catch (thrown) {
    if (!(thrown instanceof ServiceFault)) throw thrown;
    return { fault: encodeFault(thrown) };
  }
}
