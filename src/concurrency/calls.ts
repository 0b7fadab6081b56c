// Request-response correlation by call number, for calls between threads and processes, and the form in which replies
// cross: class instances do not survive structured clone.
import { decodeFault, encodeFault, type EncodedFault } from "../contract/encoded-fault.ts";
import { ServiceFault } from "../contract/faults.ts";

/** Outcome of a call as data. `failure` is the stack of an error that is not a ServiceFault. */
export type CallReply =
  | { readonly value: unknown }
  | { readonly fault: EncodedFault }
  | { readonly failure: string };

interface PendingCall<Context> {
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
  readonly context: Context;
}

/** Calls without a reply yet. A reply to an unknown number is ignored. */
export class PendingCalls<Context = undefined> {
  readonly #pending = new Map<number, PendingCall<Context>>();
  #lastId = 0;

  get size(): number {
    return this.#pending.size;
  }

  /** Contexts of the pending calls, in the order of their calls. */
  contexts(): Context[] {
    return [...this.#pending.values()].map(({ context }) => context);
  }

  /**
   * Registers a call, then calls `send` with the number that the reply will carry. Where `send` throws, the call
   * is rejected and no longer pending.
   * @param context passed to `rejectAll`'s callback.
   */
  start<Value>(
    send: (id: number) => void,
    ...[context]: Context extends undefined ? [] : [Context]
  ): Promise<Value> {
    return new Promise<Value>((resolve, reject) => {
      this.#lastId += 1;
      const id = this.#lastId;
      this.#pending.set(id, { resolve, reject, context: context as Context });
      try {
        send(id);
      } catch (error) {
        this.#pending.delete(id);
        throw error;
      }
    });
  }

  resolve(id: number, value: unknown): void {
    this.#take(id)?.resolve(value as never);
  }

  /** Settles a call as the other side did. */
  settle(id: number, reply: CallReply): void {
    if ("value" in reply) return this.resolve(id, reply.value);
    const error = "fault" in reply ? decodeFault(reply.fault) : new Error(reply.failure);
    this.#take(id)?.reject(error);
  }

  /** Rejects all calls, for example when the other side has ended; `createError` is called for each. */
  rejectAll(createError: (context: Context) => Error): void {
    const calls = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject, context } of calls) reject(createError(context));
  }

  #take(id: number): PendingCall<Context> | undefined {
    const call = this.#pending.get(id);
    this.#pending.delete(id);
    return call;
  }
}

/** Waits for `work` and encodes its outcome. Never rejects. */
export async function encodeReply(work: Promise<unknown>): Promise<CallReply> {
  try {
    return { value: await work };
  } catch (error) {
    if (error instanceof ServiceFault) return { fault: encodeFault(error) };
    return { failure: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
