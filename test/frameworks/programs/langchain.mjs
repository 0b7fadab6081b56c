// LangChain: an agent with the middleware, and OpenAI's model class at the local model server.
import { interrupt, MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { langChainMiddleware } from "@trustrank/client/langchain";
import { createAgent, createMiddleware, tool, ToolMessage } from "langchain";
import { modelUrl, play, schema } from "./_play.mjs";

const configuration = { baseURL: modelUrl };
const model = new ChatOpenAI({ model: "local", apiKey: "none", configuration, maxRetries: 0 });
await play(async ({ name, policy, report, transfer, prompt }) => {
  const toolMessage = (fields) => new ToolMessage(fields);
  const gate = createMiddleware(langChainMiddleware({ policy, report, toolMessage, interrupt }));
  const own = { name: "transfer", description: "sends", schema };
  const payer = createAgent({
    model,
    tools: [tool(transfer, own)],
    middleware: [gate],
    checkpointer: new MemorySaver(),
  });
  const messages = [{ role: "user", content: prompt }];
  await payer.invoke({ messages }, { configurable: { thread_id: name } });
});
