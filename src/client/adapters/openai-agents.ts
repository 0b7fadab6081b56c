// Adapter for the OpenAI Agents SDK: a tool input guardrail that can refuse, a `needsApproval` that
// can park, and an `execute` that reports. A boolean cannot say "deny", so a tool takes both; one
// policy behind them pays for one read per call. The SDK's `agent_tool_end` is of no use for
// outcomes: it comes after a refusal and after a throw as well, and does not say so. Typed by
// structure; nothing is imported.
import type { AnyInput, ApprovalPolicy } from "../gates/approval.ts";
import type { OutcomeReport } from "../reporting/outcome-report.ts";
import { createUuidV7 } from "../reporting/uuid.ts";
import { readWallClockMs } from "../runtime.ts";

/** Members read of the SDK's `FunctionCallItem`. */
export interface OpenAiToolCall {
  readonly name: string;
  readonly callId: string;
  /** JSON text, as the model wrote it. */
  readonly arguments: string;
}

/** Assignable to the SDK's `ToolGuardrailBehavior`. */
export type OpenAiGuardrailBehavior =
  | { type: "allow" }
  | { type: "rejectContent"; message: string };

/** The argument of `defineToolInputGuardrail`. */
export interface OpenAiGuardrail {
  name: string;
  run: (data: { toolCall: OpenAiToolCall; context?: unknown }) => Promise<{
    outputInfo?: unknown;
    behavior: OpenAiGuardrailBehavior;
  }>;
}

/**
 * A tool input guardrail: refusals are answered to the model with the scored reason, before the
 * tool runs. It runs after `needsApproval`, so a parked call gets here once a person has approved
 * it.
 */
export function openAiGuardrail(policy: ApprovalPolicy): OpenAiGuardrail {
  return {
    name: "trustrank",
    run: async ({ toolCall, context }) => {
      const { name: toolName, callId } = toolCall;
      const input = parseJsonOrText(toolCall.arguments);
      const conversationId = findOrCreateConversationId(context);
      const { action, reason } = await policy({ toolName, callId, conversationId, input });
      const message = `refused: ${reason}`;
      if (action === "deny") return { behavior: { type: "rejectContent", message } };
      return { behavior: { type: "allow" } };
    },
  };
}

/**
 * A `needsApproval` for the tool of that name: true parks the call. A call to be denied is not
 * parked. Made in that place, the policy's callbacks have the input's type from the tool.
 */
export function openAiNeedsApproval<Input = AnyInput>(
  policy: ApprovalPolicy<Input>,
  toolName: string,
): (runContext: unknown, input: Input, callId?: string) => Promise<boolean> {
  return async (runContext, input, callId) => {
    const conversationId = findOrCreateConversationId(runContext);
    const { action } = await policy({ toolName, callId, conversationId, input });
    return action === "park";
  };
}

/**
 * `execute` of the tool of that name, with outcome reporting: the SDK calls it only when the tool
 * runs, so a refused, parked or malformed call is never reported. Its input, result and errors are
 * untouched.
 */
export function openAiExecute<Input, Result>(
  execute: (input: Input, runContext?: never, details?: never) => Result | Promise<Result>,
  options: { readonly toolName: string; readonly report: OutcomeReport<NoInfer<Input>> },
): (input: Input, runContext?: unknown, details?: unknown) => Promise<Result> {
  const { toolName, report } = options;
  return async (input, runContext, details) => {
    const { callId, arguments: text, signal } = readToolDetails(details);
    const end = {
      signal,
      toolName,
      callId,
      conversationId: findOrCreateConversationId(runContext),
      // As the policy saw it: the tool's schema may have changed it since.
      input: text === undefined ? input : (parseJsonOrText(text) as Input),
    };
    let output: Result;
    try {
      output = await execute(input, runContext as never, details as never);
    } catch (error) {
      report({ ...end, error });
      throw error;
    }
    report({ ...end, output });
    return output;
  };
}

function readToolDetails(details: unknown): {
  callId?: string;
  arguments?: string;
  signal?: AbortSignal;
} {
  if (typeof details !== "object" || details === null) return {};
  const { toolCall, signal } = details as {
    toolCall?: Partial<OpenAiToolCall>;
    signal?: unknown;
  };
  const { callId, arguments: text } = toolCall ?? {};
  return {
    ...(signal instanceof AbortSignal ? { signal } : {}),
    ...(typeof callId === "string" ? { callId } : {}),
    ...(typeof text === "string" ? { arguments: text } : {}),
  };
}

/** Runs in this process, by their context: the SDK gives them no name. */
const conversationIds = new WeakMap<object, string>();

function findOrCreateConversationId(runContext: unknown): string | undefined {
  if (typeof runContext !== "object" || runContext === null) return undefined;
  let id = conversationIds.get(runContext);
  if (id === undefined) {
    id = createUuidV7(readWallClockMs());
    conversationIds.set(runContext, id);
  }
  return id;
}

/** Arguments that are not JSON reach the policy as text, and its callbacks decide what to do. */
function parseJsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
