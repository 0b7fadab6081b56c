// Adapter for Mastra: tool hooks that can refuse and observe, and an approval that can park. The
// approval receives no call id, so neither uses one and both share the verdict on the same
// question. Typed by structure; nothing is imported.
import type { ApprovalPolicy } from "../gates/approval.ts";
import type { OutcomeReport } from "../reporting/outcome-report.ts";

/** Members read of a call that is about to run. */
export interface MastraBeforeToolCall {
  readonly toolName: string;
  readonly input: unknown;
  readonly context?: unknown;
}

/** Members read of a call that has ended. */
export interface MastraAfterToolCall extends MastraBeforeToolCall {
  readonly error?: unknown;
}

/** The `hooks` of an agent. */
export interface MastraToolHooks {
  beforeToolCall: (call: MastraBeforeToolCall) => Promise<void | {
    proceed: false;
    output: { error: string };
  }>;
  afterToolCall: (call: MastraAfterToolCall) => void;
}

/** An agent's tool hooks: refused calls do not proceed; with `report`, ended ones are reported. */
export function mastraHooks(policy: ApprovalPolicy, report?: OutcomeReport): MastraToolHooks {
  let sequence = 0;
  return {
    async beforeToolCall({ toolName, input }) {
      const { action, reason } = await policy({ toolName, input });
      return action === "deny"
        ? { proceed: false, output: { error: `refused: ${reason}` } }
        : undefined;
    },
    afterToolCall({ toolName, context, error }) {
      sequence += 1;
      // A call without an identity: the space keeps this from being mistaken for one.
      const callId = callIdOf(context) ?? `call ${sequence}`;
      report?.({ toolName, callId, isSuccess: error === undefined });
    },
  };
}

/** An agent's `requireToolApproval`: true parks the call. */
export function mastraApproval(
  policy: ApprovalPolicy,
): (call: { toolName: string; args: Record<string, unknown> }) => Promise<boolean> {
  return async ({ toolName, args }) => {
    const { action } = await policy({ toolName, input: args });
    return action === "park";
  };
}

/** In an agent's run the execution context names the call, at either of two places. */
function callIdOf(context: unknown): string | undefined {
  if (typeof context !== "object" || context === null) return undefined;
  const { toolCallId, agent } = context as {
    toolCallId?: unknown;
    agent?: { toolCallId?: unknown };
  };
  const id = toolCallId ?? agent?.toolCallId;
  return typeof id === "string" ? id : undefined;
}
