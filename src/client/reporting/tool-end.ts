// End of a tool call that ran, as a rail saw it, and what can be told of it without knowing the tool.
import type { AnyInput, ToolDecision } from "../gates/approval.ts";

/**
 * A tool call that ran to an end: with `error` it threw, without it returned `output`. Calls that
 * never ran (refused, not approved, invalid arguments) are no ends and are never reported.
 */
export interface ToolEnd<Input = AnyInput> {
  readonly toolName: string;
  /** As the model wrote it and the policy saw it. */
  readonly input: Input;
  readonly callId?: string | undefined;
  /** The run, thread or session that `callId` counts in. */
  readonly conversationId?: string | undefined;
  readonly output?: unknown;
  readonly error?: unknown;
  /** Of the caller: what throws after its abort was cut short. */
  readonly signal?: AbortSignal | undefined;
  /** The decision that let it through, where the rail is the gate as well. */
  readonly decision?: ToolDecision | undefined;
}

/** True for a call that threw. */
export function hasThrown(end: ToolEnd): boolean {
  return Object.hasOwn(end, "error") && end.error !== undefined;
}

/** An error that says whose fault it is: a failure of the agent that the outcome is about. */
export class AgentFaultError extends Error {
  override readonly name = "AgentFaultError";
  readonly agentFault = true;
}

/** Names of errors of an abort and of `AbortSignal.timeout`. */
const CUT_SHORT_NAMES: ReadonlySet<unknown> = new Set(["AbortError", "TimeoutError"]);

/**
 * What a throw says of itself. `unfinished`: cancelled by its caller, out of time, or parked by the framework
 * from inside the tool, so its outcome is unknown. True or false: the member `agentFault` of
 * the error, or of the cause that it wraps. Undefined: nothing.
 */
export function readThrow({ error, signal }: ToolEnd): "unfinished" | boolean | undefined {
  if (signal?.aborted === true) return "unfinished";
  for (const { agentFault, name, is_bubble_up: isBubbleUp } of listErrorCauses(error)) {
    if (typeof agentFault === "boolean") return agentFault;
    if (CUT_SHORT_NAMES.has(name) || isBubbleUp === true) return "unfinished";
  }
  return undefined;
}

/**
 * Returned what the conventions of tools call an error: `isError: true` (MCP) or `status: "error"`
 * (a LangChain message).
 */
export function isErrorValue(output: unknown): boolean {
  if (typeof output !== "object" || output === null) return false;
  const { isError, status } = output as { isError?: unknown; status?: unknown };
  return isError === true || status === "error";
}

interface ErrorLike {
  readonly name?: unknown;
  readonly is_bubble_up?: unknown;
  readonly agentFault?: unknown;
  readonly "~brand"?: unknown;
  readonly cause?: unknown;
}

/** Causes looked at; a chain may be a circle. */
const CAUSES_MAX = 8;

/** The error and its causes: frameworks wrap what a tool throws. */
export function listErrorCauses(error: unknown): ErrorLike[] {
  const causes: ErrorLike[] = [];
  let next = error;
  while (typeof next === "object" && next !== null && causes.length < CAUSES_MAX) {
    causes.push(next);
    next = (next as ErrorLike).cause;
  }
  return causes;
}
