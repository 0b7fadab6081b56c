// Adapter for eve, the framework of the specification's terms (SPEC §4.8): approval policies for
// `defineTool`, statuses as its runtime reads them. `trustGate` and `outcomeHook` fit eve
// unchanged. Reads only members that have been stable across its versions.
import {
  type ApprovalPolicy,
  checkApproval,
  type CheckApprovalOptions,
  handshakeApproval,
  type HandshakeApprovalOptions,
  type ToolDecision,
} from "../gates/approval.ts";
import { principalOf } from "../reporting/outcome-hook.ts";

/** Members read of eve's `ApprovalContext`. */
export interface EveApprovalContext {
  readonly toolName: string;
  readonly toolInput?: unknown;
  readonly callId: string;
  readonly abortSignal?: AbortSignal | undefined;
  readonly session?: unknown;
}

/** Assignable to eve's `ApprovalStatus`. */
export type EveApprovalStatus =
  | { readonly type: "approved"; readonly reason: string }
  | { readonly type: "denied"; readonly reason: string }
  | { readonly type: "user-approval" };

export type EveApprovalPolicy = (context: EveApprovalContext) => Promise<EveApprovalStatus>;

/** The outbound gate by the score of one agent: the `approval` of a tool. Never rejects. */
export function trustRankApproval(options: CheckApprovalOptions): EveApprovalPolicy {
  return evePolicy(checkApproval(options));
}

/** The outbound gate by the handshake of two agents: the `approval` of a tool. Never rejects. */
export function mutualHandshakeApproval(options: HandshakeApprovalOptions): EveApprovalPolicy {
  return evePolicy(handshakeApproval(options));
}

function evePolicy(policy: ApprovalPolicy): EveApprovalPolicy {
  return async (context) => {
    const { toolName, toolInput, callId, abortSignal } = context;
    const decision = await policy({
      toolName,
      input: toolInput,
      callId,
      principalId: principalOf(context),
      signal: abortSignal,
    });
    return eveStatus(decision);
  };
}

function eveStatus({ action, reason }: ToolDecision): EveApprovalStatus {
  if (action === "run") return { type: "approved", reason };
  // eve allows no reason with this one; it belongs in the tool's `prompt`.
  if (action === "park") return { type: "user-approval" };
  return { type: "denied", reason };
}
