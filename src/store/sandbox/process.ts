// One life of the process that runs callers' SQL, as the store thread sees it: calls with a deadline,
// at which the process is killed. Its end settles every call: the one at fault with its reason.
import type { LimitedProcess } from "../../platform/limited-process.ts";
import { createQueryTimeoutFault, createQueryMemoryFault } from "../query/query.ts";
import type { MessageFromSandbox, SandboxCall } from "./messages.ts";
import { decodeFault } from "../../contract/encoded-fault.ts";

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

interface PendingSandboxCall {
  readonly resolve: (result: never) => void;
  readonly reject: (error: Error) => void;
  readonly liable: LiableCaller | undefined;
  readonly timer: NodeJS.Timeout;
}

export class SandboxProcess {
  readonly #process: LimitedProcess;
  readonly #calls = new Map<number, PendingSandboxCall>();
  readonly #onForcedEnd: (tenant: string) => void;
  #nextId = 1;
  /** The call whose deadline has passed. */
  #timedOutCall: PendingSandboxCall | undefined;
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
    return new Promise((resolve, reject) => {
      const id = this.#nextId++;
      const timer = setTimeout(() => {
        this.#timedOutCall ??= this.#calls.get(id);
        this.#killProcess();
      }, deadlineMs);
      this.#calls.set(id, { resolve, reject, liable, timer });
      this.#process.send({ id, call });
    });
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
    const pending = this.#calls.get(message.id);
    if (pending === undefined) return;
    this.#calls.delete(message.id);
    clearTimeout(pending.timer);
    if (message.kind === "answer") pending.resolve(message.result as never);
    else pending.reject(decodeFault(message.fault));
  }

  #rejectAllCalls(how: string): string {
    this.hasEnded = true;
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    const late = this.#timedOutCall;
    const callers = calls.filter(({ liable }) => liable !== undefined);
    // It ended by itself: an allocation was refused where that cannot be survived, or the machine ran
    // out of memory. With one query under way that one did it; of several it may be any.
    const isOwnEnd = late === undefined && !this.#isKilled;
    for (const pending of calls) {
      const { liable, timer, reject } = pending;
      clearTimeout(timer);
      const isAtFault = pending === late || (isOwnEnd && callers.length === 1);
      if (liable === undefined || !isAtFault) {
        if (isOwnEnd && liable !== undefined) this.#onForcedEnd(liable.tenant);
        reject(new ProcessLost(how));
        continue;
      }
      this.#onForcedEnd(liable.tenant);
      reject(pending === late ? createQueryTimeoutFault(liable.limitMs) : createQueryMemoryFault());
    }
    if (this.#isKilled) return "";
    return late === undefined ? how : `a query was still running after its deadline: ${how}`;
  }
}
