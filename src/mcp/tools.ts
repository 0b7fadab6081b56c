// Tools of the MCP server: each is one request to the running service with the caller's own key, so that its scopes,
// limits and the decision log apply.
import { REASONS } from "../contract/reasons.ts";
import { REASON_CODES } from "../contract/vocabulary.ts";
import type { CallKind, RequestSender } from "../client/transport.ts";

/** Milliseconds for one request; a model waits longer than a gateway. */
const TIMEOUT_MS = 10_000;

export type ToolArguments = Readonly<Record<string, unknown>>;

/** A tool, with its input as JSON Schema. The service itself checks what it is given. */
export interface McpTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: { readonly type: "object"; readonly [keyword: string]: unknown };
  /** False: it writes evidence, and is offered where the operator allows that alone. */
  readonly isReadOnly: boolean;
  /** Arguments that the service knows by another name, by that name. */
  readonly argumentNames?: Readonly<Record<string, string>>;
  /**
   * Asks the service; resolves with its document.
   * @throws TrustRankError with the service's code, detail and the members at fault.
   */
  readonly call: (service: RequestSender, given: ToolArguments) => Promise<unknown>;
}

const buildAgentSchema = (description: string) => ({
  type: "string",
  description: `${description}: agent://namespace/name`,
});
const STAKES_SCHEMA = {
  type: "number",
  minimum: 0,
  description:
    "the value at risk, in the unit of the key's tenant (`unit` of the policy's `stakes`); 0 where none is known: " +
    "an assumed amount counts then",
};

async function postToService(
  service: RequestSender,
  path: string,
  body: ToolArguments,
  kind: CallKind = "read",
): Promise<unknown> {
  const options = { timeoutMs: TIMEOUT_MS, kind };
  return (await service.post(path, JSON.stringify(body), options)).value;
}

const checkAgentTool: McpTool = {
  name: "check_agent",
  title: "Check an agent",
  description:
    "May this agent be dealt with at these stakes? Answers connect, connect_with_verification, " +
    "escalate (a person decides first) or refuse, with reasons and `max_stakes`, the largest stakes " +
    "that would be no stricter. After escalate that is the largest that would connect, with " +
    "verification at least; 0 where none would, null for any. Ask before you rely on another agent.",
  inputSchema: {
    type: "object",
    properties: { agent_id: buildAgentSchema("the agent to judge"), stakes: STAKES_SCHEMA },
    required: ["agent_id", "stakes"],
    additionalProperties: false,
  },
  isReadOnly: true,
  argumentNames: { subject: "agent_id" },
  call: (service, { agent_id: subject, ...rest }) =>
    postToService(service, "/v1/check", { subject, ...rest }),
};

const authorizeActionTool: McpTool = {
  name: "authorize_action",
  title: "Authorize an action",
  description:
    "May this agent perform this action now? The tenant's policy decides how sensitive the action is, by " +
    "its `actions`; an action that it does not list is judged as the most sensitive. Answers `decision`, " +
    "true only where the action may run, with the verdict and its reasons.",
  inputSchema: {
    type: "object",
    properties: {
      agent_id: buildAgentSchema("who acts"),
      action: { type: "string", description: "`domain.operation`, such as payments.transfer" },
      resource: { type: "string", description: "what the action is done to, where there is one" },
      stakes: STAKES_SCHEMA,
      context: { type: "object", description: "facts about the call that the policy may read" },
    },
    required: ["agent_id", "action"],
    additionalProperties: false,
  },
  isReadOnly: true,
  call(service, { agent_id: id, action: name, resource, stakes, context }) {
    const evaluation = {
      subject: { type: "agent", id },
      action: { name, properties: stakes === undefined ? {} : { stakes } },
      // Without a type, which would complete a name that is no action.
      resource: resource === undefined ? {} : { id: resource },
      ...(context === undefined ? {} : { context }),
    };
    return postToService(service, "/access/v1/evaluation", evaluation);
  },
};

