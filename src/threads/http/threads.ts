// Control of the further HTTP threads from the main one: starts them, sends them changes, answers
// their calls, collects their counts, ends them. They end by themselves on request: a native server
// that is terminated with open sockets takes the process down with it.
import { type MessagePort, Worker } from "node:worker_threads";
import type { ChangeNews } from "../../http/changes/log.ts";
import { createBucketMemory, type RateBuckets } from "../../http/access/rate-limits.ts";
import { createUsageMemory } from "../../http/access/usage-memory.ts";
import type { ConditionEvent } from "../../contract/conditions/events.ts";
import type { RegistryEvent } from "../../contract/namespaces.ts";
import type { PolicyEvent } from "../../contract/policy.ts";
import type { ReviewCalls, ReviewUpdate } from "../../contract/reviews/events.ts";
import type { RefusalBatch } from "../../http/access/refusals.ts";
import type { StoredKey } from "../../http/access/key-file.ts";
import type { SeriesCounts, ThreadCounts } from "../../http/metrics/recorder.ts";
import type { WatchedBatch } from "../../http/request-watch.ts";
import type { RunningHttpServer } from "../../http/start.ts";
import type { BatchScorer } from "../../http/services.ts";
import { encodeReply, PendingCalls } from "../../concurrency/calls.ts";
import { createPendingMessageFlag, raisePendingMessageFlag } from "./pending-message-flag.ts";
import {
  type MessageFromHttpThread,
  type HttpThreadData,
  ensureTransferable,
  type HttpThreadCall,
  type RelayedReply,
  type MessageToHttpThread,
} from "./messages.ts";
import { serveStreamOnPort } from "./relay.ts";
import { openLedgerPort } from "../../ledger/port-transfer.ts";
import type { OpenLedger } from "../../ledger/client.ts";
import type { Log } from "../../platform/log.ts";
import type { DeferredAssessor } from "../../vault/assessment/deferring-assessor.ts";
import { withDeadline } from "../../concurrency/deadline.ts";

const ENTRY = new URL("./thread.ts", import.meta.url);
/** Milliseconds beyond its grace that a thread may take to hand over and end. */
const END_MS = 1500;

/** Start data common to all threads; the rest of HttpThreadData is each thread's own. */
export type SharedThreadData = Omit<
  HttpThreadData,
  "number" | "ledger" | "decisionRing" | "usageMemory" | "doorbell" | "bucketMemory"
>;

export interface HttpThreadsOptions {
  readonly shared: SharedThreadData;
  readonly ledger: OpenLedger;
  /** One for each thread to start. */
  readonly decisionRings: readonly SharedArrayBuffer[];
  /** In which threads count usage, in their order. */
  readonly usageMemories: readonly SharedArrayBuffer[];
  readonly log: Log;
  /** Answers relayed requests. */
  readonly relay: RunningHttpServer["relay"];
  readonly scorer: BatchScorer | undefined;
  /** Assesses texts too large to be scored in place. */
  readonly assess: DeferredAssessor;
  /** Called with the requests that a thread has refused. */
  readonly onRefused: (refusals: RefusalBatch) => void;
  /** Called with requests that a thread has watched. */
  readonly onWatched: (batch: WatchedBatch, thread: number) => void;
  /** Called with the calls of a thread that wait for a person. */
  readonly onAsked: (asked: readonly ReviewCalls[]) => void;
  /** Called once when a thread threw an uncaught error, or ended unasked; end the process. */
  readonly onBroken: () => void;
  /** The threads' file; tests pass another. */
  readonly entry?: URL;
}

export class HttpThreads {
  readonly #threads: HttpThreadHandle[];
  readonly #bucketMemory: SharedArrayBuffer;

  /** @private Use openHttpThreads. */
  constructor(threads: HttpThreadHandle[], bucketMemory: SharedArrayBuffer) {
    this.#threads = threads;
    this.#bucketMemory = bucketMemory;
  }

