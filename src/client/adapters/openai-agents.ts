// Adapter for the OpenAI Agents SDK: a tool input guardrail that can refuse, and a `needsApproval`
// that can park. A boolean cannot say "deny", so a tool takes both; one policy behind them pays for
// one read per call. Typed by structure; nothing is imported.
import type { ApprovalPolicy } from "../gates/approval.ts";
import type { OutcomeReport } from "../reporting/outcome-report.ts";

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
  run: (data: { toolCall: OpenAiToolCall }) => Promise<{
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
    run: async ({ toolCall }) => {
      const { name: toolName, callId } = toolCall;
      const input = parsed(toolCall.arguments);
      const { action, reason } = await policy({ toolName, callId, input });
      const message = `refused: ${reason}`;
      if (action === "deny") return { behavior: { type: "rejectContent", message } };
      return { behavior: { type: "allow" } };
    },
  };
}

/**
 * A `needsApproval` for the tool of that name: true parks the call. A call to be denied is not
 * parked.
 */
export function openAiNeedsApproval(
  policy: ApprovalPolicy,
  toolName: string,
): (runContext: unknown, input: unknown, callId?: string) => Promise<boolean> {
  return async (_runContext, input, callId) => {
    const { action } = await policy({ toolName, callId, input });
    return action === "park";
  };
}

/** Outcome reporting as a listener for `agent_tool_end` of an agent or runner. */
export function openAiOutcomes(report: OutcomeReport): (...event: unknown[]) => void {
  return (...event) => {
    const details = event.at(-1);
    if (typeof details !== "object" || details === null) return;
    const toolCall: unknown = Reflect.get(details, "toolCall");
    if (typeof toolCall !== "object" || toolCall === null) return;
    const { name, callId, status } = toolCall as Partial<OpenAiToolCall & { status: string }>;
    if (typeof name !== "string" || typeof callId !== "string") return;
    report({ toolName: name, callId, isSuccess: status !== "incomplete" });
  };
}

/** Arguments that are not JSON reach the policy as text, and its callbacks decide what to do. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
