// Reporters' signatures on their way to a pool thread, in micro-batches: what comes in while one is
// being verified leaves as the next one, so that load makes batches larger, not queues longer.
import { ServiceFault } from "./contract/faults.ts";
import { openPool, type Pool, PoolBusy } from "./engine/pool.ts";
import type { IntakeTask } from "./bureau/outcome-intake.ts";
import { KEY_BYTES, SIGNATURE_BYTES, type SignatureTask } from "./signature-batch.ts";
import type { IntakeReply, IntakeWork } from "./signature-worker.ts";

/** A batch costs some 4 ms; more in one would make the first of it wait for the last. */
const BATCH_MAX = 64;
/** Signatures waiting: beyond this a second's work is queued and new ones are refused. */
const WAITING_MAX = 10_000;
const WORKER = new URL("./signature-worker.ts", import.meta.url).href;

interface Waiting {
  key: Uint8Array;
  signature: Uint8Array;
  message: Uint8Array;
  resolve: (isValid: boolean) => void;
  reject: (error: unknown) => void;
}

export class SignaturePool {
  readonly #pool: Pool;
  #waiting: Waiting[] = [];
  #isBusy = false;
  /** Events of the reporters' registry, in order; each thread folds a registry of its own. */
  readonly #keyEvents: Uint8Array[];
  /** So many of them every thread is taken to know until one says otherwise. */
  #keysTold = 0;

  /** `keyEvents`: the registry's events so far. */
  constructor(keyEvents: readonly Uint8Array[] = [], threads = 1) {
    this.#keyEvents = [...keyEvents];
    this.#pool = openPool({ filename: WORKER, workerData: undefined, threads });
  }

  /** The next event of the registry; every batch taken in from now on is judged by it. */
  learn(keyEvent: Uint8Array): void {
    this.#keyEvents.push(keyEvent);
  }

  /** Reads a batch to frames on a pool thread. Rejects with ServiceFault `overloaded`. */
  async takeIn(task: IntakeTask): Promise<Exclude<IntakeReply, { knows: number }>> {
    let keysFrom = this.#keysTold;
    for (;;) {
      const keyCount = this.#keyEvents.length;
      const work = { task, keyCount, keysFrom, keyEvents: this.#keyEvents.slice(keysFrom) };
      const reply = await this.#run<IntakeWork, IntakeReply>(work, []);
      if (!("knows" in reply)) {
        // With one thread it has them now; with several the others will say what they miss.
        this.#keysTold = Math.max(this.#keysTold, keyCount);
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

  /** Whether the signature is valid. Rejects with ServiceFault `overloaded`. */
  verify(key: Uint8Array, signature: Uint8Array, message: Uint8Array): Promise<boolean> {
    if (this.#waiting.length >= WAITING_MAX) {
      const fault = new ServiceFault("overloaded", "too many signatures are waiting");
      return Promise.reject(fault);
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ key, signature, message, resolve, reject });
      if (this.#isBusy) return;
      this.#isBusy = true;
      // The check phase comes after all callbacks of this turn: one batch for all of them.
      setImmediate(() => void this.#work());
    });
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  async #work(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH_MAX);
      try {
        const task = taskOf(batch);
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
    this.#isBusy = false;
  }
}

function taskOf(batch: readonly Waiting[]): SignatureTask {
  const size = batch.reduce((sum, { message }) => sum + message.byteLength, 0);
  const task: SignatureTask = {
    keys: new Uint8Array(batch.length * KEY_BYTES),
    signatures: new Uint8Array(batch.length * SIGNATURE_BYTES),
    messages: new Uint8Array(size),
    ends: new Uint32Array(batch.length),
  };
  let end = 0;
  for (const [index, { key, signature, message }] of batch.entries()) {
    task.keys.set(key, index * KEY_BYTES);
    task.signatures.set(signature, index * SIGNATURE_BYTES);
    task.messages.set(message, end);
    end += message.byteLength;
    task.ends[index] = end;
  }
  return task;
}
