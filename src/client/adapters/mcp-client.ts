// Adapter for the MCP SDK's client: `callTool` with the outbound gate in front of it and outcome
// reporting behind it. Typed by structure; nothing is imported.
import type { ApprovalPolicy } from "../gates/approval.ts";
import type { OutcomeReport } from "../reporting/outcome-report.ts";
import { isErrorValue } from "../reporting/tool-end.ts";
import { type McpRefusal, refusal } from "./mcp.ts";

/** Members read of a `tools/call` request. */
export interface McpToolRequest {
  readonly name: string;
  readonly arguments?: Record<string, unknown> | undefined;
}

/** The policy, outcome reporting, and a person to ask. */
export interface McpCallOptions {
  readonly policy: ApprovalPolicy;
  readonly report?: OutcomeReport;
  /** Asks a person about a parked call; only true sends it. */
  readonly approve?: (request: McpToolRequest, reason: string) => boolean | Promise<boolean>;
  /** Names the conversation, for example by the transport's session. */
  readonly conversationId?: () => string | undefined;
}

/** JSON-RPC codes of an answer that says that the tool was not run. */
const NOT_RUN_CODES: ReadonlySet<unknown> = new Set([-32_700, -32_600, -32_601, -32_602]);
/** Codes of the SDK's own: connection closed, timed out. Nobody knows whether the tool ran. */
const UNKNOWN_RESULT_CODES: ReadonlySet<unknown> = new Set([-32_000, -32_001]);

/**
 * `callTool` of a client behind the gate: `mcpCallTool((...args) => client.callTool(...args), …)`.
 * Refusals are results that the model can read. Reported is what the server says it ran.
 */
export function mcpCallTool<Request extends McpToolRequest, Rest extends unknown[], Result>(
  callTool: (request: Request, ...rest: Rest) => Promise<Result>,
  options: McpCallOptions,
): (request: Request, ...rest: Rest) => Promise<Result | McpRefusal> {
  const { policy, report } = options;
  return async (request, ...rest) => {
    const call = {
      toolName: request.name,
      input: request.arguments ?? {},
      conversationId: options.conversationId?.(),
    };
    const decision = await policy(call);
    const { action, reason } = decision;
    if (action === "deny") return refusal(`refused: ${reason}`);
    if (action === "park" && !(await requestApproval(options, request, reason))) {
      return refusal(`not sent: a person must approve first (${reason})`);
    }
    let output: Result;
    try {
      output = await callTool(request, ...rest);
    } catch (error) {
      const code: unknown = (error as { code?: unknown } | null)?.code;
      if (NOT_RUN_CODES.has(code)) countSkipped(report, "notRun");
      else if (UNKNOWN_RESULT_CODES.has(code)) countSkipped(report, "unfinished");
      else report?.({ ...call, decision, error });
      throw error;
    }
    if (isErrorValue(output) && isInvalidParamsResult(output)) countSkipped(report, "notRun");
    else report?.({ ...call, decision, output });
    return output;
  };
}

async function requestApproval(
  { approve }: McpCallOptions,
  request: McpToolRequest,
  reason: string,
): Promise<boolean> {
  try {
    return (await approve?.(request, reason)) === true;
  } catch {
    return false;
  }
}

function countSkipped(report: OutcomeReport | undefined, why: "notRun" | "unfinished"): void {
  if (report !== undefined) report.skipped[why] += 1;
}

/** Servers of the SDK answer arguments that do not fit, and names without a tool, by a result. */
function isInvalidParamsResult(output: unknown): boolean {
  const { content } = output as { content?: unknown };
  const first: unknown = Array.isArray(content) ? content[0] : undefined;
  const text: unknown = (first as { text?: unknown } | undefined)?.text;
  return typeof text === "string" && text.startsWith("MCP error -32602");
}
