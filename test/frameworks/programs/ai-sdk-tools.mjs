// AI SDK, tools wrapped: generateText with a provider that speaks to the local model server.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { aiSdkTools } from "@trustrank/client/ai-sdk";
import { generateText, jsonSchema, stepCountIs, tool } from "ai";
import { modelUrl, play, schema } from "./_play.mjs";

const provider = createOpenAICompatible({ name: "local", baseURL: modelUrl, apiKey: "none" });
await play(async ({ policy, report, transfer, prompt }) => {
  const own = { description: "sends", inputSchema: jsonSchema(schema), execute: transfer };
  const tools = aiSdkTools({ transfer: tool(own) }, { policy, report });
  await generateText({ model: provider("local"), tools, prompt, stopWhen: stepCountIs(3) });
});
