// Adapter for the AI SDK (`ai` 7): `toolApproval` of generateText, streamText and ToolLoopAgent,
// and the callback after a tool ran. Typed by structure; nothing is imported.
import type { ApprovalPolicy } from "../gates/approval.ts";
import type { OutcomeReport } from "../reporting/outcome-report.ts";

/** Members read of the SDK's approval options. */
export interface AiSdkToolCall {
  readonly toolCall: {
    readonly toolName: string;
    readonly toolCallId: string;
    readonly input: unknown;
  };
}

/** Assignable to the SDK's `ToolApprovalStatus`. */
export type AiSdkApprovalStatus =
  | { readonly type: "approved"; readonly reason: string }
  | { readonly type: "denied"; readonly reason: string }
  | { readonly type: "user-approval"; readonly reason: string };

/**
 * A `toolApproval` for every tool of a call, unlisted ones included. Never rejects; a repeated
 * question about a tool call after its approval is answered from memory.
 */
export function aiSdkApproval(
  policy: ApprovalPolicy,
): (options: AiSdkToolCall) => Promise<AiSdkApprovalStatus> {
  return async ({ toolCall }) => {
    const { toolName, toolCallId: callId, input } = toolCall;
    const { action, reason } = await policy({ toolName, callId, input });
    if (action === "run") return { type: "approved", reason };
    if (action === "park") return { type: "user-approval", reason };
    return { type: "denied", reason };
  };
}

/** Members read of the SDK's event after a tool ran. */
export interface AiSdkToolEnd {
  readonly toolCall: { readonly toolName: string; readonly toolCallId: string };
  readonly toolOutput: { readonly type: string };
}

/** Outcome reporting as an `onToolExecutionEnd`. Denied calls never ran and are not reported. */
export function aiSdkOutcomes(report: OutcomeReport): (event: AiSdkToolEnd) => void {
  return ({ toolCall, toolOutput }) => {
    if (toolOutput.type !== "tool-result" && toolOutput.type !== "tool-error") return;
    report({
      toolName: toolCall.toolName,
      callId: toolCall.toolCallId,
      isSuccess: toolOutput.type === "tool-result",
    });
  };
}