const handshakeTool: McpTool = {
  name: "handshake",
  title: "Handshake of two agents",
  description:
    "Should these two agents deal with each other at these stakes? Judges both directions; the " +
    "stricter one decides. Use it before a transaction between two agents.",
  inputSchema: {
    type: "object",
    properties: {
      initiator: buildAgentSchema("who wants to connect"),
      counterparty: buildAgentSchema("the other party"),
      stakes: STAKES_SCHEMA,
    },
    required: ["initiator", "counterparty", "stakes"],
    additionalProperties: false,
  },
  isReadOnly: true,
  call: (service, given) => postToService(service, "/v1/handshake", given),
};

const explainAgentTool: McpTool = {
  name: "explain_agent",
  title: "Explain an agent's score",
  description:
    "The score of an agent with its parts: what speaks for and against it, how certain that is, " +
    "and what would improve it.",
  inputSchema: {
    type: "object",
    properties: { agent_id: buildAgentSchema("the agent to explain") },
    required: ["agent_id"],
    additionalProperties: false,
  },
  isReadOnly: true,
  async call(service, { agent_id: id }) {
    const path = `/v1/agents/${encodeURIComponent(String(id))}`;
    const options = { timeoutMs: TIMEOUT_MS, kind: "read" } as const;
    return (await service.send("GET", path, undefined, options)).value;
  },
};

const reportOutcomeTool: McpTool = {
  name: "report_outcome",
  title: "Report an outcome",
  description:
    "Says how a settled dealing with an agent went; it becomes evidence for everybody's next " +
    "question. Report what happened, once, and name the decision it settles.",
  inputSchema: {
    type: "object",
    properties: {
      subject: buildAgentSchema("who was dealt with"),
      reporter: buildAgentSchema("who reports"),
      outcome: { type: "integer", enum: [0, 1], description: "1: as agreed, 0: not" },
      stakes: STAKES_SCHEMA,
      agent_fault: {
        type: "boolean",
        description: "false when a failure was not the agent's: stored, not counted",
      },
      request_id: { type: "string", description: "request_id of the verdict that it settles" },
      id: { type: "string", description: "the same id makes a repeat count once" },
    },
    required: ["subject", "reporter", "outcome", "stakes"],
    additionalProperties: false,
  },
  isReadOnly: false,
  call(service, given) {
    const kind = given["id"] === undefined ? "write" : "identified";
    return postToService(service, "/v1/outcomes", { grade: "counterparty", ...given }, kind);
  },
};

const TOOLS: readonly McpTool[] = [
  checkAgentTool,
  authorizeActionTool,
  handshakeTool,
  explainAgentTool,
  reportOutcomeTool,
];

/** The tools on offer: reading ones alone, unless reports are allowed. */
export function listTools(allowsReports: boolean): readonly McpTool[] {
  return TOOLS.filter(({ isReadOnly }) => isReadOnly || allowsReports);
}

/** What a client may read beside the tools. */
export interface McpResource {
  readonly uri: string;
  readonly name: string;
  readonly description: string;
  readonly read: (service: RequestSender) => Promise<unknown>;
}

export const MCP_RESOURCES: readonly McpResource[] = [
  {
    uri: "trustrank://policy",
    name: "policy",
    description:
      "The policy in force for the key's tenant: bounds by tool level, amounts that decide at stakes, vouching",
    async read(service) {
      const options = { timeoutMs: TIMEOUT_MS, kind: "read" } as const;
      return (await service.send("GET", "/v1/policy", undefined, options)).value;
    },
  },
  {
    uri: "trustrank://reason-codes",
    name: "reason-codes",
    description: "The codes that verdicts give as reasons, and what each means",
    read: () =>
      Promise.resolve(REASON_CODES.map((code) => ({ code, meaning: REASONS[code].meaning }))),
  },
];
