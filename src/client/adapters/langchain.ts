// Adapter for LangChain: a middleware whose `wrapToolCall` refuses, parks and reports. The two
// things only the framework can make (a ToolMessage, an interrupt) are passed in. Typed by
// structure; nothing is imported.
import type { ApprovalPolicy, ToolDecision } from "../gates/approval.ts";
import type { OutcomeReport } from "../reporting/outcome-report.ts";
import { listErrorCauses, isErrorValue } from "../reporting/tool-end.ts";

/** Members read of a tool call. */
export interface LangChainToolCall {
  readonly name: string;
  readonly id?: string | undefined;
  readonly args: unknown;
}

/** Members read of a `ToolCallRequest`. */
export interface LangChainRequest {
  readonly toolCall: LangChainToolCall;
  /** The tool of that name; undefined where there is none. */
  readonly tool?: unknown;
  /** Its `configurable.thread_id` names the conversation. */
  readonly runtime?: unknown;
}

/** The policy, and the two things that only the framework can make. */
export interface LangChainOptions<Message> {
  readonly policy: ApprovalPolicy;
  /** Makes the answer to a refused call, e.g. `(fields) => new ToolMessage(fields)`. */
  readonly toolMessage: (fields: {
    content: string;
    tool_call_id: string;
    name: string;
    status: "error";
  }) => Message;
  /**
   * `interrupt` of langgraph: parks the run and returns the value of its resumption. Only `true`,
   * `{ type: "approve" }` or LangChain's `{ decisions: [{ type: "approve" }] }` lets the call through.
   */
  readonly interrupt: (value: unknown) => unknown;
  readonly report?: OutcomeReport;
}

/** Argument of `createMiddleware`. */
export interface LangChainMiddleware<Message> {
  name: string;
  wrapToolCall: <Request extends LangChainRequest, Result>(
    request: Request,
    handler: (request: Request) => Result | Promise<Result>,
  ) => Promise<Result | Message>;
}

/**
 * Makes the argument of `createMiddleware`. A parked node runs again from its beginning when it is
 * resumed: the policy then answers from memory.
 */
export function langChainMiddleware<Message>(
  options: LangChainOptions<Message>,
): LangChainMiddleware<Message> {
  const { policy, report } = options;
  return {
    name: "trustrank",
    async wrapToolCall(request, handler) {
      const { name: toolName, id: callId, args: input } = request.toolCall;
      const call = { toolName, callId, input, conversationId: readThreadId(request.runtime) };
      const decision = await policy(call);
      const refusal = await findRefusal(options, request.toolCall, decision);
      if (refusal !== undefined) {
        report?.skip("refused", toolName);
        return buildRefusalMessage(options, request.toolCall, refusal);
      }
      const end = { ...call, decision, signal: readSignal(request.runtime) };
      let output;
      try {
        output = await handler(request);
      } catch (error) {
        if (isInvalidCall(error)) report?.skip("notRun", toolName);
        else report?.({ ...end, error });
        throw error;
      }
      // A name without a tool is answered with a message, and nothing has run.
      const isUnknownTool = Object.hasOwn(request, "tool") && request.tool === undefined;
      if (isUnknownTool && isErrorValue(output)) report?.skip("notRun", toolName);
      else report?.({ ...end, output: findAnswer(output, callId) });
      return output;
    },
  };
}

/** Why the call must not run, once a person was asked about a parked one; undefined where it may. */
async function findRefusal<Message>(
  { interrupt }: LangChainOptions<Message>,
  { name: tool, args: input }: LangChainToolCall,
  { action, reason }: ToolDecision,
): Promise<string | undefined> {
  if (action === "run") return undefined;
  if (action === "deny") return reason;
  const resumed = await interrupt({ tool, input, reason });
  return isApprovalResponse(resumed) ? undefined : "not approved by a person";
}

/** The message to the model in a `Command` that the tool returned; of anything else the output itself. */
function findAnswer(output: unknown, callId: string | undefined): unknown {
  const { update } = (output ?? {}) as { update?: unknown };
  const entries = Array.isArray(update) ? (update as unknown[]) : Object.entries(update ?? {});
  const messages = entries
    .filter((entry): entry is [string, unknown] => Array.isArray(entry) && entry[0] === "messages")
    .flatMap(([, value]) => value as { tool_call_id?: unknown }[]);
  return messages.find((message) => message?.tool_call_id === callId) ?? output;
}

/** The arguments did not fit the tool's schema: it has not run. */
function isInvalidCall(error: unknown): boolean {
  return listErrorCauses(error).some(
    ({ name, "~brand": brand }) =>
      brand === "ToolInvocationError" || name === "ToolInputParsingException",
  );
}

function readThreadId(runtime: unknown): string | undefined {
  const { configurable } = (runtime ?? {}) as { configurable?: { thread_id?: unknown } };
  const id = configurable?.thread_id;
  return typeof id === "string" ? id : undefined;
}

function readSignal(runtime: unknown): AbortSignal | undefined {
  const { signal } = (runtime ?? {}) as { signal?: unknown };
  return signal instanceof AbortSignal ? signal : undefined;
}

function buildRefusalMessage<Message>(
  options: LangChainOptions<Message>,
  toolCall: LangChainToolCall,
  reason: string,
): Message {
  const { name, id = "" } = toolCall;
  return options.toolMessage({
    content: `refused: ${reason}`,
    tool_call_id: id,
    name,
    status: "error",
  });
}

function isApprovalResponse(resumed: unknown): boolean {
  if (resumed === true) return true;
  if (typeof resumed !== "object" || resumed === null) return false;
  const { type, decisions } = resumed as { type?: unknown; decisions?: unknown };
  if (decisions === undefined) return type === "approve";
  // One interrupt parks one call, so there is one decision on it.
  return Array.isArray(decisions) && decisions.length === 1 && decisions[0]?.type === "approve";
}
