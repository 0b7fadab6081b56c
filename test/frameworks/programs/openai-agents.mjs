// OpenAI Agents SDK: guardrail, approval and execute of a tool, with its own provider at the local model server.
import {
  Agent,
  defineToolInputGuardrail,
  OpenAIProvider,
  Runner,
  setTracingDisabled,
  tool,
} from "@openai/agents";
import {
  openAiExecute,
  openAiGuardrail,
  openAiNeedsApproval,
} from "@trustrank/client/openai-agents";
import { z } from "zod";
import { modelUrl, play } from "./_play.mjs";

setTracingDisabled(true);
const settings = { baseURL: modelUrl, apiKey: "none", useResponses: false };
const runner = new Runner({ modelProvider: new OpenAIProvider(settings) });
await play(async ({ policy, report, transfer, prompt }) => {
  const pay = tool({
    name: "transfer",
    description: "sends",
    parameters: z.object({ counterparty: z.string(), amount: z.number() }),
    inputGuardrails: [defineToolInputGuardrail(openAiGuardrail(policy))],
    needsApproval: openAiNeedsApproval(policy, "transfer"),
    execute: openAiExecute(transfer, { toolName: "transfer", report }),
  });
  await runner.run(new Agent({ name: "payer", model: "local", tools: [pay] }), prompt);
});
