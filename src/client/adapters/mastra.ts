// Adapter for Mastra: tool hooks that can refuse and observe, and an approval that can park. The
// approval receives no call id, so neither uses one and both share the verdict on the same
// question. Typed by structure; nothing is imported.
import type { ApprovalPolicy } from "../gates/approval.ts";
import type { OutcomeReport } from "../reporting/outcome-report.ts";
import { assertFrameworkHook } from "./framework-version.ts";

/** Earlier versions have no hooks; those that run on Node 20 are among them. */
const HOOKS = {
  packageName: "@mastra/core",
  range: "^1.42.0",
  option: "hooks",
  advice: "install a version in that range, which needs Node 22.13 or later",
};

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
 * Mastra calls the second hook for arguments that did not fit the tool's schema too; those are not. A result that
 * does not fit it counts as a throw.
 * @throws TypeError at once, where a version of Mastra is installed that would ignore them.
 */
export function mastraHooks(policy: ApprovalPolicy, report?: OutcomeReport): MastraToolHooks {
  assertFrameworkHook(HOOKS);
  return {
    async beforeToolCall({ toolName, input }) {
      const { action, reason } = await policy({ toolName, input });
      if (action !== "deny") return undefined;
      report?.skip("refused", toolName);
      return { proceed: false, output: { error: `refused: ${reason}` } };
    },
    afterToolCall({ toolName, input, output, error, context }) {
      const invalid = readValidationError(output);
      if (invalid !== undefined && !invalid.startsWith("Tool output")) {
        report?.skip("notRun", toolName);
        return;
      }
      const decision = policy.decisionOn?.({ toolName, input });
      const end = { toolName, input, decision, signal: readSignal(context) };
      const thrown = error ?? (invalid === undefined ? undefined : new Error(invalid));
      report?.(thrown === undefined ? { ...end, output } : { ...end, error: thrown });
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

/** Mastra answers what does not fit a schema by a value, in the tool's place: the message of that value. */
function readValidationError(output: unknown): string | undefined {
  if (typeof output !== "object" || output === null) return undefined;
  const { error, message, validationErrors } = output as Record<string, unknown>;
  const isOne = error === true && validationErrors !== undefined && typeof message === "string";
  return isOne && / validation failed/.test(message) ? message : undefined;
}

function readSignal(context: unknown): AbortSignal | undefined {
  const { abortSignal } = (context ?? {}) as { abortSignal?: unknown };
  return abortSignal instanceof AbortSignal ? abortSignal : undefined;
}
