// The adapter inside a real LangChain agent on LangGraph, with a model that says what a test wants.
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import type { ChatResult } from "@langchain/core/outputs";
import { Command, interrupt, MemorySaver } from "@langchain/langgraph";
import { createAgent, createMiddleware, tool, toolRetryMiddleware } from "langchain";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { langChainMiddleware } from "../../../src/client/adapters/langchain.ts";
import { agent, Bank, schema, type Transfer } from "../_bank.ts";
import { holdsTheRailContract, PLAIN_CALL, type RailCall } from "./_rail.ts";

let bank: Bank;
beforeAll(async () => {
  bank = await Bank.start();
});
afterAll(() => bank.stop());

/** Calls the tool so many times, one after the other under one id, then is done. */
class PayingModel extends BaseChatModel {
  readonly #input: Record<string, unknown>;
  readonly #calls: number;
  readonly #name: string;

  constructor(input: Record<string, unknown>, calls: number, name: string) {
    super({});
    this.#input = input;
    this.#calls = calls;
    this.#name = name;
  }

  override _llmType(): string {
    return "paying";
  }

  override bindTools(): this {
    return this;
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const made = messages.filter((message) => ToolMessage.isInstance(message)).length;
    const isDone = made >= this.#calls;
    const call = { name: this.#name, id: bank.callId, args: this.#input };
    const content = isDone ? "done" : "";
    const message = new AIMessage({ content, tool_calls: isDone ? [] : [call] });
    return { generations: [{ text: message.text, message }] };
  }
}

function open({ policy, report, toolName, input, ...call }: RailCall) {
  const transfer = tool(
    (args: Transfer, { signal }: { signal?: AbortSignal }) => bank.transfer(args, signal),
    {
      name: "transfer",
      description: "sends",
      schema,
      // The only schema of results that LangChain has: a pair.
      ...(call.isOutputChecked ? { responseFormat: "content_and_artifact" as const } : {}),
    },
  );
  const gate = createMiddleware(
    langChainMiddleware({
      policy,
      report,
      toolMessage: (fields) => new ToolMessage(fields),
      interrupt,
    }),
  );
  // What a tool throws ends the run; calling it again is another middleware's, outside of ours.
  const retry = toolRetryMiddleware({ maxRetries: 1, initialDelayMs: 1 });
  const swallow = toolRetryMiddleware({ maxRetries: 0, onFailure: "continue" });
  const others = call.isRetried ? [retry as never, gate] : [gate];
  const payer = createAgent({
    model: new PayingModel(input, 1, toolName),
    tools: [transfer],
    // Its types ask for looser optional members than this tree's.
    middleware: call.isSwallowed ? [gate, swallow as never] : others,
    checkpointer: new MemorySaver(),
  });
  const configurable = { thread_id: bank.callId };
  const messages = [{ role: "user", content: "pay" }];
  return {
    begin: (signal?: AbortSignal) =>
      payer.invoke({ messages }, { configurable, ...(signal === undefined ? {} : { signal }) }),
    resume: (value: unknown) => payer.invoke(new Command({ resume: value }), { configurable }),
  };
}

async function play(call: RailCall): Promise<void> {
  const { begin, resume } = open(call);
  if (call.abort !== undefined) {
    const stop = new AbortController();
    const running = begin(stop.signal).catch(() => undefined);
    await expect.poll(() => bank.ran.length).toBe(1);
    call.abort(stop);
    await running;
    return;
  }
  // A tool that throws ends the run.
  const first = (await begin().catch(() => ({}))) as { __interrupt__?: unknown };
  if (first.__interrupt__ === undefined || call.isApproved === undefined) return;
  await resume({ decisions: [{ type: call.isApproved ? "approve" : "reject" }] });
}

describe("LangChain", () => {
  const errorValue = () => new ToolMessage({ content: "no", tool_call_id: "x", status: "error" });
  holdsTheRailContract({ name: "LangChain", play, errorValue }, () => bank);

  it.each([
    ["an object", (messages: unknown[]) => ({ messages })],
    ["pairs", (messages: unknown[]) => [["messages", messages]]],
  ])("takes the message in a Command for the tool's answer, its update %s", async (_name, wrap) => {
    for (const [status, outcome] of [
      ["error", 0],
      ["success", 1],
    ] as const) {
      const rail = bank.open();
      const answer = new ToolMessage({ content: "no", tool_call_id: bank.callId, status });
      const older = new ToolMessage({ content: "no", tool_call_id: "older", status: "error" });
      bank.behaviour = "error value";
      bank.errorValue = new Command({ update: wrap([older, answer]) as never });
      const input = { counterparty: agent("connect"), amount: 5 };
      await open({ ...PLAIN_CALL, ...rail, input }).begin();
      await rail.report.queue.flush(5000);
      expect(bank.outcomes()).toEqual([outcome]);
    }
  });

  const answerOf = ({ messages }: { messages: BaseMessage[] }) =>
    messages.findLast((message) => ToolMessage.isInstance(message));

  it("answers a refusal to the model without running the tool", async () => {
    const input = { counterparty: agent("refuse"), amount: 5 };
    const answer = answerOf(await open({ ...PLAIN_CALL, ...bank.open(), input }).begin());
    expect(answer).toMatchObject({ status: "error", content: expect.stringMatching(/^refused: /) });
    expect([bank.ran, bank.reads]).toEqual([[], 1]);
  });

  it("parks an escalation, and runs it for one paid read once approved", async () => {
    const input = { counterparty: agent("escalate"), amount: 5 };
    const rail = bank.open();
    const { begin, resume } = open({ ...PLAIN_CALL, ...rail, input });
    const parked = (await begin()) as unknown as { __interrupt__: { value: unknown }[] };
    expect(parked.__interrupt__).toMatchObject([{ value: { tool: "transfer" } }]);
    expect(bank.ran).toEqual([]);
    await resume({ type: "approve" });
    await rail.report.queue.flush(5000);
    expect([bank.ran, bank.reads]).toEqual([[agent("escalate")], 1]);
  });

  it("says nothing of a tool that is not there", async () => {
    const { policy, report } = bank.open();
    const { wrapToolCall } = langChainMiddleware({
      policy,
      report,
      toolMessage: (fields) => new ToolMessage(fields),
      interrupt,
    });
    const args = { counterparty: agent("connect"), amount: 5 };
    const toolCall = { name: "transfr", id: bank.callId, args };
    await wrapToolCall({ toolCall, tool: undefined }, errorValue);
    await report.queue.flush(5000);
    expect([bank.outcomes(), report.skipped.notRun]).toEqual([[], 1]);
  });
});
