// Adapter for LangChain: a middleware whose `wrapToolCall` refuses, parks and reports. The two
// things only the framework can make (a ToolMessage, an interrupt) are passed in. Typed by
// structure; nothing is imported.
import type { ApprovalPolicy } from "../gates/approval.ts";
import type { OutcomeReport } from "../reporting/outcome-report.ts";

/** Members read of a tool call. */
export interface LangChainToolCall {
  readonly name: string;
  readonly id?: string | undefined;
  readonly args: unknown;
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
   * `interrupt` of langgraph: parks the run and returns the value of its resumption. Only `true` or
   * `{ type: "approve" }` lets the call through.
   */
  readonly interrupt: (value: unknown) => unknown;
  readonly report?: OutcomeReport;
}

/** Argument of `createMiddleware`. */
export interface LangChainMiddleware<Message> {
  name: string;
  wrapToolCall: <Request extends { toolCall: LangChainToolCall }, Result>(
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
      const { action, reason } = await policy({ toolName, callId, input });
      if (action === "deny") return refused(options, request.toolCall, reason);
      if (action === "park") {
        const resumed = await options.interrupt({ tool: toolName, input, reason });
        if (!isApproval(resumed)) {
          return refused(options, request.toolCall, "not approved by a person");
        }
      }
      const end = { toolName, callId: callId ?? "" };
      let result;
      try {
        result = await handler(request);
      } catch (thrown) {
        report?.({ ...end, isSuccess: false });
        throw thrown;
      }
      report?.({ ...end, isSuccess: true });
      return result;
    },
  };
}

function refused<Message>(
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

function isApproval(resumed: unknown): boolean {
  if (resumed === true) return true;
  return (
    typeof resumed === "object" && resumed !== null && Reflect.get(resumed, "type") === "approve"
  );
}
