// One life of the process that runs callers' SQL, as the store thread sees it: calls with a deadline,
// at which the process is killed. Its end settles every call: the one at fault with its reason.
import type { LimitedProcess } from "../../platform/limited-process.ts";
import { createQueryTimeoutFault, createQueryMemoryFault } from "../query/query.ts";
import type { MessageFromSandbox, SandboxCall } from "./messages.ts";
import { PendingCalls } from "../../concurrency/calls.ts";

/** The process ended under a call that is not at fault: it may be made again. */
export class ProcessLost extends Error {}

/** Starts the process; messages go to the function given. */
export type ProcessStarter = (onMessage: (message: MessageFromSandbox) => void) => LimitedProcess;

/** A call of a caller's, who answers for what it does to the process. */
export interface LiableCaller {
  readonly tenant: string;
  /** Time that the fault names, in ms. */
  readonly limitMs: number;
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
    // It ended by itself: an allocation was refused where that cannot be survived, or the machine ran
    // out of memory. With one query under way that one did it; of several it may be any.
    const isOwnEnd = late === undefined && !this.#isKilled;
    this.#calls.rejectAll((context) => {
      const { liable } = context;
      const isAtFault = context === late || (isOwnEnd && callerCount === 1);
      if (liable === undefined || !(isAtFault || isOwnEnd)) return new ProcessLost(how);
      this.#onForcedEnd(liable.tenant);
      if (!isAtFault) return new ProcessLost(how);
      return context === late ? createQueryTimeoutFault(liable.limitMs) : createQueryMemoryFault();
    });
    if (this.#isKilled) return "";
    return late === undefined ? how : `a query was still running after its deadline: ${how}`;
  }
}
