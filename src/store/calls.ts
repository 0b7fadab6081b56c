// Kinds of calls to the store thread: whose SQL they carry, what they may look at, how their answers
// cross between threads.
import { SCORED_VIEWS } from "../contract/views.ts";
import { ServiceFault } from "../contract/faults.ts";
import type { StoreCore } from "./core.ts";
import type { FromStore, StoreCall } from "./messages.ts";
import { STREAM_WORK_MS } from "./query/row-streams.ts";
import type { CallerCall } from "./sandbox/messages.ts";
import type { Sandbox } from "./sandbox/sandbox.ts";

/** Whether a call carries SQL of a caller, or takes parts of its answer. */
export function isOfCaller(call: StoreCall): call is CallerCall {
  return ["query", "openStream", "nextPart", "closeStream"].includes(call.name);
}

/** Runs callers' SQL in the sandbox; without one, for an operator's command, in the store itself. */
export async function performForCaller(
  call: CallerCall,
  { readQueue }: StoreCore,
  sandbox: Sandbox | undefined,
  freshen: () => Promise<void>,
): Promise<unknown> {
  const streams = sandbox ?? readQueue.streams;
  if (call.name === "nextPart") return streams.next(call.stream);
  if (call.name === "closeStream") return streams.close(call.stream);
  if (sandbox !== undefined) {
    return call.name === "query" ? sandbox.query(call) : sandbox.openStream(call);
  }
  await freshen();
  if (call.name === "query") return readQueue.query(call.sql, call.limits, call.asker);
  return readQueue.streams.open(call.sql, STREAM_WORK_MS, call.asker);
}

/** The fault that a refusal carries between threads. */
export function faultOf(refusal: Extract<FromStore, { kind: "refusal" }>): ServiceFault {
  return new ServiceFault(refusal.code, refusal.detail, refusal.errors, refusal.retryAfterSec);
}

/** Parts of streams and exported days move instead of being copied. */
export function transferable(result: unknown): ArrayBuffer[] {
  if (!(result instanceof Uint8Array) || !(result.buffer instanceof ArrayBuffer)) return [];
  return result.byteLength === result.buffer.byteLength ? [result.buffer] : [];
}

const SCORES_NAMED = new RegExp(`\\b(${SCORED_VIEWS.join("|")})\\b`, "i");

/** Whether a read may look at scores, by the words of its text. */
export function readsScores(call: StoreCall): boolean {
  if (call.name === "query" || call.name === "openStream") return SCORES_NAMED.test(call.sql);
  return "view" in call && SCORES_NAMED.test(call.view);
}
