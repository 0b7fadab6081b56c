// The outbound gate: an agent's tool call is judged before it runs. One policy for every framework,
// shown alone and in the shape of the AI SDK.
// Run: npm run -s example examples/client/tool.ts
import { handshakeApproval, TrustRankClient } from "@trustrank/client";
import { aiSdkApproval } from "@trustrank/client/ai-sdk";

const { TRUSTRANK_URL: baseUrl = "http://127.0.0.1:8080", TRUSTRANK_KEY: apiKey = "" } =
  process.env;
interface Payment {
  payee: string;
  amount: number;
}
const policy = handshakeApproval<Payment>({
  client: new TrustRankClient({
    baseUrl,
    apiKey,
    agentId: "agent://test/connect",
    timeoutMs: 2000,
  }),
  counterparty: ({ payee }) => payee,
  stakes: ({ amount }) => amount,
});

for (const payee of ["connect", "verify", "escalate", "refuse"]) {
  const input = { payee: `agent://test/${payee}`, amount: 10 };
  const { action, verdict } = await policy({ toolName: "pay", callId: payee, input });
  console.log(verdict?.decision, "->", action);
}

// For generateText, streamText and ToolLoopAgent of the AI SDK:
const settings = { toolApproval: aiSdkApproval(policy) };
const input = { payee: "agent://test/refuse", amount: 10 };
const toolCall = { toolName: "pay", toolCallId: "call-1", input };
console.log((await settings.toolApproval({ toolCall })).type);
