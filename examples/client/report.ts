// The write rail: every tool call that ran becomes an outcome, sent in batches behind the agent's
// back; what did not run is not reported. `flush` belongs into the shutdown.
// Run: npm run -s example examples/client/report.ts
import { handshakeApproval, outcomeReport, TrustRankClient } from "@trustrank/client";
import { aiSdkApproval, aiSdkOutcomes } from "@trustrank/client/ai-sdk";

const { TRUSTRANK_URL: baseUrl = "http://127.0.0.1:8080", TRUSTRANK_KEY: apiKey = "" } =
  process.env;
const client = new TrustRankClient({
  baseUrl,
  apiKey,
  agentId: "agent://acme/ledger-sync",
  timeoutMs: 2000,
});
interface Order {
  counterparty: string;
  amount: number;
}
const policy = handshakeApproval<Order>({ client, stakes: ({ amount }) => amount });
const report = outcomeReport({
  client,
  // Whom the outcome is about, what was at stake, which decision it settles: as the policy asked.
  policy,
  // Ours to know: an error of the bank in between is not the seller's. Stored, and not scored.
  isAgentFault: ({ error }) => (error instanceof TypeError ? false : undefined),
  onDrop: ({ why, error }) => console.error("not reported:", why, error?.code),
});

// For generateText, streamText and ToolLoopAgent of the AI SDK:
const settings = {
  toolApproval: aiSdkApproval(policy),
  onToolExecutionEnd: aiSdkOutcomes(report),
};
const input = { counterparty: "agent://hooli/search-agent", amount: 1 };
const toolCall = { toolName: "order", toolCallId: "call-1", input };
console.log((await settings.toolApproval({ toolCall })).type);
settings.onToolExecutionEnd({ toolCall, toolOutput: { type: "tool-result", output: "done" } });

// Any other framework:
const decision = await policy({ toolName: "order", input });
report({ toolName: "order", input, decision, error: new TypeError("fetch failed") });

await report.queue.flush(5000);
console.log(report.queue.counts, report.skipped.faultUnknown);
