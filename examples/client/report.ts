// The write rail: every tool call that ran becomes an outcome, sent in batches behind the agent's
// back. A call reported again counts once; `flush` belongs into the shutdown.
// Run: npm run -s example examples/client/report.ts
import { outcomeReport, TrustRankClient } from "trustrank/client";
import { aiSdkOutcomes } from "trustrank/client/ai-sdk";

const { TRUSTRANK_URL: baseUrl = "http://127.0.0.1:8080", TRUSTRANK_KEY: apiKey = "" } =
  process.env;
const client = new TrustRankClient({ baseUrl, apiKey, agentId: "agent://acme/assistant" });
const report = outcomeReport({
  client,
  subject: ({ toolName }) => (toolName === "clock" ? undefined : `agent://shop/${toolName}`),
  stakes: () => 25,
  onDrop: ({ why, error }) => console.error("not reported:", why, error?.code),
});

// For generateText, streamText and ToolLoopAgent of the AI SDK, which calls it after a tool ran:
const settings = { onToolExecutionEnd: aiSdkOutcomes(report) };
const toolCall = { toolName: "delivery", toolCallId: "call-1" };
settings.onToolExecutionEnd({ toolCall, toolOutput: { type: "tool-result" } });

// Any other framework:
report({ toolName: "delivery", callId: "call-2", isSuccess: false });
report({ toolName: "delivery", callId: "call-2", isSuccess: false });
report({ toolName: "clock", callId: "call-3", isSuccess: true });

await report.queue.flush(5000);
console.log(report.queue.counts);
