// One instance of the query process, as the store thread sees it, and the messages between the two.
// A call that misses its deadline kills the process. The exit settles every call: the one at fault with
// its reason.
import type { LimitedProcess } from "../../platform/limited-process.ts";
import { createQueryTimeoutFault, createQueryMemoryFault } from "../query/query.ts";
import type { EncodedFault } from "../../contract/encoded-fault.ts";
import { PendingCalls } from "../../concurrency/calls.ts";
import type { StoreCall } from "../messages.ts";

/** Rows that the copy lacks, as a Parquet file. */
export interface TableRowsFile {
  readonly table: string;
  readonly path: string;
  /** They take the place of all rows of the table. */
  readonly isWhole: boolean;
}

/** A caller's SQL, and the parts of its answer. */
export type CallerCall = Extract<
  StoreCall,
  { name: "query" | "cancelQuery" | "openStream" | "nextPart" | "closeStream" }
>;

export type SandboxCall =
  | {
      name: "open";
      /** Directory of the store's database, copied first; undefined: the copy is there. */
      copyFrom: string | undefined;
      directory: string;
      /** The one directory from which files of rows may be read. */
      partsDirectory: string;
      timeZone: string;
      /** Limit on the memory of the process, which it has to prove. */
      memoryBytes: number;
    }
  | { name: "add"; parts: readonly TableRowsFile[] }
  | CallerCall;

export interface MessageToSandbox {
  id: number;
  call: SandboxCall;
}

export type MessageFromSandbox =
  | { kind: "answer"; id: number; result: unknown }
  | { kind: "refusal"; id: number; fault: EncodedFault }
  /** Nothing of the copy can be trusted any more. */
  | { kind: "broken"; detail: string };

/** The process exited during a call that did not cause it: the call can be retried. */
export class ProcessLost extends Error {}

/** It exited during several calls, any of which may have caused it. */
export class SharedProcessLost extends ProcessLost {}

/** Starts the process; messages go to the function given. */
export type ProcessStarter = (onMessage: (message: MessageFromSandbox) => void) => LimitedProcess;

/** A call of a caller's, who answers for what it does to the process. */
export interface LiableCaller {
  readonly tenant: string;
  /** Time that the fault names, in ms. */
  readonly limitMs: number;
  /** False: should the process end by itself, the call is made again alone and answers for that run. Absent: true. */
  readonly isAlone?: () => boolean;
}

interface SandboxCallContext {
  readonly liable: LiableCaller | undefined;
}

export class SandboxProcess {
  readonly #process: LimitedProcess;
  readonly #calls = new PendingCalls<SandboxCallContext>();
  readonly #onForcedEnd: (tenant: string) => void;
  /** The call whose deadline has passed. */
  #timedOutCall: SandboxCallContext | undefined;
  #isKilled = false;
  hasEnded = false;
  /** The reason why nothing of its copy can be trusted any more. */
  brokenReason: string | undefined;
  /** Resolves after every call is settled, with a line for the log; empty when it was wanted. */
  readonly whenEnded: Promise<string>;

  constructor(start: ProcessStarter, onStrike: (tenant: string) => void) {
    this.#onForcedEnd = onStrike;
    this.#process = start((message) => this.#receive(message));
    this.whenEnded = this.#process.whenEnded.then((how) => this.#rejectAllCalls(how));
  }

  /**
   * Makes a call; after `deadlineMs` the process is killed.
   * @param liable the caller, for calls of callers.
   * @throws ServiceFault as the process answers, and for a caller's call that ended it; ProcessLost
   *   when something else did.
   */
  call<T>(call: SandboxCall, deadlineMs: number, liable?: LiableCaller): Promise<T> {
    if (this.hasEnded) return Promise.reject(new ProcessLost("the query process has ended"));
    const context = { liable };
    const timer = setTimeout(() => {
      this.#timedOutCall ??= context;
      this.#killProcess();
    }, deadlineMs);
    return this.#calls
      .start<T>((id) => this.#process.send({ id, call }), context)
      .finally(() => clearTimeout(timer));
  }

  /** Resident bytes. */
  memoryBytes(): number {
    return this.hasEnded ? 0 : this.#process.memoryBytes();
  }

  /** Ends it for reasons of our own: no call is at fault. */
  kill(): void {
    this.#isKilled = true;
    this.#killProcess();
  }

  #killProcess(): void {
    this.hasEnded = true;
    this.#process.kill();
  }

  #receive(message: MessageFromSandbox): void {
    if (message.kind === "broken") {
      this.brokenReason ??= message.detail;
      return;
    }
    const reply = message.kind === "answer" ? { value: message.result } : message;
    this.#calls.settle(message.id, reply);
  }

  #rejectAllCalls(how: string): string {
    this.hasEnded = true;
    const late = this.#timedOutCall;
    const callerCount = this.#calls.contexts().filter(({ liable }) => liable !== undefined).length;
    // It exited by itself: a fatal allocation failure, or the host ran out of memory. A single running
    // query is the cause; of several, it may be any.
    const isOwnEnd = late === undefined && !this.#isKilled;
    this.#calls.rejectAll((context) => {
      const { liable } = context;
      const isAtFault = context === late || (isOwnEnd && callerCount === 1);
      if (liable === undefined || !(isAtFault || isOwnEnd)) return new ProcessLost(how);
      if (!isAtFault && liable.isAlone?.() === false) return new SharedProcessLost(how);
      this.#onForcedEnd(liable.tenant);
      if (!isAtFault) return new ProcessLost(how);
      return context === late ? createQueryTimeoutFault(liable.limitMs) : createQueryMemoryFault();
    });
    if (this.#isKilled) return "";
    return late === undefined ? how : `a query was still running after its deadline: ${how}`;
  }
}
