// Pool that verifies reporters' signatures, in micro-batches: signatures that arrive while one
// batch is being verified leave as the next one, so that load makes batches larger, not queues
// longer.
import { ServiceFault } from "../../contract/faults.ts";
import { computeDefaultThreads, openPool, type Pool, PoolBusy } from "../../platform/pool.ts";
import { ED25519_KEY_BYTES, ED25519_SIGNATURE_BYTES } from "../../platform/ed25519.ts";
import type { OutcomeIntakeTask } from "../../bureau/outcomes/batch-reader.ts";
import type { SignatureTask } from "./batch.ts";
import type { IntakeReply, IntakeWork } from "./worker.ts";

/** A batch costs some 4 ms; more in one would make the first of it wait for the last. */
const BATCH_MAX = 64;
/** Fewer are not shared out: a hop costs as much as two of them. */
const BATCH_MIN = 8;
/**
 * Number of threads: two also where there are two cores, because a signature costs five times the
 * rest of an outcome and these threads yield to the others; beyond four the ledger is the
 * bottleneck.
 */
const THREADS_MIN = 2;
const THREADS_MAX = 4;
/** Loading one takes 150 ms of CPU: many services get no signature in a day. */
const INITIAL_THREADS = 1;
/** Signatures waiting: beyond this a second's work is queued and new ones are refused. */
const WAITING_MAX = 10_000;
const WORKER = new URL("./worker.ts", import.meta.url).href;

interface PendingSignature {
  key: Uint8Array;
  signature: Uint8Array;
  message: Uint8Array;
  resolve: (isValid: boolean) => void;
  reject: (error: unknown) => void;
}

export class SignaturePool {
  readonly #pool: Pool;
  #waiting: PendingSignature[] = [];
  readonly #threads: number;
  #isScheduled = false;
  /** Micro-batches in progress, one a thread at most. */
  #underWay = 0;
  /** Events of the reporters' registry, in order; each thread folds a registry of its own. */
  readonly #keyEvents: Uint8Array[];
  /** Number of key events that every thread is taken to know until one reports otherwise. */
  #keysSent = 0;

  /** `keyEvents`: the registry's events so far. */
  constructor(
    keyEvents: readonly Uint8Array[] = [],
    threads = computeThreadCount(computeDefaultThreads()),
  ) {
    this.#threads = threads;
    this.#keyEvents = [...keyEvents];
    const threadsAtOnce = INITIAL_THREADS;
    this.#pool = openPool({
      name: "signatures",
      filename: WORKER,
      workerData: undefined,
      threads,
      threadsAtOnce,
    });
  }

  /** Signatures and batches that wait for a thread. */
  get waiting(): number {
    return this.#waiting.length + this.#pool.queueLength;
  }

  /** Adds the next event of the registry; every batch taken in from now on is judged by it. */
  learn(keyEvent: Uint8Array): void {
    this.#keyEvents.push(keyEvent);
  }

  /**
   * Reads a batch to frames on a pool thread.
   * @throws ServiceFault `overloaded` when too many tasks wait.
   */
  async takeIn(task: OutcomeIntakeTask): Promise<Exclude<IntakeReply, { knows: number }>> {
    let keysFrom = this.#keysSent;
    for (;;) {
      const keyCount = this.#keyEvents.length;
      const work = { task, keyCount, keysFrom, keyEvents: this.#keyEvents.slice(keysFrom) };
      const reply = await this.#run<IntakeWork, IntakeReply>(work, []);
      if (!("knows" in reply)) {
        // One thread has them now; the others report the ones they miss.
        this.#keysSent = Math.max(this.#keysSent, keyCount);
        return reply;
      }
      keysFrom = reply.knows;
    }
  }

  async #run<Task, Result>(task: Task, transfer: ArrayBuffer[]): Promise<Result> {
    try {
      return await this.#pool.run<Task, Result>(task, transfer);
    } catch (error) {
      if (!(error instanceof PoolBusy)) throw error;
      throw new ServiceFault("overloaded", "too many signatures are waiting");
    }
  }

  /**
   * Whether the signature is valid.
   * @throws ServiceFault `overloaded` when too many wait.
   */
  verify(key: Uint8Array, signature: Uint8Array, message: Uint8Array): Promise<boolean> {
    if (this.#waiting.length >= WAITING_MAX) {
      const fault = new ServiceFault("overloaded", "too many signatures are waiting");
      return Promise.reject(fault);
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ key, signature, message, resolve, reject });
      if (this.#isScheduled) return;
      this.#isScheduled = true;
      // The check phase comes after all callbacks of this turn: all of them are there to share out.
      setImmediate(() => this.#shareOut());
    });
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  /** Starts as many threads as there is work for; one that works already goes on by itself. */
  #shareOut(): void {
    this.#isScheduled = false;
    const batches = Math.ceil(this.#waiting.length / BATCH_MIN);
    const started = Math.min(batches, this.#threads - this.#underWay);
    for (let count = 0; count < started; count += 1) void this.#work();
  }

  async #work(): Promise<void> {
    this.#underWay += 1;
    while (this.#waiting.length > 0) {
      const share = Math.ceil(this.#waiting.length / this.#threads);
      const batch = this.#waiting.splice(0, Math.min(BATCH_MAX, Math.max(BATCH_MIN, share)));
      try {
        const task = encodeSignatureTask(batch);
        const transfer = [task.keys, task.signatures, task.messages, task.ends];
        const results = await this.#run<SignatureTask, Uint8Array>(
          task,
          transfer.map((array) => array.buffer),
        );
        for (const [index, { resolve }] of batch.entries()) resolve(results[index] === 1);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#underWay -= 1;
  }
}

function computeThreadCount(spare: number): number {
  return Math.min(THREADS_MAX, Math.max(THREADS_MIN, spare));
}

function encodeSignatureTask(batch: readonly PendingSignature[]): SignatureTask {
  const size = batch.reduce((sum, { message }) => sum + message.byteLength, 0);
  const task: SignatureTask = {
    keys: new Uint8Array(batch.length * ED25519_KEY_BYTES),
    signatures: new Uint8Array(batch.length * ED25519_SIGNATURE_BYTES),
    messages: new Uint8Array(size),
    ends: new Uint32Array(batch.length),
  };
  let end = 0;
  for (const [index, { key, signature, message }] of batch.entries()) {
    task.keys.set(key, index * ED25519_KEY_BYTES);
    task.signatures.set(signature, index * ED25519_SIGNATURE_BYTES);
    task.messages.set(message, end);
    end += message.byteLength;
    task.ends[index] = end;
  }
  return task;
}
