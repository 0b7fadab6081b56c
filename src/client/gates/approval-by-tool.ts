// One policy for all tools of an agent, each tool with its own: for frameworks that ask in one place
// about every tool (a middleware, an agent's hooks). The callbacks get their types from the tools.
import type { AnyInput, ApprovalPolicy, ToolCall, ToolDecision } from "./approval.ts";
import type { CallIdentity } from "./tool-decision-cache.ts";

/** A function whose first argument is the input. */
type InputFunction<Input> = (input: Input, ...rest: never[]) => unknown;

/** Input of a tool's function; of a tool that has none here (it runs elsewhere) it is not known. */
type FunctionInput<Run> = [Run] extends [never]
  ? AnyInput
  : [Run] extends [InputFunction<infer I>]
    ? I
    : AnyInput;

/**
 * Input of a tool as frameworks write one: a function, an object with `func` (LangChain) or
 * `execute` (AI SDK, Mastra), or a schema by the Standard Schema convention (zod and others).
 */
export type ToolInput<Tool> = [Tool] extends [InputFunction<infer Input>]
  ? Input
  : [Tool] extends [{ readonly func: infer Run }]
    ? FunctionInput<Run>
    : [Tool] extends [{ readonly "~standard": { readonly types?: infer Types } }]
      ? NonNullable<Types> extends { readonly output: infer Input }
        ? Input
        : AnyInput
      : [Tool] extends [{ readonly execute?: infer Run }]
        ? FunctionInput<NonNullable<Run>>
        : AnyInput;

/** A policy for each tool by its name; `"run"` for a tool that needs none. */
export type PoliciesByTool<Tools> = {
  readonly [Name in keyof Tools]?: ApprovalPolicy<ToolInput<Tools[Name]>> | "run";
};

/** The decision on a tool that needs no policy. */
const RUN = decideWithoutVerdict("run", "the tool needs no verdict");

/**
 * One policy that asks the called tool's own; `tools` are the framework's, by the names that the
 * model calls them by. A tool that is not listed is denied: forgotten is not allowed.
 * @throws TypeError when a policy's name is not one of a tool.
 */
export function approvalByTool<Tools extends Readonly<Record<string, unknown>>>(
  tools: Tools,
  policies: PoliciesByTool<Tools>,
): ApprovalPolicy {
  const byName = new Map<string, ApprovalPolicy | "run" | undefined>(Object.entries(policies));
  for (const name of byName.keys()) {
    if (!Object.hasOwn(tools, name)) throw new TypeError(`there is no tool \`${name}\``);
  }
  const decide = async (call: ToolCall): Promise<ToolDecision> => {
    const policy = byName.get(call.toolName);
    if (policy === undefined)
      return decideWithoutVerdict("deny", `no policy for the tool \`${call.toolName}\``);
    return policy === "run" ? RUN : policy(call);
  };
  const decisionOn = (call: CallIdentity) => {
    const policy = byName.get(call.toolName);
    return policy === "run" ? RUN : policy?.decisionOn?.(call);
  };
  return Object.assign(decide, { decisionOn });
}

function decideWithoutVerdict(action: "run" | "deny", reason: string): ToolDecision {
  return { action, reason, verdict: undefined };
}
