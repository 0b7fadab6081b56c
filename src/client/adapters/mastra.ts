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
  readonly output?: unknown;
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

/**
 * An agent's tool hooks: refused calls do not proceed; with `report`, calls that ran are reported.
 * Mastra calls the second hook for arguments that did not fit the tool's schema too; those are not.
 */
export function mastraHooks(policy: ApprovalPolicy, report?: OutcomeReport): MastraToolHooks {
  return {
    async beforeToolCall({ toolName, input }) {
      const { action, reason } = await policy({ toolName, input });
      return action === "deny"
        ? { proceed: false, output: { error: `refused: ${reason}` } }
        : undefined;
    },
    afterToolCall({ toolName, input, output, error }) {
      if (report === undefined) return;
      if (isInputValidationError(output)) {
        report.skipped.notRun += 1;
        return;
      }
      const decision = policy.decisionOn?.({ toolName, input });
      const end = { toolName, input, decision };
      report(error === undefined ? { ...end, output } : { ...end, error });
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

/** Mastra answers such a call by a value, in the tool's place. */
function isInputValidationError(output: unknown): boolean {
  if (typeof output !== "object" || output === null) return false;
  const { error, message, validationErrors } = output as Record<string, unknown>;
  return (
    error === true &&
    validationErrors !== undefined &&
    typeof message === "string" &&
    message.startsWith("Tool input validation failed")
  );
}
