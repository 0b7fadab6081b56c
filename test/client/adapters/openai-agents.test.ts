// The adapter inside the real OpenAI Agents SDK, with a model that says what a test wants.
import {
  Agent,
  defineToolInputGuardrail,
  type Model,
  type ModelRequest,
  Runner,
  setTracingDisabled,
  tool as agentTool,
  Usage,
} from "@openai/agents-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  openAiExecute,
  openAiGuardrail,
  openAiNeedsApproval,
} from "../../../src/client/adapters/openai-agents.ts";
import { agent, Bank, type Transfer } from "../_bank.ts";
import { holdsTheRailContract, PLAIN_CALL, type RailCall } from "./_rail.ts";
import { z } from "zod";

let bank: Bank;
beforeAll(async () => {
  bank = await Bank.start();
});
afterAll(() => bank.stop());
setTracingDisabled(true);

/** Calls the tool so many times, one after the other, then is done. */
function model(input: object, calls = 1): Model {
  let made = 0;
  const next = () => {
    made += 1;
    const call = {
      type: "function_call" as const,
      callId: `${bank.callId}-${made}`,
      name: "transfer",
      arguments: JSON.stringify(input),
      status: "completed" as const,
    };
    const message = {
      id: "m",
      type: "message" as const,
      role: "assistant" as const,
      status: "completed" as const,
      content: [{ type: "output_text" as const, text: "done" }],
    };
    return made <= calls ? call : message;
  };
  return {
    async getResponse() {
      return { usage: new Usage(), output: [next()] };
    },
    async *getStreamedResponse(_request: ModelRequest) {
      const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
      yield {
        type: "response_done" as const,
        response: { id: "r", usage, output: [next()] },
      };
    },
  };
}

function payerOf({ policy, report, input, isRetried }: RailCall) {
  const guardrail = defineToolInputGuardrail(openAiGuardrail(policy));
  const pay = agentTool({
    name: "transfer",
    description: "sends",
    // As a schema with a default changes it: calls are known by their text, not by this.
    parameters: z.object({ counterparty: z.string(), amount: z.int() }),
    needsApproval: openAiNeedsApproval(policy, "transfer"),
    inputGuardrails: [guardrail],
    execute: openAiExecute(
      (transfer: Transfer, _context, details?: { signal?: AbortSignal }) =>
        bank.transfer(transfer, details?.signal),
      { toolName: "transfer", report },
    ),
  });
  return new Agent({ name: "payer", model: model(input, isRetried ? 2 : 1), tools: [pay] });
}

async function play(call: RailCall): Promise<void> {
  const payer = payerOf(call);
  const runner = new Runner();
  if (call.isStreamed) {
    const streamed = await runner.run(payer, "pay", { stream: true });
    await streamed.completed;
    return;
  }
  const stop = new AbortController();
  const running = runner.run(payer, "pay", { signal: stop.signal });
  if (call.abort !== undefined) {
    await expect.poll(() => bank.ran.length).toBe(1);
    call.abort(stop);
    await running.catch(() => undefined);
    return;
  }
  const parked = await running;
  const [asked] = parked.interruptions;
  if (asked === undefined || call.isApproved === undefined) return;
  if (call.isApproved) parked.state.approve(asked);
  else parked.state.reject(asked);
  await runner.run(payer, parked.state);
}

describe("OpenAI Agents SDK", () => {
  holdsTheRailContract({ name: "OpenAI Agents", play }, () => bank);

  it("answers a refusal to the model without running the tool", async () => {
    const input = { counterparty: agent("refuse"), amount: 5 };
    const payer = payerOf({ ...PLAIN_CALL, ...bank.open(), input });
    const result = await new Runner().run(payer, "pay");
    expect([bank.ran, bank.reads, result.interruptions]).toEqual([[], 1, []]);
    expect(JSON.stringify(result.history)).toContain("refused: ");
  });

  it("parks an escalation, and runs it for one paid read once approved", async () => {
    const input = { counterparty: agent("escalate"), amount: 5 };
    const payer = payerOf({ ...PLAIN_CALL, ...bank.open(), input });
    const parked = await new Runner().run(payer, "pay");
    expect([bank.ran, parked.interruptions.length]).toEqual([[], 1]);
    parked.state.approve(parked.interruptions[0]!);
    const result = await new Runner().run(payer, parked.state);
    expect([result.finalOutput, bank.ran, bank.reads]).toEqual(["done", [agent("escalate")], 1]);
  });
});
