// Adapter for the MCP SDK's server: a token verifier with the inbound gate behind it, and a tool
// handler with the outbound gate in front of it and outcome reporting behind it. The SDK checks a result against
// the tool's output schema after the handler, so that this report does not see it. Typed by structure; nothing
// is imported.
import type { AnyInput, ApprovalPolicy, ToolDecision } from "../gates/approval.ts";
import { TrustGateError } from "../errors.ts";
import { trustGate, type TrustGateOptions } from "../gates/trust-gate.ts";
import type { OutcomeReport } from "../reporting/outcome-report.ts";

/** Members read of the SDK's `AuthInfo`. */
export interface McpAuthInfo {
  readonly clientId: string;
}

/** Assignable to the SDK's `OAuthTokenVerifier`. */
export interface McpTokenVerifier<Info extends McpAuthInfo> {
  verifyAccessToken(token: string): Promise<Info>;
}

/** Options of the inbound gate behind a token verifier. */
export interface McpVerifierOptions<Info extends McpAuthInfo> extends TrustGateOptions<
  Info,
  string
> {
  /** The agent behind a token; default: its `clientId`. */
  readonly agentId?: (info: Info) => string;
  /**
   * Makes the SDK's own error for a refusal, so that its middleware answers 403:
   * `(text) => new InsufficientScopeError(text)`.
   */
  readonly forbidden?: (text: string) => Error;
}

/** `inner` with the inbound gate behind it: a valid token of a distrusted agent is refused. */
export function mcpTokenVerifier<Info extends McpAuthInfo>(
  inner: McpTokenVerifier<Info>,
  options: McpVerifierOptions<Info> = {},
): McpTokenVerifier<Info> {
  const { forbidden, ...gate } = options;
  const gated = trustGate<Info, string>((token) => inner.verifyAccessToken(token), {
    ...gate,
    agentId: options.agentId ?? ((info) => info.clientId),
  });
  return {
    async verifyAccessToken(token) {
      try {
        // The inner verifier rejects unknown tokens; it has no "try the next one".
        return (await gated(token)) as Info;
      } catch (thrown) {
        if (thrown instanceof TrustGateError && forbidden !== undefined) {
          // Without a verdict the message holds what a callback threw.
          const { verdict, message, reasons } = thrown;
          throw forbidden(verdict === undefined ? reasons.join("; ") : message);
        }
        throw thrown;
      }
    },
  };
}

/** Members read of the SDK's `RequestHandlerExtra`, or of version 2's `ServerContext`. */
export interface McpExtra {
  readonly requestId?: string | number | undefined;
  readonly sessionId?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly authInfo?: McpAuthInfo | undefined;
  readonly mcpReq?: { readonly signal?: AbortSignal | undefined } | undefined;
  readonly http?: { readonly authInfo?: McpAuthInfo | undefined } | undefined;
}

/** Tool result with the reason why the tool did not run. */
export interface McpRefusal {
  [member: string]: unknown;
  isError: true;
  content: { type: "text"; text: string }[];
}

/** Options of the outbound gate in front of a tool; `Input` is the handler's arguments. */
export interface McpToolOptions<Input = AnyInput> {
  readonly policy: ApprovalPolicy<Input>;
  readonly toolName: string;
  /** Asks a person, for example by `elicitInput`; only `{ action: "accept" }` runs the tool. */
  readonly elicit?: (message: string) => Promise<{ action: string }>;
  /** Reports what the handler returns or throws; the SDK checks the arguments before it. */
  readonly report?: OutcomeReport<Input>;
}

/**
 * A tool handler with the outbound gate in front of it. Refusals are results the model can read.
 */
export function mcpTool<Arguments, Extra extends McpExtra, Result>(
  handler: (args: Arguments, extra: Extra) => Result | Promise<Result>,
  options: McpToolOptions<NoInfer<Arguments>>,
): (args: Arguments, extra: Extra) => Promise<Result | McpRefusal> {
  const { policy, toolName, report } = options;
  return async (args, extra) => {
    const { sessionId: conversationId, mcpReq, http } = extra;
    const { signal = mcpReq?.signal, authInfo = http?.authInfo } = extra;
    // Request ids count within one connection only and are no identity of a call.
    const call = { toolName, input: args, conversationId };
    const decision = await policy({ ...call, principalId: authInfo?.clientId, signal });
    const { action, reason } = decision;
    if (action === "deny" || (action === "park" && !(await elicitApproval(options, reason)))) {
      report?.skip("refused", toolName);
      return buildRefusal(decision, "not run");
    }
    const end = { ...call, decision, signal };
    let output: Result;
    try {
      output = await handler(args, extra);
    } catch (error) {
      report?.({ ...end, error });
      throw error;
    }
    report?.({ ...end, output });
    return output;
  };
}

async function elicitApproval(
  options: Pick<McpToolOptions, "elicit" | "toolName">,
  reason: string,
): Promise<boolean> {
  try {
    const message = `Run \`${options.toolName}\`? ${reason}`;
    const answer = await options.elicit?.(message);
    return answer?.action === "accept";
  } catch {
    return false;
  }
}

/** The result that says why a tool was not run; `what` says so of a call that waits for a person. */
export function buildRefusal(
  { action, reason }: ToolDecision,
  what: "not run" | "not sent",
): McpRefusal {
  const why =
    action === "deny" ? `refused: ${reason}` : `${what}: a person must approve first (${reason})`;
  return { isError: true, content: [{ type: "text", text: why }] };
}
