// The adapter inside the real AI SDK, with the SDK's own mock model.
import { generateText, jsonSchema, type ModelMessage, stepCountIs, streamText, tool } from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  aiSdkApproval,
  aiSdkOutcomes,
  aiSdkToolApproval,
  aiSdkTools,
} from "../../../src/client/adapters/ai-sdk.ts";
import { type ApprovalPolicy, handshakeApproval } from "../../../src/client/gates/approval.ts";
import { TrustRankClient } from "../../../src/client/client.ts";
import type { OutcomeReport } from "../../../src/client/reporting/outcome-report.ts";
import { agent, Bank, schema, type Transfer } from "../_bank.ts";
import { holdsTheRailContract, PLAIN_CALL, type RailCall } from "./_rail.ts";

let bank: Bank;
beforeAll(async () => {
  bank = await Bank.start();
});
afterAll(() => bank.stop());

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** Calls the tool so many times, one after the other under one id, then is done. */
function model(input: object, calls = 1, toolName = "transfer") {
  let left = calls;
  const contentOf = () => {
    left -= 1;
    const call = {
      type: "tool-call" as const,
      toolCallId: bank.callId,
      toolName,
      input: JSON.stringify(input),
    };
    return left >= 0 ? [call] : [{ type: "text" as const, text: "done" }];
  };
  const reasonOf = () => ({
    unified: left >= 0 ? ("tool-calls" as const) : ("stop" as const),
    raw: undefined,
  });
  return new MockLanguageModelV4({
    doGenerate: async () => {
      const content = contentOf();
      return { content, usage, warnings: [], finishReason: reasonOf() };
    },
    doStream: async () => {
      const [part] = contentOf();
      const chunks = [
        { type: "stream-start", warnings: [] },
        ...(part?.type === "tool-call"
          ? [part]
          : [
              { type: "text-start", id: "1" },
              { type: "text-delta", id: "1", delta: "done" },
              { type: "text-end", id: "1" },
            ]),
        { type: "finish", usage, finishReason: reasonOf() },
      ];
      return { stream: simulateReadableStream({ chunks: chunks as never }) };
    },
  });
}

const inputSchema = jsonSchema<Transfer>(schema, {
  validate: (value) =>
    Number.isInteger((value as Transfer).amount)
      ? { success: true, value: value as Transfer }
      : { success: false, error: new Error("`amount` is no integer") },
});
const tools = {
  transfer: tool({
    description: "sends",
    inputSchema,
    execute: (input: Transfer, { abortSignal }) => bank.transfer(input, abortSignal),
  }),
};
/** The same as a stream: a preliminary result, then the last one. */
const streamedTools = {
  transfer: tool({
    description: "sends",
    inputSchema,
    async *execute(input: Transfer) {
      yield "sending";
      yield await bank.transfer(input);
    },
  }),
};
const settings = (policy: ApprovalPolicy, report: OutcomeReport) => ({
  tools,
  stopWhen: stepCountIs(4),
  toolApproval: aiSdkApproval(policy),
  onToolExecutionEnd: aiSdkOutcomes(report),
});
/** The gate and the report inside the tools, as every version runs them. */
const wrappedSettings = (policy: ApprovalPolicy, report: OutcomeReport) => ({
  tools: aiSdkTools(tools, { policy, report }),
  stopWhen: stepCountIs(4),
});

const play = (call: RailCall) => playWith(call, settings(call.policy, call.report), streamedTools);
const playWrapped = (call: RailCall) =>
  playWith(
    call,
    wrappedSettings(call.policy, call.report),
    aiSdkTools(streamedTools, { policy: call.policy, report: call.report }),
  );

async function playWith(
  { input, isApproved, ...call }: RailCall,
  ways: ReturnType<typeof settings> | ReturnType<typeof wrappedSettings>,
  streamed: typeof streamedTools,
): Promise<void> {
  const shared = { ...ways, model: model(input, call.isRetried ? 2 : 1, call.toolName) };
  const messages: ModelMessage[] = [{ role: "user", content: "pay" }];
  if (call.isStreamed) {
    await streamText({ ...shared, tools: streamed, messages }).consumeStream();
    return;
  }
  const stop = new AbortController();
  const running = generateText({ ...shared, messages, abortSignal: stop.signal });
  if (call.abort !== undefined) {
    await expect.poll(() => bank.ran.length).toBe(1);
    call.abort(stop);
    await running.catch(() => undefined);
    return;
  }
  const first = await running;
  const asked = first.content.find(
    (part) => part.type === "tool-approval-request" && part.isAutomatic !== true,
  );
  if (asked === undefined || isApproved === undefined) return;
  const { approvalId } = asked as { approvalId: string };
  const answer = { type: "tool-approval-response" as const, approvalId, approved: isApproved };
  messages.push(...first.response.messages, { role: "tool", content: [answer] });
  await generateText({ ...shared, messages });
}

describe("AI SDK, wrapped tools", () => {
  holdsTheRailContract({ name: "`aiSdkTools`", play: playWrapped }, () => bank);
});

describe("AI SDK", () => {
  holdsTheRailContract({ name: "AI SDK", play }, () => bank);

  it("parks an escalation, and runs it for one paid read once approved", async () => {
    const input = { counterparty: agent("escalate"), amount: 5 };
    await play({ ...PLAIN_CALL, ...bank.open(), input });
    expect([bank.ran, bank.reads]).toEqual([[agent("escalate")], 1]);
  });

  it("gates one tool alone, its input typed by the tool", async () => {
    const { policy, report } = bank.open();
    const input = { counterparty: agent("refuse"), amount: 5 };
    await generateText({
      ...settings(policy, report),
      toolApproval: { transfer: aiSdkToolApproval(policy, "transfer") },
      model: model(input),
      prompt: "pay",
    });
    expect([bank.ran, bank.reads]).toEqual([[], 1]);
  });

  it("runs nothing when the policy has no verdict", async () => {
    const down = new TrustRankClient({ baseUrl: "http://127.0.0.1:1", agentId: agent("connect") });
    const { report } = bank.open();
    const policy = handshakeApproval({ client: down, stakes: () => 5 });
    const input = { counterparty: agent("connect"), amount: 5 };
    await generateText({ model: model(input), prompt: "pay", ...settings(policy, report) });
    expect(bank.ran).toEqual([]);
  });
});
