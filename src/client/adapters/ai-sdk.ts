// Adapter for the AI SDK (`ai` 7): `toolApproval` of generateText, streamText and ToolLoopAgent,
// and the callback after a tool ran. Typed by structure; nothing is imported.
import type { AnyInput, ApprovalPolicy, ToolDecision } from "../gates/approval.ts";
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
 * question about a tool call after its approval is answered from memory. The SDK names no
 * conversation: where the model repeats call ids, the same question is one question for as long as
 * a verdict lives.
 */
export function aiSdkApproval(
  policy: ApprovalPolicy,
): (options: AiSdkToolCall) => Promise<AiSdkApprovalStatus> {
  return async ({ toolCall }) => {
    const { toolName, toolCallId: callId, input } = toolCall;
    return convertToApprovalStatus(await policy({ toolName, callId, input }));
  };
}

/**
 * The same for one tool: `toolApproval: { transfer: aiSdkToolApproval(policy, "transfer") }`. Made in
 * that place, the policy's callbacks have the input's type from the tool.
 */
export function aiSdkToolApproval<Input = AnyInput>(
  policy: ApprovalPolicy<Input>,
  toolName: string,
): (input: Input, options: { readonly toolCallId: string }) => Promise<AiSdkApprovalStatus> {
  return async (input, { toolCallId: callId }) =>
    convertToApprovalStatus(await policy({ toolName, callId, input }));
}

function convertToApprovalStatus({ action, reason }: ToolDecision): AiSdkApprovalStatus {
  if (action === "run") return { type: "approved", reason };
  if (action === "park") return { type: "user-approval", reason };
  return { type: "denied", reason };
}

/** Members read of the SDK's event after a tool ran. */
export interface AiSdkToolEnd {
  readonly toolCall: {
    readonly toolName: string;
    readonly toolCallId: string;
    readonly input?: unknown;
  };
  readonly toolOutput: {
    readonly type: string;
    readonly output?: unknown;
    readonly error?: unknown;
  };
}

/**
 * Outcome reporting as an `onToolExecutionEnd`, which the SDK calls for tools that ran alone: not
 * for denied calls, nor for arguments that do not fit the tool's schema.
 */
export function aiSdkOutcomes(report: OutcomeReport): (event: AiSdkToolEnd) => void {
  return ({ toolCall, toolOutput }) => {
    const { toolName, toolCallId: callId, input } = toolCall;
    const { type, output } = toolOutput;
    if (type === "tool-result") report({ toolName, callId, input, output });
    if (type === "tool-error") {
      report({ toolName, callId, input, error: toolOutput.error ?? new Error("not told") });
    }
  };
}
