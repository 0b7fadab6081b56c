// AI SDK, hooks of generateText: version 6 ignores both, so the adapter must refuse to make them.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { aiSdkApproval, aiSdkOutcomes } from "@trustrank/client/ai-sdk";
import { generateText, jsonSchema, stepCountIs, tool } from "ai";
import { modelUrl, play, schema } from "./_play.mjs";

const provider = createOpenAICompatible({ name: "local", baseURL: modelUrl, apiKey: "none" });
await play(async ({ policy, report, transfer, prompt }) => {
  const own = { description: "sends", inputSchema: jsonSchema(schema), execute: transfer };
  await generateText({
    model: provider("local"),
    tools: { transfer: tool(own) },
    prompt,
    stopWhen: stepCountIs(3),
    toolApproval: aiSdkApproval(policy),
    onToolExecutionEnd: aiSdkOutcomes(report),
  });
});
