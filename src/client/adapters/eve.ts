// Adapter for eve, the framework of the specification's terms (SPEC §4.8): approval policies for
// `defineTool`, statuses as its runtime reads them. `trustGate` and `outcomeHook` fit eve
// unchanged. Reads only members that have been stable across its versions.
import {
  type AnyInput,
  type ApprovalPolicy,
  checkApproval,
  type CheckApprovalOptions,
  handshakeApproval,
  type HandshakeApprovalOptions,
  type ToolDecision,
} from "../gates/approval.ts";
import { readPrincipalId, readSessionId } from "../reporting/outcome-hook.ts";

/** Members read of eve's `ApprovalContext`; `Input` is the tool's. */
export interface EveApprovalContext<Input = AnyInput> {
  readonly toolName: string;
  readonly toolInput?: Input | undefined;
  readonly callId: string;
  readonly abortSignal?: AbortSignal | undefined;
  readonly session?: unknown;
}

/** Assignable to eve's `ApprovalStatus`. */
export type EveApprovalStatus =
  | { readonly type: "approved"; readonly reason: string }
  | { readonly type: "denied"; readonly reason: string }
  | { readonly type: "user-approval" };

/** The `approval` of a tool; `policy` is for the hook that reports what came of the call. */
export interface EveApprovalPolicy<Input = AnyInput> {
  (context: EveApprovalContext<Input>): Promise<EveApprovalStatus>;
  readonly policy: ApprovalPolicy<Input>;
}

/**
 * The outbound gate by the verdict on one agent: the `approval` of a tool. The policy never rejects.
 * @throws TypeError at once, when an option is unknown or of the wrong type.
 */
export function trustRankApproval<Input = AnyInput>(
  options: CheckApprovalOptions<Input> = {},
): EveApprovalPolicy<Input> {
  return createEvePolicy(checkApproval(options));
}

/**
 * The outbound gate by the handshake of two agents: the `approval` of a tool. The policy never rejects.
 * @throws TypeError at once, when an option is missing, unknown or of the wrong type.
 */
export function mutualHandshakeApproval<Input = AnyInput>(
  options: HandshakeApprovalOptions<Input>,
): EveApprovalPolicy<Input> {
  return createEvePolicy(handshakeApproval(options));
}

function createEvePolicy<Input>(policy: ApprovalPolicy<Input>): EveApprovalPolicy<Input> {
  const approval = async (context: EveApprovalContext<Input>) => {
    const { toolName, toolInput, callId, abortSignal } = context;
    const decision = await policy({
      toolName,
      // eve leaves it out where the arguments did not parse: a callback that reads it denies.
      input: toolInput as Input,
      callId,
      conversationId: readSessionId(context),
      principalId: readPrincipalId(context),
      signal: abortSignal,
    });
    return buildEveStatus(decision);
  };
  return Object.assign(approval, { policy });
}

function buildEveStatus({ action, reason }: ToolDecision): EveApprovalStatus {
  if (action === "run") return { type: "approved", reason };
  // eve allows no reason with this one; it belongs in the tool's `prompt`.
  if (action === "park") return { type: "user-approval" };
  return { type: "denied", reason };
}
