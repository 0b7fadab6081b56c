// Mastra: an agent's hooks and approval, streamed, with Mastra's own model routing at the local model server.
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { mastraApproval, mastraHooks } from "@trustrank/client/mastra";
import { z } from "zod";
import { modelUrl, play } from "./_play.mjs";

await play(async ({ policy, report, transfer, prompt }) => {
  const own = createTool({
    id: "transfer",
    description: "sends",
    inputSchema: z.object({ counterparty: z.string(), amount: z.number() }),
    execute: async (input) => ({ answer: transfer(input.context ?? input) }),
  });
  const payer = new Agent({
    id: "payer",
    name: "payer",
    instructions: "pay",
    model: { id: "local/model", url: modelUrl, apiKey: "none" },
    tools: { transfer: own },
    hooks: mastraHooks(policy, report),
  });
  const stream = await payer.stream(prompt, { requireToolApproval: mastraApproval(policy) });
  for await (const _chunk of stream.fullStream);
});
