// Adapter for the AI SDK: `aiSdkTools` wraps the tools themselves, which every version runs; `aiSdkApproval` is
// the `toolApproval` of generateText, streamText and ToolLoopAgent, which version 6 ignores, and `aiSdkOutcomes`
// the callback after a tool ran. Typed by structure; nothing is imported.
import { TrustGateError } from "../errors.ts";
import type { AnyInput, ApprovalPolicy, ToolDecision } from "../gates/approval.ts";
import type { OutcomeReport } from "../reporting/outcome-report.ts";
import { assertFrameworkHook } from "./framework-version.ts";

/** The hooks that only AI SDK 7 has. */
const HOOK = {
  packageName: "ai",
  range: "^7.0.0",
  advice: "wrap the tools, `tools: aiSdkTools(tools, { policy, report })`, for 6 and 7",
};

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
 * @throws TypeError at once, where a version of the SDK is installed that would ignore it.
 */
export function aiSdkApproval(
  policy: ApprovalPolicy,
): (options: AiSdkToolCall) => Promise<AiSdkApprovalStatus> {
  assertFrameworkHook({ ...HOOK, option: "toolApproval" });
  return async ({ toolCall }) => {
    const { toolName, toolCallId: callId, input } = toolCall;
    return convertToApprovalStatus(await policy({ toolName, callId, input }));
  };
}

/**
 * The same for one tool: `toolApproval: { transfer: aiSdkToolApproval(policy, "transfer") }`. Made in
 * that place, the policy's callbacks have the input's type from the tool.
 * @throws TypeError at once, where a version of the SDK is installed that would ignore it.
 */
export function aiSdkToolApproval<Input = AnyInput>(
  policy: ApprovalPolicy<Input>,
  toolName: string,
): (input: Input, options: { readonly toolCallId: string }) => Promise<AiSdkApprovalStatus> {
  assertFrameworkHook({ ...HOOK, option: "toolApproval" });
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
 * @throws TypeError at once, where a version of the SDK is installed that would ignore it.
 */
export function aiSdkOutcomes(report: OutcomeReport): (event: AiSdkToolEnd) => void {
  assertFrameworkHook({ ...HOOK, option: "onToolExecutionEnd" });
  return ({ toolCall, toolOutput }) => {
    const { toolName, toolCallId: callId, input } = toolCall;
    const { type, output } = toolOutput;
    if (type === "tool-result") report({ toolName, callId, input, output });
    if (toolOutput.error instanceof TrustGateError) report.skip("refused", toolName);
    else if (type === "tool-error") {
      report({ toolName, callId, input, error: toolOutput.error ?? new Error("not told") });
    }
  };
}

/** The policy that decides on each call, and outcome reporting. */
export interface AiSdkToolsOptions {
  readonly policy: ApprovalPolicy;
  /** Reports what the tools return or throw; then leave `aiSdkOutcomes` out. */
  readonly report?: OutcomeReport;
}

/** Members read of what the SDK gives a tool; `messages` are those of the call of the model. */
interface AiSdkExecution {
  readonly toolCallId: string;
  readonly messages?: readonly { readonly role: string; readonly content: unknown }[];
  readonly abortSignal?: AbortSignal;
}

interface AiSdkTool {
  readonly needsApproval?: unknown;
  readonly execute?: (input: unknown, execution: AiSdkExecution) => unknown;
}

/**
 * The same tools with the outbound gate in front of their `execute` and outcome reporting behind it: no
 * version of the SDK can run one without a decision. A refused call throws a `TrustGateError`, which the model
 * reads; a parked one waits for the SDK's approval (`needsApproval`), and runs only with that in its messages.
 * @throws TypeError at once for a tool without `execute`: whatever runs it must ask the policy itself.
 */
export function aiSdkTools<Tools extends Readonly<Record<string, object>>>(
  tools: Tools,
  options: AiSdkToolsOptions,
): Tools {
  const wrapped = Object.entries(tools).map(([toolName, tool]) => {
    const { execute } = tool as AiSdkTool;
    if (typeof execute === "function") return [toolName, wrapTool(toolName, tool, options)];
    throw new TypeError(
      `the tool \`${toolName}\` has no \`execute\`: ask the policy where it runs, and leave it out here`,
    );
  });
  return Object.fromEntries(wrapped) as Tools;
}

function wrapTool(toolName: string, tool: AiSdkTool, options: AiSdkToolsOptions): AiSdkTool {
  const { policy, report } = options;
  const run = tool.execute!.bind(tool);
  const describe = (input: unknown, { toolCallId: callId, abortSignal }: AiSdkExecution) => ({
    toolName,
    callId,
    input,
    signal: abortSignal,
  });
  const admit = async (input: unknown, execution: AiSdkExecution) => {
    const call = describe(input, execution);
    const decision = await policy(call);
    const { action, reason } = decision;
    if (action === "run" || (action === "park" && isApproved(execution)))
      return { ...call, decision };
    if (report !== undefined) report.skip("refused", toolName);
    throw new TrustGateError(
      action === "park" ? `not run: a person must approve first (${reason})` : `refused: ${reason}`,
    );
  };
  const stream = async function* (input: unknown, execution: AiSdkExecution) {
    const end = await admit(input, execution);
    let output: unknown;
    try {
      for await (output of run(input, execution) as AsyncIterable<unknown>) yield output;
    } catch (error) {
      report?.({ ...end, error });
      throw error;
    }
    report?.({ ...end, output });
  };
  const execute = async (input: unknown, execution: AiSdkExecution) => {
    const end = await admit(input, execution);
    let output: unknown;
    try {
      output = await run(input, execution);
      // The SDK asks for a stream before it waits for a promise: of this one only the end can be told.
      if (isAsyncIterable(output)) for await (const part of output) output = part;
    } catch (error) {
      report?.({ ...end, error });
      throw error;
    }
    report?.({ ...end, output });
    return output;
  };
  const needsApproval = async (input: unknown, execution: AiSdkExecution) => {
    const { action } = await policy(describe(input, execution));
    const { needsApproval: own } = tool;
    return (
      action === "park" ||
      (typeof own === "function" ? await own.call(tool, input, execution) : own === true)
    );
  };
  const isStream =
    Object.prototype.toString.call(tool.execute) === "[object AsyncGeneratorFunction]";
  return { ...tool, needsApproval, execute: isStream ? stream : execute };
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

interface AiSdkApprovalPart {
  readonly type?: string;
  readonly approvalId?: string;
  readonly toolCallId?: string;
  readonly approved?: boolean;
}

/** Whether the newest message approves this call, as the SDK itself reads approvals. */
function isApproved({ toolCallId, messages = [] }: AiSdkExecution): boolean {
  const parts = messages.map(({ content }): readonly AiSdkApprovalPart[] =>
    Array.isArray(content) ? content : [],
  );
  const ids = new Set<unknown>();
  for (const { type, toolCallId: id, approvalId } of parts.flat()) {
    if (type === "tool-approval-request" && id === toolCallId) ids.add(approvalId);
  }
  const newest = parts.at(-1) ?? [];
  return newest.some(
    ({ type, approvalId, approved }) =>
      type === "tool-approval-response" && approved === true && ids.has(approvalId),
  );
}
