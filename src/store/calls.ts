// Kinds of calls to the store thread: whose SQL they carry, what they may look at, how their answers
// cross between threads.
import { SCORED_VIEWS } from "../contract/views.ts";
import type { StoreCall } from "./messages.ts";
import type { CallerCall } from "./sandbox/messages.ts";

/** Whether a call carries SQL of a caller, or takes parts of its answer. */
export function isOfCaller(call: StoreCall): call is CallerCall {
  return ["query", "openStream", "nextPart", "closeStream"].includes(call.name);
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
