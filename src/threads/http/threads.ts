// The further HTTP threads, seen from the main one: starts them, tells them what changes, answers
// what they hand on, asks what they have counted, ends them. They end by themselves when told to: a
// native server that is terminated with open sockets takes the process down with it.
import { Worker } from "node:worker_threads";
import { createBucketMemory, type RateBuckets } from "../../http/access/rate-limits.ts";
import type { RefusalBatch } from "../../http/access/refusals.ts";
import type { StoredKey } from "../../http/access/key-file.ts";
import type { RunningServer } from "../../http/start.ts";
import type { BatchScorer } from "../../http/services.ts";
import type { ThreadCounts } from "../../http/thread-counts.ts";
import { createDoorbell, ring } from "./doorbell.ts";
import {
  answerOf,
  type FromHttpThread,
  type HttpThreadData,
  movable,
  Pending,
  type Question,
  type ToHttpThread,
} from "./messages.ts";
import { inviteToLedger } from "../../ledger/join.ts";
import type { OpenLedger } from "../../ledger/client.ts";
import type { Log } from "../../platform/log.ts";
import type { LaterAssessment } from "../../vault/assessment/deferring-assessor.ts";

const ENTRY = new URL("./thread.ts", import.meta.url);
/** What a thread may take beyond its grace to hand over and end. */
const END_MS = 1500;

/** What every thread is given; the rest of HttpThreadData is its own. */
export type SharedThreadData = Omit<
  HttpThreadData,
  "number" | "ledger" | "decisionRing" | "bell" | "bucketMemory"
>;

export interface HttpThreadsOptions {
  readonly shared: SharedThreadData;
  readonly ledger: OpenLedger;
  /** One for each thread to start. */
  readonly decisionRings: readonly SharedArrayBuffer[];
  readonly log: Log;
  /** Answers what a thread hands on. */
  readonly relay: RunningServer["relay"];
  readonly scorer: BatchScorer | undefined;
  /** Assesses texts too large to be scored in place. */
  readonly assess: LaterAssessment;
  /** Told what a thread has refused. */
  readonly onDenied: (denials: RefusalBatch) => void;
  /** A thread threw what nobody caught, or ended unasked. Called once; end the process. */
  readonly onBroken: () => void;
  /** The threads' file; tests bring another. */
  readonly entry?: URL;
}

export class HttpThreads {
  readonly #threads: HttpThread[];
  readonly #bucketMemory: SharedArrayBuffer;

  /** @private Use openHttpThreads. */
  constructor(threads: HttpThread[], bucketMemory: SharedArrayBuffer) {
    this.#threads = threads;
    this.#bucketMemory = bucketMemory;
  }

  /** The buckets that all threads draw from. */
  bucketsBy(numberOf: (keyId: string) => number): RateBuckets {
    return { memory: this.#bucketMemory, numberOf };
  }

  /** Resolves once all of them listen; rejects with what the first says that cannot. */
  async listen(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.listen()));
  }

  /** A key was made or revoked: every request that comes to a thread from now on finds it so. */
  tellKey(stored: StoredKey): void {
    for (const thread of this.#threads) thread.tellFirst({ kind: "key", stored });
  }

  /** Another table is to be read. */
  rebind(engineMemory: WebAssembly.Memory): void {
    for (const thread of this.#threads) thread.tellFirst({ kind: "table", engineMemory });
  }

  /** What the threads have counted, in their order. */
  counts(): Promise<ThreadCounts[]> {
    return Promise.all(this.#threads.map((thread) => thread.counts()));
  }

  stopAccepting(): void {
    for (const thread of this.#threads) thread.tell({ kind: "stop" });
  }

  /** Resolves once every thread has answered what it accepted and has ended. */
  async close(graceMs: number): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.close(graceMs)));
  }
}

