// The adapter inside a real LangChain agent on LangGraph, with a model that says what a test wants.
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import type { ChatResult } from "@langchain/core/outputs";
import { Command, interrupt, MemorySaver } from "@langchain/langgraph";
import { createAgent, createMiddleware, tool } from "langchain";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { langChainMiddleware } from "../../../src/client/adapters/langchain.ts";
import { agent, Bank, schema, type Transfer } from "../_bank.ts";

let bank: Bank;
beforeAll(async () => {
  bank = await Bank.start();
});
afterAll(() => bank.stop());

/** Calls the tool once, then is done. */
class PayingModel extends BaseChatModel {
  readonly #counterparty: string;

  constructor(counterparty: string) {
    super({});
    this.#counterparty = counterparty;
  }

  override _llmType(): string {
    return "paying";
  }

  override bindTools(): this {
    return this;
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const isDone = messages.some((message) => ToolMessage.isInstance(message));
    const args = { counterparty: this.#counterparty };
    const toolCalls = isDone ? [] : [{ name: "transfer", id: bank.callId, args }];
    const message = new AIMessage({ content: isDone ? "done" : "", tool_calls: toolCalls });
    return { generations: [{ text: message.text, message }] };
  }
}

describe("LangChain", () => {
  function open(name: string) {
    const { policy, report } = bank.open();
    const transfer = tool(async (input: Transfer) => bank.transfer(input), {
      name: "transfer",
      description: "sends",
      schema,
    });
    const gate = createMiddleware(
      langChainMiddleware({
        policy,
        report,
        toolMessage: (fields) => new ToolMessage(fields),
        interrupt,
      }),
    );
    const payer = createAgent({
      model: new PayingModel(agent(name)),
      tools: [transfer],
      middleware: [gate],
      checkpointer: new MemorySaver(),
    });
    const thread = { configurable: { thread_id: bank.callId } };
    const messages = [{ role: "user", content: "pay" }];
    return {
      report,
      begin: () => payer.invoke({ messages }, thread),
      resume: (value: unknown) => payer.invoke(new Command({ resume: value }), thread),
    };
  }
  const answerOf = ({ messages }: { messages: BaseMessage[] }) =>
    messages.findLast((message) => ToolMessage.isInstance(message));

  it("runs and reports what is trusted", async () => {
    const { begin, report } = open("connect");
    expect(answerOf(await begin())).toMatchObject({ content: "sent", tool_call_id: bank.callId });
    await report.queue.flush(5000);
    expect([bank.ran, bank.outcomes(), bank.reads]).toEqual([[agent("connect")], [1], 1]);
  });

  it("answers a refusal to the model without running the tool", async () => {
    const { begin, report } = open("refuse");
    const answer = answerOf(await begin());
    expect(answer).toMatchObject({ status: "error", content: expect.stringMatching(/^refused: /) });
    await report.queue.flush(5000);
    expect([bank.ran, bank.outcomes(), bank.reads]).toEqual([[], [], 1]);
  });

  it("parks an escalation, and runs it for one paid read once approved", async () => {
    for (const [resumed, ran] of [
      [{ type: "approve" }, [agent("escalate")]],
      [{ type: "reject" }, []],
    ] as const) {
      const { begin, resume } = open("escalate");
      const parked = (await begin()) as unknown as { __interrupt__: { value: unknown }[] };
      expect(parked.__interrupt__).toMatchObject([{ value: { tool: "transfer" } }]);
      expect(bank.ran).toEqual([]);
      await resume(resumed);
      expect([bank.ran, bank.reads]).toEqual([ran, 1]);
    }
  });
});
