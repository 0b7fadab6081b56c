// Adapter for the MCP SDK's client: `callTool` with the outbound gate in front of it and outcome
// reporting behind it. Typed by structure; nothing is imported.
import type { ApprovalPolicy } from "../gates/approval.ts";
import type { OutcomeReport } from "../reporting/outcome-report.ts";
import { isErrorValue, type ToolEnd } from "../reporting/tool-end.ts";
import { buildRefusal, type McpRefusal } from "./mcp.ts";

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
/** Codes of the SDK's own, 1 and 2: connection closed, timed out. Whether the tool ran is unknown. */
const UNKNOWN_RESULT_CODES: ReadonlySet<unknown> = new Set([
  -32_000,
  -32_001,
  "CONNECTION_CLOSED",
  "REQUEST_TIMEOUT",
]);
/** What the SDK's server, 1 and 2, says of arguments that do not fit, and 1 of a name without a tool. */
const INVALID_INPUT = /^(?:MCP error -32602: |Input validation error: )/;
/** What the SDK's server and client say of a result that does not fit the tool's output schema. */
const INVALID_OUTPUT =
  /^(?:MCP error -?\d+: )?(?:Output validation error|Structured content |Failed to validate structured content|Tool .+ has an output schema)/;

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
    if (
      action === "deny" ||
      (action === "park" && !(await requestApproval(options, request, reason)))
    ) {
      report?.skip("refused", request.name);
      return buildRefusal(decision, "not sent");
    }
    const end = { ...call, decision, signal: findSignal(rest) };
    let output: Result;
    try {
      output = await callTool(request, ...rest);
    } catch (error) {
      if (report !== undefined) reportThrow(report, end, error);
      throw error;
    }
    if (report !== undefined) reportResult(report, end, output);
    return output;
  };
}

/** What the SDK throws: the server's refusal of the request, its own verdict on the result, or a lost answer. */
function reportThrow(report: OutcomeReport, end: ToolEnd, error: unknown): void {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  const isCut = end.signal?.aborted === true || UNKNOWN_RESULT_CODES.has(code);
  if (isCut) report.skip("unfinished", end.toolName);
  // The same codes as for arguments that do not fit, but the tool has run.
  else if (NOT_RUN_CODES.has(code) && !INVALID_OUTPUT.test(String(message)))
    report.skip("notRun", end.toolName);
  else report({ ...end, error });
}

/** Servers of the SDK answer by a result what does not fit a schema, and names without a tool. */
function reportResult(report: OutcomeReport, end: ToolEnd, output: unknown): void {
  const text = isErrorValue(output) ? readFirstText(output) : "";
  if (INVALID_OUTPUT.test(text)) report({ ...end, error: new Error(text) });
  else if (INVALID_INPUT.test(text)) report.skip("notRun", end.toolName);
  else report({ ...end, output });
}

function findSignal(rest: readonly unknown[]): AbortSignal | undefined {
  const signals = rest.map((each) => (each as { signal?: unknown } | null | undefined)?.signal);
  return signals.find((signal) => signal instanceof AbortSignal);
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

function readFirstText(output: unknown): string {
  const { content } = output as { content?: unknown };
  const first: unknown = Array.isArray(content) ? content[0] : undefined;
  const text: unknown = (first as { text?: unknown } | undefined)?.text;
  return typeof text === "string" ? text : "";
}
