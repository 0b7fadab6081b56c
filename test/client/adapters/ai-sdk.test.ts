// The adapter inside the real AI SDK, with the SDK's own mock model.
import { generateText, jsonSchema, type ModelMessage, stepCountIs, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { aiSdkApproval, aiSdkOutcomes } from "../../../src/client/adapters/ai-sdk.ts";
import { type ApprovalPolicy, handshakeApproval } from "../../../src/client/gates/approval.ts";
import { TrustRankClient } from "../../../src/client/client.ts";
import type { OutcomeReport } from "../../../src/client/reporting/outcome-report.ts";
import { agent, Bank, schema, type Transfer } from "../_bank.ts";

let bank: Bank;
beforeAll(async () => {
  bank = await Bank.start();
});
afterAll(() => bank.stop());

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
                toolCallId: bank.callId,
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
      execute: async (input: Transfer) => bank.transfer(input),
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
      const { policy, report } = bank.open();
      const result = await generateText({
        model: model(name),
        prompt: "pay",
        ...settings(policy, report),
      });
      await report.queue.flush(5000);
      expect(bank.ran).toEqual(expected);
      expect(bank.outcomes()).toEqual(name === "connect" ? [1] : []);
      // The SDK records decisions of the policy as requests too, answered automatically.
      const asked = result.content.filter(
        (part) => part.type === "tool-approval-request" && part.isAutomatic !== true,
      );
      expect(asked).toHaveLength(name === "escalate" ? 1 : 0);
      expect(bank.reads).toBe(1);
    }
  });

  it("runs a parked call once a person approved it, for one paid read", async () => {
    const { policy, report } = bank.open();
    const messages: ModelMessage[] = [{ role: "user", content: "pay" }];
    const shared = { ...settings(policy, report), model: model("escalate") };
    const first = await generateText({ ...shared, messages });
    const request = first.content.find((part) => part.type === "tool-approval-request")!;
    const { approvalId } = request as { approvalId: string };
    messages.push(...first.response.messages, {
      role: "tool",
      content: [{ type: "tool-approval-response", approvalId, approved: true }],
    });
    expect(bank.ran).toEqual([]);
    await generateText({ ...shared, messages });
    await report.queue.flush(5000);
    expect([bank.ran, bank.outcomes(), bank.reads]).toEqual([[agent("escalate")], [1], 1]);
  });

  it("runs nothing when the policy has no verdict", async () => {
    const down = new TrustRankClient({ baseUrl: "http://127.0.0.1:1", agentId: agent("connect") });
    const { report } = bank.open();
    const policy = handshakeApproval({ client: down, stakes: () => 5 });
    await generateText({ model: model("connect"), prompt: "pay", ...settings(policy, report) });
    expect(bank.ran).toEqual([]);
  });
});
