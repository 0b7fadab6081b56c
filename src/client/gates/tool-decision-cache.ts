// Cache of decisions by tool call, read only to report the outcome of the call: subject, stakes, request id.
import { putBounded } from "../bounded-map.ts";
import type { ToolCall, ToolDecision } from "./approval.ts";

/** Calls remembered; parked ones may wait for a person for days. */
const CALLS_MAX = 10_000;
/** Longer inputs are not remembered, and their results are reported without a decision. */
const INPUT_LENGTH_MAX = 4096;

/** The members that tell one call from another; the input where the two ids do not. */
export interface CallIdentity extends Pick<ToolCall, "toolName" | "callId" | "conversationId"> {
  readonly input?: unknown;
}

export class ToolDecisionCache {
  readonly #calls = new Map<string, ToolDecision>();

  put(call: CallIdentity, decision: ToolDecision): void {
    const key = buildCallKey(call);
    if (key !== undefined) putBounded(this.#calls, key, decision, CALLS_MAX);
  }

  /**
   * The last decision on this call; undefined when it is not known. Without a conversation the input
   * is part of a call's identity: where ids repeat, a result must not go on the record of another
   * call's agent.
   */
  find(call: CallIdentity): ToolDecision | undefined {
    const key = buildCallKey(call);
    return key === undefined ? undefined : this.#calls.get(key);
  }
}

function buildCallKey({
  conversationId,
  callId,
  toolName,
  input,
}: CallIdentity): string | undefined {
  if (conversationId !== undefined && callId !== undefined) {
    return JSON.stringify([conversationId, callId, toolName]);
  }
  try {
    const text = JSON.stringify(input) ?? "";
    if (text.length > INPUT_LENGTH_MAX) return undefined;
    return JSON.stringify([conversationId ?? null, callId ?? null, toolName, text]);
  } catch {
    // An input that is no JSON is not remembered.
    return undefined;
  }
}