/** Starts the threads; none listens yet. Rejects when one cannot start. */
export async function openHttpThreads(options: HttpThreadsOptions): Promise<HttpThreads> {
  const bucketMemory = createBucketMemory();
  let isBroken = false;
  const onBroken = () => {
    if (!isBroken) options.onBroken();
    isBroken = true;
  };
  const threads = options.decisionRings.map((decisionRing, index) => {
    const ledger = inviteToLedger(options.ledger);
    const bell = createDoorbell();
    const own = { number: index + 1, ledger, decisionRing, bell, bucketMemory };
    return new HttpThread({ ...options.shared, ...own }, { ...options, onBroken });
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

type ThreadOptions = Omit<HttpThreadsOptions, "shared" | "ledger" | "decisionRings">;

class HttpThread {
  readonly ready: Promise<void>;
  readonly #worker: Worker;
  readonly #number: number;
  readonly #bell: SharedArrayBuffer;
  readonly #options: ThreadOptions;
  readonly #counts = new Pending();
  readonly #ended: Promise<void>;
  #expected = expectation();
  #isServing = false;
  #isClosing = false;

  constructor(data: HttpThreadData, options: ThreadOptions) {
    this.#options = options;
    this.#number = data.number;
    this.#bell = data.bell;
    this.ready = this.#expected.promise;
    this.#worker = new Worker(options.entry ?? ENTRY, {
      name: `http-${data.number}`,
      workerData: data,
      transferList: [data.ledger.port],
    });
    this.#worker.on("message", (message: FromHttpThread) => this.#take(message));
    this.#worker.on("error", (error) => this.#break(error.stack ?? error.message));
    this.#ended = new Promise((resolve) => {
      this.#worker.once("exit", (code) => {
        if (!this.#isClosing) this.#break(`it ended with ${code}`);
        this.#counts.rejectAll("the thread has ended");
        resolve();
      });
    });
  }

  async listen(): Promise<void> {
    this.#expected = expectation();
    this.tell({ kind: "listen" });
    await this.#expected.promise;
    this.#isServing = true;
  }

  tell(message: ToHttpThread, transfer: ArrayBuffer[] = []): void {
    this.#worker.postMessage(message, transfer);
  }

  /** As `tell`; heard before the next request, whatever waits in the thread's event loop. */
  tellFirst(message: ToHttpThread): void {
    this.tell(message);
    ring(this.#bell);
  }

  counts(): Promise<ThreadCounts> {
    return this.#counts.ask<ThreadCounts>((id) => this.tell({ kind: "count", id }));
  }

  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    this.tell({ kind: "close", graceMs });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        this.#options.log.warn("http_thread_late", { thread: this.#number });
        resolve();
      }, graceMs + END_MS);
    });
    await Promise.race([this.#ended, late]);
    clearTimeout(timer);
  }

  #take(message: FromHttpThread): void {
    if (message.kind === "question") void this.#answer(message.id, message.question);
    else if (message.kind === "counts") this.#counts.settle(message.id, { value: message.counts });
    else if (message.kind === "denied") this.#options.onDenied(message.denials);
    else if (message.kind === "log") {
      const { level, message: text, fields } = message;
      this.#options.log[level](text, { thread: this.#number, ...fields });
    } else if (message.kind === "broken") this.#break(message.detail);
    else if (message.kind !== "closed") this.#expected.resolve();
  }

  async #answer(id: number, question: Question): Promise<void> {
    const transfer: ArrayBuffer[] = [];
    const answer = await answerOf(this.#perform(question, transfer));
    this.tell({ kind: "answer", id, answer }, transfer);
  }

  async #perform(question: Question, transfer: ArrayBuffer[]): Promise<unknown> {
    if (question.name === "score") {
      const { scorer } = this.#options;
      if (scorer === undefined) throw new Error("there is no pool to score on");
      return scorer.score(question.task);
    }
    if (question.name === "assess") {
      return this.#options.assess(question.context, question.tenant);
    }
    const { buffer } = question.body;
    const { status, headers, body } = await this.#options.relay(question.head, Buffer.from(buffer));
    if (typeof body === "string") return { status, headers: [...headers], body };
    const bytes = movable(body);
    transfer.push(bytes.buffer);
    return { status, headers: [...headers], body: bytes };
  }

  #break(detail: string): void {
    this.#expected.reject(new Error(`HTTP thread ${this.#number}: ${detail}`));
    // Before it serves, whoever starts it hears of it; while it closes, it is over anyway.
    if (!this.#isServing || this.#isClosing) return;
    this.#options.log.error("http_thread_failed", { thread: this.#number, detail });
    this.#options.onBroken();
  }
}

/** A promise that somebody else settles; one that is let down and not awaited is nobody's fault. */
function expectation() {
  let resolve = (): void => undefined;
  let reject = (_error: Error): void => undefined;
  const promise = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}