  /** Rate buckets in the memory that all threads share. */
  bucketsBy(findKeyNumber: (keyId: string) => number): RateBuckets {
    return { memory: this.#bucketMemory, findKeyNumber };
  }

  /**
   * Resolves once all of them listen.
   * @throws the first error of a thread that cannot listen.
   */
  async listen(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.listen()));
  }

  /** Sends a key that was made or revoked: every later request to a thread finds it so. */
  sendKey(stored: StoredKey): void {
    for (const thread of this.#threads) thread.sendFirst({ kind: "key", stored });
  }

  /** Sends a tenant's policy: every later request to a thread is judged by it. */
  sendPolicy(event: PolicyEvent): void {
    for (const thread of this.#threads) thread.sendFirst({ kind: "policy", event });
  }

  /** Sends a change of conditions or stops: every later request to a thread is judged by it. */
  sendCondition(event: ConditionEvent): void {
    for (const thread of this.#threads) thread.sendFirst({ kind: "condition", event });
  }

  /** Sends a change of reporters' keys or owners: every later report to a thread is judged by it. */
  sendRegistryEvent(event: RegistryEvent): void {
    for (const thread of this.#threads) thread.sendFirst({ kind: "registry", event });
  }

  /** Sends news of reviews: every later request to a thread is judged by it. */
  sendReview(news: ReviewUpdate): void {
    for (const thread of this.#threads) thread.sendFirst({ kind: "review", news });
  }

  /** Sends changes, or the position alone, for the followers of each thread. */
  sendChanges(news: ChangeNews): void {
    for (const thread of this.#threads) thread.send({ kind: "changes", news });
  }

  /** Sends the table that is to be read from now on. */
  rebind(engineMemory: WebAssembly.Memory): void {
    for (const thread of this.#threads) thread.sendFirst({ kind: "table", engineMemory });
  }

  /** Counts of the threads, in their order. */
  counts(): Promise<ThreadCounts[]> {
    return Promise.all(this.#threads.map((thread) => thread.ask<ThreadCounts>("count")));
  }

  /** What they count that a chart by the second wants, in their order. */
  pulses(): Promise<SeriesCounts[]> {
    return Promise.all(this.#threads.map((thread) => thread.ask<SeriesCounts>("pulse")));
  }

  /** From now on each reply ends its connection; new connections are still accepted. */
  drain(): void {
    for (const thread of this.#threads) thread.send({ kind: "drain" });
  }

  stopAccepting(): void {
    for (const thread of this.#threads) thread.send({ kind: "stop" });
  }

  /** Resolves once every thread has answered what it accepted and has ended. */
  async close(graceMs: number): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.close(graceMs)));
  }
}

/**
 * Starts the threads; none listens yet.
 * @throws Error when one cannot start.
 */
export async function openHttpThreads(options: HttpThreadsOptions): Promise<HttpThreads> {
  const bucketMemory = createBucketMemory();
  let isBroken = false;
  const onBroken = () => {
    if (!isBroken) options.onBroken();
    isBroken = true;
  };
  const threads = options.decisionRings.map((decisionRing, index) => {
    const ledger = openLedgerPort(options.ledger);
    const doorbell = createPendingMessageFlag();
    const usageMemory = options.usageMemories[index] ?? createUsageMemory();
    const own = { number: index + 1, ledger, decisionRing, usageMemory, doorbell, bucketMemory };
    return new HttpThreadHandle({ ...options.shared, ...own }, { ...options, onBroken });
  });
  const opened = new HttpThreads(threads, bucketMemory);
  try {
    await Promise.all(threads.map((thread) => thread.ready));
  } catch (error) {
    await opened.close(0);
    throw error;
  }
  return opened;
}

type HttpThreadHandleOptions = Omit<
  HttpThreadsOptions,
  "shared" | "ledger" | "decisionRings" | "usageMemories"
>;

class HttpThreadHandle {
  readonly ready: Promise<void>;
  readonly #worker: Worker;
  readonly #number: number;
  readonly #doorbell: SharedArrayBuffer;
  readonly #options: HttpThreadHandleOptions;
  readonly #counts = new PendingCalls();
  readonly #ended: Promise<void>;
  #expected = createMilestone();
  #isServing = false;
  #isClosing = false;

  constructor(data: HttpThreadData, options: HttpThreadHandleOptions) {
    this.#options = options;
    this.#number = data.number;
    this.#doorbell = data.doorbell;
    this.ready = this.#expected.promise;
    this.#worker = new Worker(options.entry ?? ENTRY, {
      name: `http-${data.number}`,
      workerData: data,
      transferList: [data.ledger.port],
    });
    this.#worker.on("message", (message: MessageFromHttpThread) => this.#take(message));
    this.#worker.on("error", (error) => this.#break(error.stack ?? error.message));
    this.#ended = new Promise((resolve) => {
      this.#worker.once("exit", (code) => {
        if (!this.#isClosing) this.#break(`it ended with ${code}`);
        this.#counts.rejectAll(() => new Error("the thread has ended"));
        resolve();
      });
    });
  }

  async listen(): Promise<void> {
    this.#expected = createMilestone();
    this.send({ kind: "listen" });
    await this.#expected.promise;
    this.#isServing = true;
  }

  send(message: MessageToHttpThread, transfer: (ArrayBuffer | MessagePort)[] = []): void {
    this.#worker.postMessage(message, transfer);
  }

  /**
   * As `send`, but applied before the next request, even when others wait in the thread's event
   * loop.
   */
  sendFirst(message: MessageToHttpThread): void {
    this.send(message);
    raisePendingMessageFlag(this.#doorbell);
  }

  ask<Counts extends ThreadCounts | SeriesCounts>(kind: "count" | "pulse"): Promise<Counts> {
    return this.#counts.start<Counts>((id) => this.send({ kind, id }));
  }

  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    this.send({ kind: "close", graceMs });
    await withDeadline(this.#ended, graceMs + END_MS, () => {
      this.#options.log.warn("http_thread_late", { thread: this.#number });
    });
  }

  #take(message: MessageFromHttpThread): void {
    if (message.kind === "question") void this.#answer(message.id, message.question);
    else if (message.kind === "counts") this.#counts.resolve(message.id, message.counts);
    else if (message.kind === "refused") this.#options.onRefused(message.refusals);
    else if (message.kind === "watched") this.#options.onWatched(message.batch, this.#number);
    else if (message.kind === "asked") this.#options.onAsked(message.asked);
    else if (message.kind === "log") {
      const { level, message: text, fields } = message;
      this.#options.log[level]?.(text, { thread: this.#number, ...fields });
    } else if (message.kind === "broken") this.#break(message.detail);
    else if (message.kind !== "closed") this.#expected.resolve();
  }

  async #answer(id: number, question: HttpThreadCall): Promise<void> {
    const transfer: (ArrayBuffer | MessagePort)[] = [];
    const answer = await encodeReply(this.#perform(question, transfer));
    this.send({ kind: "answer", id, answer }, transfer);
  }

  async #perform(
    question: HttpThreadCall,
    transfer: (ArrayBuffer | MessagePort)[],
  ): Promise<unknown> {
    if (question.name === "score") {
      const { scorer } = this.#options;
      if (scorer === undefined) throw new Error("there is no pool to score on");
      return scorer.score(question.task);
    }
    if (question.name === "assess") {
      return this.#options.assess(question.context, question.tenant);
    }
    const { buffer } = question.body;
    const reply = await this.#options.relay(question.head, Buffer.from(buffer));
    const { status, headers, body } = reply;
    if (reply.stream !== undefined) {
      const stream = serveStreamOnPort(reply.stream);
      transfer.push(stream);
      return { status, headers: [...headers], body: "", stream } satisfies RelayedReply;
    }
    if (typeof body === "string") return { status, headers: [...headers], body };
    const bytes = ensureTransferable(body);
    transfer.push(bytes.buffer);
    return { status, headers: [...headers], body: bytes };
  }

  #break(detail: string): void {
    this.#expected.reject(new Error(`HTTP thread ${this.#number}: ${detail}`));
    // Before it serves, the starting call fails with it; while it closes, it is over anyway.
    if (!this.#isServing || this.#isClosing) return;
    this.#options.log.error("http_thread_failed", { thread: this.#number, detail });
    this.#options.onBroken();
  }
}

/** A promise with its settling functions; a rejection that is not awaited counts as handled. */
function createMilestone() {
  const expected = Promise.withResolvers<void>();
  expected.promise.catch(() => undefined);
  return expected;
}
