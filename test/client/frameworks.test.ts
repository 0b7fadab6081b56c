// The adapters inside the frameworks they are for. The AI SDK, the OpenAI Agents SDK and the MCP SDK
// run here for real, with models that say what a test wants; eve, Mastra and LangChain are held to
// their documented types below (they need Node 24, or more megabytes than a test is worth).
import {
  Agent,
  defineToolInputGuardrail,
  type Model,
  Runner,
  setTracingDisabled,
  tool as agentTool,
  Usage,
} from "@openai/agents-core";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import type { AuthInfo } from "@modelcontextprotocol/sdk/server/auth/types.js";
import type { OAuthTokenVerifier } from "@modelcontextprotocol/sdk/server/auth/provider.js";
import { InsufficientScopeError } from "@modelcontextprotocol/sdk/server/auth/errors.js";
import { CallToolRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { generateText, jsonSchema, type ModelMessage, stepCountIs, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from "vitest";
import { aiSdkApproval, aiSdkOutcomes } from "../../src/client/ai-sdk.ts";
import { type ApprovalPolicy, handshakeApproval } from "../../src/client/approval.ts";
import { TrustRankClient } from "../../src/client/client.ts";
import type { EveApprovalPolicy } from "../../src/client/eve-rails.ts";
import { langChainMiddleware } from "../../src/client/langchain.ts";
import { mastraApproval, mastraHooks } from "../../src/client/mastra.ts";
import { mcpTokenVerifier, mcpTool } from "../../src/client/mcp.ts";
import {
  openAiGuardrail,
  openAiNeedsApproval,
  openAiOutcomes,
} from "../../src/client/openai-agents.ts";
import { type OutcomeReport, outcomeReport } from "../../src/client/outcome-report.ts";
import { type Service, startTestService } from "./_service.ts";

const agent = (name: string) => `agent://test/${name}`;
const SUBJECT = "agent://shop/seller";

let service: Service;
let reads = 0;
let client: TrustRankClient;
let ran: string[];
/** New for every test: outcomes are identified by it. */
let callId = "";
let callCount = 0;

beforeAll(async () => {
  service = await startTestService();
  const fetchCounted = (url: string, init: RequestInit) => {
    if (url.endsWith("/handshake")) reads += 1;
    return fetch(url, init);
  };
  const agentId = "agent://acme/me";
  client = new TrustRankClient({ ...service, agentId, fetch: fetchCounted, timeoutMs: 5000 });
});
afterAll(() => service.stop());

interface Transfer {
  counterparty: string;
}
const open = () => {
  ran = [];
  reads = 0;
  callId = `call-${(callCount += 1)}`;
  service.appended.length = 0;
  const policy: ApprovalPolicy = handshakeApproval({
    client,
    initiator: () => agent("connect"),
    stakes: () => 5,
  });
  const report: OutcomeReport = outcomeReport({ client, subject: () => SUBJECT });
  return { policy, report };
};
const transfer = ({ counterparty }: Transfer) => {
  ran.push(counterparty);
  if (counterparty.endsWith("/verify")) throw new Error("the bank is closed");
  return "sent";
};
const outcomes = () => service.appended.map(({ body }) => JSON.parse(body).outcome as number);
const schema = {
  type: "object",
  properties: { counterparty: { type: "string" } },
  required: ["counterparty"],
  additionalProperties: false,
} as const;

describe("AI SDK", () => {
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  /** Calls the tool once, then is done. */
  const model = (name: string) => {
    let isCalled = false;
    return new MockLanguageModelV4({
      doGenerate: async () => {
        const isFirst = !isCalled;
        isCalled = true;
        const content = isFirst
          ? [
              {
                type: "tool-call" as const,
                toolCallId: callId,
                toolName: "transfer",
                input: JSON.stringify({ counterparty: agent(name) }),
              },
            ]
          : [{ type: "text" as const, text: "done" }];
        const unified = isFirst ? ("tool-calls" as const) : ("stop" as const);
        return { content, usage, warnings: [], finishReason: { unified, raw: undefined } };
      },
    });
  };
  const tools = {
    transfer: tool({
      description: "sends",
      inputSchema: jsonSchema<Transfer>(schema),
      execute: async (input: Transfer) => transfer(input),
    }),
  };
  const settings = (policy: ApprovalPolicy, report: OutcomeReport) => ({
    tools,
    stopWhen: stepCountIs(3),
    toolApproval: aiSdkApproval(policy),
    onToolExecutionEnd: aiSdkOutcomes(report),
  });

  it("runs, reports, denies and parks", async () => {
    for (const [name, expected] of [
      ["connect", [agent("connect")]],
      ["refuse", []],
      ["escalate", []],
    ] as const) {
      const { policy, report } = open();
      const result = await generateText({
        model: model(name),
        prompt: "pay",
        ...settings(policy, report),
      });
      await report.queue.flush(5000);
      expect(ran).toEqual(expected);
      expect(outcomes()).toEqual(name === "connect" ? [1] : []);
      // The SDK records decisions of the policy as requests too, answered automatically.
      const asked = result.content.filter(
        (part) => part.type === "tool-approval-request" && part.isAutomatic !== true,
      );
      expect(asked).toHaveLength(name === "escalate" ? 1 : 0);
      expect(reads).toBe(1);
    }
  });

  it("runs a parked call once a person approved it, for one paid read", async () => {
    const { policy, report } = open();
    const messages: ModelMessage[] = [{ role: "user", content: "pay" }];
    const shared = { ...settings(policy, report), model: model("escalate") };
    const first = await generateText({ ...shared, messages });
    const request = first.content.find((part) => part.type === "tool-approval-request")!;
    const { approvalId } = request as { approvalId: string };
    messages.push(...first.response.messages, {
      role: "tool",
      content: [{ type: "tool-approval-response", approvalId, approved: true }],
    });
    expect(ran).toEqual([]);
    await generateText({ ...shared, messages });
    await report.queue.flush(5000);
    expect([ran, outcomes(), reads]).toEqual([[agent("escalate")], [1], 1]);
  });

  it("runs nothing when the policy has no verdict", async () => {
    const down = new TrustRankClient({ baseUrl: "http://127.0.0.1:1", agentId: agent("connect") });
    const { report } = open();
    const policy = handshakeApproval({ client: down, stakes: () => 5 });
    await generateText({ model: model("connect"), prompt: "pay", ...settings(policy, report) });
    expect(ran).toEqual([]);
  });
});

describe("OpenAI Agents SDK", () => {
  setTracingDisabled(true);

  const model = (name: string): Model => {
    let isCalled = false;
    return {
      async getResponse() {
        const isFirst = !isCalled;
        isCalled = true;
        const call = {
          type: "function_call" as const,
          callId,
          name: "transfer",
          arguments: JSON.stringify({ counterparty: agent(name) }),
          status: "completed" as const,
        };
        const message = {
          type: "message" as const,
          role: "assistant" as const,
          status: "completed" as const,
          content: [{ type: "output_text" as const, text: "done" }],
        };
        return { usage: new Usage(), output: [isFirst ? call : message] };
      },
      // oxlint-disable-next-line require-yield
      async *getStreamedResponse() {
        throw new Error("not streamed here");
      },
    };
  };

  function setUp(name: string) {
    const { policy, report } = open();
    const guardrail = defineToolInputGuardrail(openAiGuardrail(policy));
    const pay = agentTool({
      name: "transfer",
      description: "sends",
      parameters: schema as never,
      strict: true,
      needsApproval: openAiNeedsApproval(policy, "transfer"),
      inputGuardrails: [guardrail],
      execute: async (input: unknown) => transfer(input as Transfer),
    });
    const payer = new Agent({ name: "payer", model: model(name), tools: [pay] });
    const runner = new Runner();
    runner.on("agent_tool_end", openAiOutcomes(report));
    return { payer, runner, report };
  }

  it("runs and reports what is trusted", async () => {
    const { payer, runner, report } = setUp("connect");
    const result = await runner.run(payer, "pay");
    expect(result.finalOutput).toBe("done");
    await report.queue.flush(5000);
    expect([ran, outcomes(), reads]).toEqual([[agent("connect")], [1], 1]);
  });

  it("answers a refusal to the model without running the tool", async () => {
    const { payer, runner } = setUp("refuse");
    const result = await runner.run(payer, "pay");
    expect([ran, reads, result.interruptions]).toEqual([[], 1, []]);
    expect(JSON.stringify(result.history)).toContain("refused: ");
  });

  it("parks an escalation, and runs it for one paid read once approved", async () => {
    const { payer, runner } = setUp("escalate");
    const parked = await runner.run(payer, "pay");
    expect(ran).toEqual([]);
    expect(parked.interruptions).toHaveLength(1);
    parked.state.approve(parked.interruptions[0]!);
    const result = await runner.run(payer, parked.state);
    expect([result.finalOutput, ran, reads]).toEqual(["done", [agent("escalate")], 1]);
  });
});

describe("MCP SDK", () => {
  async function ask(name: string, elicit?: () => Promise<{ action: string }>) {
    const { policy } = open();
    const options = { policy, toolName: "transfer" };
    const handler = mcpTool(
      (args: Transfer) => ({ content: [{ type: "text" as const, text: transfer(args) }] }),
      elicit === undefined ? options : { ...options, elicit },
    );
    const server = new Server({ name: "bank", version: "1" }, { capabilities: { tools: {} } });
    server.setRequestHandler(CallToolRequestSchema, (request, extra) =>
      handler(request.params.arguments as unknown as Transfer, extra),
    );
    const [near, far] = InMemoryTransport.createLinkedPair();
    const caller = new Client({ name: "caller", version: "1" });
    await Promise.all([server.connect(far), caller.connect(near)]);
    const args = { counterparty: agent(name) };
    const result = await caller.callTool({ name: "transfer", arguments: args });
    await caller.close();
    return result as { isError?: boolean; content: { text: string }[] };
  }

  it("runs, refuses readably, and asks a person when it can", async () => {
    expect((await ask("connect")).content[0]?.text).toBe("sent");
    const refused = await ask("refuse");
    expect([refused.isError, ran]).toEqual([true, []]);
    expect(refused.content[0]?.text).toMatch(/^refused: /);
    expect((await ask("escalate")).isError).toBe(true);
    for (const action of ["decline", "cancel", "Accept"]) {
      expect((await ask("escalate", async () => ({ action }))).isError).toBe(true);
    }
    expect((await ask("escalate", () => Promise.reject(new Error("gone")))).isError).toBe(true);
    expect(ran).toEqual([]);
    await ask("escalate", async () => ({ action: "accept" }));
    expect(ran).toEqual([agent("escalate")]);
  });

  it("puts the inbound gate behind a token verifier, with the SDK's own error", async () => {
    const inner: OAuthTokenVerifier = {
      verifyAccessToken: async (token) => ({ token, clientId: agent(token), scopes: [] }),
    };
    const forbidden = (text: string) => new InsufficientScopeError(text);
    const verifier: OAuthTokenVerifier = mcpTokenVerifier(inner, { client, forbidden });
    expect(await verifier.verifyAccessToken("connect")).toMatchObject({ scopes: [] });
    await expect(verifier.verifyAccessToken("refuse")).rejects.toBeInstanceOf(
      InsufficientScopeError,
    );
    expectTypeOf(mcpTokenVerifier<AuthInfo>).returns.toExtend<OAuthTokenVerifier>();
  });
});

describe("Mastra, by its documented shapes", () => {
  it("keeps refused calls from proceeding, parks escalated ones and reports ended ones", async () => {
    const { policy, report } = open();
    const hooks = mastraHooks(policy, report);
    const approval = mastraApproval(policy);
    const call = (name: string) => ({
      toolName: "transfer",
      input: { counterparty: agent(name) },
      context: {},
    });
    expect(await hooks.beforeToolCall(call("connect"))).toBeUndefined();
    expect(await hooks.beforeToolCall(call("refuse"))).toMatchObject({ proceed: false });
    expect(await approval({ toolName: "t", args: call("escalate").input })).toBe(true);
    expect(await approval({ toolName: "t", args: call("connect").input })).toBe(false);
    hooks.afterToolCall({ ...call("connect") });
    hooks.afterToolCall({ ...call("connect"), error: new Error("x") });
    await report.queue.flush(5000);
    expect(outcomes()).toEqual([1, 0]);
  });
});

describe("LangChain, by its documented shapes", () => {
  interface Message {
    content: string;
    tool_call_id: string;
  }
  async function wrap(name: string, resumed?: unknown) {
    const { policy, report } = open();
    const { wrapToolCall } = langChainMiddleware<Message>({
      policy,
      report,
      toolMessage: (fields) => fields,
      interrupt: () => resumed,
    });
    const args = { counterparty: agent(name) };
    const request = { toolCall: { name: "transfer", id: callId, args }, state: {} };
    try {
      return await wrapToolCall(request, async () => transfer(args));
    } finally {
      await report.queue.flush(5000);
    }
  }

  it("hands on, refuses, and goes on after an approval only", async () => {
    expect(await wrap("connect")).toBe("sent");
    expect(outcomes()).toEqual([1]);
    expect(await wrap("refuse")).toMatchObject({ tool_call_id: callId, status: "error" });
    expect([ran, outcomes()]).toEqual([[], []]);
    for (const resumed of [undefined, false, "approve", { type: "reject" }, null]) {
      expect(await wrap("escalate", resumed)).toMatchObject({ status: "error" });
    }
    expect(await wrap("escalate", { type: "approve" })).toBe("sent");
    expect(await wrap("escalate", true)).toBe("sent");
  });

  it("reports a tool that throws, and lets it throw", async () => {
    await expect(wrap("verify", true)).rejects.toThrow("the bank is closed");
    expect(outcomes()).toEqual([0]);
  });
});

it("eve's documented types accept the policies", () => {
  interface ApprovalContext {
    readonly abortSignal: AbortSignal;
    readonly approvedTools: ReadonlySet<string>;
    readonly callId: string;
    readonly toolInput?: Record<string, unknown>;
    readonly toolName: string;
    readonly session: { readonly id: string; readonly auth: { current: { principalId: string } } };
  }
  type ApprovalStatus =
    | undefined
    | boolean
    | "not-applicable"
    | "approved"
    | "denied"
    | "user-approval"
    | { readonly type: "not-applicable"; readonly reason?: never }
    | { readonly type: "approved"; readonly reason?: string }
    | { readonly type: "denied"; readonly reason?: string }
    | { readonly type: "user-approval"; readonly reason?: never };
  type Policy = (context: ApprovalContext) => ApprovalStatus | Promise<ApprovalStatus>;
  expectTypeOf<EveApprovalPolicy>().toExtend<Policy>();
});
