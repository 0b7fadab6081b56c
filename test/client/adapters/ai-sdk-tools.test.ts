// Wrapped tools inside the real AI SDK 7, with the SDK's own mock model, and called as a version without any
// approval would call them. `npm run check:frameworks` has them in AI SDK 6.
import { generateText, jsonSchema, type ModelMessage, stepCountIs, streamText, tool } from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { aiSdkOutcomes, aiSdkTools } from "../../../src/client/adapters/ai-sdk.ts";
import { TrustGateError } from "../../../src/client/errors.ts";
import type { ApprovalPolicy } from "../../../src/client/gates/approval.ts";
import type { OutcomeReport } from "../../../src/client/reporting/outcome-report.ts";
import { agent, Bank, schema, type Transfer } from "../_bank.ts";

let bank: Bank;
let policy: ApprovalPolicy;
let report: OutcomeReport;
beforeAll(async () => {
  bank = await Bank.start();
});
beforeEach(() => {
  ({ policy, report } = bank.open());
});
afterAll(() => bank.stop());

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** Calls the tool once, then is done. */
function model(name: string) {
  let isCalled = false;
  const next = () => {
    const isFirst = !isCalled;
    isCalled = true;
    const input = JSON.stringify({ counterparty: agent(name), amount: 40 });
    const call = {
      type: "tool-call" as const,
      toolCallId: bank.callId,
      toolName: "transfer",
      input,
    };
    const unified = isFirst ? ("tool-calls" as const) : ("stop" as const);
    return { content: isFirst ? [call] : [], finishReason: { unified, raw: undefined } };
  };
  return new MockLanguageModelV4({
    doGenerate: async () => ({ ...next(), usage, warnings: [] }),
    doStream: async () => {
      const { content, finishReason } = next();
      const start = { type: "stream-start" as const, warnings: [] };
      const chunks = [start, ...content, { type: "finish" as const, usage, finishReason }];
      return { stream: simulateReadableStream({ chunks }) };
    },
  });
}

const transfer = tool({
  description: "sends",
  inputSchema: jsonSchema<Transfer>(schema),
  execute: (input: Transfer) => bank.transfer(input),
});
const wrap = () => aiSdkTools({ transfer }, { policy, report });
const prompt: ModelMessage[] = [{ role: "user", content: "pay" }];

async function play(name: string, messages = prompt) {
  const settings = { model: model(name), tools: wrap(), messages, stopWhen: stepCountIs(3) };
  const result = await generateText(settings);
  await report.queue.flush(5000);
  return result;
}

/** What a version does that knows of no approval: runs the tool at once. */
function runAtOnce(name: string, messages: ModelMessage[] = prompt) {
  const input = { counterparty: agent(name), amount: 40 };
  return wrap().transfer.execute(input, { toolCallId: bank.callId, messages, context: {} });
}

describe("a wrapped tool", () => {
  it("runs once allowed, and its outcome names the decision", async () => {
    await play("connect");
    expect([bank.ran, bank.reads, bank.outcomes()]).toEqual([[agent("connect")], 1, [1]]);
    expect(bank.reported()[0]).toMatchObject({ stakes: 40, requestId: bank.decided[0] });
  });

  it("does not run once refused, and the model reads why", async () => {
    const { steps } = await play("refuse");
    const { error } = steps[0]!.content.find((part) => part.type === "tool-error")!;
    expect(error).toBeInstanceOf(TrustGateError);
    expect((error as Error).message).toMatch(/^refused: ./);
    expect([bank.ran, bank.outcomes(), report.skipped.refused]).toEqual([[], [], 1]);
  });

  it.each([
    ["approved", true, [agent("escalate")], [1]],
    ["rejected", false, [], []],
  ])("waits for a person, then %s", async (_what, approved, ran, outcomes) => {
    const { content, response } = await play("escalate");
    expect(bank.ran).toEqual([]);
    const asked = content.find((part) => part.type === "tool-approval-request")!;
    const answer = {
      type: "tool-approval-response" as const,
      approvalId: asked.approvalId,
      approved,
    };
    await play("escalate", [...prompt, ...response.messages, { role: "tool", content: [answer] }]);
    expect([bank.ran.slice(0, 1), bank.outcomes().slice(0, 1)]).toEqual([ran, outcomes]);
  });

  it("keeps what a stream of results yields, and reports its end", async () => {
    const streamed = tool({
      description: "sends",
      inputSchema: jsonSchema<Transfer>(schema),
      async *execute(input: Transfer) {
        yield "sending";
        yield await bank.transfer(input);
      },
    });
    const tools = aiSdkTools({ transfer: streamed }, { policy, report });
    const stopWhen = stepCountIs(3);
    const { fullStream } = streamText({
      model: model("connect"),
      tools,
      messages: prompt,
      stopWhen,
    });
    const outputs: unknown[] = [];
    for await (const part of fullStream) if (part.type === "tool-result") outputs.push(part.output);
    await report.queue.flush(5000);
    expect([outputs, bank.outcomes()]).toEqual([["sending", "sent", "sent"], [1]]);
  });

  it("keeps the tool's own wish for a person", async () => {
    const tools = aiSdkTools({ transfer: { ...transfer, needsApproval: true } }, { policy });
    const { content } = await generateText({ model: model("connect"), tools, messages: prompt });
    expect(content.map(({ type }) => type)).toContain("tool-approval-request");
    expect(bank.ran).toEqual([]);
  });

  it("is not counted as a failure by the hook as well", async () => {
    const tools = aiSdkTools({ transfer }, { policy });
    const onToolExecutionEnd = aiSdkOutcomes(report);
    await generateText({ model: model("refuse"), tools, messages: prompt, onToolExecutionEnd });
    await report.queue.flush(5000);
    expect([bank.outcomes(), report.skipped.refused]).toEqual([[], 1]);
  });
});

describe("where a version asks for no approval", () => {
  it.each([
    ["refuse", "refused: "],
    ["escalate", "not run: a person must approve first"],
  ])("a call that is not let through throws: %s", async (name, message) => {
    await expect(runAtOnce(name)).rejects.toThrow(message);
    expect(bank.ran).toEqual([]);
  });

  it("an approval of another call, or of an earlier one, lets nothing run", async () => {
    const request = (toolCallId: string): ModelMessage => ({
      role: "assistant",
      content: [{ type: "tool-approval-request", approvalId: "a-1", toolCallId }],
    });
    const answer: ModelMessage = {
      role: "tool",
      content: [{ type: "tool-approval-response", approvalId: "a-1", approved: true }],
    };
    const { callId } = bank;
    const histories = [
      [request("another"), answer],
      [request(callId), answer, { role: "user" as const, content: "again" }],
      [answer],
    ];
    for (const history of histories) {
      await expect(runAtOnce("escalate", history)).rejects.toThrow(TrustGateError);
    }
    expect(bank.ran).toEqual([]);
    expect(await runAtOnce("escalate", [request(callId), answer])).toBe("sent");
  });
});

it("refuses a tool that it cannot wrap", () => {
  const { execute: _execute, ...elsewhere } = transfer;
  expect(() => aiSdkTools({ elsewhere }, { policy })).toThrow(
    "the tool `elsewhere` has no `execute`: ask the policy where it runs, and leave it out here",
  );
});
