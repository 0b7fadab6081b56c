// The adapter inside the real OpenAI Agents SDK, with a model that says what a test wants.
import {
  Agent,
  defineToolInputGuardrail,
  type Model,
  Runner,
  setTracingDisabled,
  tool as agentTool,
  Usage,
} from "@openai/agents-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  openAiGuardrail,
  openAiNeedsApproval,
  openAiOutcomes,
} from "../../../src/client/adapters/openai-agents.ts";
import { agent, Bank, schema, type Transfer } from "../_bank.ts";

let bank: Bank;
beforeAll(async () => {
  bank = await Bank.start();
});
afterAll(() => bank.stop());

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
          callId: bank.callId,
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
    const { policy, report } = bank.open();
    const guardrail = defineToolInputGuardrail(openAiGuardrail(policy));
    const pay = agentTool({
      name: "transfer",
      description: "sends",
      parameters: schema as never,
      strict: true,
      needsApproval: openAiNeedsApproval(policy, "transfer"),
      inputGuardrails: [guardrail],
      execute: async (input: unknown) => bank.transfer(input as Transfer),
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
    expect([bank.ran, bank.outcomes(), bank.reads]).toEqual([[agent("connect")], [1], 1]);
  });

  it("answers a refusal to the model without running the tool", async () => {
    const { payer, runner } = setUp("refuse");
    const result = await runner.run(payer, "pay");
    expect([bank.ran, bank.reads, result.interruptions]).toEqual([[], 1, []]);
    expect(JSON.stringify(result.history)).toContain("refused: ");
  });

  it("parks an escalation, and runs it for one paid read once approved", async () => {
    const { payer, runner } = setUp("escalate");
    const parked = await runner.run(payer, "pay");
    expect(bank.ran).toEqual([]);
    expect(parked.interruptions).toHaveLength(1);
    parked.state.approve(parked.interruptions[0]!);
    const result = await runner.run(payer, parked.state);
    expect([result.finalOutput, bank.ran, bank.reads]).toEqual(["done", [agent("escalate")], 1]);
  });
});
